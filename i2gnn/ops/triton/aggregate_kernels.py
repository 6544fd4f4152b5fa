"""Kernels of `aggregate`: sums over the links of each pair, without a message tensor.

The row of rank b in pair p receives, over each link q of p, from row `link_to_row[q]` + b. A
program takes a tile of rows and walks over their links in step, as many as the row with the most
has; the loads of several steps are in flight at once.
"""

import triton.language as tl

from i2gnn.ops.triton.launch import kernel
from i2gnn.ops.triton.tiles import (
    links_of_rows,
    load_rows,
    load_vector,
    store_rows,
    tile_indices,
)

__all__ = [
    "relu_sum_grad_edge_kernel",
    "relu_sum_grad_h_kernel",
    "relu_sum_grad_table_kernel",
    "relu_sum_kernel",
    "sum_links_kernel",
]

UNROLL = tl.constexpr(4)
"""Links whose loads are in flight at once."""


@kernel
def sum_links_kernel(
    h: tl.tensor,
    out: tl.tensor,
    own: tl.tensor,
    first_link: tl.tensor,
    link_count: tl.tensor,
    row_rank: tl.tensor,
    link_to_row: tl.tensor,
    rows: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """out[r] = sum of h[link_to_row[q] + rank of r] over the links q of r's pair, plus own[r]."""
    row, channel = tile_indices(BLOCK_R, BLOCK_D)
    first, count, rank = links_of_rows(row, rows, first_link, link_count, row_rank)
    if own is None:
        total = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    else:
        total = load_rows(own, row, channel, row < rows, D)
    for begin in range(0, tl.max(count), UNROLL):
        for step in tl.static_range(UNROLL):
            has = begin + step < count
            sender = tl.load(link_to_row + first + begin + step, mask=has, other=0) + rank
            total += load_rows(h, sender, channel, has, D)
    store_rows(out, row, channel, row < rows, total, D)


@kernel
def relu_sum_kernel(
    h: tl.tensor,
    edge_attr: tl.tensor,
    edge_type: tl.tensor,
    out: tl.tensor,
    first_link: tl.tensor,
    link_count: tl.tensor,
    row_rank: tl.tensor,
    link_to_row: tl.tensor,
    link_to_edge: tl.tensor,
    rows: int,
    types: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """out[r] = sum of relu(h[sender] + edge_attr[edge]) over the links of r's pair.

    With `edge_type`, `edge_attr` is a table: edge_attr[edge_type[edge]]. A type outside of the
    table makes its messages NaN.
    """
    row, channel = tile_indices(BLOCK_R, BLOCK_D)
    first, count, rank = links_of_rows(row, rows, first_link, link_count, row_rank)
    total = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    for begin in range(0, tl.max(count), UNROLL):
        for step in tl.static_range(UNROLL):
            has = begin + step < count
            link = first + begin + step
            sender = tl.load(link_to_row + link, mask=has, other=0) + rank
            edge = tl.load(link_to_edge + link, mask=has, other=0)
            message = load_rows(h, sender, channel, has, D)
            if edge_type is None:
                message += load_rows(edge_attr, edge, channel, has, D)
            else:
                kind = tl.load(edge_type + edge, mask=has, other=0)
                known = (kind >= 0) & (kind < types)
                message += load_rows(edge_attr, kind, channel, has & known, D)
                message = tl.where((has & ~known)[:, None], float("nan"), message)
            total += tl.where(message <= 0, 0.0, message)  # passes NaN on, as relu does
    store_rows(out, row, channel, row < rows, total, D)


@kernel
def relu_sum_grad_h_kernel(
    h: tl.tensor,
    edge_attr: tl.tensor,
    grad: tl.tensor,
    grad_h: tl.tensor,
    first_link: tl.tensor,
    link_count: tl.tensor,
    row_rank: tl.tensor,
    link_to_row: tl.tensor,
    link_to_reverse_edge: tl.tensor,
    rows: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """Gradient by h: links are symmetric, so sender l finds its receivers k in its own links.

    Its message to k ran over the edge k <- l, the reverse of the one that the link l <- k names.
    """
    row, channel = tile_indices(BLOCK_R, BLOCK_D)
    first, count, rank = links_of_rows(row, rows, first_link, link_count, row_rank)
    own = load_rows(h, row, channel, row < rows, D)
    total = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    for begin in range(0, tl.max(count), UNROLL):
        for step in tl.static_range(UNROLL):
            has = begin + step < count
            link = first + begin + step
            receiver = tl.load(link_to_row + link, mask=has, other=0) + rank
            edge = tl.load(link_to_reverse_edge + link, mask=has, other=0)
            message = own + load_rows(edge_attr, edge, channel, has, D)
            back = load_rows(grad, receiver, channel, has, D)
            total += tl.where(message <= 0, 0.0, back)
    store_rows(grad_h, row, channel, row < rows, total, D)


@kernel
def relu_sum_grad_table_kernel(
    h: tl.tensor,
    table: tl.tensor,
    edge_type: tl.tensor,
    grad: tl.tensor,
    grad_h: tl.tensor,
    partial: tl.tensor,
    first_link: tl.tensor,
    link_count: tl.tensor,
    row_rank: tl.tensor,
    link_to_row: tl.tensor,
    link_to_reverse_edge: tl.tensor,
    rows: int,
    types: int,
    tiles: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_T: tl.constexpr,
) -> None:
    """Gradients by h and by a table of edge types, in one pass over the links.

    Whether h[l] + table[t] > 0 does not depend on the receiver. So a sender adds up, type by type,
    what its receivers give back; that sum, where positive, belongs to both gradients. The program
    takes several tiles of rows, one after the other, and leaves its share of the table's gradient
    in `partial[program]`, [T, D].
    """
    kinds = tl.arange(0, BLOCK_T)
    share = tl.zeros([BLOCK_T, BLOCK_D], tl.float32)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    begin_tile = tl.program_id(0).to(tl.int64) * tiles
    for tile in range(begin_tile, tl.minimum(begin_tile + tiles, tl.cdiv(rows, BLOCK_R))):
        row = tile * BLOCK_R + tl.arange(0, BLOCK_R)
        first, count, rank = links_of_rows(row, rows, first_link, link_count, row_rank)
        own = load_rows(h, row, channel, row < rows, D)
        total = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
        for kind in range(types):
            back = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
            for begin in range(0, tl.max(count), UNROLL):
                for step in tl.static_range(UNROLL):
                    has = begin + step < count
                    link = first + begin + step
                    edge = tl.load(link_to_reverse_edge + link, mask=has, other=0)
                    of_kind = has & (tl.load(edge_type + edge, mask=has, other=-1) == kind)
                    receiver = tl.load(link_to_row + link, mask=of_kind, other=0) + rank
                    back += load_rows(grad, receiver, channel, of_kind, D)
            message = own + load_vector(table, kind, channel, D)[None, :]
            back = tl.where(message <= 0, 0.0, back)
            total += back
            share += tl.where((kinds == kind)[:, None], tl.sum(back, 0)[None, :], 0.0)
        store_rows(grad_h, row, channel, row < rows, total, D)
    out = tl.program_id(0).to(tl.int64) * types + kinds
    store_rows(partial, out, channel, kinds < types, share, D)


@kernel
def relu_sum_grad_edge_kernel(
    h: tl.tensor,
    edge_attr: tl.tensor,
    grad: tl.tensor,
    grad_edge: tl.tensor,
    edge_to_link_ptr: tl.tensor,
    edge_to_link: tl.tensor,
    link_to_row: tl.tensor,
    link_to_receiver: tl.tensor,
    row_ptr: tl.tensor,
    link_ptr: tl.tensor,
    pairs: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """Gradient by edge_attr: one program per edge, over a block of its links and their branches.

    Links from link_ptr[pairs] on are spare: they belong to no pair.
    """
    edge = tl.program_id(0).to(tl.int64)
    channel = tl.program_id(1) * BLOCK_D + tl.arange(0, BLOCK_D)
    attribute = load_vector(edge_attr, edge, channel, D)[None, :]
    used = tl.load(link_ptr + pairs)
    stop = tl.load(edge_to_link_ptr + edge + 1)
    total = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    for begin in range(tl.load(edge_to_link_ptr + edge), stop, BLOCK_R):
        item = begin + tl.arange(0, BLOCK_R)
        link = tl.load(edge_to_link + item, mask=item < stop, other=0)
        has = (item < stop) & (link < used)
        pair = tl.load(link_to_receiver + link, mask=has, other=0)
        receiver = tl.load(row_ptr + pair, mask=has, other=0)
        branches = tl.load(row_ptr + pair + 1, mask=has, other=0) - receiver
        sender = tl.load(link_to_row + link, mask=has, other=0)
        for branch in range(tl.max(branches)):
            wanted = branch < branches
            message = load_rows(h, sender + branch, channel, wanted, D) + attribute
            back = load_rows(grad, receiver + branch, channel, wanted, D)
            total += tl.where(message <= 0, 0.0, back)
    at = edge * D + channel
    tl.store(grad_edge + at, tl.sum(total, 0), mask=channel < D)
