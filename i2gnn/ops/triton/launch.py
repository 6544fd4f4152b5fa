"""How kernels are compiled, cut into tiles and started."""

import contextlib
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, cast

import torch
import triton
from torch import Tensor

__all__ = ["INTERPRETED", "Tile", "beside", "blocks", "kernel", "launch", "tile_for"]

INTERPRETED: bool = triton.knobs.runtime.interpret
"""Whether TRITON_INTERPRET=1 was set when the kernels were defined: they then take CPU tensors."""

TILE = 1024
"""Numbers in a tile: for 128 threads, two 16-byte loads of float32 each."""


def kernel(function: Callable[..., Any]) -> Any:
    """Marks a function as a Triton kernel, or as a part of one; it is compiled when first called.

    Arguments annotated `int` are sizes, which differ from batch to batch. Triton would compile
    another kernel where one of them happens to be 1 or a multiple of 16; here it must not.
    """
    parameters = inspect.signature(function).parameters.values()
    sizes = [parameter.name for parameter in parameters if parameter.annotation is int]
    return triton.jit(function, do_not_specialize=sizes)


class Tile(NamedTuple):
    """Shape of the piece of a [rows, channels] tensor that one program works on."""

    rows: int
    channels: int


def tile_for(channels: int) -> Tile:
    """The tile for tensors of this width: all channels if they are few, and rows to fill it."""
    wide: int = min(128, triton.next_power_of_2(max(1, channels)))
    return Tile(TILE // wide, wide)


def blocks(length: int, size: int) -> int:
    """How many blocks of a size cover a length."""
    return cast(int, triton.cdiv(length, size))


def launch(start: Any, grid: tuple[int, ...], like: Tensor, *arguments: Any, **sizes: Any) -> None:
    """Starts the kernel `start(like, *arguments, **sizes)` on the device of `like`.

    Nothing happens if the grid is empty, as it is where the output has no numbers.
    """
    if 0 in grid:
        return
    with torch.cuda.device_of(like):  # type: ignore[no-untyped-call]
        start[grid](like, *arguments, **sizes)


@contextlib.contextmanager
def beside(like: Tensor, other: Callable[[], None]) -> Iterator[None]:
    """Runs `other` on a second stream, beside what the block launches; after it, both are done.

    What `other` reads and writes must exist before the block and outlive it.
    """
    if not like.is_cuda:
        other()
        yield
        return
    here, there = torch.cuda.current_stream(like.device), _second_stream(like.device)
    there.wait_stream(here)
    with torch.cuda.stream(there):
        other()
    yield
    here.wait_stream(there)


@cache
def _second_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
