"""Connected graphlets with 3 and 4 nodes (Theorem 4.3), the triangle-rectangle, and a separation.

The paper writes down the three that are no path, cycle or star, two of them summed over the whole
graph. Here they are at nodes, at every position that a node can have in them. A second hop is
needed where a node is no neighbour of i, or where degrees count; rounds cost as for paths.
"""

from torch import Tensor

from i2gnn.expressiveness.constructions.paths_and_cycles import (
    paths_beyond_branch,
    paths_from_root,
)
from i2gnn.expressiveness.constructions.vocabulary import Rows

__all__ = [
    "chordal_cycle",
    "chordal_cycle_chord",
    "clique4",
    "path2_middle",
    "path3_middle",
    "star3",
    "star3_leaf",
    "tailed_triangle",
    "tailed_triangle_base",
    "tailed_triangle_hub",
    "triangle_rectangle",
]

# -- no identifier -----------------------------------------------------------------------------


def path2_middle(rows: Rows) -> Tensor:
    """2-paths around i: two of its neighbours, in either order."""
    return rows.total(rows.degree * (rows.degree - 1))


def star3(rows: Rows) -> Tensor:
    """Stars with three leaves around i: three of its neighbours, in any order.

    The proof of Theorem 4.3 leaves it out, the sixth of the graphlets with four nodes.
    """
    return rows.total(rows.degree * (rows.degree - 1) * (rows.degree - 2))


def star3_leaf(rows: Rows) -> Tensor:
    """Stars with three leaves, one of them i: two further neighbours of a neighbour."""
    return rows.total(rows.neighbors((rows.degree - 1) * (rows.degree - 2)))


# -- one identifier ----------------------------------------------------------------------------


def path3_middle(rows: Rows) -> Tensor:
    """3-paths with i second: a 2-path i - j - k and a neighbour of i that is neither j nor k."""
    h1, h2, _ = paths_from_root(rows)
    degree = rows.total(h1)
    return rows.total(h2) * (degree - 1) - rows.total(h1 * h2)


def tailed_triangle_hub(rows: Rows) -> Tensor:
    """Tailed triangles with i in the middle: a triangle at i, and a further neighbour."""
    h1, h2, _ = paths_from_root(rows)
    return rows.total(h1 * h2) * (rows.total(h1) - 2)


def tailed_triangle_base(rows: Rows) -> Tensor:
    """Tailed triangles with i in the triangle, off the tail: C3(i,k) (d_k - 2) over k in N(i)."""
    h1, h2, _ = paths_from_root(rows)
    return rows.total(h1 * h2 * (rows.degree - 2))


def chordal_cycle_chord(rows: Rows) -> Tensor:
    """Chordal cycles with the chord at i: two of the C3(i,k) triangles on an edge (i, k)."""
    h1, h2, _ = paths_from_root(rows)
    return rows.total(h1 * h2 * (h2 - 1))


# -- two identifiers ---------------------------------------------------------------------------


def tailed_triangle(rows: Rows) -> Tensor:
    """Tailed triangles with i at the leaf: triangles (j, k, l) without i, l before or after k.

    The proof of Theorem 4.3 puts i in the middle and j at the leaf, which is right summed over the
    graph; at the leaf it needs two identifiers, and two hops.
    """
    h1, h2, _ = paths_beyond_branch(rows)
    return rows.total(h1 * h2)


def chordal_cycle(rows: Rows) -> Tensor:
    """Chordal cycles with i at a corner off the chord (Theorem 4.3, and #4 of Theorem 4.1).

        h2[k] = [k in N(j), k != i] sum of [l in N(i), N(j)] over l in N(k)

    The chord is (j, l), or (l, j). In Theorem 4.3 it is divided by 4 and summed over the graph.
    """
    return rows.total(rows.off_root * rows.near_branch * rows.neighbors(rows.common))


def clique4(rows: Rows) -> Tensor:
    """4-cliques (Theorem 4.3): adjacent common neighbours k, l of i and j, in any order.

        h2[k] = [k in N(i), N(j)] sum of [l in N(i), N(j)] over l in N(k)

    The same h2 tells the rook's graph from Shrikhande's with one hop (Proposition 4.1): it is 1
    in the rook's graph and 0 in the other, not as printed.
    """
    return rows.total(rows.common * rows.neighbors(rows.common))


def triangle_rectangle(rows: Rows) -> Tensor:
    """Triangle-rectangles with i at the apex: 4-paths i - j - b - c - k, k in N(i) and N(j).

    The paper says so much in words. The triangle is (i, j, k), the rectangle (j, b, c, k); each is
    found from both ends of their common edge. Two hops, since b and c are neighbours of j and k.
    """
    return rows.total(rows.common * paths_beyond_branch(rows)[2])
