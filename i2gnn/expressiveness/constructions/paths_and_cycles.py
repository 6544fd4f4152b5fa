"""Paths and cycles: Theorems B.1, 3.1, 4.1 and 4.2, but for 6-cycles.

Every function returns a sum over branches, in which one copy is found several times; how often is
`Construction.times`. The longest chain of `neighbors` is the number of rounds, and a round adds up
one number per message: sum of |E_i| over the roots with one identifier, of d_i |E_i| with two.
Ego-nets must hold every copy that is counted, so their radius is how far it can reach from i.
"""

from torch import Tensor

from i2gnn.expressiveness.constructions.vocabulary import Rows

__all__ = [
    "cycle3",
    "cycle3_by_branch",
    "cycle4",
    "cycle4_by_branch",
    "cycle5",
    "distances",
    "path2",
    "path2_by_branch",
    "path2_by_degree",
    "path3",
    "path3_by_branch",
    "path4",
    "paths_beyond_branch",
    "paths_from_root",
]

# -- no identifier -----------------------------------------------------------------------------


def path2_by_degree(rows: Rows) -> Tensor:
    """2-paths from i without identifiers (Theorem B.1): the sum of d_k - 1 over k in N(i).

    Two rounds: every node learns its degree, then that of its neighbours.
    """
    return rows.total(rows.neighbors(rows.degree - 1))


# -- one identifier: the root ------------------------------------------------------------------


def distances(rows: Rows, rounds: int) -> Tensor:
    """1 + the distance from i to k, or 0 beyond `rounds` (Lemma D.1): [R].

        h[k] <- h[k] + (t + 2) [h[k] = 0] [some neighbour has h > 0]        in round t = 0, 1, ...

    So one identifier is as good as distances, and with [h > 0] as a mask as good as ego-nets.

    As printed, a node that has a distance is given 1 in the next round, so that only the last
    distance survives, and the root is like its neighbours, 1.
    """
    h = rows.root
    for t in range(rounds):
        reached = (h == 0) & (rows.neighbors(h) > 0)
        h = h + (t + 2) * reached
    return h


def paths_from_root(rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
    """1-, 2- and 3-paths from i to k (Lemma D.2): [R] each.

        h1[k] = [k in N(i)]
        h2[k] = [k != i] sum of h1[l] over l in N(k)
        h3[k] = [k != i] sum of h2[l] - h1[k] over l in N(k) except i

    A path i - a - l of h2 with a = k is not to be continued to k: there is one for every l != i if
    k is in N(i), and none otherwise.

    As printed, h3 has no "except i", and subtracts once too often at every neighbour of i.
    """
    h1 = rows.near_root
    h2 = rows.off_root * rows.neighbors(h1)
    h3 = rows.off_root * (rows.neighbors(h2) - h1 * rows.neighbors(rows.off_root))
    return h1, h2, h3


def path2(rows: Rows) -> Tensor:
    """2-paths from i (Theorem 3.1): the sum of P2(i,k) over k.

    Two hops and two rounds, one of each per edge.
    """
    return rows.total(paths_from_root(rows)[1])


def path3(rows: Rows) -> Tensor:
    """3-paths from i (Theorem 3.1): the sum of P3(i,k) over k.

    Three hops and three rounds, one of each per edge.

    Printed is the sum over k in N(i), which is twice the number of 4-cycles.
    """
    return rows.total(paths_from_root(rows)[2])


def cycle3(rows: Rows) -> Tensor:
    """3-cycles (Theorem 3.1): the sum of P2(i,k) over k in N(i), each cycle in both directions.

    One hop, since all its nodes are neighbours of i; two rounds for P2.
    """
    return rows.total(rows.near_root * paths_from_root(rows)[1])


def cycle4(rows: Rows) -> Tensor:
    """4-cycles (Theorem 3.1): the sum of P3(i,k) over k in N(i), each cycle in both directions.

    Two hops, since a path i - a - l - k that ends in N(i) goes no farther; three rounds for P3.
    """
    return rows.total(rows.near_root * paths_from_root(rows)[2])


# -- two identifiers: the root and a neighbour -------------------------------------------------


def paths_beyond_branch(rows: Rows) -> tuple[Tensor, Tensor, Tensor]:
    """2-, 3- and 4-paths i - j - ... - k (Lemma E.1): [R] each.

    They are the 1-, 2- and 3-paths from j to k without i, as in Lemma D.2:

        h1[k] = [k != i] [k in N(j)]
        h2[k] = [k != i, j] sum of h1[l] over l in N(k)
        h3[k] = [k != i, j] sum of h2[l] - h1[k] over l in N(k) except i and j

    As printed, h3 has no "except i and j", and subtracts once or twice too often at every
    neighbour of j.
    """
    h1 = rows.off_root * rows.near_branch
    h2 = rows.off_both * rows.neighbors(h1)
    h3 = rows.off_both * (rows.neighbors(h2) - h1 * rows.neighbors(rows.off_both))
    return h1, h2, h3


def path2_by_branch(rows: Rows) -> Tensor:
    """2-paths from i: those that begin with j, summed over j.

    Two hops, but one round: the first step is given.
    """
    return rows.total(paths_beyond_branch(rows)[0])


def path3_by_branch(rows: Rows) -> Tensor:
    """3-paths from i: those that begin with j, summed over j.

    Three hops, but two rounds: the first step is given.
    """
    return rows.total(paths_beyond_branch(rows)[1])


def path4(rows: Rows) -> Tensor:
    """4-paths from i (Theorem 4.2): those that begin with j, summed over j.

    Four hops, but three rounds: the first step is given.
    """
    return rows.total(paths_beyond_branch(rows)[2])


def cycle3_by_branch(rows: Rows) -> Tensor:
    """3-cycles: the 2-paths i - j - k that end in N(i); one hop, one round."""
    return rows.total(rows.common)


def cycle4_by_branch(rows: Rows) -> Tensor:
    """4-cycles: the 3-paths i - j - ... - k that end in N(i); two hops, two rounds."""
    return rows.total(rows.near_root * paths_beyond_branch(rows)[1])


def cycle5(rows: Rows) -> Tensor:
    """5-cycles (Theorem 4.1): the 4-paths i - j - ... - k that end in N(i).

    Two hops, since both nodes between j and k are neighbours of one of them; three rounds for P4.
    """
    return rows.total(rows.near_root * paths_beyond_branch(rows)[2])
