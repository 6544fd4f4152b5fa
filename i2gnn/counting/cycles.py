"""Cycles through every edge, found by joining half-cycles.

Every cycle is found from one root, its last node in the given order. From each root all paths of
up to four edges through earlier nodes are listed, grouped by the node where they end. Two of them
that end in the same node and share none but that and the root close a cycle:

    length 2h     = two different paths with h edges
    length 2h - 1 = one with h - 1 and one with h edges, in two ways (the cycle's two directions)

So 8-cycles cost no more than pairs of 4-paths, and one pass serves all lengths. Whether two paths
meet is a test of 64-bit signatures, exact while a root sees at most 64 nodes. The number of
partners of a path is credited to its edges by way of its parents in the tree of paths.
"""

# ruff: noqa: SIM109 (a chain of comparisons stays in registers; a tuple has to be built)

import numpy as np

from i2gnn.counting.adjacency import Adjacency
from i2gnn.counting.workers import Array, run_adding
from i2gnn.parallel import jit

__all__ = ["LONGEST", "cycles_through_edges"]

LONGEST = 8
COLUMNS = LONGEST - 2  # cycles of 3 .. 8 edges
REACH = 4  # edges of a half-cycle, at most
MOST_PATHS = 2**22
"""Paths to hold at once (300 MB a thread); a root with more is served in parts, by their ends."""


def cycles_through_edges(adjacency: Adjacency, longest: int, description: str = "") -> Array:
    """Number of cycles with 3 .. longest edges through each edge, [E, longest - 2] int64."""
    ordered, old_edge = adjacency.by_degree()

    def scratch() -> tuple[Array]:
        return (np.full(ordered.num_nodes, -1, dtype=np.int32),)

    found = run_adding(
        _count_from_roots,
        ordered.num_nodes,
        (ordered.edge_ptr, ordered.neighbor, longest, MOST_PATHS),
        (len(ordered.neighbor), longest - 2),
        scratch,
        weights=ordered.degree + 1,
        description=description,
    )
    _add_directions(ordered.reverse_edges(), found)
    if old_edge is None:
        return found
    counts = np.empty_like(found)
    counts[old_edge] = found
    return counts


@jit
def _count_from_roots(
    start: int,
    stop: int,
    edge_ptr: Array,
    neighbor: Array,
    longest: int,
    most_paths: int,
    counts: Array,
    local: Array,
) -> None:
    """Adds to [E, longest - 2], each edge in the direction in which a half-cycle walks it.

    The work is in functions whose arrays never change: an array that is replaced inside a loop
    makes numba count references at every access, measured at 1.6 to 3 times the cost.
    """
    level = np.zeros(REACH + 2, np.int64)  # where the paths with h edges start
    size = np.zeros((256, REACH + 1), np.int64)  # paths by end and number of edges
    first = np.zeros((256, REACH + 1), np.int64)
    seen = np.zeros(256, np.int64)
    end, parent, edge, signature, credit = _path_arrays(1024)
    reach = (longest + 1) // 2
    for root in range(start, stop):
        # The root is the last node of its cycles, so it needs two earlier neighbours.
        if edge_ptr[root + 1] - edge_ptr[root] < 2 or neighbor[edge_ptr[root] + 1] > root:
            continue
        parts, part = 1, 0
        while part < parts:
            num_seen, num_paths = _list_paths(
                root,
                reach,
                parts,
                part,
                edge_ptr,
                neighbor,
                local,
                level,
                seen,
                size,
                first,
                end,
                parent,
                edge,
                signature,
            )
            for t in range(min(num_seen, len(seen))):
                local[seen[t]] = -1
            if num_seen > len(seen):
                size = np.zeros((2 * num_seen, REACH + 1), np.int64)
                first = np.zeros((2 * num_seen, REACH + 1), np.int64)
                seen = np.zeros(2 * num_seen, np.int64)
            elif num_paths > len(end):
                if num_paths > most_paths and part == 0 and parts < 4096:
                    parts *= 2  # nothing was counted yet, so the parts may still change
                else:
                    end, parent, edge, signature, credit = _path_arrays(2 * num_paths)
            else:
                # Cycles that need no path of the last level belong to the first part alone.
                shortest = 3 if part == 0 else 2 * reach - 1
                _join(shortest, longest, num_seen, size, first, end, parent, signature, credit)
                _credit_edges(reach, longest, level, edge, parent, credit, counts)
                part += 1


@jit
def _add_directions(reverse: Array, counts: Array) -> None:
    """Gives both directions of an edge the cycles credited to either."""
    for e in range(len(counts)):
        other = reverse[e]
        if e < other:
            for column in range(counts.shape[1]):
                total = counts[e, column] + counts[other, column]
                # Odd lengths (columns 0, 2, 4) were found in both directions of the cycle.
                total = total // 2 if column % 2 == 0 else total
                counts[e, column] = total
                counts[other, column] = total


