"""Compiled loop over roots: distances to the three nodes of a path."""

import numpy as np
import numpy.typing as npt

from i2gnn.parallel import jit

__all__ = ["label_path_distances"]

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@jit
def label_path_distances(
    start: int,
    stop: int,
    predecessors: bool,
    pair_ptr: Ints,
    branch_ptr: Ints,
    branch_to_pair: Ints,
    branch_to_tip: Ints,
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
        distance = np.full((size, size), -1, dtype=np.int64)
        closer = np.zeros((size, size), dtype=np.int64)
        for source in range(size):
            if wanted[source]:
                _search(source, base, link_ptr, link_to_pair, distance[source], closer[source])
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
def _search(
    source: int, base: int, link_ptr: Ints, link_to_pair: Ints, distance: Ints, closer: Ints
) -> None:
    """Breadth-first search in the ego-net whose pairs start at `base`."""
    queue = np.empty(len(distance), dtype=np.int64)
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
