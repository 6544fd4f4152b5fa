"""Rows cut into slices that a core works on in its own cache, and threads that take them."""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from i2gnn.ops.cpu import kernels
from i2gnn.parallel import run_chunks
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["Links", "Slice", "cut", "fits_whole_roots", "label_codes", "run_slices"]

SLICE = 512
"""Rows of a slice at most, if no root has more: 64 wide, a layer needs 0.9 MB for them."""

LONGEST = 8 * SLICE
"""Rows of the largest root up to which slices are cut between roots."""

PARTS = 16
"""Parts of the slices, each of which one thread takes."""

Array = npt.NDArray[Any]


class Slice(NamedTuple):
    """Rows start .. stop; where there are subgraphs, those of pairs (and roots) first .. last."""

    start: int
    stop: int
    first_pair: int = 0
    last_pair: int = 0
    first_root: int = 0
    last_root: int = 0

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.stop - self.start

    @property
    def rows(self) -> slice:
        """The rows, to index a tensor with."""
        return slice(self.start, self.stop)


class Links:
    """Sums over links for the rows of a slice; rows are flat arrays."""

    def __init__(self, subgraphs: Subgraphs) -> None:
        links = subgraphs.link_ptr.numpy(), subgraphs.link_to_pair.numpy()
        self.layout = (*links, subgraphs.row_ptr.numpy())

    def sum(self, s: Slice, width: int, h: Array, first: int, out: Array) -> None:
        """Writes the sums over neighbours in h, whose rows begin with row `first`."""
        pairs = s.first_pair, s.last_pair
        kernels.sum_links(*pairs, width, *self.layout, h, first, out, s.start)

    def add(self, s: Slice, width: int, h: Array, out: Array) -> None:
        """Adds the sums over neighbours in h, which are all in the slice."""
        pairs = s.first_pair, s.last_pair
        kernels.add_links(*pairs, width, *self.layout, h, s.start, out, s.start)


def label_codes(subgraphs: Subgraphs) -> Array:
    """Label codes, [R]; none if rows have no labels."""
    return np.empty(0) if subgraphs.label_code is None else subgraphs.label_code.numpy()


def fits_whole_roots(subgraphs: Subgraphs) -> bool:
    """Whether slices are cut between roots, so that no link leads from one to another."""
    if subgraphs.identifiers == 0:
        return False
    ends = subgraphs.row_ptr.numpy()[subgraphs.pair_ptr.numpy()]
    return int(np.diff(ends).max(initial=0)) <= LONGEST


def cut(rows: int, subgraphs: Subgraphs | None, most: int | None = None) -> list[Slice]:
    """Slices of all rows: cut between roots if that fits, between pairs, or anywhere.

    They have at most `most` rows, or SLICE, if no root has more.
    """
    most = SLICE if most is None else most
    if subgraphs is None:
        return [Slice(start, min(start + most, rows)) for start in range(0, rows, most)]
    ends = subgraphs.row_ptr.numpy()
    if not fits_whole_roots(subgraphs):
        return [Slice(int(ends[a]), int(ends[b]), a, b) for a, b in _pack(ends, most)]
    pairs = subgraphs.pair_ptr.numpy()
    ends = ends[pairs]
    return [
        Slice(int(ends[a]), int(ends[b]), int(pairs[a]), int(pairs[b]), a, b)
        for a, b in _pack(ends, most)
    ]


def _pack(ends: Array, most: int) -> list[tuple[int, int]]:
    """Ranges of items for slices, where item n has rows ends[n] .. ends[n + 1].

    A range has as many items as fit, at least one with rows. Items without rows at the end belong
    to none.
    """
    ranges, start = [], 0
    while ends[start] < ends[-1]:
        stop = int(np.searchsorted(ends, ends[start] + most, side="right")) - 1
        if ends[stop] == ends[start]:  # the next item with rows is longer than a slice
            stop += 1
        ranges.append((start, stop))
        start = stop
    return ranges


def run_slices(slices: list[Slice], work: Callable[[list[Slice]], list[Tensor]]) -> list[Tensor]:
    """Calls `work` on parts of the slices, on threads; the sums of the tensors it returns.

    Parts do not depend on the number of threads, and their tensors are added in their order, so
    the sums do not depend on it either.
    """
    length = max(1, -(-len(slices) // PARTS))
    parts = [slices[i : i + length] for i in range(0, len(slices), length)]
    total: list[Tensor] = []
    early: dict[int, list[Tensor]] = {}  # results whose predecessors are not there yet
    added, lock = 0, threading.Lock()

    @torch.no_grad()  # holds per thread
    def call(start: int, stop: int) -> None:
        nonlocal added, total
        for part in range(start, stop):
            result = work(parts[part])
            with lock:
                early[part] = result
                while added in early:
                    result = early.pop(added)
                    for tensor, addend in zip(total, result, strict=bool(total)):
                        tensor += addend
                    total = total or result
                    added += 1

    run_chunks(call, len(parts), (), chunks=PARTS)
    return total
