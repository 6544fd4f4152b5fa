"""Kernels of a GIN or GINE layer: gather, perceptron, and their gradients.

As in `gated_kernels`, numbers between kernels are float16, sums are float32, and gradients come
scaled by a power of two. Programs stay on the device and take one tile of BLOCK_R rows after the
other; matrices of weights, as [outputs, inputs], are loaded once before, the next tile while the
present one is multiplied.

The gather works on one part of the input at a time: on states, or on embedded labels, which are
never written out. The hidden layer of the perceptron, H wide, is never written out either. It is
computed in blocks of BLOCK_H units, as relu(scale * (a W) + shift); what scale and shift are, the
normalisation says (`norm_kernels`).
"""

from typing import Any

import triton.language as tl

from i2gnn.ops.triton.gated_kernels import block, one_hot, tile
from i2gnn.ops.triton.launch import kernel
from i2gnn.ops.triton.tiles import links_of_rows, load_rows, load_vector, store_rows

__all__ = [
    "embed",
    "gather_grad_kernel",
    "gather_kernel",
    "label_grad_kernel",
    "perceptron_kernel",
    "perceptron_rows_grad_kernel",
    "perceptron_weights_grad_kernel",
]

UNROLL = tl.constexpr(2)
"""Links whose loads are in flight at once."""