@jit
def _path_arrays(size: int) -> tuple[Array, Array, Array, Array, Array]:
    """A tree of paths: last node, path without it, last edge, bits of the inner nodes, cycles."""
    return (
        np.zeros(size, np.int32),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.uint64),
        np.zeros((size, COLUMNS), np.int64),
    )


@jit
def _list_paths(
    root: int,
    reach: int,
    parts: int,
    part: int,
    edge_ptr: Array,
    neighbor: Array,
    local: Array,
    level: Array,
    seen: Array,
    size: Array,
    first: Array,
    end: Array,
    parent: Array,
    edge: Array,
    signature: Array,
) -> tuple[int, int]:
    """Lists the paths from a root, level by level, each level grouped by end.

    Of the last level only those that end in one part of the nodes: partners have the same end.

    Returns how many nodes were seen and paths were found. If that is more than the arrays hold,
    the list is not complete and the caller must try again with larger ones.
    """
    num_seen = 0
    level[1] = 1  # path 0 is the root alone, and its own parent
    end[0] = root
    for h in range(1, reach + 1):
        # Each level is walked twice: once to know the groups, once to fill them.
        for fill in range(2):
            for p in range(level[h - 1], level[h]):
                last = end[p]
                before = end[parent[p]]
                earlier = end[parent[parent[p]]]  # with the root, all that a 3-path can meet
                bits = signature[p]
                if h > 1:
                    bits |= np.uint64(1) << np.uint64(local[last] & 63)
                for e in range(edge_ptr[last], edge_ptr[last + 1]):
                    node = neighbor[e]
                    if node >= root:
                        break
                    if node == before or node == earlier:
                        continue
                    if h == reach and parts > 1 and node % parts != part:
                        continue
                    t = local[node]
                    if t < 0:
                        t = num_seen
                        num_seen += 1
                        if num_seen > len(seen):
                            return num_seen, 0
                        local[node] = t
                        seen[t] = node
                        for k in range(REACH + 1):
                            size[t, k] = 0
                    if fill:
                        i = first[t, h] + size[t, h]
                        end[i] = node
                        parent[i] = p
                        edge[i] = e
                        signature[i] = bits
                    size[t, h] += 1
            if fill == 0:
                total = level[h]
                for t in range(num_seen):
                    first[t, h] = total
                    total += size[t, h]
                    size[t, h] = 0
                if total > len(end):
                    return num_seen, total
                level[h + 1] = total
    return num_seen, level[reach + 1]


@jit
def _join(
    shortest: int,
    longest: int,
    num_seen: int,
    size: Array,
    first: Array,
    end: Array,
    parent: Array,
    signature: Array,
    credit: Array,
) -> None:
    """Credits each path with its partners: those that end where it ends and do not meet it."""
    exact = num_seen <= 64
    for length in range(shortest, longest + 1):
        long, short = (length + 1) // 2, length // 2
        for side in range(1 + long - short):
            own, other = (long, short) if side == 0 else (short, long)
            for t in range(num_seen):
                # Unsigned indices spare the check for negative ones, and the loop vectorises.
                begin = np.uint64(first[t, other])
                stop = np.uint64(first[t, other] + size[t, other])
                for p in range(first[t, own], first[t, own] + size[t, own]):
                    bits = signature[p]
                    partners = 0
                    if exact:  # a path meets itself, so it is not its own partner
                        for q in range(begin, stop):
                            partners += (signature[q] & bits) == 0
                    else:
                        for q in range(begin, stop):
                            partners += (signature[q] & bits) == 0 or not _meet(p, q, end, parent)
                    credit[p, length - 3] += partners


@jit
def _meet(p: int, q: int, end: Array, parent: Array) -> bool:
    """Whether two paths share a node between root and end."""
    p = parent[p]
    while p > 0:
        other = parent[q]
        while other > 0:
            if end[p] == end[other]:
                return True
            other = parent[other]
        p = parent[p]
    return False


@jit
def _credit_edges(
    reach: int, longest: int, level: Array, edge: Array, parent: Array, credit: Array, counts: Array
) -> None:
    """Passes the credit of each path on to its edges, longest paths first; leaves zeros."""
    for h in range(reach, 0, -1):
        for p in range(level[h], level[h + 1]):
            for column in range(max(0, 2 * h - 4), longest - 2):
                cycles = credit[p, column]
                if cycles:
                    counts[edge[p], column] += cycles
                    credit[parent[p], column] += cycles
                    credit[p, column] = 0
    for column in range(COLUMNS):
        credit[0, column] = 0
