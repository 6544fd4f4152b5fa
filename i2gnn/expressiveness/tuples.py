"""k-WL and k-FWL: colours of the k-tuples of nodes of every graph.

Time n^(k+1) log n per round, memory n^k, for a graph of n nodes.
"""

import numpy as np

from i2gnn.expressiveness.naming import name_tuples
from i2gnn.expressiveness.refinement import (
    Ints,
    NodeOrGraph,
    combine,
    feature_colors,
    integers,
    name_multisets,
)
from i2gnn.graphs.store import GraphStore

__all__ = ["TupleRefinement"]


class TupleRefinement:
    """Refines colours of k-tuples; the round is that of `naming.name_tuples`.

    The first colour of a tuple is its type: which of its nodes are equal, which are adjacent, and
    their features. A graph is the multiset of the colours of its tuples. A node a is what the next
    round would call the tuple (a, ..., a); for k = 2 this is all that PPGN reads of a node.

    Args:
        graphs: Refined together, so that their colours can be compared.
        length: k, at least 2.
        folklore: k-FWL rather than k-WL.
    """

    def __init__(self, graphs: GraphStore, length: int, folklore: bool) -> None:
        self.length, self.folklore = length, folklore
        self.sizes = integers(graphs.sizes["node"])
        per_graph = self.sizes**length
        self.ptr = np.concatenate([[0], np.cumsum(per_graph)]).astype(np.int64)
        nodes = feature_colors(graphs.x, graphs.num_nodes)
        edges = feature_colors(graphs.edge_attr, graphs.num_edges)
        parts = [self._types(graphs, g, nodes, edges) for g in range(len(graphs))]
        none = np.empty((length * length, 0), np.int64)
        self.colors, self.num_colors = combine(*np.concatenate([none, *parts], axis=1))

    def step(self) -> None:
        """Takes one round."""
        self.colors, self.num_colors = self._next()

    def read(self, level: NodeOrGraph) -> Ints:
        """Colours of the nodes, [N], or of the graphs, [G]."""
        if level == "graph":
            return name_multisets(self.colors, (self.ptr, np.arange(self.ptr[-1])))
        names, _ = self._next()
        diagonals = [
            start + np.arange(n) * sum(n**m for m in range(self.length))
            for start, n in zip(self.ptr, self.sizes.tolist(), strict=False)
        ]
        return np.asarray(names[np.concatenate([np.empty(0, np.int64), *diagonals])])

    def _next(self) -> tuple[Ints, int]:
        if self.num_colors**self.length >= 2**63:
            raise ValueError(
                f"{self.num_colors} colours of {self.length}-tuples are too many to name exactly"
            )
        names = np.empty_like(self.colors)
        count = name_tuples(
            self.colors, self.num_colors, self.length, self.folklore, self.sizes, names
        )
        return names, count

    def _types(self, graphs: GraphStore, graph: int, nodes: Ints, edges: Ints) -> Ints:
        """Colours of the nodes of each tuple and of ordered pairs of these, [k * k, n^k]."""
        n, first = int(self.sizes[graph]), int(graphs.offsets["node"][graph])
        start, stop = graphs.offsets["edge"][graph : graph + 2].tolist()
        source, target = integers(graphs.edge_index[:, start:stop]) - first
        kind = np.identity(n, dtype=np.int64)  # 0 apart, 1 equal, 2 and more adjacent
        kind[target, source] = 2 + edges[start:stop]
        places = np.indices((n,) * self.length).reshape(self.length, -1)
        of_node = nodes[first : first + n]
        types = [of_node[a] for a in places]
        for m, a in enumerate(places):
            types += [kind[a, b] for p, b in enumerate(places) if p != m]
        return np.stack(types)
