"""Kernels of the pools: sums over the rows of a subgraph, of a range, or of a node.

Items at the end of a store may be spare, that is, outside of all ranges: they get zeros. Where a
load is masked by what exists rather than by what is wanted, it need not wait for another load.
"""

from typing import Any

import triton.language as tl

from i2gnn.ops.triton.launch import kernel
from i2gnn.ops.triton.tiles import load_rows, locate_rows, store_rows, tile_indices

__all__ = [
    "pool_context_kernel",
    "pool_nodes_kernel",
    "pool_ranges_kernel",
    "spread_branches_kernel",
    "spread_nodes_kernel",
    "spread_ranges_kernel",
    "sum_of_node",
]

UNROLL = tl.constexpr(4)
"""Rows of a subgraph whose loads are in flight at once."""


@kernel
def pool_nodes_kernel(
    out: tl.tensor,
    h: tl.tensor,
    branch_to_root: tl.tensor,
    branch_ptr: tl.tensor,
    pair_ptr: tl.tensor,
    row_ptr: tl.tensor,
    branches: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
    MEAN: tl.constexpr,
) -> None:
    """out[i,j] = sum or mean of h[i,j,k] over k.

    The rows of a root are contiguous, its branches taking turns: those of one branch lie as many
    rows apart as the root has branches.
    """
    branch, channel = tile_indices(BLOCK_R, BLOCK_D)
    there = branch < branches
    root = tl.load(branch_to_root + branch, mask=there, other=0)
    start = tl.load(branch_ptr + root, mask=there, other=0)
    stop = tl.load(branch_ptr + root + 1, mask=there, other=0)
    first_pair = tl.load(pair_ptr + root, mask=there, other=0)
    pairs = tl.load(pair_ptr + root + 1, mask=there, other=0) - first_pair
    count = tl.where((branch >= start) & (branch < stop), pairs, 0).to(tl.int32)
    first = tl.load(row_ptr + first_pair, mask=there, other=0) + branch - start
    apart = (stop - start).to(tl.int32)
    total = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    for begin in range(0, tl.max(count), UNROLL):
        for step in tl.static_range(UNROLL):
            row = first + (begin + step) * apart
            total += load_rows(h, row, channel, begin + step < count, D)
    if MEAN:
        total /= tl.maximum(count, 1).to(tl.float32)[:, None]
    store_rows(out, branch, channel, there, total, D)


@kernel
def spread_branches_kernel(
    out: tl.tensor,
    x: tl.tensor,
    row_to_pair: tl.tensor,
    row_ptr: tl.tensor,
    pair_to_root: tl.tensor,
    branch_ptr: tl.tensor,
    pair_ptr: tl.tensor,
    rows: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
    MEAN: tl.constexpr,
) -> None:
    """out[i,j,k] = x[i,j], divided by the number of k if MEAN."""
    row, channel = tile_indices(BLOCK_R, BLOCK_D)
    there = row < rows
    pair, rank, inside = locate_rows(row, rows, row_to_pair, row_ptr)
    root = tl.load(pair_to_root + pair, mask=there, other=0)
    branch = tl.load(branch_ptr + root, mask=there, other=0) + rank
    value = load_rows(x, branch, channel, inside, D)
    if MEAN:
        start = tl.load(pair_ptr + root, mask=there, other=0)
        stop = tl.load(pair_ptr + root + 1, mask=there, other=0)
        value /= tl.maximum(stop - start, 1).to(tl.float32)[:, None]
    store_rows(out, row, channel, there, value, D)


@kernel
def pool_ranges_kernel(
    out: tl.tensor,
    x: tl.tensor,
    ptr: tl.tensor,
    groups: int,
    parts: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
    MEAN: tl.constexpr,
) -> None:
    """out[part, g] = sum over a part of the members ptr[g] .. ptr[g + 1], one program for each."""
    group = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    start = tl.load(ptr + group)
    stop = tl.load(ptr + group + 1)
    length = tl.cdiv(stop - start, parts)
    begin = start + tl.program_id(2) * length
    end = tl.minimum(begin + length, stop)
    total = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    for first in range(begin, end, BLOCK_R):
        member = first + tl.arange(0, BLOCK_R)
        total += load_rows(x, member, channel, member < end, D)
    result = tl.sum(total, 0)
    if MEAN:
        result /= tl.maximum(stop - start, 1).to(tl.float32)
    at = (tl.program_id(2) * groups + group) * D + channel
    tl.store(out + at, result, mask=channel < D)


