"""How kernels are compiled, cut into tiles and started."""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

import torch
import triton
from torch import Tensor

__all__ = ["INTERPRETED", "SideWork", "Tile", "blocks", "kernel", "launch", "tile_for"]

Result = TypeVar("Result")

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


class SideWork:
    """Work on a second stream, beside what is launched meanwhile; `join` ends it.

    What it reads is kept until then. What it returns is there after `join`, and not before.
    """

    def __init__(self, like: Tensor) -> None:
        self._device = like.device if like.is_cuda else None
        self._kept: list[Any] = []
        self._done: torch.cuda.Event | None = None

    def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Calls `work`, which launches kernels; they start when all before this call are done."""
        if self._device is None:
            return work(*arguments)
        there = _second_stream(self._device)
        there.wait_stream(torch.cuda.current_stream(self._device))
        # Memory that is given back would be used again here, while it is still read there.
        self._kept += arguments
        with torch.cuda.stream(there):
            result = work(*arguments)
        self._done = there.record_event()
        return result

    def join(self) -> None:
        """Lets what follows wait for all of this work, and for no other that came later."""
        if self._done is not None:
            torch.cuda.current_stream(self._device).wait_event(self._done)
        self._kept.clear()


@cache
def _second_stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
