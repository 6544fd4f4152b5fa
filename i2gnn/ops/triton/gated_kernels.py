"""Kernels of a stack of gated layers: gates, their gradients, and the gradients of the weights.

Numbers between kernels are float16: its 11 significant bits are those of TF32, rounded instead of
cut off, in half the memory, and matrix units read them from memory as they are. Sums are float32.
Gradients come scaled by a power of two, so that their range fits.

Programs stay on the device and take one tile of BLOCK_R rows after the other; what they need for
all tiles, above all the weights, they load once. K is the width of what enters a product: D
channels, or, in the layer that sees labels alone, C labels, which are then counted among the
neighbours (`label_counts_kernel`) instead of adding up embeddings.

Weights come as [3 D, K], one gate below the other, in the order reset, update, new.
"""

from typing import Any

import triton.language as tl

from i2gnn.ops.triton.launch import INTERPRETED, kernel
from i2gnn.ops.triton.tiles import links_of_rows

__all__ = [
    "gates_grad_kernel",
    "gates_kernel",
    "label_counts_kernel",
    "label_grad_kernel",
    "weights_grad_kernel",
]

APPROXIMATE = tl.constexpr(not INTERPRETED)
UNROLL = tl.constexpr(4)
"""Links whose loads are in flight at once."""
SUMS = tl.constexpr(16)
"""Rows of the tile that collects column sums: the smallest that a matrix unit takes."""


