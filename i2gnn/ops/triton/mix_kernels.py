"""Kernels of the exchange between subgraphs: node states from rows, and rows from node states.

Node states are [nodes, centre, side, context], D channels each (see `i2gnn.nn.readouts`), all of
them means; all but the context are gated by the labels of the row. Node states are float32, and
rows, inside of a layer, float16 with zeros where the width was filled up.
"""

from typing import Any

import triton.language as tl

from i2gnn.ops.triton.gated_kernels import block, sigmoid
from i2gnn.ops.triton.gine_kernels import embed, load_tile, store_tile
from i2gnn.ops.triton.launch import kernel
from i2gnn.ops.triton.pool_kernels import sum_of_node
from i2gnn.ops.triton.tiles import load_rows, locate_rows, store_rows

__all__ = [
    "mix_grad_kernel",
    "mix_kernel",
    "node_states_grad_kernel",
    "node_states_kernel",
]


@kernel
def gate_of_rows(
    code: tl.tensor,
    resistance: tl.tensor,
    table: tl.tensor,
    weight: tl.tensor,
    row: tl.tensor,
    channel: tl.tensor,
    wanted: tl.tensor,
    WIDTH: tl.constexpr,
    J: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> Any:
    """The sigmoid of the embedded labels; 1 without a gate."""
    if table is None:
        return tl.full([row.shape[0], channel.shape[0]], 1.0, tl.float32)
    else:
        return sigmoid(
            embed(code, resistance, table, weight, row, channel, wanted, WIDTH, J, COLUMNS)
        )


@kernel
def states_of_root(
    h: tl.tensor,
    node: tl.tensor,
    channel: tl.tensor,
    code: tl.tensor,
    resistance: tl.tensor,
    table: tl.tensor,
    weight: tl.tensor,
    pair_ptr: tl.tensor,
    branch_ptr: tl.tensor,
    branch_to_pair: tl.tensor,
    row_ptr: tl.tensor,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    J: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> Any:
    """Means over the branches j of a root: of the mean over k, and of the rows at it and at j.

    Its rows are contiguous: with d branches, the t-th belongs to its pair t // d and branch t % d.
    """
    first_pair = tl.load(pair_ptr + node)
    pairs = (tl.load(pair_ptr + node + 1) - first_pair).to(tl.int32)
    first_branch = tl.load(branch_ptr + node)
    branches = (tl.load(branch_ptr + node + 1) - first_branch).to(tl.int32)
    rows = pairs * branches
    first_row = tl.load(row_ptr + first_pair).to(tl.int64)
    mean = tl.zeros([BLOCK_R, channel.shape[0]], tl.float32)
    at_root = tl.zeros_like(mean)
    at_branch = tl.zeros_like(mean)
    for begin in range(0, rows, BLOCK_R):
        t = begin + tl.arange(0, BLOCK_R)
        has = t < rows
        value = load_rows(h, first_row + t, channel, has, D)
        value *= gate_of_rows(
            code, resistance, table, weight, first_row + t, channel, has, WIDTH, J, COLUMNS
        )
        second = tl.load(branch_to_pair + first_branch + t % branches, mask=has, other=-1)
        mean += value
        at_root += tl.where((t < branches)[:, None], value, 0.0)
        at_branch += tl.where((second == first_pair + t // branches)[:, None], value, 0.0)
    per_branch = tl.maximum(branches, 1).to(tl.float32)
    return (
        tl.sum(mean, 0) / tl.maximum(rows, 1).to(tl.float32),
        tl.sum(at_root, 0) / per_branch,
        tl.sum(at_branch, 0) / per_branch,
    )


@kernel
def node_states_kernel(
    out: tl.tensor,
    size: tl.tensor,
    h: tl.tensor,
    code: tl.tensor,
    resistance: tl.tensor,
    table: tl.tensor,
    weight: tl.tensor,
    pair_ptr: tl.tensor,
    branch_ptr: tl.tensor,
    branch_to_pair: tl.tensor,
    row_ptr: tl.tensor,
    node_to_pair_ptr: tl.tensor,
    node_to_pair: tl.tensor,
    nodes: int,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    J: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """out[i] = [mean over j of (mean over k, row at k = i, row at k = j), context of i].

    Rows lie D numbers apart, of which WIDTH are real; states are 4 WIDTH wide. Two programs per
    node, the second for the context, of whose rows `size` takes the number.
    """
    node = tl.program_id(0).to(tl.int64)
    channel = tl.arange(0, BLOCK_D)
    real = channel < WIDTH
    at = out + node * (4 * WIDTH) + channel
    if tl.program_id(1) == 0:
        mean, at_root, at_branch = states_of_root(
            h, node, channel, code, resistance, table, weight, pair_ptr, branch_ptr,
            branch_to_pair, row_ptr, D, WIDTH, J, COLUMNS, BLOCK_R
        )  # fmt: skip
        tl.store(at, mean, mask=real)
        tl.store(at + WIDTH, at_root, mask=real)
        tl.store(at + 2 * WIDTH, at_branch, mask=real)
    else:
        used = tl.load(pair_ptr + nodes)
        context, number = sum_of_node(
            h, node, channel, node_to_pair_ptr, node_to_pair, row_ptr, used, D, BLOCK_R
        )
        tl.store(size + node, number)
        tl.store(at + 3 * WIDTH, context / tl.maximum(number, 1).to(tl.float32), mask=real)


@kernel
def node_states_grad_kernel(
    grad_h: tl.tensor,
    grad_gate: tl.tensor,
    grad: tl.tensor,
    scale: tl.tensor,
    add: tl.tensor,
    size: tl.tensor,
    h: tl.tensor,
    code: tl.tensor,
    resistance: tl.tensor,
    table: tl.tensor,
    weight: tl.tensor,
    row_to_pair: tl.tensor,
    row_ptr: tl.tensor,
    pair_to_root: tl.tensor,
    pair_to_node: tl.tensor,
    pair_ptr: tl.tensor,
    branch_ptr: tl.tensor,
    branch_to_pair: tl.tensor,
    rows: int,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    J: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """Gradients by rows, with `add` on top, and by what enters the gate; zeros for spare rows.

    The latter are float16, BLOCK_D wide and times the scale, if `grad` does not have it already.
    """
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    channel = tl.arange(0, BLOCK_D)
    there = row < rows
    pair, rank, inside = locate_rows(row, rows, row_to_pair, row_ptr)
    root = tl.load(pair_to_root + pair, mask=there, other=0)
    node = tl.load(pair_to_node + pair, mask=there, other=0)
    first_pair = tl.load(pair_ptr + root, mask=there, other=0)
    pairs = tl.load(pair_ptr + root + 1, mask=there, other=0) - first_pair
    first_branch = tl.load(branch_ptr + root, mask=there, other=0)
    branches = tl.load(branch_ptr + root + 1, mask=there, other=0) - first_branch
    second = tl.load(branch_to_pair + first_branch + rank, mask=inside, other=-1)
    number = tl.load(size + node, mask=there, other=1)
    back = load_rows(grad, 4 * root, channel, inside, WIDTH)
    back /= tl.maximum(pairs, 1).to(tl.float32)[:, None]
    back += load_rows(grad, 4 * root + 1, channel, inside & (pair == first_pair), WIDTH)
    back += load_rows(grad, 4 * root + 2, channel, inside & (pair == second), WIDTH)
    back /= tl.maximum(branches, 1).to(tl.float32)[:, None]
    total = load_rows(grad, 4 * node + 3, channel, inside, WIDTH)
    total /= tl.maximum(number, 1).to(tl.float32)[:, None]
    if add is not None:
        total += load_rows(add, row, channel, inside, D)
    if table is not None:
        gate = gate_of_rows(
            code, resistance, table, weight, row, channel, inside, WIDTH, J, COLUMNS
        )
        slope = back * load_rows(h, row, channel, inside, D) * gate * (1.0 - gate)
        if scale is not None:
            slope *= tl.load(scale)
        store_rows(grad_gate, row, channel, there, slope, BLOCK_D)
        back *= gate
    store_rows(grad_h, row, channel, there, total + back, D)


@kernel
def nodes_of_tile(
    number: tl.tensor,
    rows: tl.tensor,
    row_to_pair: tl.tensor,
    pair_to_node: tl.tensor,
    BLOCK_R: tl.constexpr,
) -> Any:
    """The node of each row of a tile."""
    row = number * BLOCK_R + tl.arange(0, BLOCK_R)
    pair = tl.load(row_to_pair + row, mask=row < rows, other=0)
    return tl.load(pair_to_node + pair)


@kernel
def mix_kernel(
    out: tl.tensor,
    h: tl.tensor,
    q: tl.tensor,
    weight_in: tl.tensor,
    weight_out: tl.tensor,
    bias_out: tl.tensor,
    row_to_pair: tl.tensor,
    pair_to_node: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    WIDTH: tl.constexpr,
    D: tl.constexpr,
    M: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """The result relu(h W_in + q[node]) W_out + bias; W_in is [M, D], W_out [D, M]."""
    d = tl.arange(0, D)
    m = tl.arange(0, M)
    into = block(weight_in, m, d, D)
    outof = block(weight_out, d, m, M)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    step = tl.num_programs(0)
    x_next = load_tile(h, tl.program_id(0), rows, D, BLOCK_R)
    node_next = nodes_of_tile(tl.program_id(0), rows, row_to_pair, pair_to_node, BLOCK_R)
    for t in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), step):
        x = x_next
        node = node_next
        x_next = load_tile(h, t + step, rows, D, BLOCK_R)
        node_next = nodes_of_tile(t + step, rows, row_to_pair, pair_to_node, BLOCK_R)
        y = tl.dot(x, tl.trans(into)) + block(q, node, m, M).to(tl.float32)
        total = tl.dot(tl.maximum(y, 0.0).to(tl.float16), tl.trans(outof))
        total += tl.load(bias_out + d, mask=d < WIDTH, other=0.0)[None, :]
        store_tile(out, t, rows, total, D, BLOCK_R)


@kernel
def mix_grad_kernel(
    grad_h: tl.tensor,
    grad_hidden: tl.tensor,
    partial: tl.tensor,
    grad: tl.tensor,
    h: tl.tensor,
    q: tl.tensor,
    weight_in: tl.tensor,
    weight_out: tl.tensor,
    row_to_pair: tl.tensor,
    pair_to_node: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    D: tl.constexpr,
    M: tl.constexpr,
    BLOCK_R: tl.constexpr,
    STAGES: tl.constexpr,
) -> None:
    """Gradients by h and by the hidden layer, [R, D] and [R, M], which is computed again.

    A program leaves in `partial` its share of those by W_in' and W_out, [2 D, M].
    """
    d = tl.arange(0, D)
    m = tl.arange(0, M)
    into = block(weight_in, m, d, D)
    outof = block(weight_out, d, m, M)
    by_in = tl.zeros([D, M], tl.float32)
    by_out = tl.zeros([D, M], tl.float32)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    for t in tl.range(
        tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0), num_stages=STAGES
    ):
        node = nodes_of_tile(t, rows, row_to_pair, pair_to_node, BLOCK_R)
        x = load_tile(h, t, rows, D, BLOCK_R)
        g = load_tile(grad, t, rows, D, BLOCK_R)
        y = tl.dot(x, tl.trans(into)) + block(q, node, m, M).to(tl.float32)
        dy = tl.where(y > 0, tl.dot(g, outof), 0.0).to(tl.float16)
        store_tile(grad_hidden, t, rows, dy, M, BLOCK_R)
        by_in = tl.dot(tl.trans(x), dy, by_in)
        by_out = tl.dot(tl.trans(g), tl.maximum(y, 0.0).to(tl.float16), by_out)
        store_tile(grad_h, t, rows, tl.dot(dy, into), D, BLOCK_R)
    out = partial + tl.program_id(0) * (2 * D * M)
    tl.store(out + d[:, None] * M + m[None, :], by_in)
    tl.store(out + (D + d)[:, None] * M + m[None, :], by_out)
