"""Graphlets with up to five nodes, at every node, from the triangles and 4-cycles of its edges.

Non-induced counts of all 15 orbits of up to four nodes and of the triangle-rectangle need no more
than one look at every triangle. Induced counts follow from them: a non-induced copy lies on
exactly one induced graph with the same nodes, so

    non-induced[o] = sum over o' of copies(o in the graph of o', at its position) * induced[o']

which is triangular in the number of edges.
"""

import math
from functools import cache

import numpy as np

from i2gnn.counting.adjacency import Adjacency
from i2gnn.counting.brute_force import count_by_definition
from i2gnn.counting.patterns import CATALOGUE, Pattern
from i2gnn.counting.workers import Array, run_with_scratch
from i2gnn.parallel import jit

__all__ = ["COLUMN", "ORBITS", "graphlets_at_nodes", "induced_orbits", "stars"]

ORBITS = 15
TRIANGLE_RECTANGLE = 15
COLUMN = {
    "path2": 1,
    "path3": 4,
    "tailed_triangle": 9,
    "chordal_cycle": 12,
    "clique4": 14,
    "triangle_rectangle": TRIANGLE_RECTANGLE,
}
"""The named substructures among the columns of `graphlets_at_nodes`."""

MOST = np.iinfo(np.int64).max


def graphlets_at_nodes(adjacency: Adjacency, cycles: Array, description: str = "") -> Array:
    """Non-induced counts at every node, [N, 16]: orbits 0 .. 14 as in ORCA, triangle-rectangle.

    Args:
        adjacency: The graphs.
        cycles: [E, 2], triangles and 4-cycles through every edge.
        description: Title of the progress bar; none if empty.

    A number that does not fit into 64 bits becomes -1.
    """
    degree = adjacency.degree
    counts = np.zeros((adjacency.num_nodes, ORBITS + 1), dtype=np.int64)
    counts[:, [3, 8]] = adjacency.sum_edges(cycles) // 2
    counts[:, 0] = degree
    counts[:, 2] = degree * (degree - 1) // 2
    counts[:, 7] = stars(degree, 3)
    # Ends of the edges after the next, to count paths with three edges.
    beyond = adjacency.sum_edges(degree[adjacency.neighbor][:, None] - 1)[:, 0]

    def scratch() -> tuple[Array, Array]:
        return (
            np.full(adjacency.num_nodes, -1, dtype=np.int64),
            np.zeros(adjacency.num_nodes, dtype=np.bool_),
        )

    run_with_scratch(
        _sum_around,
        adjacency.num_nodes,
        (adjacency.edge_ptr, adjacency.neighbor, np.ascontiguousarray(cycles), beyond, counts),
        scratch,
        weights=degree * degree + 1,
        description=description,
    )
    return counts


def stars(degree: Array, leaves: int) -> Array:
    """Number of ways to choose the leaves of a star at its centre; -1 if beyond 64 bits."""
    values, where = np.unique(degree, return_inverse=True)
    ways = [math.comb(int(value), leaves) for value in values]
    return np.array([w if w <= MOST else -1 for w in ways], dtype=np.int64)[where]


@jit
def _add(total: int, term: int) -> int:
    """A sum of numbers that are not negative; -1 once it is beyond 64 bits."""
    if total < 0 or term < 0 or term > MOST - total:
        return -1
    return total + term


@jit
def _sum_around(
    start: int,
    stop: int,
    edge_ptr: Array,
    neighbor: Array,
    cycles: Array,
    beyond: Array,
    counts: Array,
    edge_to: Array,
    common: Array,
) -> None:
    """Sums over the edges (i, j) and triangles (i, j, k) of each node i."""
    for i in range(start, stop):
        degree = edge_ptr[i + 1] - edge_ptr[i]
        triangles = counts[i, 3]
        paths2 = paths3 = middles3 = claws = tails = chords = 0
        tails_elsewhere = corners = cliques = houses = 0
        for ij in range(edge_ptr[i], edge_ptr[i + 1]):
            edge_to[neighbor[ij]] = ij
        for ij in range(edge_ptr[i], edge_ptr[i + 1]):
            j = neighbor[ij]
            degree_j = edge_ptr[j + 1] - edge_ptr[j]
            on_edge = cycles[ij, 0]
            paths2 = _add(paths2, degree_j - 1)
            paths3 = _add(paths3, beyond[j] - (degree - 1))
            middles3 = _add(middles3, (degree - 1) * (degree_j - 1) - on_edge)
            claws = _add(claws, (degree_j - 1) * (degree_j - 2) // 2)
            tails = _add(tails, counts[j, 3] - on_edge)
            chords = _add(chords, on_edge * (on_edge - 1) // 2)
            if on_edge == 0:
                continue
            for jk in range(edge_ptr[j], edge_ptr[j + 1]):
                common[neighbor[jk]] = edge_to[neighbor[jk]] >= 0
            for jk in range(edge_ptr[j], edge_ptr[j + 1]):
                k = neighbor[jk]
                if k < j or not common[k]:
                    continue
                degree_k = edge_ptr[k + 1] - edge_ptr[k]
                ik = edge_to[k]
                tails_elsewhere = _add(tails_elsewhere, degree_j + degree_k - 4)
                corners = _add(corners, cycles[jk, 0] - 1)
                # Rectangles on the edge (j, k), less those that pass through the apex i.
                houses = _add(houses, cycles[jk, 1] - on_edge - cycles[ik, 0] + 2)
                if on_edge > 1 and cycles[ik, 0] > 1:
                    for kl in range(edge_ptr[k + 1] - 1, edge_ptr[k] - 1, -1):
                        if neighbor[kl] <= k:
                            break
                        cliques += common[neighbor[kl]]
            for jk in range(edge_ptr[j], edge_ptr[j + 1]):
                common[neighbor[jk]] = False
        for ij in range(edge_ptr[i], edge_ptr[i + 1]):
            edge_to[neighbor[ij]] = -1
        counts[i, 1] = paths2
        counts[i, 4] = paths3 - 2 * triangles if paths3 >= 0 else -1
        counts[i, 5] = middles3
        counts[i, 6] = claws
        counts[i, 9] = tails
        counts[i, 10] = tails_elsewhere
        fits = degree < 2 or triangles <= MOST // degree
        counts[i, 11] = triangles * max(degree - 2, 0) if fits else -1
        counts[i, 12] = corners
        counts[i, 13] = chords
        counts[i, 14] = cliques
        counts[i, 15] = houses


def induced_orbits(counts: Array) -> Array:
    """Induced counts of the 15 orbits, [N, 15], from the non-induced ones."""
    induced = counts[:, :ORBITS].copy()
    overflow = (induced < 0).any(axis=1)
    for orbit in reversed(range(ORBITS)):  # ORCA numbers them by ascending number of edges
        for larger, copies in _copies_on_larger(orbit):
            induced[:, orbit] -= copies * induced[:, larger]
    induced[overflow] = -1
    return induced


@cache
def _copies_on_larger(orbit: int) -> list[tuple[int, int]]:
    """(o', non-induced copies of the orbit on the graph of o' at its position), where any."""
    pattern = CATALOGUE[f"orbit{orbit}"]
    plain = Pattern(pattern.edges, pattern.position)
    found = []
    for other in range(ORBITS):
        host = CATALOGUE[f"orbit{other}"]
        if other != orbit and host.num_nodes == pattern.num_nodes:
            counts = count_by_definition(host.num_nodes, list(host.edges), plain, "node")
            if counts[host.position]:
                found.append((other, counts[host.position]))
    return found
