"""Batches: the ranges of chosen graphs, copied one behind the other.

`select` makes a batch of exactly the chosen graphs. `assemble` makes one of *fixed shape*: it takes
indices that are on the device, never waits for it, and its tensors have the same lengths whatever
the indices, so a whole training step can be recorded once and replayed with other graphs.

What lies behind the last graph of a batch of fixed shape is *spare*, and there is spare room on
every axis. Spare nodes have no edges, branches or pairs, and spare pairs no links or rows; what is
spare points to the last, hence spare, item of another axis. So whatever is gathered or summed over
the graphs comes out right, and only the results of spare items are of no meaning; their targets
are NaN, that is, missing.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor

from i2gnn.graphs.flat import FlatStore
from i2gnn.parallel import have

__all__ = ["assemble", "has_kernel", "select"]

Store = TypeVar("Store", bound=FlatStore)


class Moves(NamedTuple):
    """Where the ranges of the b graphs of a batch lie, and how far from where they were.

    Shapes:
        ptr: [A + 1, b + 1], start of each range; the last axis is that of the graphs.
        shift: [A + 1, b], new minus old start.
    """

    ptr: Tensor
    shift: Tensor


def select(store: Store, indices: Tensor) -> Store:
    """The store of the chosen graphs.

    Args:
        store: All graphs.
        indices: [b] on the host, in 0 .. G - 1.
    """
    sizes = {axis: sizes[indices] for axis, sizes in store.sizes.items()}
    moves = _moves(store, indices.to(store.device, non_blocking=True))
    columns = _copy_columns(store, moves, sizes)
    return dataclasses.replace(store, sizes=sizes, **columns)


def assemble(store: Store, indices: Tensor, capacity: Mapping[str, int]) -> Store:
    """A batch of fixed shape, put together without waiting for the device.

    Args:
        store: All graphs.
        indices: [b] on the device of the store. The index G, which stands for no graph, fills up
            the end: at least the last one, so that there is a spare graph too.
        capacity: Length of the result along each axis: more than the chosen graphs have. Nobody
            checks this, since their sizes are on the device.

    Raises:
        ValueError: Targets that are not floating-point, so that none of them can be missing.
    """
    for name, column in store.columns.items():
        if store.is_target(name) and not column.is_floating_point():
            raise ValueError(f"{name} is {column.dtype}; a batch of fixed shape needs floats")
    spare = torch.zeros(len(indices), dtype=torch.int64)
    spare[-1] = 1
    sizes = {axis: spare * capacity[axis] for axis in store.sizes}
    moves = _moves(store, indices)
    columns = _copy_columns(store, moves, sizes)
    graph_ptr = dict(zip((*store.sizes, "graph"), moves.ptr, strict=True))
    return dataclasses.replace(store, sizes=sizes, graph_ptr=graph_ptr, **columns)


def _moves(store: FlatStore, indices: Tensor) -> Moves:
    sizes, starts = (table.index_select(1, indices) for table in store.ranges)  # [A + 1, b]
    ptr = sizes.new_zeros(len(sizes), len(indices) + 1)
    torch.cumsum(sizes, 1, out=ptr[:, 1:])
    return Moves(ptr, ptr[:, :-1] - starts)


def _copy_columns(store: FlatStore, moves: Moves, sizes: Mapping[str, Tensor]) -> dict[str, Any]:
    """All columns of the batch whose ranges `sizes` [b] gives, or at least their sums."""
    lengths = {axis: int(per_graph.sum()) for axis, per_graph in sizes.items()}
    lengths["graph"] = moves.shift.shape[1]
    place = {axis: number for number, axis in enumerate(lengths)}
    copy = copy_ranges
    if has_kernel(store.device):
        from i2gnn.graphs import copy_kernel

        copy = copy_kernel.copy_ranges
    columns = {}
    for name, column in store.columns.items():
        axis, into = store.axis_of(name), store.index_of(name)
        fill: float = 0 if into is None else lengths[into] - 1
        if store.is_target(name) and column.is_floating_point():
            fill = float("nan")
        columns[name] = copy(
            column, moves, place[axis], None if into is None else place[into], lengths[axis], fill
        )
    return columns


def copy_ranges(
    column: Tensor, moves: Moves, axis: int, into: int | None, length: int, fill: float
) -> Tensor:
    """One column of a batch: the ranges of its graphs, then `fill`.

    Args:
        column: Of all graphs, [n, ...].
        moves: Where the ranges lie.
        axis: Number of the axis that the column lies along.
        into: Number of the axis that its values are indices into, or None.
        length: Of the result.
        fill: Value of the spare items.

    Shapes:
        returns: [length, ...].
    """
    ptr, shift = moves.ptr[axis], moves.shift[axis]
    total, sizes = int(ptr[-1]), ptr.diff()
    source = torch.arange(total, device=column.device)
    source -= torch.repeat_interleave(shift, sizes, output_size=total)
    values = column.index_select(0, source)
    if into is not None:
        values += torch.repeat_interleave(moves.shift[into], sizes, output_size=total)
    if total == length:
        return values
    out = column.new_full((length, *column.shape[1:]), fill)
    out[:total] = values
    return out


def has_kernel(device: torch.device) -> bool:
    """Whether batches on this device are assembled by a kernel, and nothing waits."""
    return device.type == "cuda" and have("triton")