@kernel
def embed(
    code: tl.tensor,
    resistance: tl.tensor,
    table: tl.tensor,
    weight: tl.tensor,
    row: tl.tensor,
    channel: tl.tensor,
    wanted: tl.tensor,
    D: tl.constexpr,
    J: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> Any:
    """table[code[row]] + resistance[row, :J] weight, of the labels of some rows."""
    label = tl.zeros_like(row) if code is None else tl.load(code + row, mask=wanted, other=0)
    z = load_rows(table, label, channel, wanted, D)
    for j in tl.static_range(J):
        distance = tl.load(resistance + row * COLUMNS + j, mask=wanted, other=0.0)
        z += distance.to(tl.float32)[:, None] * load_vector(weight, j, channel, D)[None, :]
    return z


@kernel
def part_of_rows(
    x: tl.tensor,
    code: tl.tensor,
    resistance: tl.tensor,
    table: tl.tensor,
    weight: tl.tensor,
    row: tl.tensor,
    channel: tl.tensor,
    wanted: tl.tensor,
    D: tl.constexpr,
    J: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> Any:
    """States of some rows, or where `x` is None their embedded labels."""
    if x is None:
        return embed(code, resistance, table, weight, row, channel, wanted, D, J, COLUMNS)
    else:
        return load_rows(x, row, channel, wanted, D)


@kernel
def gather_kernel(
    a: tl.tensor,
    x: tl.tensor,
    code: tl.tensor,
    resistance: tl.tensor,
    table: tl.tensor,
    weight: tl.tensor,
    edges: tl.tensor,
    edge_type: tl.tensor,
    eps: tl.tensor,
    first_link: tl.tensor,
    link_count: tl.tensor,
    row_rank: tl.tensor,
    link_to_row: tl.tensor,
    link_to_edge: tl.tensor,
    row_ptr: tl.tensor,
    rows: int,
    pairs: int,
    types: int,
    D: tl.constexpr,
    J: tl.constexpr,
    COLUMNS: tl.constexpr,
    K: tl.constexpr,
    EDGE_WIDTH: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """a[r] = (1 + eps) x[r] + sum of relu(x[sender] + edges[type of the edge]) over r's links.

    Without `edges`, of x[sender]. A type outside of the table makes its messages NaN.
    """
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    channel = tl.arange(0, BLOCK_D)
    first, count, rank = links_of_rows(row, rows, first_link, link_count, row_rank)
    inside = row < tl.load(row_ptr + pairs)
    own = part_of_rows(x, code, resistance, table, weight, row, channel, inside, D, J, COLUMNS)
    total = (1.0 + tl.load(eps)) * own
    for begin in range(0, tl.max(count), UNROLL):
        for step in tl.static_range(UNROLL):
            has = begin + step < count
            link = first + begin + step
            sender = (tl.load(link_to_row + link, mask=has, other=0) + rank).to(tl.int64)
            message = part_of_rows(
                x, code, resistance, table, weight, sender, channel, has, D, J, COLUMNS
            )
            if edges is not None:
                edge = tl.load(link_to_edge + link, mask=has, other=0)
                kind = tl.load(edge_type + edge, mask=has, other=0)
                known = (kind >= 0) & (kind < types)
                at = kind.to(tl.int64)[:, None] * EDGE_WIDTH + channel[None, :]
                mask = (has & known)[:, None] & (channel < D)[None, :]
                missing = tl.where(has & ~known, float("nan"), 0.0)[:, None]
                message += tl.load(edges + at, mask=mask, other=missing)
                message = tl.maximum(message, 0.0, propagate_nan=tl.PropagateNan.ALL)
            total += message
    tl.store(a + row[:, None] * K + channel[None, :], total, mask=inside[:, None])


@kernel
def gather_grad_kernel(
    grad_x: tl.tensor,
    partial: tl.tensor,
    grad_a: tl.tensor,
    x: tl.tensor,
    code: tl.tensor,
    resistance: tl.tensor,
    table: tl.tensor,
    weight: tl.tensor,
    edges: tl.tensor,
    edge_type: tl.tensor,
    eps: tl.tensor,
    scale: tl.tensor,
    add: tl.tensor,
    first_link: tl.tensor,
    link_count: tl.tensor,
    row_rank: tl.tensor,
    link_to_row: tl.tensor,
    link_to_reverse_edge: tl.tensor,
    row_ptr: tl.tensor,
    rows: int,
    pairs: int,
    D: tl.constexpr,
    J: tl.constexpr,
    COLUMNS: tl.constexpr,
    K: tl.constexpr,
    EDGE_WIDTH: tl.constexpr,
    TYPES: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_D: tl.constexpr,
) -> None:
    """Gradient by x, and shares of those by `edges` and eps.

    Links are symmetric, so sender l finds its receivers in its own links; its message to k ran
    over the edge k <- l, the reverse of the one that the link l <- k names. A program leaves in
    `partial` [TYPES + 1, K] its share by type and, last, that of sum of grad_a x.

    The gradient by embedded labels stays scaled, in float16 and filled up to BLOCK_D; that by
    states is the result: not scaled, with `add` on top if given, and zero for spare rows.
    """
    channel = tl.arange(0, BLOCK_D)
    used = tl.load(row_ptr + pairs)
    factor = 1.0 + tl.load(eps)
    own_share = tl.zeros([BLOCK_R, BLOCK_D], tl.float32)
    share = ()
    for _ in tl.static_range(TYPES):
        share = share + (tl.zeros([BLOCK_R, BLOCK_D], tl.float32),)  # type: ignore[assignment]
    step = tl.num_programs(0)
    row_next = (tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)).to(tl.int64)
    first_next, count_next, rank_next = links_of_rows(
        row_next, rows, first_link, link_count, row_rank
    )
    for _ in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), step):
        row = row_next
        first = first_next
        count = count_next
        rank = rank_next
        row_next = row + step * BLOCK_R
        first_next, count_next, rank_next = links_of_rows(
            row_next, rows, first_link, link_count, row_rank
        )
        inside = row < used
        own = part_of_rows(x, code, resistance, table, weight, row, channel, inside, D, J, COLUMNS)
        back = load_rows(grad_a, row, channel, inside, K)
        own_share += back * own
        total = factor * back
        for begin in range(0, tl.max(count), UNROLL):
            for i in tl.static_range(UNROLL):
                has = begin + i < count
                link = first + begin + i
                receiver = tl.load(link_to_row + link, mask=has, other=0) + rank
                back = load_rows(grad_a, receiver, channel, has, K)
                if TYPES > 0:
                    edge = tl.load(link_to_reverse_edge + link, mask=has, other=0)
                    kind = tl.load(edge_type + edge, mask=has, other=-1)
                    known = (kind >= 0) & (kind < TYPES)
                    at = kind.to(tl.int64)[:, None] * EDGE_WIDTH + channel[None, :]
                    mask = known[:, None] & (channel < D)[None, :]
                    message = own + tl.load(edges + at, mask=mask, other=0.0)
                    back = tl.where(message <= 0, 0.0, back)
                    summed = ()
                    for j in tl.static_range(TYPES):
                        one = tl.where(kind == j, 1.0, 0.0)[:, None]  # a product is one instruction
                        summed = summed + (share[j] + one * back,)  # type: ignore[assignment]
                    share = summed
                total += back
        if x is None:
            at = row[:, None] * BLOCK_D + channel[None, :]
            tl.store(grad_x + at, total, mask=(row < rows)[:, None])
        else:
            total /= tl.load(scale)
            if add is not None:
                total += load_rows(add, row, channel, inside, D)
            store_rows(grad_x, row, channel, row < rows, total, D)
    out = partial + tl.program_id(0) * (TYPES + 1) * K + channel
    for i in tl.static_range(TYPES):
        tl.store(out + i * K, tl.sum(share[i], 0))
    tl.store(out + TYPES * K, tl.sum(own_share, 0))


