"""Exact names of multisets: equal numbers for equal signatures, different ones for different.

A signature is a colour followed by sorted values. Its name is its number in a dictionary of all
signatures seen, in order of first appearance: hashes only choose where to look, and a signature is
recognised by comparing all of it. Names of one call can be compared with each other alone.

Kernels write names to `names` and return how many there are.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from i2gnn.parallel import jit

__all__ = ["name_messages", "name_segments", "name_tuples"]

Ints = npt.NDArray[np.int64]


class Dictionary(NamedTuple):
    """All signatures seen.

    Attributes:
        slots: A hash table of numbers of signatures; -1 where it is empty.
        ends: Signature s is `pool[ends[s - 1] : ends[s]]`.
        pool: The signatures, one after another, and room for more.
        filled: [1], how many there are.
    """

    slots: Ints
    ends: Ints
    pool: Ints
    filled: Ints


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
    dictionary = _empty(len(color))
    signature = np.empty(1, np.int64)
    for p in range(len(row_ptr) - 1):
        first, stop = link_ptr[p], link_ptr[p + 1]
        if stop - first + 1 > len(signature):
            signature = np.empty(2 * (stop - first) + 1, np.int64)
        for rank in range(row_ptr[p + 1] - row_ptr[p]):
            signature[0] = color[row_ptr[p] + rank]
            for q in range(first, stop):
                value = color[row_ptr[link_to_pair[q]] + rank]
                if len(link_color):
                    value += link_color[q] * num_colors
                signature[1 + q - first] = value
            _sort(signature, 1, 1 + stop - first)
            dictionary = _reserve(dictionary, 1 + stop - first)
            names[row_ptr[p] + rank] = _number(signature, 1 + stop - first, dictionary)
    return int(dictionary.filled[0])


@jit
def name_segments(own: Ints, values: Ints, ptr: Ints, items: Ints, names: Ints) -> int:
    """Names of multisets: names[s] ~ (own[s], multiset of values[items] over the items of s).

    Segment s holds `items[ptr[s] : ptr[s + 1]]`.
    """
    dictionary = _empty(len(own))
    signature = np.empty(1, np.int64)
    for s in range(len(own)):
        size = ptr[s + 1] - ptr[s]
        if size + 1 > len(signature):
            signature = np.empty(2 * size + 1, np.int64)
        signature[0] = own[s]
        for n in range(size):
            signature[1 + n] = values[items[ptr[s] + n]]
        _sort(signature, 1, 1 + size)
        dictionary = _reserve(dictionary, 1 + size)
        names[s] = _number(signature, 1 + size, dictionary)
    return int(dictionary.filled[0])


@jit
def name_tuples(
    color: Ints, num_colors: int, length: int, folklore: bool, sizes: Ints, names: Ints
) -> int:
    """One round of k-WL or k-FWL on the k-tuples of nodes of every graph, k = `length`.

        k-FWL   names[v] ~ (color[v], multiset of (color[v 1->w], ..., color[v k->w]) over w)
        k-WL    names[v] ~ (color[v], for m = 1..k the multiset of color[v m->w] over w)

    where v m->w is the tuple v with its m-th node replaced by w. The tuples of a graph with n nodes
    are n^k places in lexicographic order; graphs follow each other. `num_colors`^k is below 2^63.
    """
    dictionary = _empty(len(color))
    start = 0
    for g in range(len(sizes)):
        n = sizes[g]
        total = 1 + n if folklore else 1 + length * n
        signature = np.empty(total, np.int64)
        for v in range(n**length):
            signature[0] = color[start + v]
            for place in range(1, total):
                signature[place] = 0
            step = 1
            for m in range(length):  # from the last node of the tuple to the first
                base = start + v - (v // step % n) * step
                for w in range(n):
                    value = color[base + w * step]
                    if folklore:
                        signature[1 + w] = signature[1 + w] * num_colors + value
                    else:
                        signature[1 + m * n + w] = value
                if not folklore:
                    _sort(signature, 1 + m * n, 1 + (m + 1) * n)
                step *= n
            if folklore:
                _sort(signature, 1, total)
            dictionary = _reserve(dictionary, total)
            names[start + v] = _number(signature, total, dictionary)
        start += n**length
    return int(dictionary.filled[0])


@jit
def _empty(most: int) -> Dictionary:
    """A dictionary with room for `most` signatures."""
    size = 16
    while size < 2 * most:
        size *= 2
    slots, filled = np.empty(size, np.int64), np.empty(1, np.int64)
    for slot in range(size):
        slots[slot] = -1
    filled[0] = 0
    return Dictionary(slots, np.empty(most, np.int64), np.empty(1024, np.int64), filled)


@jit
def _reserve(dictionary: Dictionary, length: int) -> Dictionary:
    """The dictionary with room in the pool for one more signature."""
    slots, ends, pool, filled = dictionary
    used = ends[filled[0] - 1] if filled[0] else 0
    if used + length > len(pool):
        larger = np.empty(2 * (used + length), np.int64)
        for n in range(used):  # a loop compiles many times faster than a slice
            larger[n] = pool[n]
        pool = larger
    return Dictionary(slots, ends, pool, filled)


@jit
def _number(signature: Ints, length: int, dictionary: Dictionary) -> int:
    """The number of a signature, which is entered if it is new."""
    slots, ends, pool, filled = dictionary
    slot = _hash(signature, length) & (len(slots) - 1)
    while slots[slot] >= 0:
        known = slots[slot]
        start = ends[known - 1] if known else 0
        if ends[known] - start == length:
            same = 0
            while same < length and pool[start + same] == signature[same]:
                same += 1
            if same == length:
                return int(known)
        slot = (slot + 1) & (len(slots) - 1)
    number = filled[0]
    start = ends[number - 1] if number else 0
    for n in range(length):
        pool[start + n] = signature[n]
    slots[slot] = number
    ends[number] = start + length
    filled[0] = number + 1
    return int(number)


@jit
def _hash(signature: Ints, length: int) -> np.int64:
    state = np.uint64(length)
    for n in range(length):
        state = (state ^ np.uint64(signature[n])) * np.uint64(0x9E3779B97F4A7C15)
        state ^= state >> np.uint64(29)
    return np.int64(state >> np.uint64(1))


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
