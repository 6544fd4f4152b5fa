"""Paths that start at every node."""

# ruff: noqa: SIM109 (a chain of comparisons stays in registers; a tuple has to be built)

import numpy as np

from i2gnn.counting.adjacency import Adjacency
from i2gnn.counting.workers import Array, num_chunks
from i2gnn.parallel import jit, run_chunks

__all__ = ["LONGEST", "paths_from_nodes"]

LONGEST = 6


def paths_from_nodes(adjacency: Adjacency, longest: int, description: str = "") -> Array:
    """Number of paths with 1 .. longest edges that start at each node, [N, longest] int64."""
    counts = np.zeros((adjacency.num_nodes, LONGEST), dtype=np.int64)
    arguments = (adjacency.edge_ptr, adjacency.neighbor, longest, counts)
    run_chunks(
        _walk,
        adjacency.num_nodes,
        arguments,
        weights=adjacency.degree + 1,
        chunks=num_chunks(adjacency.num_nodes),
        description=description,
    )
    return counts[:, :longest]


@jit
def _walk(
    start: int, stop: int, edge_ptr: Array, neighbor: Array, longest: int, counts: Array
) -> None:
    """Six nested loops: the nodes of the path stay in registers, and no array is marked."""
    for a in range(start, stop):
        two = three = four = five = six = 0
        for ab in range(edge_ptr[a], edge_ptr[a + 1]):
            b = neighbor[ab]
            two += edge_ptr[b + 1] - edge_ptr[b] - 1
            if longest < 3:
                continue
            for bc in range(edge_ptr[b], edge_ptr[b + 1]):
                c = neighbor[bc]
                if c == a:
                    continue
                for cd in range(edge_ptr[c], edge_ptr[c + 1]):
                    d = neighbor[cd]
                    if d == a or d == b:
                        continue
                    three += 1
                    if longest < 4:
                        continue
                    for de in range(edge_ptr[d], edge_ptr[d + 1]):
                        e = neighbor[de]
                        if e == a or e == b or e == c:
                            continue
                        four += 1
                        if longest < 5:
                            continue
                        for ef in range(edge_ptr[e], edge_ptr[e + 1]):
                            f = neighbor[ef]
                            if f == a or f == b or f == c or f == d:
                                continue
                            five += 1
                            if longest < 6:
                                continue
                            for fg in range(edge_ptr[f], edge_ptr[f + 1]):
                                g = neighbor[fg]
                                six += (g != a) & (g != b) & (g != c) & (g != d) & (g != e)
        counts[a, 0] = edge_ptr[a + 1] - edge_ptr[a]
        counts[a, 1] = two
        counts[a, 2] = three
        counts[a, 3] = four
        counts[a, 4] = five
        counts[a, 5] = six
