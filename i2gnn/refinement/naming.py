"""Exact names of multisets: equal numbers for equal signatures, different ones for different.

A signature is a colour followed by sorted values. Its name is its number in a dictionary of all
signatures seen, in order of first appearance: hashes only choose where to look, and a signature is
recognised by comparing all of it. Names of one call can be compared with each other alone.

Kernels write names to `names` and return how many there are. Their dictionaries have three parts:
`slots` is a hash table of numbers of signatures, -1 where it is empty; signature s is
`pool[ends[s - 1] : ends[s]]`.
"""

import numpy as np
import numpy.typing as npt

from i2gnn.parallel import jit

__all__ = ["name_messages", "name_segments", "name_values"]

Ints = npt.NDArray[np.int64]


@jit
def name_messages(
    color: Ints,
    num_colors: int,
    row_ptr: Ints,
    link_ptr: Ints,
    link_to_pair: Ints,
    link_color: Ints,
    names: Ints,
) -> int:
    """One round of refinement inside all subgraphs.

        names[i,j,k] ~ (color[i,j,k], multiset of (link_color[k,l], color[i,j,l]) over l in N_i(k))

    `link_color` is empty where links are all alike.
    """
    slots, ends, pool = _slots(len(color)), np.empty(len(color), np.int64), np.empty(1024, np.int64)
    signature = np.empty(1, np.int64)
    count = 0
    for p in range(len(row_ptr) - 1):
        first, size = link_ptr[p], link_ptr[p + 1] - link_ptr[p] + 1
        if size > len(signature):
            signature = np.empty(2 * size, np.int64)
        for rank in range(row_ptr[p + 1] - row_ptr[p]):
            signature[0] = color[row_ptr[p] + rank]
            for q in range(first, link_ptr[p + 1]):
                value = color[row_ptr[link_to_pair[q]] + rank]
                if len(link_color):
                    value += link_color[q] * num_colors
                signature[1 + q - first] = value
            _sort(signature, 1, size)
            slot = _find(signature, size, slots, ends, pool)
            if slots[slot] < 0:
                pool = _with_room(pool, count, ends, size)
                _enter(signature, size, slot, count, slots, ends, pool)
                count += 1
            names[row_ptr[p] + rank] = slots[slot]
    return count


@jit
def name_segments(own: Ints, values: Ints, ptr: Ints, items: Ints, names: Ints) -> int:
    """Names of multisets: names[s] ~ (own[s], multiset of values[items] over the items of s).

    Segment s holds `items[ptr[s] : ptr[s + 1]]`.
    """
    slots, ends, pool = _slots(len(own)), np.empty(len(own), np.int64), np.empty(1024, np.int64)
    signature = np.empty(1, np.int64)
    count = 0
    for s in range(len(own)):
        size = ptr[s + 1] - ptr[s] + 1
        if size > len(signature):
            signature = np.empty(2 * size, np.int64)
        signature[0] = own[s]
        for n in range(size - 1):
            signature[1 + n] = values[items[ptr[s] + n]]
        _sort(signature, 1, size)
        slot = _find(signature, size, slots, ends, pool)
        if slots[slot] < 0:
            pool = _with_room(pool, count, ends, size)
            _enter(signature, size, slot, count, slots, ends, pool)
            count += 1
        names[s] = slots[slot]
    return count


@jit
def name_values(values: Ints, names: Ints) -> int:
    """Names of single numbers."""
    slots, known = _slots(8), np.empty(16, np.int64)
    count = 0
    for n in range(len(values)):
        slot = _find_value(values[n], slots, known)
        if slots[slot] < 0:
            if 2 * count >= len(slots):
                known = _larger(known, count, 2 * len(slots))
                slots = _slots(2 * count)
                for entered in range(count):
                    slots[_find_value(known[entered], slots, known)] = entered
                slot = _find_value(values[n], slots, known)
            slots[slot], known[count] = count, values[n]
            count += 1
        names[n] = slots[slot]
    return count


@jit
def _slots(most: int) -> Ints:
    """An empty hash table with room for `most` numbers."""
    size = 16
    while size < 2 * most:
        size *= 2
    slots = np.empty(size, np.int64)
    for slot in range(size):
        slots[slot] = -1
    return slots


@jit
def _find(signature: Ints, length: int, slots: Ints, ends: Ints, pool: Ints) -> int:
    """Where the number of a signature stands, or the empty slot where it belongs."""
    slot = _hash(signature, length) & (len(slots) - 1)
    while slots[slot] >= 0:
        known = slots[slot]
        start = ends[known - 1] if known else 0
        if ends[known] - start == length:
            same = 0
            while same < length and pool[start + same] == signature[same]:
                same += 1
            if same == length:
                break
        slot = (slot + 1) & (len(slots) - 1)
    return int(slot)


@jit
def _enter(
    signature: Ints, length: int, slot: int, number: int, slots: Ints, ends: Ints, pool: Ints
) -> None:
    """Gives a new signature its number; there is room for it in the pool."""
    start = ends[number - 1] if number else 0
    for n in range(length):
        pool[start + n] = signature[n]
    slots[slot], ends[number] = number, start + length


@jit
def _with_room(pool: Ints, count: int, ends: Ints, length: int) -> Ints:
    """The pool with room for one more signature."""
    used = ends[count - 1] if count else 0
    return pool if used + length <= len(pool) else _larger(pool, used, 2 * (used + length))


@jit
def _larger(values: Ints, used: int, size: int) -> Ints:
    larger = np.empty(size, np.int64)
    for n in range(used):  # a loop compiles many times faster than a slice
        larger[n] = values[n]
    return larger


@jit
def _find_value(value: int, slots: Ints, known: Ints) -> int:
    slot = _mix(np.uint64(value)) & np.uint64(len(slots) - 1)
    while slots[slot] >= 0 and known[slots[slot]] != value:
        slot = (slot + np.uint64(1)) & np.uint64(len(slots) - 1)
    return int(slot)


@jit
def _hash(signature: Ints, length: int) -> np.int64:
    state = np.uint64(length)
    for n in range(length):
        state = _mix(state ^ np.uint64(signature[n]))
    return np.int64(state >> np.uint64(1))


@jit
def _mix(state: np.uint64) -> np.uint64:
    state *= np.uint64(0x9E3779B97F4A7C15)
    return state ^ (state >> np.uint64(29))


@jit
def _sort(values: Ints, start: int, stop: int) -> None:
    """Sorts values[start:stop] in place; Shell's way, as most lists are short."""
    gap = 1
    while gap < (stop - start) // 3:
        gap = 3 * gap + 1
    while gap:
        for n in range(start + gap, stop):
            value, m = values[n], n
            while m - gap >= start and values[m - gap] > value:
                values[m] = values[m - gap]
                m -= gap
            values[m] = value
        gap //= 3
