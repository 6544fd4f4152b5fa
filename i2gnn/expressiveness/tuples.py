"""k-WL and k-FWL: colours of the k-tuples of nodes of every graph.

A round takes time n^k of k-WL and n^(k+1) of k-FWL, and memory n^k, for a graph of n nodes.
"""

from collections.abc import Iterator

import numpy as np

from i2gnn.errors import InputError
from i2gnn.expressiveness.folklore import name_folklore, same_signatures
from i2gnn.graphs.store import GraphStore
from i2gnn.memory import available_memory, format_size
from i2gnn.refinement.rounds import (
    Ints,
    NodeOrGraph,
    combine,
    feature_colors,
    integers,
    name_multisets,
)

__all__ = ["TupleRefinement"]

BYTES = 64
"""Memory of a round for each tuple: eight numbers."""


class TupleRefinement:
    """Refines colours of k-tuples v = (v_1, ..., v_k).

        k-FWL   c[v] = (c[v], multiset of (c[v 1->w], ..., c[v k->w]) over w)
        k-WL    c[v] = (c[v], for m = 1..k the multiset of c[v m->w] over w)

    where v m->w is the tuple v with its m-th node replaced by w. The first colour of a tuple is its
    type: which of its nodes are equal, which are adjacent, and their features. A graph is the
    multiset of the colours of its tuples. A node a is what the next round would call the tuple
    (a, ..., a); for k = 2 this is all that PPGN reads of a node.

    Args:
        graphs: Refined together, so that their colours can be compared.
        length: k, at least 2.
        folklore: k-FWL rather than k-WL.
        every_round: Whether the colours of every round must be exact, or only those on which a
            refinement ends because they are stable; makes no difference to k-WL.

    Raises:
        InputError: The tuples do not fit into memory.
    """

    def __init__(
        self, graphs: GraphStore, length: int, folklore: bool, every_round: bool = True
    ) -> None:
        self.length, self.folklore, self.every_round = length, folklore, every_round
        self.seed = 0
        self.sizes = integers(graphs.sizes["node"])
        self.ptr = np.concatenate([[0], np.cumsum(self.sizes**length)]).astype(np.int64)
        needed = BYTES * int(self.ptr[-1])
        if needed > (free := available_memory()):
            raise InputError(
                f"{self.ptr[-1]:,} {length}-tuples of {graphs.num_nodes:,} nodes need about "
                f"{format_size(needed)}, of which {format_size(free)} are free; "
                "take fewer or smaller graphs, or a test with shorter tuples"
            )
        self.colors, self.num_colors = self._types(graphs)

    def step(self) -> None:
        """Takes one round."""
        self.colors, self.num_colors = self._next()

    def is_stable(self) -> bool:
        """Whether tuples of one colour have one signature.

        Fingerprints may have given one colour to more tuples than the exact test does, never to
        fewer. If such colours are stable, they are as fine as those of the exact test.
        """
        if self.every_round or not self.folklore:
            return True
        self.seed += 1  # so that a next round does not repeat a coincidence
        return same_signatures(self.colors, self.colors, self.length, self.sizes)

    def read(self, level: NodeOrGraph) -> Ints:
        """Colours of the nodes, [N], or of the graphs, [G]."""
        if level == "graph":
            parts = [np.sort(colors.ravel()) for colors in self._by_graph(self.colors)]
            return name_multisets(_joined(parts), (self.ptr, np.arange(self.ptr[-1])))
        names, _ = self._next()
        diagonals = [
            start + np.arange(n) * sum(n**m for m in range(self.length))
            for start, n in zip(self.ptr, self.sizes.tolist(), strict=False)
        ]
        return np.asarray(names[_joined(diagonals)])

    def _next(self) -> tuple[Ints, int]:
        if self.folklore:
            return self._next_folklore()
        names = self.colors
        for axis in range(self.length):
            names, count = combine(names, self._along(axis))
        return names, count

    def _next_folklore(self) -> tuple[Ints, int]:
        while True:
            names, count = name_folklore(self.colors, self.length, self.sizes, self.seed)
            if not self.every_round or same_signatures(names, self.colors, self.length, self.sizes):
                return names, count
            self.seed += 1

    def _along(self, axis: int) -> Ints:
        """For each tuple the multiset of the colours of all that differ from it in one node."""
        lines = [np.moveaxis(c, axis, -1).ravel() for c in self._by_graph(self.colors)]
        ends = np.repeat(self.sizes, self.sizes ** (self.length - 1)).cumsum()
        ptr = np.concatenate([[0], ends])
        names = name_multisets(_joined(lines), (ptr, np.arange(self.ptr[-1])))
        spread = self._by_graph(np.repeat(names, ptr[1:] - ptr[:-1]))
        return _joined([np.moveaxis(c, -1, axis).ravel() for c in spread])

    def _by_graph(self, values: Ints) -> Iterator[Ints]:
        """Values of the tuples of each graph, [n, ..., n]."""
        for g, n in enumerate(self.sizes.tolist()):
            yield values[self.ptr[g] : self.ptr[g + 1]].reshape((n,) * self.length)

    def _types(self, graphs: GraphStore) -> tuple[Ints, int]:
        """Colours of the nodes of each tuple and of all ordered pairs of these."""
        colors = feature_colors(graphs.x, graphs.num_nodes)
        nodes = np.split(colors, integers(graphs.node_ptr)[1:-1])[: len(graphs)]
        colors = feature_colors(graphs.edge_attr, graphs.num_edges)
        kinds = [_kinds(graphs, g, colors) for g in range(len(graphs))]
        names, count = np.zeros(self.ptr[-1], np.int64), 1
        for m in range(self.length):
            names, count = combine(names, self._spread(nodes, (m,)))
            for p in range(self.length):
                if p != m:
                    names, count = combine(names, self._spread(kinds, (m, p)))
        return names, count

    def _spread(self, values: list[Ints], axes: tuple[int, ...]) -> Ints:
        """Values of nodes or of pairs, given to all tuples that have these at the given places."""
        parts = []
        for n, of_graph in zip(self.sizes.tolist(), values, strict=True):
            turned = of_graph if axes == tuple(sorted(axes)) else of_graph.T
            shape = [n if axis in axes else 1 for axis in range(self.length)]
            parts.append(np.broadcast_to(turned.reshape(shape), (n,) * self.length).ravel())
        return _joined(parts)


def _kinds(graphs: GraphStore, graph: int, edges: Ints) -> Ints:
    """Of each ordered pair of nodes: 0 apart, 1 equal, 2 and more adjacent; [n, n]."""
    n, first = int(graphs.sizes["node"][graph]), int(graphs.offsets["node"][graph])
    start, stop = graphs.offsets["edge"][graph : graph + 2].tolist()
    source, target = integers(graphs.edge_index[:, start:stop]) - first
    kinds = np.identity(n, dtype=np.int64)
    kinds[target, source] = 2 + edges[start:stop]
    return kinds


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *parts])
