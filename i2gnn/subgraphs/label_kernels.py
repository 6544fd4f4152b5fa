"""Compiled loops over roots: distances and resistances inside their ego-nets."""

import numpy as np
import numpy.typing as npt

from i2gnn.parallel import jit

__all__ = ["label_distances", "label_path_distances", "label_resistances"]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


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
            first = 0 if source < 0 else branch_to_pair[branch_ptr[i] + source] - base
            _search(first, base, size, link_ptr, link_to_pair, distance, closer, queue)
            column = 0 if source < 0 else width
            for k in range(size):
                low = row_ptr[base + k] + max(source, 0)
                high = row_ptr[base + k + 1] if source < 0 else low + 1
                for r in range(low, high):
                    labels[r, column] = distance[k] + 1
                    if predecessors:
                        labels[r, column + 1] = distance[k] + 1 if closer[k] >= 2 else 0


@jit
def label_path_distances(
    start: int,
    stop: int,
    predecessors: bool,
    branch_to_tip: Ints,
    pair_ptr: Ints,
    branch_ptr: Ints,
    branch_to_pair: Ints,
    link_ptr: Ints,
    link_to_pair: Ints,
    row_ptr: Ints,
    labels: Bytes,
) -> None:
    """1 + distance inside the ego-net to i, j and j'; 0 where unreachable.

    Paths share their nodes, so each node within two steps is searched from once, and the rows
    read the table. With `predecessors` a second column behind each distance repeats it where at
    least two neighbours lie one step closer.
    """
    width = 2 if predecessors else 1
    for i in range(start, stop):
        base, size = pair_ptr[i], pair_ptr[i + 1] - pair_ptr[i]
        if size == 0:
            continue
        wanted = np.zeros(size, dtype=np.bool_)
        wanted[0] = True
        for b in range(branch_ptr[i], branch_ptr[i + 1]):
            wanted[branch_to_pair[b] - base] = True
            wanted[branch_to_tip[b] - base] = True
        distance = np.empty((size, size), dtype=np.int64)
        closer = np.empty((size, size), dtype=np.int64)
        queue = np.empty(size, dtype=np.int64)
        for source in range(size):
            if wanted[source]:
                row, ways = distance[source], closer[source]
                _search(source, base, size, link_ptr, link_to_pair, row, ways, queue)
        branches = branch_ptr[i + 1] - branch_ptr[i]
        for k in range(size):
            for b in range(branches):
                r = row_ptr[base + k] + b
                branch = branch_ptr[i] + b
                for column in range(3):
                    source = 0
                    if column == 1:
                        source = branch_to_pair[branch] - base
                    elif column == 2:
                        source = branch_to_tip[branch] - base
                    value = distance[source, k] + 1
                    labels[r, width * column] = value
                    if predecessors:
                        labels[r, width * column + 1] = value if closer[source, k] >= 2 else 0


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
def _search(
    source: int,
    base: int,
    size: int,
    link_ptr: Ints,
    link_to_pair: Ints,
    distance: Ints,
    closer: Ints,
    queue: Ints,
) -> None:
    """Writes distances from a node of the ego-net whose pairs start at `base`, -1: unreachable.

    `closer` counts the neighbours of each node that lie one step closer; `queue` is room to work.
    """
    distance[:size] = -1
    closer[:size] = 0
    queue[0] = source
    distance[source] = 0
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
