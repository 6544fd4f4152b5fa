"""`GraphStore`: a whole data set of graphs in flat tensors."""

import dataclasses
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from i2gnn.errors import InputError
from i2gnn.graphs import convert
from i2gnn.graphs.flat import FlatStore, column, index_dtype, offsets, owners
from i2gnn.graphs.raw import Level, RawGraphs, clean

if TYPE_CHECKING:
    import networkx
    from torch_geometric.data import Data

__all__ = ["GraphStore"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GraphStore(FlatStore):
    """G undirected graphs with N nodes and E directed edges in all, in flat tensors.

    Every edge is stored in both directions, sorted by (receiving node, sending node): the edges of
    node k are a contiguous range, in which `neighbor` holds the nodes l it receives from. Node ids
    are global, that is, counted over all graphs of the store.

    Attributes:
        degree: [N], number of neighbours.
        neighbor: [E], the sending node l of each edge k <- l.
        x: [N, F], node features, or None.
        edge_attr: [E, F], edge features, or None.
        y: [N | E | G, T], targets at the store's `level`, or None.
        level: "node", "edge" or "graph": what a row of `y` belongs to.

    Example:
        >>> store = GraphStore.from_edge_lists([[(0, 1), (1, 2)], [(0, 1)]], symmetrize=True)
        >>> store
        GraphStore(graphs=2, nodes=5, edges=6)
        >>> store.batch([1]).edge_index
        tensor([[1, 0],
                [0, 1]])
    """

    AXES: ClassVar[tuple[str, ...]] = ("node", "edge")

    degree: Tensor = column("node")
    neighbor: Tensor = column("edge", into="node")
    x: Tensor | None = column("node", optional=True)
    edge_attr: Tensor | None = column("edge", optional=True)
    y: Tensor | None = column("level", optional=True)

    # -- construction ------------------------------------------------------------------------

    @classmethod
    def from_edge_lists(
        cls,
        edge_lists: Iterable[Any],
        num_nodes: Sequence[int] | None = None,
        *,
        x: Any = None,
        edge_attr: Any = None,
        y: Any = None,
        level: Level | None = None,
        symmetrize: bool = False,
        drop_duplicates: bool = False,
        drop_self_loops: bool = False,
    ) -> Self:
        """Builds graphs from one list of (source, target) pairs each.

        Args:
            edge_lists: One [E, 2] list or array per graph, node ids from 0.
            num_nodes: Nodes of each graph; without it the largest id decides.
            x: Node features of all graphs, concatenated: [N, F].
            edge_attr: Edge features in the order of the lists, concatenated: [E, F].
            y: Targets, concatenated: one row per node, edge or graph.
            level: What a row of `y` belongs to.
            symmetrize: Adds missing reverse edges, with the same features.
            drop_duplicates: Keeps the first of edges given twice instead of failing.
            drop_self_loops: Leaves self-loops out instead of failing.
        """
        raw = convert.raw_from_edge_lists(
            edge_lists,
            num_nodes,
            x=None if x is None else np.asarray(x),
            edge_attr=None if edge_attr is None else np.asarray(edge_attr),
            y=None if y is None else np.asarray(y),
            level=level,
        )
        return cls.from_raw(
            raw,
            symmetrize=symmetrize,
            drop_duplicates=drop_duplicates,
            drop_self_loops=drop_self_loops,
        )

    @classmethod
    def from_pyg(
        cls,
        graphs: "Data | Iterable[Data]",
        *,
        level: Level | None = None,
        targets: bool = True,
        symmetrize: bool = False,
        drop_duplicates: bool = False,
        drop_self_loops: bool = False,
    ) -> Self:
        """Builds graphs from PyG's `Data`, or data sets: `x`, `edge_index`, `edge_attr` and `y`.

        The level of `y` is inferred from its length, unless it is given or `targets` is False.
        """
        graphs = _listed(graphs)
        graphs = [graphs] if hasattr(graphs, "edge_index") else graphs
        return cls.from_raw(
            convert.raw_from_pyg(graphs, level, targets),
            symmetrize=symmetrize,
            drop_duplicates=drop_duplicates,
            drop_self_loops=drop_self_loops,
        )

    @classmethod
    def from_networkx(
        cls,
        graphs: "networkx.Graph | Iterable[networkx.Graph]",
        *,
        symmetrize: bool = False,
        drop_self_loops: bool = False,
    ) -> Self:
        """Builds graphs from networkx; nodes are numbered in each graph's own order."""
        graphs = [graphs] if hasattr(graphs, "adj") else graphs
        raw = convert.raw_from_networkx(graphs)
        return cls.from_raw(
            raw, symmetrize=symmetrize, drop_duplicates=True, drop_self_loops=drop_self_loops
        )

    @classmethod
    def from_graph6(
        cls, lines: str | bytes | Iterable[str | bytes], *, drop_self_loops: bool = False
    ) -> Self:
        """Builds graphs from graph6 or sparse6 text, one graph a line."""
        split = lines.splitlines() if isinstance(lines, str | bytes) else lines
        return cls.from_networkx(convert.parse_graph6(split), drop_self_loops=drop_self_loops)

    @classmethod
    def from_smiles(
        cls,
        smiles: str | Iterable[str],
        *,
        y: Any = None,
        level: Level = "graph",
        explicit_hydrogens: bool = False,
        on_error: Literal["raise", "skip"] = "raise",
    ) -> Self:
        """Builds molecules from SMILES with RDKit.

        `x` and `edge_attr` are the integer columns `convert.ATOM_FEATURES` and
        `convert.BOND_FEATURES`. With `on_error="skip"` unreadable SMILES are left out, together
        with their graph-level target.
        """
        smiles = [smiles] if isinstance(smiles, str) else list(smiles)
        raw, kept = convert.raw_from_molecules(smiles, explicit_hydrogens, on_error)
        if len(kept) < len(smiles):
            log.warning("left out %d of %d SMILES", len(smiles) - len(kept), len(smiles))
        if y is not None:
            y = np.asarray(y)
            if level == "graph" and (y.ndim == 0 or len(y) != len(smiles)):
                raise InputError(f"y has shape {y.shape}; expected {len(smiles)}, one per SMILES")
            raw = dataclasses.replace(raw, y=y[kept] if level == "graph" else y, level=level)
        return cls.from_raw(raw)

    @classmethod
    def from_any(
        cls,
        graphs: Any,
        *,
        targets: bool = True,
        symmetrize: bool = False,
        drop_duplicates: bool = False,
        drop_self_loops: bool = False,
    ) -> "GraphStore":
        """A store as it is; PyG's or networkx graphs or SMILES, one or many, as a store.

        With `targets=False` what PyG's graphs have as `y` is left out, whatever it belongs to.

        Raises:
            InputError: Something else.
        """
        if isinstance(graphs, GraphStore):
            return graphs
        graphs = _listed(graphs)
        one = isinstance(graphs, str) or hasattr(graphs, "edge_index") or hasattr(graphs, "adj")
        several = [graphs] if one else list(graphs) if isinstance(graphs, Iterable) else []
        if several and all(isinstance(graph, str) for graph in several):
            return cls.from_smiles(several)
        if several and all(hasattr(graph, "edge_index") for graph in several):
            return cls.from_pyg(
                several,
                targets=targets,
                symmetrize=symmetrize,
                drop_duplicates=drop_duplicates,
                drop_self_loops=drop_self_loops,
            )
        if several and all(hasattr(graph, "adj") for graph in several):
            return cls.from_networkx(
                several, symmetrize=symmetrize, drop_self_loops=drop_self_loops
            )
        if isinstance(graphs, Sequence) and not several:
            return cls.from_edge_lists([])
        raise InputError(
            f"got {', '.join(sorted({type(graph).__name__ for graph in several or [graphs]}))}; "
            "expected a GraphStore, PyG Data, networkx graphs or SMILES, one kind of them. "
            "i2gnn.counting.count_file and i2gnn.graphs.readers read files"
        )

    @classmethod
    def from_raw(
        cls,
        raw: RawGraphs,
        *,
        symmetrize: bool = False,
        drop_duplicates: bool = False,
        drop_self_loops: bool = False,
    ) -> Self:
        """Checks, cleans and sorts raw graphs; what was dropped is logged."""
        raw, cleaning = clean(
            raw,
            symmetrize=symmetrize,
            drop_duplicates=drop_duplicates,
            drop_self_loops=drop_self_loops,
        )
        if cleaning.self_loops or cleaning.duplicates:
            log.warning(
                "dropped %d self-loops and %d duplicate edges",
                cleaning.self_loops,
                cleaning.duplicates,
            )
        nodes = int(raw.num_nodes.sum())
        return cls(
            sizes={"node": torch.as_tensor(raw.num_nodes), "edge": torch.as_tensor(raw.num_edges)},
            degree=torch.as_tensor(np.bincount(raw.edges[:, 1], minlength=nodes)).to(torch.int32),
            neighbor=torch.as_tensor(raw.edges[:, 0]).to(index_dtype(nodes)),
            x=_feature(raw.x),
            edge_attr=_feature(raw.edge_attr),
            y=_feature(raw.y),
            level=raw.level,
        )

    def with_targets(self, y: Tensor, level: Level) -> Self:
        """The same graphs with other targets; a vector becomes one column."""
        if level not in ("node", "edge", "graph"):
            raise InputError(f"level is {level!r}; expected 'node', 'edge' or 'graph'")
        y = torch.as_tensor(y)
        y = y if y.dim() > 1 else y.reshape(-1, 1)
        if len(y) != self.length(level):
            raise InputError(f"y has {len(y)} rows; expected {self.length(level)}, one per {level}")
        return dataclasses.replace(self, y=y, level=level)

    # -- sizes and maps ----------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        """Number of nodes N over all graphs."""
        return self.length("node")

    @property
    def num_edges(self) -> int:
        """Number of directed edges E over all graphs."""
        return self.length("edge")

    @cached_property
    def node_ptr(self) -> Tensor:
        """Where the nodes of each graph start, [G + 1]."""
        return self.ptr("node")

    @cached_property
    def edge_ptr(self) -> Tensor:
        """Where the edges of each node start, [N + 1]."""
        return offsets(self.degree)

    @cached_property
    def edge_to_node(self) -> Tensor:
        """The receiving node k of each edge k <- l, [E] int64."""
        return owners(self.edge_ptr, self.num_edges)

    @cached_property
    def edge_index(self) -> Tensor:
        """PyG's (source, target) of each edge, [2, E] int64."""
        return torch.stack([self.neighbor.long(), self.edge_to_node])

    @cached_property
    def reverse_edge(self) -> Tensor:
        """The edge l <- k of each edge k <- l, [E]."""
        # Edges are sorted by (k, l); sorted by (l, k), the t-th is the reverse of edge t.
        return torch.argsort(self.neighbor.long() * self.num_nodes + self.edge_to_node)

    @cached_property
    def node_to_graph(self) -> Tensor:
        """The graph of each node, [N]."""
        return self._to_graph("node")

    @cached_property
    def edge_to_graph(self) -> Tensor:
        """The graph of each edge, [E]."""
        return self._to_graph("edge")

    def _to_graph(self, axis: str) -> Tensor:
        return owners(self.ptr(axis), self.length(axis))

    def __repr__(self) -> str:
        parts = [f"graphs={len(self)}"]
        parts += [f"{_plural(axis)}={self.length(axis)}" for axis in self.sizes]
        for name in ("x", "edge_attr", "y"):
            tensor = getattr(self, name)
            if tensor is not None:
                at = f"@{self.level}" if name == "y" else ""
                parts.append(f"{name}=[{', '.join(map(str, tensor.shape))}]{at}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _listed(graphs: Any) -> Any:
    """The items of a PyTorch data set, as PyG's are, and anything else as it is."""
    if isinstance(graphs, Dataset):
        return [graphs[g] for g in range(len(graphs))]  # type: ignore[arg-type]
    return graphs


def _plural(axis: str) -> str:
    return f"{axis}es" if axis.endswith("ch") else f"{axis}s"


def _feature(values: Any) -> Tensor | None:
    """Features as a matrix: floats in single precision, integers and booleans as int64."""
    if values is None:
        return None
    tensor = torch.as_tensor(np.ascontiguousarray(values))
    tensor = tensor if tensor.dim() > 1 else tensor.unsqueeze(1)
    return tensor.float() if tensor.is_floating_point() else tensor.long()