@kernel
def load_tile(
    x: tl.tensor, number: tl.tensor, rows: tl.tensor, WIDTH: tl.constexpr, BLOCK_R: tl.constexpr
) -> Any:
    """The rows of a tile; zeros behind the last row."""
    row = number * BLOCK_R + tl.arange(0, BLOCK_R)
    return tile(x, row, tl.arange(0, WIDTH), row < rows, WIDTH)


@kernel
def store_tile(
    x: tl.tensor,
    number: tl.tensor,
    rows: tl.tensor,
    value: tl.tensor,
    WIDTH: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """Writes the rows of a tile."""
    row = number * BLOCK_R + tl.arange(0, BLOCK_R)
    at = (row * WIDTH)[:, None] + tl.arange(0, WIDTH)[None, :]
    tl.store(x + at, value.to(x.dtype.element_ty), mask=(row < rows)[:, None])


@kernel
def load_blocks(
    weight_in: tl.tensor,
    weight_out: tl.tensor,
    K: tl.constexpr,
    H: tl.constexpr,
    OUT: tl.constexpr,
    BLOCK_H: tl.constexpr,
) -> Any:
    """Both matrices of a perceptron in blocks of hidden units: [BLOCK_H, K] and [OUT, BLOCK_H]."""
    into = ()
    out = ()
    for i in tl.static_range(H // BLOCK_H):
        unit = i * BLOCK_H + tl.arange(0, BLOCK_H)
        into = into + (block(weight_in, unit, tl.arange(0, K), K),)  # type: ignore[assignment]
        out = out + (block(weight_out, tl.arange(0, OUT), unit, H),)  # type: ignore[assignment]
    return into, out


@kernel
def perceptron_kernel(
    out: tl.tensor,
    a: tl.tensor,
    weight_in: tl.tensor,
    weight_out: tl.tensor,
    bias_out: tl.tensor,
    vectors: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    D: tl.constexpr,
    K: tl.constexpr,
    H: tl.constexpr,
    OUT: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """The result relu(scale * (a W_in) + shift) W_out + bias, [R, OUT]; D columns are real."""
    o = tl.arange(0, OUT)
    into, outof = load_blocks(weight_in, weight_out, K, H, OUT, BLOCK_H)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    step = tl.num_programs(0)
    x_next = load_tile(a, tl.program_id(0), rows, K, BLOCK_R)
    for t in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), step):
        x = x_next
        x_next = load_tile(a, t + step, rows, K, BLOCK_R)
        total = tl.zeros([BLOCK_R, OUT], tl.float32)
        for i in tl.static_range(H // BLOCK_H):
            # Read where they are used: kept, they would take more registers than there are.
            unit = vectors + i * BLOCK_H + tl.arange(0, BLOCK_H)
            y = tl.dot(x, tl.trans(into[i]))
            y = y * tl.load(unit)[None, :] + tl.load(unit + H)[None, :]
            total = tl.dot(tl.maximum(y, 0.0).to(tl.float16), tl.trans(outof[i]), total)
        total += tl.load(bias_out + o, mask=o < D, other=0.0)[None, :]
        store_tile(out, t, rows, total, OUT, BLOCK_R)


@kernel
def perceptron_weights_grad_kernel(
    partial: tl.tensor,
    a: tl.tensor,
    grad: tl.tensor,
    weight_in: tl.tensor,
    weight_out: tl.tensor,
    vectors: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    K: tl.constexpr,
    H: tl.constexpr,
    OUT: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_R: tl.constexpr,
    STAGES: tl.constexpr,
) -> None:
    """Products with the gradient by the hidden layer, over all rows; one block of units a program.

    With dy [R, H] the gradient by scale * (a W_in) + shift, and y its positive part, `partial`
    gets a' dy, grad' y and the sums of dy below each other, [K + OUT + 1, H].
    """
    unit = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    k = tl.arange(0, K)
    o = tl.arange(0, OUT)
    into = block(weight_in, unit, k, K)
    outof = block(weight_out, o, unit, H)
    by_in = tl.zeros([K, BLOCK_H], tl.float32)
    by_out = tl.zeros([OUT, BLOCK_H], tl.float32)
    sums = tl.zeros([BLOCK_R, BLOCK_H], tl.float32)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    for t in tl.range(
        tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0), num_stages=STAGES
    ):
        x = load_tile(a, t, rows, K, BLOCK_R)
        g = load_tile(grad, t, rows, OUT, BLOCK_R)
        y = tl.dot(x, tl.trans(into))
        y = y * tl.load(vectors + unit)[None, :] + tl.load(vectors + H + unit)[None, :]
        dy = tl.where(y > 0, tl.dot(g, outof), 0.0).to(tl.float16)
        sums += dy.to(tl.float32)
        by_in = tl.dot(tl.trans(x), dy, by_in)
        by_out = tl.dot(tl.trans(g), tl.maximum(y, 0.0).to(tl.float16), by_out)
    out = partial + tl.program_id(0) * ((K + OUT + 1) * H) + unit
    tl.store(out[None, :] + k[:, None] * H, by_in)
    tl.store(out[None, :] + (K + o)[:, None] * H, by_out)
    tl.store(out + (K + OUT) * H, tl.sum(sums, 0))


@kernel
def perceptron_rows_grad_kernel(
    grad_a: tl.tensor,
    a: tl.tensor,
    grad: tl.tensor,
    weight_in: tl.tensor,
    weight_out: tl.tensor,
    vectors: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    K: tl.constexpr,
    H: tl.constexpr,
    OUT: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """Gradient by a; that by a W_in is scale * dy + e_0 + e_1 * (a W_in), see `norm_kernels`."""
    into, outof = load_blocks(weight_in, weight_out, K, H, OUT, BLOCK_H)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    step = tl.num_programs(0)
    x_next = load_tile(a, tl.program_id(0), rows, K, BLOCK_R)
    g_next = load_tile(grad, tl.program_id(0), rows, OUT, BLOCK_R)
    for t in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), step):
        x = x_next
        g = g_next
        x_next = load_tile(a, t + step, rows, K, BLOCK_R)
        g_next = load_tile(grad, t + step, rows, OUT, BLOCK_R)
        total = tl.zeros([BLOCK_R, K], tl.float32)
        for i in tl.static_range(H // BLOCK_H):
            unit = vectors + i * BLOCK_H + tl.arange(0, BLOCK_H)
            scale = tl.load(unit)[None, :]
            p = tl.dot(x, tl.trans(into[i]))
            d = tl.dot(g, outof[i])
            d = tl.where(p * scale + tl.load(unit + H)[None, :] > 0, d * scale, 0.0)
            d += tl.load(unit + 4 * H)[None, :] + p * tl.load(unit + 5 * H)[None, :]
            total = tl.dot(d.to(tl.float16), into[i], total)
        store_tile(grad_a, t, rows, total, K, BLOCK_R)


@kernel
def label_grad_kernel(
    partial: tl.tensor,
    grad: tl.tensor,
    code: tl.tensor,
    resistance: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    D: tl.constexpr,
    J: tl.constexpr,
    COLUMNS: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK_R: tl.constexpr,
    STAGES: tl.constexpr,
) -> None:
    """Gradients by the table and the weight of `embed`; one block of BLOCK_C codes a program.

    Products of the codes' one-hot matrix and of the resistances with `grad` [R, D]. A program
    leaves BLOCK_C + 16 rows in `partial`: by code, and by column of the resistances.
    """
    d = tl.arange(0, D)
    c = tl.arange(0, BLOCK_C)
    j = tl.arange(0, 16)
    by_code = tl.zeros([BLOCK_C, D], tl.float32)
    by_column = tl.zeros([16, D], tl.float32)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    for t in tl.range(
        tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0), num_stages=STAGES
    ):
        row = t * BLOCK_R + tl.arange(0, BLOCK_R)
        g = tile(grad, row, d, row < rows, D)
        if code is None:
            label = tl.where(row < rows, 0, -1)
        else:
            label = tl.load(code + row, mask=row < rows, other=-1)
        one = one_hot(label - tl.program_id(1) * BLOCK_C, BLOCK_C)
        by_code = tl.dot(tl.trans(one), g, by_code)
        if J > 0:
            mask = (row < rows)[:, None] & (j < J)[None, :]
            at = (row * COLUMNS)[:, None] + j[None, :]
            distance = tl.load(resistance + at, mask=mask, other=0.0).to(tl.float16)
            by_column = tl.dot(tl.trans(distance), g, by_column)
    program = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    out = partial + program * (BLOCK_C + 16) * D + d[None, :]
    tl.store(out + c[:, None] * D, by_code)
    tl.store(out + (BLOCK_C + j)[:, None] * D, by_column)
