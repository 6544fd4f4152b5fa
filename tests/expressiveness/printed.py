"""Formulas of the paper exactly as they are printed, where that is not what they should be."""

from torch import Tensor

from i2gnn.expressiveness.constructions import Rows


def distances(rows: Rows, rounds: int) -> Tensor:
    """Lemma D.1: h <- (t + 1) [h = 0] [m > 0] + [h != 0]."""
    h = rows.root
    for t in range(rounds):
        m = rows.neighbors(h)
        h = (t + 1) * (h == 0) * (m > 0) + (h != 0).long()
    return h


def paths3_from_root(rows: Rows) -> Tensor:
    """Lemma D.2: h3[k] = [k != i] sum of (h2[l] - h1[k]) over l in N(k)."""
    h1 = rows.near_root
    h2 = rows.off_root * rows.neighbors(h1)
    return rows.off_root * (rows.neighbors(h2) - h1 * rows.degree)


def path3(rows: Rows) -> Tensor:
    """Theorem 3.1, with Lemma D.2 as it should be: the sum of P3(i, k) over k in N(i)."""
    h1 = rows.near_root
    h2 = rows.off_root * rows.neighbors(h1)
    h3 = rows.off_root * (rows.neighbors(h2) - h1 * rows.neighbors(rows.off_root))
    return rows.total(h1 * h3)


def paths4_by_branch(rows: Rows) -> Tensor:
    """Lemma E.1: h3[k] = [k != i, j] sum of (h2[l] - h1[k]) over l in N(k)."""
    h1 = rows.off_root * rows.near_branch
    h2 = rows.off_both * rows.neighbors(h1)
    return rows.off_both * (rows.neighbors(h2) - h1 * rows.degree)


def meeting_last(rows: Rows) -> Tensor:
    """Case 1: h3[k] = [k != i, j] sum of [l in N(i)] (h2[l] - h1[l]) over l in N(k)."""
    h1, near = rows.off_root * rows.near_branch, rows.off_root * rows.near_root
    h2 = rows.off_both * rows.neighbors(h1)
    return rows.total(rows.off_both * rows.neighbors(near * (h2 - h1)))


def meeting_midway(rows: Rows) -> Tensor:
    """Case 2: the sums over k run over V, i among it."""
    first, second = rows.near_root, rows.near_branch
    third = rows.neighbors(second)  # C3(j, k) where k is in N(j)
    product = rows.over_nodes(first * second) * rows.over_nodes(second * (third - first))
    added = rows.over_branches(product) - rows.total(first * second * (third - first))
    h1, common = rows.off_both * second, rows.off_both * first * second
    return added - rows.total(h1 * rows.neighbors(common))  # 2 #4, which is right


def meeting_first(rows: Rows) -> Tensor:
    """Case 3: [k in N(j)] times the h3 of Lemma E.1."""
    return rows.total(rows.off_root * rows.near_branch * paths4_by_branch(rows))


def closed_walks(rows: Rows, length: int) -> Tensor:
    """What the proof that Appendix C refutes counts in place of cycles: walks from i to i."""
    h = rows.root
    for _ in range(length):
        h = rows.neighbors(h)
    return rows.total(rows.root * h)
