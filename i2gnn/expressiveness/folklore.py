"""Rounds of k-FWL, k = 2 or 3, exact although no signature is kept.

    names[v] ~ (color[v], multiset of (color[v 1->w], ..., color[v k->w]) over all nodes w)

where v m->w is the tuple v with its m-th node replaced by w. A signature has n entries and there
are n^k of them, so they are neither sorted nor stored. Tuples are named by fingerprints, sums that
no order of the nodes w changes: equal signatures always have equal names, and different ones share
a name only by a chance of about 2^-64 each. So graphs with different names are different for
certain. What looks equal is compared entry by entry (`same_signatures`).

Colours are those of all tuples of every graph: n^k places in lexicographic order for a graph of n
nodes; graphs follow each other. A round takes time n^(k+1).
"""

import numpy as np
import numpy.typing as npt

from i2gnn.parallel import jit

__all__ = ["name_folklore", "same_signatures"]

Ints = npt.NDArray[np.int64]


def name_folklore(color: Ints, length: int, sizes: Ints, seed: int) -> tuple[Ints, int]:
    """Names after one round, which refine the colours, and how many there are.

    Args:
        color: Of all tuples.
        length: k.
        sizes: Nodes of each graph.
        seed: Of the fingerprints.
    """
    while True:
        factors = np.random.default_rng(seed).integers(1, 2**62, 4) * 2 + 1
        prints = np.empty(len(color), np.int64)
        _fingerprint(color, length, sizes, factors, prints)
        order = np.argsort(prints)
        new = np.append(True, np.diff(prints[order]) != 0)[: len(color)]
        own = color[order]
        if (own[1:] == own[:-1])[~new[1:]].all():
            names = prints  # no longer needed
            names[order] = np.cumsum(new) - 1
            return names, int(new.sum())
        seed += 1  # a chance in 2^64


def same_signatures(names: Ints, color: Ints, length: int, sizes: Ints) -> bool:
    """Whether tuples with one name have one signature, by comparing every entry.

    Args:
        names: Numbers from 0 that refine the colours: those after a round, to see whether it was
            exact, or the colours themselves, to see whether a round would change anything.
        color: Of all tuples, numbers from 0.
        length: k.
        sizes: Nodes of each graph.
    """
    order = np.argsort(names, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(names))]).astype(np.int64)
    ptr = np.concatenate([[0], np.cumsum(sizes**length)]).astype(np.int64)
    most = int(color.max(initial=0)) + 1
    return bool(_compare(color, most, length, ptr, sizes, order, starts))


@jit
def _fingerprint(color: Ints, length: int, sizes: Ints, factors: Ints, prints: Ints) -> None:
    """A number for each signature, which does not depend on the order of the nodes w.

    Tuples are (a, b, c); a pair is (a, 0, c). The innermost loop runs over c, where all that is
    read lies side by side.
    """
    f0, f1, f2, f3 = factors
    start = 0
    for n in sizes:
        middle = n if length == 3 else 1
        for a in range(n):
            for b in range(middle):
                here = start + (a * middle + b) * n
                for c in range(n):
                    prints[here + c] = color[here + c] * f3
                for w in range(n):
                    first = start + (w * middle + b) * n
                    second = start + (a * middle + w) * n if length == 3 else here
                    last = color[here + w] * f2
                    for c in range(n):
                        entry = color[first + c] * f0 + color[second + c] * f1
                        prints[here + c] += np.int64(_mix(entry + last))
        start += n * middle * n


@jit
def _compare(
    color: Ints, num_colors: int, length: int, ptr: Ints, sizes: Ints, order: Ints, starts: Ints
) -> bool:
    """Whether all tuples of a group, `order[starts[c] : starts[c + 1]]`, have one signature."""
    most = 0
    for n in sizes:
        most = max(most, n)
    room = 16
    while room < 2 * most:
        room *= 2
    # A hash table of the entries of the first tuple of a group: `slots` has the first node w with
    # an entry, `wanted[w]` how many nodes have it; `stamps` says of which group a slot is.
    slots, stamps = np.empty(room, np.int64), np.full(room, -1, np.int64)
    wanted, found = np.empty(most, np.int64), np.zeros(most, np.int64)
    first_x, first_y = np.empty(most, np.int64), np.empty(most, np.int64)
    x, y = np.empty(most, np.int64), np.empty(most, np.int64)
    for group in range(len(starts) - 1):
        if starts[group + 1] - starts[group] < 2:
            continue
        first = order[starts[group]]
        n = sizes[_graph(first, ptr)]
        _read_entries(first, color, num_colors, length, ptr, sizes, first_x, first_y)
        for w in range(n):
            wanted[w] = 0
            slot = _slot(first_x[w], first_y[w], group, slots, stamps, first_x, first_y)
            if stamps[slot] != group:
                stamps[slot], slots[slot] = group, w
            wanted[slots[slot]] += 1
        for t in range(starts[group] + 1, starts[group + 1]):
            v = order[t]
            if sizes[_graph(v, ptr)] != n or color[v] != color[first]:
                return False
            _read_entries(v, color, num_colors, length, ptr, sizes, x, y)
            for w in range(n):
                slot = _slot(x[w], y[w], group, slots, stamps, first_x, first_y)
                if stamps[slot] != group:
                    return False
                x[w] = slots[slot]
                found[x[w]] += 1
            for w in range(n):
                if found[x[w]] != 0 and found[x[w]] != wanted[x[w]]:
                    return False
                found[x[w]] = 0
    return True


@jit
def _read_entries(
    v: int, color: Ints, num_colors: int, length: int, ptr: Ints, sizes: Ints, x: Ints, y: Ints
) -> None:
    """The entries of a signature, one per node w: up to three colours as two numbers."""
    g = _graph(v, ptr)
    n, at = sizes[g], v - ptr[g]
    s0, s1, s2 = _steps(n, length)
    a, b, c = v - _part(at, s0, n), v - _part(at, s1, n), v - _part(at, s2, n)
    for w in range(n):
        x[w] = color[a + w * s0] * num_colors + color[b + w * s1]
        y[w] = color[c + w * s2]


@jit
def _slot(
    x: int, y: int, group: int, slots: Ints, stamps: Ints, first_x: Ints, first_y: Ints
) -> int:
    """Where an entry of this group stands, or a slot of another group where it belongs."""
    slot = np.int64(_mix(x ^ (y << 40)) & np.uint64(len(slots) - 1))
    while stamps[slot] == group and (first_x[slots[slot]] != x or first_y[slots[slot]] != y):
        slot = (slot + 1) & (len(slots) - 1)
    return int(slot)


@jit
def _steps(n: int, length: int) -> tuple[int, int, int]:
    """How far apart tuples are that differ by one in their 1st, 2nd, 3rd node.

    A pair counts as a triple whose third node makes no difference.
    """
    return (n * n, n, 1) if length == 3 else (n, 1, 0)


@jit
def _part(at: int, step: int, n: int) -> int:
    """What one node contributes to the place of a tuple."""
    return at // step % n * step if step else 0


@jit
def _graph(v: int, ptr: Ints) -> int:
    """The graph of a tuple."""
    low, high = 0, len(ptr) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if ptr[middle] <= v:
            low = middle
        else:
            high = middle
    return low


@jit
def _mix(value: int) -> np.uint64:
    """Spreads the bits of a number over all places."""
    bits = np.uint64(value)
    bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return bits ^ (bits >> np.uint64(29))
