"""`count`: exact counts for any graphs, and the table they make."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from i2gnn.counting import cycles, graphlets, match, paths
from i2gnn.counting.adjacency import Adjacency
from i2gnn.counting.patterns import CATALOGUE, Pattern, resolve
from i2gnn.counting.workers import BEYOND, Array
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore, Level

__all__ = ["Counts", "count"]

BLOCK_NODES = 2**20
"""Graphs are counted in blocks of about this many nodes, so that scratch memory stays small."""


@dataclass(frozen=True)
class Counts:
    """Exact counts, one row per node, directed edge or graph of the store.

    Attributes:
        values: [N | E | G, T] int64, in the order of the store and of `patterns`.
        patterns: The T substructures.
        level: What a row belongs to.
        store: The graphs that were counted in.
    """

    values: Tensor
    patterns: tuple[Pattern, ...]
    level: Level
    store: GraphStore

    @property
    def what(self) -> list[str]:
        """Names of the columns."""
        return [pattern.name for pattern in self.patterns]

    def per_graph(self) -> Tensor:
        """Number of copies in each graph, [G, T], whatever the level."""
        if self.level == "graph":
            return self.values
        store = self.store.to("cpu")
        owner = store.node_to_graph if self.level == "node" else store.edge_to_graph
        total = _sum_rows(self.values, owner, len(store), self.what)
        times = [pattern.multiplicity(self.level) for pattern in self.patterns]
        if self.level == "edge":  # both directions have a row
            times = [2 * t for t in times]
        return total // torch.tensor(times, dtype=torch.int64)

    def to_frame(
        self, graph_ids: Sequence[int] | None = None, node_names: Array | None = None
    ) -> pd.DataFrame:
        """A table: `graph`, then `node` or `source` and `target`, then one column each.

        Nodes are numbered from 0 inside each graph; an edge has one row, source < target.

        Args:
            graph_ids: Numbers of the graphs, 0, 1, ... if not given.
            node_names: What to call the nodes instead, [N].
        """
        store, values = self.store.to("cpu"), self.values
        frame: dict[str, Array] = {}
        ids = np.arange(len(store)) if graph_ids is None else np.asarray(graph_ids)
        first = store.offsets["node"].numpy()
        if self.level == "graph":
            frame["graph"] = ids
        elif self.level == "node":
            graph = store.node_to_graph.numpy()
            frame["graph"] = ids[graph]
            frame["node"] = np.arange(store.num_nodes) - first[graph]
            if node_names is not None:
                frame["node"] = node_names
        else:
            node, other = store.edge_to_node, store.neighbor
            once = node < other
            graph = store.edge_to_graph[once].numpy()
            frame["graph"] = ids[graph]
            frame["source"] = node[once].numpy() - first[graph]
            frame["target"] = other[once].numpy() - first[graph]
            if node_names is not None:
                frame["source"], frame["target"] = node_names[node[once]], node_names[other[once]]
            values = values[once]
        taken = [name for name in self.what if name in frame]
        if taken:
            raise InputError(f"a pattern is called {taken[0]!r}, as is a column that says where")
        table = values.numpy()
        return pd.DataFrame(frame | {name: table[:, c] for c, name in enumerate(self.what)})


def count(
    graphs: Any,
    what: str | Pattern | Iterable[str | Pattern],
    level: Level = "node",
    *,
    symmetrize: bool = False,
    drop_duplicates: bool = False,
    drop_self_loops: bool = False,
    progress: bool = False,
) -> Counts:
    """Counts substructures exactly.

    Args:
        graphs: A `GraphStore`, or PyG, networkx or SMILES graphs: one or a list.
        what: Names such as "cycle3" or "cycle3..cycle6", patterns, or a list of these.
        level: "node", "edge" or "graph"; see `Pattern` for what each means.
        symmetrize: Takes directed edges as undirected ones, which are otherwise refused, and so
            are the two that follow. A `GraphStore` has been checked when it was made.
        drop_duplicates: Counts an edge that is given several times once.
        drop_self_loops: Leaves them out.
        progress: Shows bars on standard error.

    Raises:
        InputError: An unknown name, graphs of an unknown kind, or a count beyond 64 bits.

    Example:
        >>> count("C1CC1C", ["cycle3", "path2"]).values
        tensor([[1, 3],
                [1, 3],
                [1, 2],
                [0, 2]])
        >>> count("C1CC1C", "cycle3", level="graph").values
        tensor([[1]])
    """
    store = GraphStore.from_any(
        graphs,
        targets=False,
        symmetrize=symmetrize,
        drop_duplicates=drop_duplicates,
        drop_self_loops=drop_self_loops,
    )
    patterns = tuple(resolve(what))
    if level not in ("node", "edge", "graph"):
        raise InputError(f"level is {level!r}; expected 'node', 'edge' or 'graph'")
    parts = [_count_block(block, patterns, level, progress) for block in _blocks(store)]
    empty = torch.zeros(0, len(patterns), dtype=torch.int64)
    return Counts(torch.cat([empty, *parts]), patterns, level, store)


def _blocks(store: GraphStore) -> Iterator[GraphStore]:
    if store.num_nodes <= BLOCK_NODES:
        yield store
        return
    ends = store.offsets["node"][1:].numpy()
    block = (ends - 1) // BLOCK_NODES
    for graphs in np.split(np.arange(len(store)), np.flatnonzero(np.diff(block)) + 1):
        yield store.batch(graphs) if len(graphs) < len(store) else store


def _count_block(
    store: GraphStore, patterns: Sequence[Pattern], level: Level, progress: bool
) -> Tensor:
    adjacency = Adjacency.of(store)
    names = {p.name for p in patterns if CATALOGUE.get(p.name) == p}
    kind: Level = "edge" if level == "edge" else "node"
    known = _edge_columns if level == "edge" else _node_columns
    columns = known(adjacency, names, progress)
    for pattern in patterns:
        if pattern.name not in columns:
            search = match.copies_at_edges if level == "edge" else match.copies_at_nodes
            columns[pattern.name] = search(adjacency, pattern, _title(progress, pattern.name))
    table = np.stack([columns[p.name] for p in patterns], axis=1)
    if (table < 0).any():
        row, column = np.argwhere(table < 0)[0]
        raise InputError(
            f"{patterns[column].name} at {kind} {row}: the count exceeds 64 bits "
            f"({np.iinfo(np.int64).max})"
        )
    counts = Counts(torch.from_numpy(table), tuple(patterns), kind, store)
    return counts.per_graph() if level == "graph" else counts.values


def _node_columns(adjacency: Adjacency, names: set[str], progress: bool) -> dict[str, Array]:
    """The named counts at nodes that have an algorithm of their own."""
    columns: dict[str, Array] = {}
    orbits = {name for name in names if name.startswith("orbit")}
    small = names & graphlets.COLUMN.keys() or orbits
    lengths = [int(name[-1]) for name in names if name.startswith("cycle")]
    if lengths or small or "path4" in names:
        longest = max([4, *lengths])
        edge = cycles.cycles_through_edges(adjacency, longest, _title(progress, "cycles"))
        node = adjacency.sum_edges(edge)
        columns |= {f"cycle{length}": node[:, length - 3] // 2 for length in lengths}
    if small:
        table = graphlets.graphlets_at_nodes(adjacency, edge[:, :2], _title(progress, "graphlets"))
        columns |= {n: table[:, c] for n, c in graphlets.COLUMN.items() if n in names}
        induced = graphlets.induced_orbits(table) if orbits else table
        columns |= {name: induced[:, int(name.removeprefix("orbit"))] for name in orbits}
    if "path4" in names:
        triangles, squares = node[:, 0] // 2, node[:, 1] // 2
        columns["path4"] = paths.four_paths_from_nodes(adjacency, triangles, squares)
    known = {*graphlets.COLUMN, "path4"}
    long = [int(n[-1]) for n in names if n.startswith("path") and n not in known]
    if long:
        walked = paths.paths_from_nodes(adjacency, max(long), _title(progress, "paths"))
        columns |= {f"path{length}": walked[:, length] for length in long}
    for name in (n for n in names if n.startswith("star")):
        columns[name] = graphlets.stars(adjacency.degree, int(name[-1]))
    return columns


def _edge_columns(adjacency: Adjacency, names: set[str], progress: bool) -> dict[str, Array]:
    """The named counts at edges that have an algorithm of their own."""
    columns: dict[str, Array] = {}
    lengths = [int(name[-1]) for name in names if name.startswith("cycle")]
    if lengths:
        edge = cycles.cycles_through_edges(adjacency, max(lengths), _title(progress, "cycles"))
        columns |= {f"cycle{length}": edge[:, length - 3] for length in lengths}
    for name in (n for n in names if n.startswith("star")):
        # One end is the centre, and the other leaves are chosen from its other neighbours.
        rest = graphlets.stars(np.maximum(adjacency.degree - 1, 0), int(name[-1]) - 1)
        ends = rest[adjacency.edge_to_node], rest[adjacency.neighbor]
        fits = (ends[0] >= 0) & (ends[1] >= 0) & (ends[0] <= graphlets.MOST - ends[1])
        columns[name] = np.where(fits, ends[0] + ends[1], -1)
    return columns


def _title(progress: bool, what: str) -> str:
    return f"counting {what}" if progress else ""


def _sum_rows(values: Tensor, owner: Tensor, length: int, names: Sequence[str]) -> Tensor:
    """Adds rows by owner; a sum that does not fit into 64 bits is an error."""
    total = torch.zeros(length, values.shape[1], dtype=torch.int64).index_add_(0, owner, values)
    # The float sum is off by a part in 10^10 at most, and only sums near the limit matter.
    estimate = torch.zeros(length, values.shape[1], dtype=torch.float64)
    estimate.index_add_(0, owner, values.double())
    if (estimate > BEYOND).any():
        graph, column = (estimate > BEYOND).nonzero()[0].tolist()
        raise InputError(f"{names[column]} in graph {graph}: the sum over rows exceeds 64 bits")
    return total
