"""Copies of any small pattern: backtracking along a search plan, symmetries broken.

The plan orders the pattern's nodes from the marked position on, so that every node after the first
has an earlier neighbour, from whose image its candidates come. Symmetries that fix the position
are broken by conditions "image of u < image of v", so that each copy is found once from every node
that stands at the position.
"""

from typing import NamedTuple

import numpy as np

from i2gnn.counting.adjacency import Adjacency, find_edge
from i2gnn.counting.patterns import MAX_NODES, Pattern
from i2gnn.counting.workers import Array, num_chunks, run_adding
from i2gnn.parallel import jit, run_chunks

__all__ = ["copies_at_edges", "copies_at_nodes"]


class Plan(NamedTuple):
    """Conditions on the image of step k, for every earlier step l; [num_nodes, num_nodes].

    Attributes:
        adjacent: 1 they must be neighbours, -1 they must not be, 0 either.
        order: 1 the image must be greater than that of l, 0 either.
    """

    adjacent: Array
    order: Array


def copies_at_nodes(adjacency: Adjacency, pattern: Pattern, description: str = "") -> Array:
    """Number of copies with each node at the marked position, [N] int64."""
    counts = np.zeros(adjacency.num_nodes, dtype=np.int64)
    plan = make_plan(pattern)
    no_edges = np.empty(0, dtype=np.int64)
    run_chunks(
        _search,
        adjacency.num_nodes,
        (adjacency.edge_ptr, adjacency.neighbor, *plan, counts, False, no_edges),
        weights=adjacency.degree + 1,
        chunks=num_chunks(adjacency.num_nodes),
        description=description,
    )
    return counts


def copies_at_edges(adjacency: Adjacency, pattern: Pattern, description: str = "") -> Array:
    """Number of copies that contain each edge, [E] int64."""
    unused = np.zeros(adjacency.num_nodes, dtype=np.int64)
    found = run_adding(
        _search,
        adjacency.num_nodes,
        (adjacency.edge_ptr, adjacency.neighbor, *make_plan(pattern), unused, True),
        (len(adjacency.neighbor),),
        weights=adjacency.degree + 1,
        description=description,
    )
    # Each copy was found from every node of its orbit, and credited to one direction.
    return np.asarray((found + found[adjacency.reverse_edges()]) // len(pattern.orbit))


def make_plan(pattern: Pattern) -> Plan:
    """Orders the nodes, most earlier neighbours first, and breaks the symmetries."""
    steps = [pattern.position]
    while len(steps) < pattern.num_nodes:
        left = set(range(pattern.num_nodes)) - set(steps)
        # Ties go to the smaller number: the plan depends on the pattern alone.
        links = {v: sum(pattern.adjacent(u, v) for u in steps) for v in sorted(left)}
        steps.append(max(links, key=lambda v: links[v]))
    size = len(steps)
    adjacent = np.zeros((size, size), dtype=np.int8)
    for k, v in enumerate(steps):
        for m, u in enumerate(steps[:k]):
            adjacent[k, m] = 1 if pattern.adjacent(u, v) else -1 if pattern.induced else 0
    order = np.zeros((size, size), dtype=np.int8)
    group = [p for p in pattern.automorphisms if p[pattern.position] == pattern.position]
    for k, u in enumerate(steps):
        # The step whose image is the smallest of its orbit; then only symmetries that fix it.
        for v in {p[u] for p in group} - {u}:
            order[steps.index(v), k] = 1
        group = [p for p in group if p[u] == u]
    return Plan(adjacent, order)


@jit
def _search(
    start: int,
    stop: int,
    edge_ptr: Array,
    neighbor: Array,
    adjacent: Array,
    order: Array,
    at_node: Array,
    mark_edges: bool,
    at_edge: Array,
) -> None:
    size = len(adjacent)
    image = np.zeros(MAX_NODES, np.int64)
    cursor = np.zeros(MAX_NODES, np.int64)
    end = np.zeros(MAX_NODES, np.int64)
    for root in range(start, stop):
        image[0] = root
        found = 0
        step = 1
        cursor[1], end[1] = edge_ptr[root], edge_ptr[root + 1]
        while step > 0:
            if cursor[step] == end[step]:
                step -= 1
                continue
            node = neighbor[cursor[step]]
            cursor[step] += 1
            if not _fits(step, node, image, adjacent, order, edge_ptr, neighbor):
                continue
            image[step] = node
            if step + 1 < size:
                step += 1
                cursor[step], end[step] = _candidates(step, image, adjacent, edge_ptr)
                continue
            found += 1
            if mark_edges:
                for k in range(1, size):
                    for m in range(k):
                        if adjacent[k, m] == 1:
                            at_edge[find_edge(edge_ptr, neighbor, image[m], image[k])] += 1
        at_node[root] = found


@jit
def _candidates(step: int, image: Array, adjacent: Array, edge_ptr: Array) -> tuple[int, int]:
    """The shortest neighbour list among the images that the new node must be adjacent to."""
    begin, end = 0, -1
    for m in range(step):
        if adjacent[step, m] == 1:
            low, high = edge_ptr[image[m]], edge_ptr[image[m] + 1]
            if end < 0 or high - low < end - begin:
                begin, end = low, high
    return begin, end


@jit
def _fits(
    step: int,
    node: int,
    image: Array,
    adjacent: Array,
    order: Array,
    edge_ptr: Array,
    neighbor: Array,
) -> bool:
    for m in range(step):  # cheap conditions first
        if node == image[m] or (order[step, m] == 1 and node < image[m]):
            return False
    for m in range(step):
        if adjacent[step, m] != 0:
            present = find_edge(edge_ptr, neighbor, image[m], node) >= 0
            if present != (adjacent[step, m] == 1):
                return False
    return True