@kernel
def tanh(x: tl.tensor) -> Any:
    """Hyperbolic tangent; on a device by its own instruction, with a relative error of 2^-11."""
    if APPROXIMATE:
        return tl.inline_asm_elementwise(
            "tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        return 2.0 / (1.0 + tl.exp(-2.0 * x)) - 1.0


@kernel
def sigmoid(x: tl.tensor) -> Any:
    """Logistic function."""
    return 0.5 + 0.5 * tanh(0.5 * x)


@kernel
def block(x: tl.tensor, row: tl.tensor, column: tl.tensor, width: tl.constexpr) -> Any:
    """x[row, column] of a matrix that is `width` wide."""
    return tl.load(x + row[:, None] * width + column[None, :])


@kernel
def tile(
    x: tl.tensor, row: tl.tensor, column: tl.tensor, wanted: tl.tensor, width: tl.constexpr
) -> Any:
    """x[row, column]; zeros for rows that are not wanted."""
    at = (row * width)[:, None] + column[None, :]
    return tl.load(x + at, mask=wanted[:, None], other=0.0)


@kernel
def one_hot(label: tl.tensor, C: tl.constexpr) -> Any:
    """[n] labels to [n, C] float16."""
    return (label[:, None] == tl.arange(0, C)[None, :]).to(tl.float16)


@kernel
def label_counts_kernel(
    counts: tl.tensor,
    code: tl.tensor,
    first_link: tl.tensor,
    link_count: tl.tensor,
    row_rank: tl.tensor,
    link_to_row: tl.tensor,
    rows: int,
    C: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """counts[r, c] = how many neighbours of row r have the label c."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    first, count, rank = links_of_rows(row, rows, first_link, link_count, row_rank)
    total = tl.zeros([BLOCK_R, C], tl.float16)
    for begin in range(0, tl.max(count), UNROLL):
        for step in tl.static_range(UNROLL):
            has = begin + step < count
            sender = tl.load(link_to_row + first + begin + step, mask=has, other=0) + rank
            total += one_hot(tl.load(code + sender, mask=has, other=-1), C)
    label = tl.arange(0, C)
    tl.store(counts + row[:, None] * C + label[None, :], total, mask=(row < rows)[:, None])


@kernel
def gates_kernel(
    out: tl.tensor,
    h: tl.tensor,
    message: tl.tensor,
    code: tl.tensor,
    weight_message: tl.tensor,
    weight_state: tl.tensor,
    bias_message: tl.tensor,
    bias_state: tl.tensor,
    weight_then: tl.tensor,
    table_then: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    D: tl.constexpr,
    K: tl.constexpr,
    LABELS: tl.constexpr,
    THEN: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """States GRU(message, h), and if THEN, their projection with the label's row added.

    If LABELS, `message` are label counts and `h` is a table: row r has the state h[code[r]].
    """
    d = tl.arange(0, D)
    k = tl.arange(0, K)
    wm_r = block(weight_message, d, k, K)
    wm_z = block(weight_message + D * K, d, k, K)
    wm_n = block(weight_message + 2 * D * K, d, k, K)
    ws_r = block(weight_state, d, k, K)
    ws_z = block(weight_state + D * K, d, k, K)
    ws_n = block(weight_state + 2 * D * K, d, k, K)
    b_r = tl.load(bias_message + d) + tl.load(bias_state + d)
    b_z = tl.load(bias_message + D + d) + tl.load(bias_state + D + d)
    bm_n = tl.load(bias_message + 2 * D + d)
    bs_n = tl.load(bias_state + 2 * D + d)
    if THEN:
        w = block(weight_then, d, d, D)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    for t in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0)):
        row = t * BLOCK_R + tl.arange(0, BLOCK_R)
        there = row < rows
        m = tile(message, row, k, there, K)
        if LABELS:
            label = tl.load(code + row, mask=there, other=0)
            state = one_hot(label, K)
            old = block(h, label, d, D)
        else:
            state = tile(h, row, d, there, D)
            old = state.to(tl.float32)
        r = tl.dot(state, tl.trans(ws_r), tl.dot(m, tl.trans(wm_r)))
        s = tl.dot(state, tl.trans(ws_n))
        n = tl.dot(m, tl.trans(wm_n))
        r = sigmoid(r + b_r[None, :])
        n = tanh(n + bm_n[None, :] + r * (s + bs_n[None, :]))
        z = tl.dot(state, tl.trans(ws_z), tl.dot(m, tl.trans(wm_z)))
        z = sigmoid(z + b_z[None, :])
        new = n + z * (old - n)
        if THEN:
            label = tl.load(code + row, mask=there, other=0)
            new = tl.dot(new.to(tl.float16), tl.trans(w), block(table_then, label, d, D))
        at = (row * D)[:, None] + d[None, :]
        tl.store(out + at, new.to(tl.float16), mask=there[:, None])


@kernel
def gates_grad_kernel(
    grad_h: tl.tensor,
    grad_message: tl.tensor,
    grad_gates: tl.tensor,
    new: tl.tensor,
    grad: tl.tensor,
    row_to_branch: tl.tensor,
    h: tl.tensor,
    message: tl.tensor,
    weight_message: tl.tensor,
    weight_state: tl.tensor,
    bias_message: tl.tensor,
    bias_state: tl.tensor,
    weight_then: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    D: tl.constexpr,
    THEN: tl.constexpr,
    LAST: tl.constexpr,
    BLOCK_R: tl.constexpr,
    STAGES: tl.constexpr,
) -> None:
    """Gradients by h, by the message and by the gates; the gates are computed again.

    `grad_gates` [R, 4 D] holds the gradients by what enters the gates, side by side: new (from the
    message), reset, update, new (from the state). If THEN, `weight_then` is [D, D'], `grad` belongs
    to the projection, and `new` gets the states before it. If LAST, `grad` belongs to what is read
    of each subgraph, [B, D], and `row_to_branch` says by which one a row was, or -1.
    """
    d = tl.arange(0, D)
    wm_r = block(weight_message, d, d, D)
    wm_z = block(weight_message + D * D, d, d, D)
    wm_n = block(weight_message + 2 * D * D, d, d, D)
    ws_r = block(weight_state, d, d, D)
    ws_z = block(weight_state + D * D, d, d, D)
    ws_n = block(weight_state + 2 * D * D, d, d, D)
    b_r = tl.load(bias_message + d) + tl.load(bias_state + d)
    b_z = tl.load(bias_message + D + d) + tl.load(bias_state + D + d)
    bm_n = tl.load(bias_message + 2 * D + d)
    bs_n = tl.load(bias_state + 2 * D + d)
    if THEN:
        w = block(weight_then, d, d, D)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    for t in tl.range(
        tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0), num_stages=STAGES
    ):
        row = t * BLOCK_R + tl.arange(0, BLOCK_R)
        there = row < rows
        at = (row * D)[:, None] + d[None, :]
        m = tile(message, row, d, there, D)
        state = tile(h, row, d, there, D)
        r = tl.dot(state, tl.trans(ws_r), tl.dot(m, tl.trans(wm_r)))
        s = tl.dot(state, tl.trans(ws_n)) + bs_n[None, :]
        n = tl.dot(m, tl.trans(wm_n))
        r = sigmoid(r + b_r[None, :])
        n = tanh(n + bm_n[None, :] + r * s)
        z = tl.dot(state, tl.trans(ws_z), tl.dot(m, tl.trans(wm_z)))
        z = sigmoid(z + b_z[None, :])
        gap = state.to(tl.float32) - n
        if THEN:
            tl.store(new + at, (n + z * gap).to(tl.float16), mask=there[:, None])
            g = tl.dot(tile(grad, row, d, there, D), tl.trans(w))
        else:
            source = tl.load(row_to_branch + row, mask=there, other=-1) if LAST else row
            g = tile(grad, source.to(tl.int32), d, there & (source >= 0), D).to(tl.float32)
        back = g * z
        g_n = (g - back) * (1 - n * n)
        g_s = g_n * r
        g_r = (g_s * s * (1 - r)).to(tl.float16)
        g_z = (back * gap * (1 - z)).to(tl.float16)
        g_n = g_n.to(tl.float16)
        g_s = g_s.to(tl.float16)
        gate = (row * (4 * D))[:, None] + d[None, :]
        tl.store(grad_gates + gate, g_n, mask=there[:, None])
        tl.store(grad_gates + gate + D, g_r, mask=there[:, None])
        tl.store(grad_gates + gate + 2 * D, g_z, mask=there[:, None])
        tl.store(grad_gates + gate + 3 * D, g_s, mask=there[:, None])
        to_message = tl.dot(g_n, wm_n, tl.dot(g_z, wm_z, tl.dot(g_r, wm_r)))
        tl.store(grad_message + at, to_message.to(tl.float16), mask=there[:, None])
        back = tl.dot(g_s, ws_n, tl.dot(g_z, ws_z, tl.dot(g_r, ws_r, back)))
        tl.store(grad_h + at, back.to(tl.float16), mask=there[:, None])


@kernel
def weights_grad_kernel(
    partial: tl.tensor,
    h: tl.tensor,
    message: tl.tensor,
    grad_gates: tl.tensor,
    new: tl.tensor,
    grad: tl.tensor,
    code: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    apart: int,
    D: tl.constexpr,
    C: tl.constexpr,
    THEN: tl.constexpr,
    BLOCK_R: tl.constexpr,
    STAGES: tl.constexpr,
) -> None:
    """Products of what entered a layer with the gradients by its gates, over all rows.

    A program leaves its share in `partial`, `apart` numbers from the next one's: blocks of D
    columns below each other, the gradients of the message weights (reset, update, new), of the
    state weights and of the projection, the column sums of `grad_gates` in a block of 16 rows, and
    the gradient of the label table, C rows.
    """
    d = tl.arange(0, D)
    which = tl.arange(0, SUMS)
    a_mr = tl.zeros([D, D], tl.float32)
    a_mz = tl.zeros([D, D], tl.float32)
    a_mn = tl.zeros([D, D], tl.float32)
    a_sr = tl.zeros([D, D], tl.float32)
    a_sz = tl.zeros([D, D], tl.float32)
    a_sn = tl.zeros([D, D], tl.float32)
    a_w = tl.zeros([D, D], tl.float32)
    sums = tl.zeros([SUMS, D], tl.float32)
    a_t = tl.zeros([C, D], tl.float32)
    ones = tl.full([BLOCK_R], 1.0, tl.float16)
    e_0 = (which == 0).to(tl.float16)[:, None] * ones[None, :]
    e_1 = (which == 1).to(tl.float16)[:, None] * ones[None, :]
    e_2 = (which == 2).to(tl.float16)[:, None] * ones[None, :]
    e_3 = (which == 3).to(tl.float16)[:, None] * ones[None, :]
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    for t in tl.range(
        tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0), num_stages=STAGES
    ):
        row = t * BLOCK_R + tl.arange(0, BLOCK_R)
        there = row < rows
        m = tl.trans(tile(message, row, d, there, D))
        state = tl.trans(tile(h, row, d, there, D))
        g_n = tile(grad_gates, row, d, there, 4 * D)
        g_r = tile(grad_gates + D, row, d, there, 4 * D)
        g_z = tile(grad_gates + 2 * D, row, d, there, 4 * D)
        g_s = tile(grad_gates + 3 * D, row, d, there, 4 * D)
        a_mr = tl.dot(m, g_r, a_mr)
        a_mz = tl.dot(m, g_z, a_mz)
        a_mn = tl.dot(m, g_n, a_mn)
        a_sr = tl.dot(state, g_r, a_sr)
        a_sz = tl.dot(state, g_z, a_sz)
        a_sn = tl.dot(state, g_s, a_sn)
        sums = tl.dot(e_0, g_n, sums)
        sums = tl.dot(e_1, g_r, sums)
        sums = tl.dot(e_2, g_z, sums)
        sums = tl.dot(e_3, g_s, sums)
        if THEN:
            g = tile(grad, row, d, there, D)
            a_w = tl.dot(tl.trans(tile(new, row, d, there, D)), g, a_w)
            label = tl.load(code + row, mask=there, other=-1)
            a_t = tl.dot(tl.trans(one_hot(label, C)), g, a_t)
    out = partial + tl.program_id(0) * apart + d[None, :]
    tl.store(out + d[:, None] * D, a_mr)
    tl.store(out + (D + d)[:, None] * D, a_mz)
    tl.store(out + (2 * D + d)[:, None] * D, a_mn)
    tl.store(out + (3 * D + d)[:, None] * D, a_sr)
    tl.store(out + (4 * D + d)[:, None] * D, a_sz)
    tl.store(out + (5 * D + d)[:, None] * D, a_sn)
    tl.store(out + (6 * D + d)[:, None] * D, a_w)
    tl.store(out + (7 * D + which)[:, None] * D, sums)
    tl.store(out + (tl.arange(0, C) + (7 * D + SUMS))[:, None] * D, a_t)


@kernel
def label_grad_kernel(
    partial: tl.tensor,
    grad: tl.tensor,
    row_to_branch: tl.tensor,
    counts: tl.tensor,
    table: tl.tensor,
    code: tl.tensor,
    weight_message: tl.tensor,
    weight_state: tl.tensor,
    bias_message: tl.tensor,
    bias_state: tl.tensor,
    weight_then: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    apart: int,
    D: tl.constexpr,
    C: tl.constexpr,
    THEN: tl.constexpr,
    LAST: tl.constexpr,
    BLOCK_R: tl.constexpr,
    STAGES: tl.constexpr,
) -> None:
    """All gradients of the layer that sees labels alone; nothing flows further down.

    A program leaves its share in `partial`, blocks of C rows and D columns below each other: the
    gradients of the message weights (reset, update, new), of the state weights, of the table of
    states, of the new gate by label, of the label table of the projection, and, D rows, of the
    projection.
    """
    d = tl.arange(0, D)
    c = tl.arange(0, C)
    wm_r = block(weight_message, d, c, C)
    wm_z = block(weight_message + D * C, d, c, C)
    wm_n = block(weight_message + 2 * D * C, d, c, C)
    ws_r = block(weight_state, d, c, C)
    ws_z = block(weight_state + D * C, d, c, C)
    ws_n = block(weight_state + 2 * D * C, d, c, C)
    b_r = tl.load(bias_message + d) + tl.load(bias_state + d)
    b_z = tl.load(bias_message + D + d) + tl.load(bias_state + D + d)
    bm_n = tl.load(bias_message + 2 * D + d)
    bs_n = tl.load(bias_state + 2 * D + d)
    a_mr = tl.zeros([C, D], tl.float32)
    a_mz = tl.zeros([C, D], tl.float32)
    a_mn = tl.zeros([C, D], tl.float32)
    a_sr = tl.zeros([C, D], tl.float32)
    a_sz = tl.zeros([C, D], tl.float32)
    a_sn = tl.zeros([C, D], tl.float32)
    a_h = tl.zeros([C, D], tl.float32)
    a_n = tl.zeros([C, D], tl.float32)
    a_t = tl.zeros([C, D], tl.float32)
    a_w = tl.zeros([D, D], tl.float32)
    if THEN:
        w = block(weight_then, d, d, D)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    for t in tl.range(
        tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0), num_stages=STAGES
    ):
        row = t * BLOCK_R + tl.arange(0, BLOCK_R)
        there = row < rows
        m = tile(counts, row, c, there, C)
        label = tl.load(code + row, mask=there, other=0)
        state = one_hot(label, C)
        r = tl.dot(state, tl.trans(ws_r), tl.dot(m, tl.trans(wm_r)))
        s = tl.dot(state, tl.trans(ws_n)) + bs_n[None, :]
        n = tl.dot(m, tl.trans(wm_n))
        r = sigmoid(r + b_r[None, :])
        n = tanh(n + bm_n[None, :] + r * s)
        z = tl.dot(state, tl.trans(ws_z), tl.dot(m, tl.trans(wm_z)))
        z = sigmoid(z + b_z[None, :])
        gap = block(table, label, d, D) - n
        if THEN:
            by_then = tile(grad, row, d, there, D)
            a_w = tl.dot(tl.trans((n + z * gap).to(tl.float16)), by_then, a_w)
            a_t = tl.dot(tl.trans(state), by_then, a_t)
            g = tl.dot(by_then, tl.trans(w))
        else:
            source = tl.load(row_to_branch + row, mask=there, other=-1) if LAST else row
            g = tile(grad, source.to(tl.int32), d, there & (source >= 0), D).to(tl.float32)
        back = g * z
        g_n = (g - back) * (1 - n * n)
        g_s = g_n * r
        g_r = (g_s * s * (1 - r)).to(tl.float16)
        g_z = (back * gap * (1 - z)).to(tl.float16)
        g_n = g_n.to(tl.float16)
        g_s = g_s.to(tl.float16)
        m = tl.trans(m)
        state = tl.trans(state)
        a_mr = tl.dot(m, g_r, a_mr)
        a_mz = tl.dot(m, g_z, a_mz)
        a_mn = tl.dot(m, g_n, a_mn)
        a_sr = tl.dot(state, g_r, a_sr)
        a_sz = tl.dot(state, g_z, a_sz)
        a_sn = tl.dot(state, g_s, a_sn)
        a_n = tl.dot(state, g_n, a_n)
        a_h = tl.dot(state, back.to(tl.float16), a_h)
    out = partial + tl.program_id(0) * apart + d[None, :]
    tl.store(out + c[:, None] * D, a_mr)
    tl.store(out + (C + c)[:, None] * D, a_mz)
    tl.store(out + (2 * C + c)[:, None] * D, a_mn)
    tl.store(out + (3 * C + c)[:, None] * D, a_sr)
    tl.store(out + (4 * C + c)[:, None] * D, a_sz)
    tl.store(out + (5 * C + c)[:, None] * D, a_sn)
    tl.store(out + (6 * C + c)[:, None] * D, a_h)
    tl.store(out + (7 * C + c)[:, None] * D, a_n)
    tl.store(out + (8 * C + c)[:, None] * D, a_t)
    tl.store(out + (9 * C + d)[:, None] * D, a_w)
