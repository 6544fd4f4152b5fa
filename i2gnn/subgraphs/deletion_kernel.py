"""Compiled loop over roots: the rest of the graph."""

import numpy as np
import numpy.typing as npt

from i2gnn.parallel import jit

__all__ = ["fill_deletions"]

Ints = npt.NDArray[np.int64]


@jit
def fill_deletions(
    start: int,
    stop: int,
    graph_ptr: Ints,
    node_to_graph: Ints,
    edge_ptr: Ints,
    neighbor: Ints,
    pair_ptr: Ints,
    link_ptr: Ints,
    pair_to_node: Ints,
    link_count: Ints,
    link_to_pair: Ints,
    link_to_edge: Ints,
) -> None:
    """Pairs (i, k): i without links, then all other nodes of its graph, ascending."""
    for i in range(start, stop):
        first, end = graph_ptr[node_to_graph[i]], graph_ptr[node_to_graph[i] + 1]
        base, q = pair_ptr[i], link_ptr[i]
        pair_to_node[base] = i
        link_count[base] = 0
        for k in range(first, end):
            if k == i:
                continue
            p = base + k - first + (k < i)
            pair_to_node[p] = k
            before = q
            for e in range(edge_ptr[k], edge_ptr[k + 1]):
                l = neighbor[e]  # noqa: E741 (the paper's name)
                if l != i:
                    link_to_pair[q] = base + l - first + (l < i)
                    link_to_edge[q] = e
                    q += 1
            link_count[p] = q - before
