"""Compiled loops: breadth-first search, distances, resistance.

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
    "label_distances",
    "label_resistances",
]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


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
def label_distances(
    start: int,
    stop: int,
    predecessors: bool,
    identifiers: int,
    pair_ptr: Ints,
    branch_ptr: Ints,
    branch_to_pair: Ints,
    link_ptr: Ints,
    link_to_pair: Ints,
    row_ptr: Ints,
    labels: Bytes,
) -> None:
    """1 + distance inside the ego-net to the root and to the branch; 0 where unreachable.

    With `predecessors` a second column behind each distance repeats it where at least two
    neighbours lie one step closer.
    """
    width = 2 if predecessors else 1
    most = 0
    for i in range(start, stop):
        most = max(most, pair_ptr[i + 1] - pair_ptr[i])
    distance = np.empty(most, dtype=np.int64)
    closer = np.empty(most, dtype=np.int64)
    queue = np.empty(most, dtype=np.int64)
    for i in range(start, stop):
        base, size = pair_ptr[i], pair_ptr[i + 1] - pair_ptr[i]
        if size == 0:  # not a root
            continue
        branches = branch_ptr[i + 1] - branch_ptr[i]
        for source in range(-1 if identifiers > 0 else 0, branches if identifiers > 1 else 0):
            distance[:size] = -1
            closer[:size] = 0
            queue[0] = 0 if source < 0 else branch_to_pair[branch_ptr[i] + source] - base
            distance[queue[0]] = 0
            head, tail = 0, 1
            while head < tail:
                k = queue[head]
                head += 1
                for q in range(link_ptr[base + k], link_ptr[base + k + 1]):
                    l = link_to_pair[q] - base  # noqa: E741 (the paper's name)
                    if distance[l] < 0:
                        distance[l] = distance[k] + 1
                        queue[tail] = l
                        tail += 1
                    closer[l] += distance[l] == distance[k] + 1
            column = 0 if source < 0 else width
            for k in range(size):
                low = row_ptr[base + k] + max(source, 0)
                high = row_ptr[base + k + 1] if source < 0 else low + 1
                for r in range(low, high):
                    labels[r, column] = distance[k] + 1
                    if predecessors:
                        labels[r, column + 1] = distance[k] + 1 if closer[k] >= 2 else 0


@jit
def label_resistances(
    start: int,
    stop: int,
    pair_ptr: Ints,
    branch_ptr: Ints,
    branch_to_pair: Ints,
    link_ptr: Ints,
    link_to_pair: Ints,
    row_ptr: Ints,
    resistance: Floats,
) -> None:
    """Resistance distance inside the ego-net to the root and to the branch.

    With 1_c the indicator of component c, L + sum_c 1_c 1_c^T is invertible, and its inverse M
    gives M_aa + M_bb - 2 M_ab inside a component; across components the distance is infinite.
    """
    for i in range(start, stop):
        base, size = pair_ptr[i], pair_ptr[i + 1] - pair_ptr[i]
        if size == 0:  # not a root
            continue
        component = _components(base, size, link_ptr, link_to_pair)
        matrix = np.zeros((size, size))
        for a in range(size):
            for b in range(size):
                matrix[a, b] = 1.0 if component[a] == component[b] else 0.0
            matrix[a, a] += link_ptr[base + a + 1] - link_ptr[base + a]
            for q in range(link_ptr[base + a], link_ptr[base + a + 1]):
                matrix[a, link_to_pair[q] - base] -= 1.0
        inverse = np.linalg.inv(matrix)
        for k in range(size):
            for r in range(row_ptr[base + k], row_ptr[base + k + 1]):
                for column in range(resistance.shape[1]):
                    branch = branch_ptr[i] + r - row_ptr[base + k]
                    a = 0 if column == 0 else branch_to_pair[branch] - base
                    if component[a] != component[k]:
                        resistance[r, column] = np.inf
                    elif a == k:
                        resistance[r, column] = 0.0
                    else:
                        value = inverse[a, a] + inverse[k, k] - 2.0 * inverse[a, k]
                        resistance[r, column] = value


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


@jit
def _components(base: int, size: int, link_ptr: Ints, link_to_pair: Ints) -> Ints:
    """Number of the connected component of each node of an ego-net, [size]."""
    component = np.full(size, -1, dtype=np.int64)
    queue = np.empty(size, dtype=np.int64)
    for seed in range(size):
        if component[seed] >= 0:
            continue
        component[seed] = seed
        queue[0] = seed
        head, tail = 0, 1
        while head < tail:
            k = queue[head]
            head += 1
            for q in range(link_ptr[base + k], link_ptr[base + k + 1]):
                l = link_to_pair[q] - base  # noqa: E741 (the paper's name)
                if component[l] < 0:
                    component[l] = seed
                    queue[tail] = l
                    tail += 1
    return component
