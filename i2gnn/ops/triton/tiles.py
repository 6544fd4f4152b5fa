"""Parts of kernels: reading and writing tiles of rows, and finding where a row belongs.

A tile is a block of rows times a block of channels; `row` and `channel` hold their indices. Row
times width can exceed 2^31, so rows are 64-bit. Numbers are float32 inside a kernel, whatever
they are in memory.
"""

from typing import Any

import triton.language as tl

from i2gnn.ops.triton.launch import kernel

__all__ = ["links_of_rows", "load_rows", "load_vector", "locate_rows", "store_rows", "tile_indices"]


@kernel
def tile_indices(BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr) -> Any:
    """Rows and channels of the tile that this program works on."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    return row, channel


@kernel
def load_rows(
    x: tl.tensor, row: tl.tensor, channel: tl.tensor, wanted: tl.tensor, D: tl.constexpr
) -> Any:
    """x[row, channel] as float32; zeros for rows that are not wanted."""
    at = row.to(tl.int64)[:, None] * D + channel[None, :]
    mask = wanted[:, None] & (channel < D)[None, :]
    return tl.load(x + at, mask=mask, other=0.0).to(tl.float32)


@kernel
def store_rows(
    x: tl.tensor,
    row: tl.tensor,
    channel: tl.tensor,
    wanted: tl.tensor,
    value: tl.tensor,
    D: tl.constexpr,
) -> None:
    """x[row, channel] = value, for the rows that are wanted."""
    at = row.to(tl.int64)[:, None] * D + channel[None, :]
    tl.store(x + at, value, mask=wanted[:, None] & (channel < D)[None, :])


@kernel
def load_vector(x: tl.tensor, row: tl.tensor, channel: tl.tensor, D: tl.constexpr) -> Any:
    """x[row, channel] as float32 for a single row."""
    return tl.load(x + row * D + channel, mask=channel < D, other=0.0).to(tl.float32)


@kernel
def locate_rows(row: tl.tensor, rows: int, row_to_pair: tl.tensor, row_ptr: tl.tensor) -> Any:
    """The pair of each row, its rank among the rows of the pair, and whether it has a pair.

    Rows at the end of a store may be spare: they belong to no pair, whatever `row_to_pair` says.
    """
    there = row < rows
    pair = tl.load(row_to_pair + row, mask=there, other=0)
    start = tl.load(row_ptr + pair, mask=there, other=0)
    stop = tl.load(row_ptr + pair + 1, mask=there, other=0)
    return pair, (row - start).to(tl.int32), there & (row >= start) & (row < stop)


@kernel
def links_of_rows(
    row: tl.tensor, rows: int, first_link: tl.tensor, link_count: tl.tensor, row_rank: tl.tensor
) -> Any:
    """For each row the first link of its pair, their number, and the row's rank in the pair."""
    first = tl.load(first_link + row, mask=row < rows, other=0)
    count = tl.load(link_count + row, mask=row < rows, other=0)
    rank = tl.load(row_rank + row, mask=row < rows, other=0)
    return first, count.to(tl.int32), rank
