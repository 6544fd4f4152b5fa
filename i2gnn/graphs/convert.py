"""Graphs of other libraries and formats, as `RawGraphs`."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from i2gnn.errors import InputError
from i2gnn.graphs.raw import Array, Level, RawGraphs

if TYPE_CHECKING:
    import networkx
    from torch_geometric.data import Data

__all__ = [
    "ATOM_FEATURES",
    "BOND_FEATURES",
    "concatenate",
    "parse_graph6",
    "raw_from_edge_lists",
    "raw_from_molecules",
    "raw_from_networkx",
    "raw_from_pyg",
]

ATOM_FEATURES = (
    "atomic_number",
    "chirality",
    "degree",
    "formal_charge",
    "hydrogens",
    "radical_electrons",
    "hybridization",
    "aromatic",
    "in_ring",
)
BOND_FEATURES = ("bond_type", "stereo", "conjugated")


def raw_from_edge_lists(
    edge_lists: Iterable[Any],
    num_nodes: Sequence[int] | Array | None = None,
    x: Array | None = None,
    edge_attr: Array | None = None,
    y: Array | None = None,
    level: Level | None = None,
) -> RawGraphs:
    """Reads one [E, 2] list per graph; without `num_nodes` the largest id decides."""
    lists = []
    for graph, edges in enumerate(edge_lists):
        array = np.asarray(edges)
        if array.size == 0:
            array = np.empty((0, 2), dtype=np.int64)
        if array.ndim != 2 or array.shape[1] != 2 or not np.issubdtype(array.dtype, np.integer):
            raise InputError(
                f"graph {graph}: edges have shape {array.shape} and type {array.dtype}; "
                "expected integers of shape (number of edges, 2)"
            )
        lists.append(array.astype(np.int64))
    if num_nodes is None:
        num_nodes = [int(edges.max()) + 1 if len(edges) else 0 for edges in lists]
    if len(num_nodes) != len(lists):
        raise InputError(f"{len(lists)} edge lists but {len(num_nodes)} node counts")
    return RawGraphs(
        num_nodes=np.asarray(num_nodes, dtype=np.int64),
        num_edges=np.array([len(edges) for edges in lists], dtype=np.int64),
        edges=np.concatenate([*lists, np.empty((0, 2), dtype=np.int64)]),
        x=x,
        edge_attr=edge_attr,
        y=y,
        level=level,
    )


def raw_from_pyg(
    graphs: Iterable["Data"], level: Level | None = None, targets: bool = True
) -> RawGraphs:
    """Reads PyG's `Data`; the level of `y`, if wanted, is inferred from its length unless given."""
    graphs = [part for data in graphs for part in _single_graphs(data)]
    parts = [_pyg_graph(data, f"graph {number}") for number, data in enumerate(graphs)]
    found = [_numpy(data.y) if targets else None for data in graphs]
    if any(y is not None for y in found):
        level = level or _infer_level(graphs, found)
        if level == "graph":
            found = [None if y is None else y.reshape(1, -1) for y in found]
        for number, (part, target) in enumerate(zip(parts, found, strict=True)):
            lengths = {"node": part.num_nodes[0], "edge": part.num_edges[0], "graph": 1}
            _check_rows("y", target, int(lengths[level]), level, f"graph {number}")
    y = _joined(found, "y")
    return concatenate(parts, y=y, level=level if y is not None else None)


def _single_graphs(data: Any) -> list["Data"]:
    """A collated `Batch` as its graphs, anything else as it is."""
    return data.to_data_list() if hasattr(data, "to_data_list") else [data]


def _pyg_graph(data: "Data", where: str) -> RawGraphs:
    edges = np.empty((0, 2), dtype=np.int64)
    if data.edge_index is not None:
        index = data.edge_index.cpu().numpy()
        if index.ndim != 2 or len(index) != 2 or not np.issubdtype(index.dtype, np.integer):
            raise InputError(
                f"{where}: edge_index has shape {index.shape} and type {index.dtype}; "
                "expected integers of shape (2, number of edges)"
            )
        edges = index.T
    nodes, x, edge_attr = int(data.num_nodes or 0), _numpy(data.x), _numpy(data.edge_attr)
    _check_rows("x", x, nodes, "node", where)
    _check_rows("edge_attr", edge_attr, len(edges), "edge", where)
    return RawGraphs(np.array([nodes]), np.array([len(edges)]), edges, x, edge_attr)


def _check_rows(name: str, values: Array | None, length: int, axis: str, where: str) -> None:
    """In one graph of many: wrong lengths that cancel out would shift features unseen."""
    if values is not None and (values.ndim == 0 or len(values) != length):
        raise InputError(
            f"{where}: {name} has shape {values.shape}; expected {length} rows, one per {axis}"
        )


def raw_from_networkx(graphs: Iterable["networkx.Graph"]) -> RawGraphs:
    """Reads networkx graphs; nodes are numbered in the order in which each graph lists them."""
    lists, num_nodes = [], []
    for graph in graphs:
        number = {node: n for n, node in enumerate(graph.nodes)}
        forward = [(number[u], number[v]) for u, v in graph.edges()]
        backward = [] if graph.is_directed() else [(v, u) for u, v in forward if u != v]
        lists.append(forward + backward)
        num_nodes.append(len(number))
    return raw_from_edge_lists(lists, num_nodes)


