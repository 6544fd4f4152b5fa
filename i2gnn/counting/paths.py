"""Paths that start at every node.

A depth-first search walks all but the last three edges; two loops and a subtraction do the rest.
The last edge is not walked: a path that ends in f goes on to every neighbour of f that is not on
it, so it is enough to know how many of its nodes are neighbours of f.
"""

import numpy as np

from i2gnn.counting.adjacency import Adjacency
from i2gnn.counting.workers import Array, run_with_scratch
from i2gnn.parallel import jit

__all__ = ["LONGEST", "paths_from_nodes"]

LONGEST = 6


def paths_from_nodes(adjacency: Adjacency, longest: int, description: str = "") -> Array:
    """Number of paths with 0 .. longest edges that start at each node, [N, longest + 1] int64.

    `longest` is 3 to 6.
    """
    nodes = adjacency.num_nodes
    counts = np.zeros((nodes, longest + 1), dtype=np.int64)

    def scratch() -> tuple[Array, Array]:
        return np.zeros(nodes, dtype=np.bool_), np.zeros(nodes, dtype=np.int32)

    run_with_scratch(
        _walk,
        nodes,
        (adjacency.edge_ptr, adjacency.neighbor, longest, counts),
        scratch,
        weights=adjacency.degree + 1,
        description=description,
    )
    return counts


@jit
def _walk(
    start: int,
    stop: int,
    edge_ptr: Array,
    neighbor: Array,
    longest: int,
    counts: Array,
    on_path: Array,
    touching: Array,
) -> None:
    """`touching` is the number of neighbours each node has on the path; all zero in the end."""
    path = np.zeros(LONGEST, np.int64)
    cursor = np.zeros(LONGEST, np.int64)
    last = longest - 3
    for root in range(start, stop):
        depth = -1
        node = root
        while True:
            # Enter `node`.
            depth += 1
            path[depth] = node
            cursor[depth] = edge_ptr[node]
            counts[root, depth] += 1
            on_path[node] = True
            for e in range(edge_ptr[node], edge_ptr[node + 1]):
                touching[neighbor[e]] += 1
            if depth == last:
                one = two = three = 0
                for e in range(edge_ptr[node], edge_ptr[node + 1]):
                    middle = neighbor[e]
                    if on_path[middle]:
                        continue
                    one += 1
                    for f in range(edge_ptr[middle], edge_ptr[middle + 1]):
                        end = neighbor[f]
                        if not on_path[end]:
                            two += 1
                            three += edge_ptr[end + 1] - edge_ptr[end] - touching[end] - 1
                counts[root, depth + 1] += one
                counts[root, depth + 2] += two
                counts[root, depth + 3] += three
                cursor[depth] = edge_ptr[node + 1]
            # Find the next node to enter, leaving those that have none left.
            while depth >= 0:
                here = path[depth]
                while cursor[depth] < edge_ptr[here + 1] and on_path[neighbor[cursor[depth]]]:
                    cursor[depth] += 1
                if cursor[depth] < edge_ptr[here + 1]:
                    break
                for e in range(edge_ptr[here], edge_ptr[here + 1]):
                    touching[neighbor[e]] -= 1
                on_path[here] = False
                depth -= 1
            if depth < 0:
                break
            node = neighbor[cursor[depth]]
            cursor[depth] += 1
