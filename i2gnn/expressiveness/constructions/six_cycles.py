"""6-cycles (Theorem 4.1): pairs of a 4-path and a 2-path, less those that meet.

Let a 4-path i - a - b - c - k and a 2-path i - m - k have the same ends. If m is none of a, b, c
they make a 6-cycle, which is found twice, once in each direction. So

    2 C6(i) = #0(i) - #1(i) - #2(i) - #3(i)

where #0 counts all pairs, #1 those with m = c, #2 those with m = b and #3 those with m = a. The
paper prints C6(i) in place of 2 C6(i).

Three hops hold all of it: k is within two of i, and a, b, c are neighbours of i, a and k. Three
rounds are as many as P4 takes; with 3-hop ego-nets of up to d^3 nodes, N d^5 additions in each.
"""

from torch import Tensor

from i2gnn.expressiveness.constructions.graphlets import chordal_cycle
from i2gnn.expressiveness.constructions.paths_and_cycles import (
    paths_beyond_branch,
    paths_from_root,
)
from i2gnn.expressiveness.constructions.vocabulary import Rows

__all__ = ["all_pairs", "cycle6", "meeting_first", "meeting_last", "meeting_midway"]


def cycle6(rows: Rows) -> Tensor:
    """6-cycles (Theorem 4.1): #0 - #1 - #2 - #3, each cycle in both directions."""
    return all_pairs(rows) - meeting_last(rows) - meeting_midway(rows) - meeting_first(rows)


def all_pairs(rows: Rows) -> Tensor:
    """#0(i), the sum of P4(i,k) P2(i,k) over k: P4 by its first step j, P2 without j."""
    return rows.total(paths_beyond_branch(rows)[2] * paths_from_root(rows)[1])


def meeting_last(rows: Rows) -> Tensor:
    """#1(i), pairs i - j - b - c - k and i - c - k: 4-paths whose last node but one is in N(i).

        h3[k] = [k != i, j] sum of [l in N(i)] (h2[l] - h1[k]) over l in N(k) except j

    with h1 and h2 of `paths_beyond_branch`; l is c, and h1[k] the path j - k - c to leave out.

    As printed, h1[l] is subtracted, which says whether c is adjacent to j, and not h1[k], which
    says whether k is.
    """
    h1, h2, _ = paths_beyond_branch(rows)
    last = rows.near_root * rows.off_both
    paths = rows.off_both * (rows.neighbors(last * h2) - h1 * rows.neighbors(last))
    return rows.total(paths)


def meeting_midway(rows: Rows) -> Tensor:
    """#2(i), pairs i - a - j - c - k and i - j - k: triangles (i, a, j) and (j, c, k).

        #2(i) = sum of (C3(i,j) - [k in N(i)]) (C3(j,k) - [k in N(i)]) - 2 #4(i)

    over j in N(i) and k in N(j) except i. The indicators leave out a = k and c = i; a = c is what
    #4 is for, where i and k are the corners of a chordal cycle on (a, j), or on (j, a).

    The product has a factor C3(i,j) that is known at the readout over k alone:

        sum over j of C3(i,j) (sum over k of g[k])  -  sum over j, k of [k in N(i)] g[k]
        with g[k] = [k in N(j), k != i] (C3(j,k) - [k in N(i)])

    As printed, sums run over all k, and k = i adds C3(i,j)^2 for every j.
    """
    beyond = rows.off_root * rows.near_branch
    g = beyond * (rows.neighbors(rows.near_branch) - rows.near_root)
    on_edge = rows.over_nodes(rows.common)  # C3(i, j)
    product = rows.over_branches(on_edge * rows.over_nodes(g)) - rows.total(rows.near_root * g)
    return product - chordal_cycle(rows)  # which finds each of #4 twice


def meeting_first(rows: Rows) -> Tensor:
    """#3(i), pairs i - j - b - c - k and i - j - k: 4-paths that end in N(j).

    As printed, with the h3 of Lemma E.1 as printed.
    """
    return rows.total(rows.near_branch * paths_beyond_branch(rows)[2])
