"""Compiled loops over ranges of items, run on threads.

A kernel is a numba function `kernel(start, stop, *arrays)` that releases the GIL and writes only
the outputs of its own items, so the result does not depend on how the range is cut. Plain threads
rather than numba's own pool: they survive a fork (PyG's `DataLoader` workers), honour
`torch.set_num_threads`, and report progress between chunks.
"""

import functools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import torch

from i2gnn.progress import progress_bar

__all__ = ["chunks_for", "have", "jit", "jit_fused", "run_chunks"]

F = TypeVar("F", bound=Callable[..., Any])


@functools.cache
def have(compiler: str) -> bool:
    """Whether an optional compiler of kernels, numba or triton, is installed."""
    return find_spec(compiler) is not None


def jit(function: F) -> F:
    """Compiles a function with numba: cached on disk, GIL released.

    Without numba the package can be imported and models run on the reference ops; only calling
    a kernel, to extract or to count, is then an error.
    """
    return _compile(function)


def jit_fused(function: F) -> F:
    """As `jit`, with a * b + c in one instruction where the processor has it (rounded once)."""
    return _compile(function, fastmath={"contract"})


def _compile(function: F, **options: Any) -> F:
    try:
        import numba
    except ImportError:

        def missing(*_: object) -> None:
            raise RuntimeError(f"{function.__name__} needs numba, which is not installed")

        return cast(F, missing)
    compiler = numba.njit(cache=True, nogil=True, error_model="numpy", **options)
    return cast(F, compiler(function))


def run_chunks(
    kernel: Callable[..., object],
    count: int,
    arguments: Sequence[object],
    *,
    weights: npt.NDArray[np.integer[Any]] | None = None,
    chunks: int = 256,
    description: str = "",
) -> None:
    """Calls `kernel(start, stop, *arguments)` on ranges that cover 0 .. count.

    Args:
        kernel: Function compiled by `jit`, or one that spends its time in such functions and in
            PyTorch, which uses one thread inside it.
        count: Number of items.
        arguments: Passed on after the range.
        weights: Work per item, [count]; the ranges then hold about equal work.
        chunks: Number of ranges at most; more means smoother progress and balance.
        description: Shows a progress bar under this title; empty for none.
    """
    if count == 0:
        return
    bounds = _cut(count, weights, chunks)
    threads = torch.get_num_threads()
    with progress_bar(description, count, enabled=bool(description)) as advance:
        ranges = list(zip(bounds[:-1], bounds[1:], strict=True))
        if threads == 1 or len(ranges) <= 1:
            for start, stop in ranges:
                kernel(start, stop, *arguments)
                advance(stop - start)
            return
        futures = [_pool(threads, os.getpid()).submit(kernel, *r, *arguments) for r in ranges]
        try:
            for (start, stop), future in zip(ranges, futures, strict=True):
                future.result()
                advance(stop - start)
        finally:
            for future in futures:
                future.cancel()


def chunks_for(numbers: int, most: int) -> int:
    """How many ranges to cut work into that touches so many numbers.

    Handing a range to a thread costs as much as a few ten thousand additions.
    """
    return max(1, min(most, numbers // 2**16))


def _cut(count: int, weights: npt.NDArray[np.integer[Any]] | None, chunks: int) -> list[int]:
    """Bounds of at most `chunks` ranges over 0 .. count, none empty, of about equal weight."""
    chunks = min(chunks, count)
    if weights is None:
        return [count * c // chunks for c in range(chunks + 1)]
    total = np.cumsum(weights, dtype=np.float64)
    targets = total[-1] * np.arange(1, chunks) / chunks
    inner = np.searchsorted(total, targets, side="right")
    return [int(b) for b in np.unique(np.concatenate([[0], inner, [count]]))]


@functools.cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """One pool per process: threads do not live on in a forked child.

    PyTorch's ops start no further threads inside it. `set_num_threads` holds for the calling
    thread and for those that first ask for it later, hence the order of these calls.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="i2gnn")
    begun = threading.Barrier(threads + 1)

    def begin() -> None:
        torch.get_num_threads()
        torch.set_num_threads(1)
        begun.wait()

    for _ in range(threads):
        pool.submit(begin)
    begun.wait()
    torch.set_num_threads(threads)
    return pool
