"""Parallel kernels that need arrays of their own: results shared by many items, and scratch."""

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from i2gnn.parallel import run_chunks

__all__ = ["Array", "num_chunks", "run_adding", "run_with_scratch"]

Array = npt.NDArray[Any]

BEYOND = 0.999 * float(2**63)
"""A count that is estimated above this does not fit into 64 bits."""
COPY_BYTES = 2**30
"""Memory for copies of a result; fewer threads work where that does not suffice for all."""


def run_with_scratch(
    kernel: Callable[..., object],
    count: int,
    arguments: Sequence[object],
    scratch: Callable[[], tuple[Array, ...]],
    *,
    workers: int | None = None,
    weights: Array | None = None,
    description: str = "",
) -> None:
    """Calls `kernel(start, stop, *arguments, *scratch())` on ranges of items.

    Each thread keeps one set of scratch arrays; a kernel must leave them as it found them.
    """
    free: SimpleQueue[tuple[Array, ...]] = SimpleQueue()
    for _ in range(workers or torch.get_num_threads()):
        free.put(scratch())

    def call(start: int, stop: int) -> None:
        own = free.get()
        try:
            kernel(start, stop, *arguments, *own)
        finally:
            free.put(own)

    run_chunks(call, count, (), weights=weights, chunks=num_chunks(count), description=description)


def num_chunks(count: int) -> int:
    """Ranges for so many nodes: enough for balance, each long enough to be worth a hand-over."""
    return max(4 * torch.get_num_threads(), min(256, count // 2048))


def run_adding(
    kernel: Callable[..., object],
    count: int,
    arguments: Sequence[object],
    shape: tuple[int, ...],
    scratch: Callable[[], tuple[Array, ...]] = tuple,
    *,
    weights: Array | None = None,
    description: str = "",
) -> Array:
    """Calls `kernel(start, stop, *arguments, total, *scratch())` and returns the total.

    What is found from one item counts for other items too, so every thread adds to a total of its
    own; integers add up to the same in any order.
    """
    totals: list[Array] = []

    def own() -> tuple[Array, ...]:
        totals.append(np.zeros(shape, dtype=np.int64))
        return (totals[-1], *scratch())

    affordable = COPY_BYTES // max(1, 8 * int(np.prod(shape)))
    workers = max(1, min(torch.get_num_threads(), affordable))
    run_with_scratch(
        kernel,
        count,
        arguments,
        own,
        workers=workers,
        weights=weights,
        description=description,
    )
    for other in totals[1:]:
        totals[0] += other
    return totals[0]
