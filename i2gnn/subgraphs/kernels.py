"""Compiled loops of extraction: breadth-first search, nodes and edges of neighbourhoods.

Those that take a range of roots write only what belongs to them.
"""

import numpy as np
import numpy.typing as npt

from i2gnn.parallel import jit

__all__ = [
    "count_pairs",
    "fill_pairs",
    "find_nodes",
    "keep_edges",
]

Ints = npt.NDArray[np.int64]


@jit
def count_pairs(
    start: int,
    stop: int,
    hops: int,
    roots: Ints,
    graph_ptr: Ints,
    edge_ptr: Ints,
    neighbor: Ints,
    pairs_of_root: Ints,
    links_of_root: Ints,
) -> None:
    """Sizes of the ego-nets of roots[start .. stop]: nodes, and edges among them.

    Roots are ascending; each search looks no further than the graphs of its range.
    """
    first, span = _graphs_of(graph_ptr, roots[start], roots[stop - 1])
    seen_by = np.full(span, -1, dtype=np.int32)  # the number of the root in its range
    queue = np.empty(span, dtype=np.int64)
    for r in range(start, stop):
        i, number = roots[r], r - start
        queue[0] = i
        seen_by[i - first] = number
        head, tail = 0, 1
        for _ in range(hops):
            level_end = tail
            while head < level_end:
                for e in range(edge_ptr[queue[head]], edge_ptr[queue[head] + 1]):
                    k = neighbor[e]
                    if seen_by[k - first] != number:
                        seen_by[k - first] = number
                        queue[tail] = k
                        tail += 1
                head += 1
        links = 0
        for position in range(tail):
            for e in range(edge_ptr[queue[position]], edge_ptr[queue[position] + 1]):
                links += seen_by[neighbor[e] - first] == number
        pairs_of_root[r] = tail
        links_of_root[r] = links


@jit
def fill_pairs(
    start: int,
    stop: int,
    roots: Ints,
    graph_ptr: Ints,
    edge_ptr: Ints,
    neighbor: Ints,
    pair_ptr: Ints,
    link_ptr: Ints,
    pair_to_node: Ints,
    link_count: Ints,
    link_to_pair: Ints,
    link_to_edge: Ints,
) -> None:
    """Nodes of the ego-nets of roots[start .. stop] in breadth-first order, and their links.

    The number of pairs is known, so the search stops there, and `pair_to_node` is its queue.
    """
    first, span = _graphs_of(graph_ptr, roots[start], roots[stop - 1])
    seen_by = np.full(span, -1, dtype=np.int32)  # the number of the root in its range
    pair_of = np.empty(span, dtype=np.int64)
    for r in range(start, stop):
        i, number = roots[r], r - start
        seen_by[i - first] = number
        pair_of[i - first] = pair_ptr[r]
        pair_to_node[pair_ptr[r]] = i
        head, tail, end = pair_ptr[r], pair_ptr[r] + 1, pair_ptr[r + 1]
        while tail < end:
            node = pair_to_node[head]
            head += 1
            for e in range(edge_ptr[node], edge_ptr[node + 1]):
                k = neighbor[e]
                if tail < end and seen_by[k - first] != number:
                    seen_by[k - first] = number
                    pair_of[k - first] = tail
                    pair_to_node[tail] = k
                    tail += 1
        q = link_ptr[r]
        for p in range(pair_ptr[r], end):
            before = q
            for e in range(edge_ptr[pair_to_node[p]], edge_ptr[pair_to_node[p] + 1]):
                l = neighbor[e] - first  # noqa: E741 (the paper's name)
                if seen_by[l] == number:
                    link_to_pair[q] = pair_of[l]
                    link_to_edge[q] = e
                    q += 1
            link_count[p] = q - before


@jit
def find_nodes(
    hops: int, roots: Ints, edge_ptr: Ints, neighbor: Ints, places: Ints, nodes: Ints
) -> int:
    """Writes the nodes within `hops` steps of the roots, in order of discovery; returns how many.

    Their places, which were negative, become 0.
    """
    head, tail = 0, 0
    for i in roots:
        if places[i] < 0:
            places[i] = 0
            nodes[tail] = i
            tail += 1
    for _ in range(hops):
        level_end = tail
        while head < level_end:
            for e in range(edge_ptr[nodes[head]], edge_ptr[nodes[head] + 1]):
                k = neighbor[e]
                if places[k] < 0:
                    places[k] = 0
                    nodes[tail] = k
                    tail += 1
            head += 1
    return tail


@jit
def keep_edges(
    nodes: Ints,
    edge_ptr: Ints,
    neighbor: Ints,
    places: Ints,
    degree: Ints,
    edges: Ints,
    neighbor_place: Ints,
) -> int:
    """Writes the edges among nodes that have places, with the sender's place; returns how many."""
    q = 0
    for position in range(len(nodes)):
        before = q
        for e in range(edge_ptr[nodes[position]], edge_ptr[nodes[position] + 1]):
            place = places[neighbor[e]]
            if place >= 0:
                edges[q] = e
                neighbor_place[q] = place
                q += 1
        degree[position] = q - before
    return q


@jit
def _graphs_of(graph_ptr: Ints, low: int, high: int) -> tuple[int, int]:
    """First node and number of nodes of the graphs that hold the nodes low .. high."""
    first = graph_ptr[np.searchsorted(graph_ptr, low, side="right") - 1]
    return first, graph_ptr[np.searchsorted(graph_ptr, high, side="right")] - first