def parse_graph6(lines: Iterable[str | bytes]) -> Iterator["networkx.Graph"]:
    """Parses graph6 or sparse6 text, one graph a line; blank lines are skipped."""
    import networkx

    for number, line in enumerate(lines, start=1):
        text = (line.encode() if isinstance(line, str) else line).strip()
        if not text:
            continue
        try:
            if text.startswith((b":", b">>sparse6<<")):
                yield networkx.from_sparse6_bytes(text)
            else:
                yield networkx.from_graph6_bytes(text)
        except (networkx.NetworkXError, ValueError, IndexError) as error:
            shown = text[:40].decode(errors="replace")
            raise InputError(f"line {number}: {shown!r} is not graph6 or sparse6") from error


def raw_from_molecules(
    smiles: Iterable[str],
    explicit_hydrogens: bool = False,
    on_error: Literal["raise", "skip"] = "raise",
) -> tuple[RawGraphs, list[int]]:
    """Parses SMILES with RDKit; returns the graphs and the positions that were kept.

    Node features are the integers `ATOM_FEATURES`, edge features `BOND_FEATURES`.
    """
    from rdkit import Chem, RDLogger

    parts, kept = [], []
    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined]
    try:
        for position, text in enumerate(smiles):
            molecule = Chem.MolFromSmiles(text) if isinstance(text, str) else None
            if molecule is None:
                if on_error == "skip":
                    continue
                raise InputError(f"molecule {position}: RDKit cannot read the SMILES {text!r}")
            kept.append(position)
            parts.append(_molecule(Chem.AddHs(molecule) if explicit_hydrogens else molecule))
    finally:
        RDLogger.EnableLog("rdApp.*")  # type: ignore[attr-defined]
    return concatenate(parts), kept


def _molecule(molecule: Any) -> RawGraphs:
    atoms = [
        (
            atom.GetAtomicNum(),
            int(atom.GetChiralTag()),
            atom.GetTotalDegree(),
            atom.GetFormalCharge(),
            atom.GetTotalNumHs(),
            atom.GetNumRadicalElectrons(),
            int(atom.GetHybridization()),
            int(atom.GetIsAromatic()),
            int(atom.IsInRing()),
        )
        for atom in molecule.GetAtoms()
    ]
    ends, bonds = [], []
    for bond in molecule.GetBonds():
        ends.append((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        bonds.append((int(bond.GetBondType()), int(bond.GetStereo()), int(bond.GetIsConjugated())))
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2)
    features = np.array(bonds, dtype=np.int64).reshape(-1, len(BOND_FEATURES))
    return RawGraphs(
        num_nodes=np.array([len(atoms)]),
        num_edges=np.array([2 * len(ends)]),
        edges=np.concatenate([edges, edges[:, ::-1]]),
        x=np.array(atoms, dtype=np.int64).reshape(-1, len(ATOM_FEATURES)),
        edge_attr=np.concatenate([features, features]),
    )


def concatenate(
    parts: Sequence[RawGraphs], y: Array | None = None, level: Level | None = None
) -> RawGraphs:
    """Joins graphs; features must be given for all of them or for none."""
    no_counts = np.empty(0, dtype=np.int64)
    return RawGraphs(
        num_nodes=np.concatenate([p.num_nodes for p in parts]) if parts else no_counts,
        num_edges=np.concatenate([p.num_edges for p in parts]) if parts else no_counts,
        edges=np.concatenate([p.edges for p in parts] or [np.empty((0, 2), dtype=np.int64)]),
        x=_joined([p.x for p in parts], "x"),
        edge_attr=_joined([p.edge_attr for p in parts], "edge_attr"),
        y=y,
        level=level,
    )


def _joined(values: Sequence[Array | None], name: str) -> Array | None:
    present = [value for value in values if value is not None]
    if not present:
        return None
    if len(present) < len(values):
        missing = next(g for g, value in enumerate(values) if value is None)
        raise InputError(f"graph {missing} has no {name}, others have; give it to all or to none")
    widths = {value.shape[1:] for value in present}
    if len(widths) > 1:
        raise InputError(f"{name} has different widths: {sorted(widths)}")
    return np.concatenate(present)


def _numpy(tensor: Any) -> Array | None:
    if tensor is None:
        return None
    if not hasattr(tensor, "detach"):
        return np.asarray(tensor)
    tensor = tensor.detach().cpu()
    # numpy has no bfloat16.
    return np.asarray((tensor.float() if tensor.is_floating_point() else tensor).numpy())


def _infer_level(graphs: Sequence["Data"], targets: Sequence[Array | None]) -> Level:
    """The one level whose sizes fit every graph; PyG itself keeps no note of it.

    Graphs of one node with one row each have it as graphs, as molecules of one atom do.
    """
    fits: list[Level] = []
    sizes: dict[Level, list[int]] = {
        "graph": [1 for _ in graphs],
        "node": [data.num_nodes or 0 for data in graphs],
        "edge": [data.num_edges for data in graphs],
    }
    lengths = [0 if y is None else (len(y) if y.ndim else 1) for y in targets]
    fits = [level for level, expected in sizes.items() if expected == lengths]
    if fits[:1] == ["graph"] and all(length == 1 for length in lengths):
        return "graph"
    if len(fits) != 1:
        raise InputError(
            f"y of lengths {sorted(set(lengths))[:5]} fits "
            f"{' and '.join(fits) if fits else 'no level'}; pass level='node', 'edge' or 'graph'"
        )
    return fits[0]
