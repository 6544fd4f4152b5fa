"""Paths that start at every node.

Those of four edges follow from degrees, triangles and 4-cycles. For longer ones, a depth-first
search walks all but the last three edges; two loops and a subtraction do the rest. The last edge
is not walked: a path that ends in f goes on to every neighbour of f that is not on it, so it is
enough to know how many of its nodes are neighbours of f.
"""

import numpy as np

from i2gnn.counting.adjacency import Adjacency
from i2gnn.counting.workers import BEYOND, Array, run_with_scratch
from i2gnn.parallel import jit

__all__ = ["LONGEST", "four_paths_from_nodes", "paths_from_nodes"]

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


def four_paths_from_nodes(adjacency: Adjacency, triangles: Array, squares: Array) -> Array:
    """Number of paths with four edges that start at each node, [N] int64; -1 beyond 64 bits.

    For a path i a b c d, let i, a and b be given. A neighbour c of b goes on to deg(c) - 1 nodes
    d, w(b) in all; taken away is what has c = a or c = i, d = a or d = i. Summed over b and a,

        sum over a in N(i) of (W(a) - (deg(a) - 1)^2 - 2 t(a))
            - deg(i) w(i) - 2 t(i) (deg(i) - 3) - 2 q(i)

    with W(a) the sum of w over N(a), t the triangles and q the 4-cycles at a node. Thus a node of
    degree d costs d steps where a search would take d^2.

    Args:
        adjacency: The graphs.
        triangles: At each node, [N].
        squares: 4-cycles at each node, [N].
    """

    def count(degree: Array, t: Array, q: Array) -> Array:
        w = _sum_neighbors(adjacency, degree - 1)
        around = _sum_neighbors(adjacency, w) - (degree - 1) ** 2 - 2 * t
        own: Array = degree * w + 2 * t * (degree - 3) + 2 * q
        result: Array = _sum_neighbors(adjacency, around) - own
        return result

    numbers = adjacency.degree, triangles, squares
    estimate = count(*(number.astype(np.float64) for number in numbers))
    # Whole numbers wrap around, so that the result is right whatever was too large in between.
    return np.where(estimate > BEYOND, -1, count(*(number.astype(np.int64) for number in numbers)))


def _sum_neighbors(adjacency: Adjacency, values: Array) -> Array:
    """Sum of the values at the neighbours of each node, [N]."""
    return adjacency.sum_edges(values[adjacency.neighbor][:, None])[:, 0]


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