@kernel
def spread_ranges_kernel(
    out: tl.tensor,
    x: tl.tensor,
    to_group: tl.tensor,
    ptr: tl.tensor,
    members: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
    MEAN: tl.constexpr,
) -> None:
    """out[m] = x[g] for the members m of each group g, divided by their number if MEAN."""
    member, channel = tile_indices(BLOCK_R, BLOCK_D)
    there = member < members
    group = tl.load(to_group + member, mask=there, other=0)
    start = tl.load(ptr + group, mask=there, other=0)
    stop = tl.load(ptr + group + 1, mask=there, other=0)
    value = load_rows(x, group, channel, there & (member >= start) & (member < stop), D)
    if MEAN:
        value /= tl.maximum(stop - start, 1).to(tl.float32)[:, None]
    store_rows(out, member, channel, there, value, D)


@kernel
def sum_of_node(
    h: tl.tensor,
    node: tl.tensor,
    channel: tl.tensor,
    node_to_pair_ptr: tl.tensor,
    node_to_pair: tl.tensor,
    row_ptr: tl.tensor,
    used: tl.tensor,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> Any:
    """Sum of h[i,j,k] over all i and j for one node k, and their number.

    It walks over the rows of a block of the node's pairs in step; pairs from `used` on are spare.
    """
    stop = tl.load(node_to_pair_ptr + node + 1)
    total = tl.zeros([BLOCK_R, channel.shape[0]], tl.float32)
    seen = tl.zeros([BLOCK_R], tl.int32)
    for begin in range(tl.load(node_to_pair_ptr + node), stop, BLOCK_R):
        item = begin + tl.arange(0, BLOCK_R)
        pair = tl.load(node_to_pair + item, mask=item < stop, other=0)
        has = (item < stop) & (pair < used)
        first = tl.load(row_ptr + pair, mask=has, other=0)
        count = (tl.load(row_ptr + pair + 1, mask=has, other=0) - first).to(tl.int32)
        seen += count
        for branch in range(0, tl.max(count), UNROLL):
            for step in tl.static_range(UNROLL):
                total += load_rows(h, first + branch + step, channel, branch + step < count, D)
    return tl.sum(total, 0), tl.sum(seen, 0)


@kernel
def pool_context_kernel(
    out: tl.tensor,
    size: tl.tensor,
    h: tl.tensor,
    node_to_pair_ptr: tl.tensor,
    node_to_pair: tl.tensor,
    row_ptr: tl.tensor,
    pair_ptr: tl.tensor,
    nodes: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """out[k] = sum of h[i,j,k] over all i and j, or their mean if `size` takes their number."""
    node = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    used = tl.load(pair_ptr + nodes)
    result, count = sum_of_node(
        h, node, channel, node_to_pair_ptr, node_to_pair, row_ptr, used, D, BLOCK_R
    )
    if size is not None:
        result /= tl.maximum(count, 1).to(tl.float32)
        tl.store(size + node, count)
    tl.store(out + node * D + channel, result, mask=channel < D)


@kernel
def spread_nodes_kernel(
    out: tl.tensor,
    x: tl.tensor,
    size: tl.tensor,
    row_to_pair: tl.tensor,
    row_ptr: tl.tensor,
    pair_to_node: tl.tensor,
    rows: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """out[i,j,k] = x[k], divided by size[k] if there is a size."""
    row, channel = tile_indices(BLOCK_R, BLOCK_D)
    there = row < rows
    pair, _, inside = locate_rows(row, rows, row_to_pair, row_ptr)
    node = tl.load(pair_to_node + pair, mask=there, other=0)
    value = load_rows(x, node, channel, inside, D)
    if size is not None:
        count = tl.load(size + node, mask=there, other=0)
        value /= tl.maximum(count, 1).to(tl.float32)[:, None]
    store_rows(out, row, channel, there, value, D)
