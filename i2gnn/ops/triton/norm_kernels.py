"""Kernels of batch normalisation over rows: statistics, application, gradients.

A normalisation of p [R, H] is kept as six vectors, the rows of `vectors` [6, H]:

    0  scale    y = scale * p + shift, what follows the normalisation
    1  shift
    2  rstd     1 / sqrt(var + eps)
    3  offset   normalised p = rstd * p + offset, before weight and bias
    4  e_0      the gradient by p is scale * dy + e_0 + e_1 * p
    5  e_1

Without a normalisation, scale and rstd are 1, and shift and offset the bias that belongs to p.

Rows at the end of a store may be spare; statistics are those of the others. Deviations are taken
from the first row, so that a column of equal numbers has a variance of exactly zero.
"""

from typing import Any

import triton.language as tl

from i2gnn.ops.triton.gated_kernels import tile
from i2gnn.ops.triton.launch import kernel
from i2gnn.ops.triton.scaling import power_for
from i2gnn.ops.triton.shares import sum_few

__all__ = [
    "column_sums_kernel",
    "moments_kernel",
    "norm_elu_grad_kernel",
    "norm_elu_kernel",
    "norm_grad_sums_kernel",
    "norm_grad_vectors_kernel",
    "norm_statistics_kernel",
    "store_grads",
    "store_vectors",
]

NONE = tl.constexpr(0)
RUNNING = tl.constexpr(1)
BATCH = tl.constexpr(2)


@kernel
def store_vectors(
    vectors: tl.tensor,
    channel: tl.tensor,
    mean: tl.tensor,
    var: tl.tensor,
    bias: tl.tensor,
    weight: tl.tensor,
    shift: tl.tensor,
    running_mean: tl.tensor,
    running_var: tl.tensor,
    rows: tl.tensor,
    momentum: tl.tensor,
    eps: tl.tensor,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    NORM: tl.constexpr,
) -> None:
    """Writes the first four vectors and updates the running statistics, as `torch.nn.BatchNorm1d`.

    `mean` and `var` are those of p without its bias. Fewer than two rows have no spread; they are
    normalised by the running statistics, which they leave alone.
    """
    wanted = channel < D
    scale = tl.where(wanted, 1.0, 0.0)
    rstd = scale
    offset = bias
    added = bias
    if NORM != NONE:
        old_mean = tl.load(running_mean + channel, mask=wanted, other=0.0)
        old_var = tl.load(running_var + channel, mask=wanted, other=0.0)
        if NORM == BATCH:
            few = rows < 2
            kept = tl.where(wanted, rows, 0) > 1
            n = rows.to(tl.float32)
            new_mean = old_mean + momentum * (mean + bias - old_mean)
            new_var = old_var + momentum * (var * (n / tl.maximum(n - 1, 1.0)) - old_var)
            tl.store(running_mean + channel, new_mean, mask=kept)
            tl.store(running_var + channel, new_var, mask=kept)
            mean = tl.where(few, old_mean, mean + bias)
            var = tl.where(few, old_var, var)
        else:
            mean = old_mean
            var = old_var
        rstd = 1.0 / tl.sqrt(var + eps)
        offset = (bias - mean) * rstd
        gamma = tl.load(weight + channel, mask=wanted, other=0.0)
        scale = gamma * rstd
        added = gamma * offset + tl.load(shift + channel, mask=wanted, other=0.0)
    tl.store(vectors + channel, scale)
    tl.store(vectors + WIDTH + channel, added)
    tl.store(vectors + 2 * WIDTH + channel, rstd)
    tl.store(vectors + 3 * WIDTH + channel, offset)


@kernel
def store_grads(
    vectors: tl.tensor,
    grads: tl.tensor,
    channel: tl.tensor,
    total: tl.tensor,
    product: tl.tensor,
    rows: tl.tensor,
    scale_of_grad: tl.tensor,
    WIDTH: tl.constexpr,
    NORM: tl.constexpr,
) -> Any:
    """Writes e_0 and e_1 from the sums of dy and of dy times the normalised p.

    `grads` [3, WIDTH] gets the gradients by the weight, the bias and by what is added to p before.
    Returns what of dy its mean and its part along p take away: both sums over the number of rows,
    or zeros where the statistics are not those of the batch.
    """
    scale = tl.load(vectors + channel)
    rstd = tl.load(vectors + 2 * WIDTH + channel)
    offset = tl.load(vectors + 3 * WIDTH + channel)
    if NORM == BATCH:
        share = tl.where(rows < 2, 0.0, 1.0 / tl.maximum(rows, 1).to(tl.float32))
    else:
        share = 0.0
    c_0 = total * share
    c_1 = product * share
    tl.store(vectors + 4 * WIDTH + channel, -scale * (c_0 + c_1 * offset))
    tl.store(vectors + 5 * WIDTH + channel, -scale * c_1 * rstd)
    tl.store(grads + channel, product / scale_of_grad)
    tl.store(grads + WIDTH + channel, total / scale_of_grad)
    before = tl.where(share > 0, 0.0, scale * total / scale_of_grad)
    tl.store(grads + 2 * WIDTH + channel, before)
    return c_0, c_1


@kernel
def column_sums_kernel(
    partial: tl.tensor,
    x: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """Shares of the sum of x over the rows, [D]."""
    channel = tl.arange(0, D)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    sums = tl.zeros([BLOCK_R, D], tl.float32)
    for t in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0)):
        row = t * BLOCK_R + tl.arange(0, BLOCK_R)
        sums += tile(x, row, channel, row < rows, D).to(tl.float32)
    tl.store(partial + tl.program_id(0) * D + channel, tl.sum(sums, 0))


@kernel
def moments_kernel(
    partial: tl.tensor,
    p: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    H: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """Shares of sum of d and of sum of d^2 over the rows, d = p[r] - p[0]: [2, H]."""
    channel = tl.arange(0, H)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    base = tl.load(p + channel).to(tl.float32)
    sums = tl.zeros([BLOCK_R, H], tl.float32)
    squares = tl.zeros([BLOCK_R, H], tl.float32)
    for t in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0)):
        row = t * BLOCK_R + tl.arange(0, BLOCK_R)
        there = row < rows
        d = tile(p, row, channel, there, H).to(tl.float32) - base[None, :]
        d = tl.where(there[:, None], d, 0.0)
        sums += d
        squares += d * d
    out = partial + tl.program_id(0) * (2 * H) + channel
    tl.store(out, tl.sum(sums, 0))
    tl.store(out + H, tl.sum(squares, 0))


@kernel
def norm_statistics_kernel(
    vectors: tl.tensor,
    partial: tl.tensor,
    p: tl.tensor,
    weight: tl.tensor,
    shift: tl.tensor,
    running_mean: tl.tensor,
    running_var: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    programs: int,
    momentum: tl.tensor,
    eps: tl.tensor,
    D: tl.constexpr,
    H: tl.constexpr,
    NORM: tl.constexpr,
) -> None:
    """Vectors of p [R, H], of which D columns are real."""
    channel = tl.arange(0, H)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    mean = tl.zeros([H], tl.float32)
    var = tl.zeros([H], tl.float32)
    if NORM == BATCH:
        n = tl.maximum(rows, 1).to(tl.float32)
        mean = sum_few(partial, channel, programs, 2 * H) / n
        var = sum_few(partial + H, channel, programs, 2 * H) / n
        var = tl.maximum(var - mean * mean, 0.0)
        mean += tl.load(p + channel).to(tl.float32)
    bias = tl.zeros([H], tl.float32)
    store_vectors(
        vectors, channel, mean, var, bias, weight, shift, running_mean, running_var, rows, momentum,
        eps, D, H, NORM
    )  # fmt: skip


@kernel
def norm_elu_kernel(
    out: tl.tensor,
    rounded: tl.tensor,
    p: tl.tensor,
    vectors: tl.tensor,
    add: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    rows: int,
    D: tl.constexpr,
    H: tl.constexpr,
    ELU: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """The result elu(scale * p + shift) + add, [R, D] from [R, H]; zeros for spare rows.

    `rounded`, if given, takes it in float16.
    """
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    channel = tl.arange(0, H)
    inside = row < tl.load(row_ptr + pairs)
    y = tl.load(p + row[:, None] * H + channel[None, :], mask=inside[:, None], other=0.0)
    y = y.to(tl.float32)
    if vectors is not None:
        y = y * tl.load(vectors + channel)[None, :] + tl.load(vectors + H + channel)[None, :]
    if ELU:
        y = tl.where(y > 0, y, tl.exp(tl.minimum(y, 0.0)) - 1.0)
    at = row[:, None] * D + channel[None, :]
    wanted = (channel < D)[None, :]
    if add is not None:
        y += tl.load(add + at, mask=inside[:, None] & wanted, other=0.0)
    y = tl.where(inside[:, None], y, 0.0)
    tl.store(out + at, y, mask=(row < rows)[:, None] & wanted)
    if rounded is not None:
        tl.store(rounded + at, y, mask=(row < rows)[:, None] & wanted)


@kernel
def elu_grad(
    grad: tl.tensor,
    p: tl.tensor,
    vectors: tl.tensor,
    row: tl.tensor,
    there: tl.tensor,
    D: tl.constexpr,
    H: tl.constexpr,
    ELU: tl.constexpr,
) -> Any:
    """p, and the gradient dy by scale * p + shift."""
    channel = tl.arange(0, H)
    mask = there[:, None] & (channel < D)[None, :]
    dy = tl.load(grad + row[:, None] * D + channel[None, :], mask=mask, other=0.0)
    x = tl.load(p + row[:, None] * H + channel[None, :], mask=there[:, None], other=0.0)
    x = x.to(tl.float32)
    if ELU:
        y = x
        if vectors is not None:
            y = x * tl.load(vectors + channel)[None, :] + tl.load(vectors + H + channel)[None, :]
        dy = tl.where(y > 0, dy, dy * tl.exp(tl.minimum(y, 0.0)))
    return x, dy


@kernel
def norm_grad_sums_kernel(
    partial: tl.tensor,
    grad: tl.tensor,
    p: tl.tensor,
    vectors: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    D: tl.constexpr,
    H: tl.constexpr,
    ELU: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """Shares of sum of dy, sum of dy times normalised p, and the largest |dy|: [3, H]."""
    channel = tl.arange(0, H)
    sums = tl.zeros([BLOCK_R, H], tl.float32)
    products = tl.zeros([BLOCK_R, H], tl.float32)
    largest = tl.zeros([BLOCK_R, H], tl.float32)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    for t in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0)):
        row = (t * BLOCK_R + tl.arange(0, BLOCK_R)).to(tl.int64)
        x, dy = elu_grad(grad, p, vectors, row, row < rows, D, H, ELU)
        sums += dy
        if vectors is not None:
            rstd = tl.load(vectors + 2 * H + channel)[None, :]
            products += dy * (x * rstd + tl.load(vectors + 3 * H + channel)[None, :])
        largest = tl.maximum(largest, tl.abs(dy))
    out = partial + tl.program_id(0) * (3 * H) + channel
    tl.store(out, tl.sum(sums, 0))
    tl.store(out + H, tl.sum(products, 0))
    tl.store(out + 2 * H, tl.max(largest, 0))


@kernel
def norm_grad_vectors_kernel(
    scale_of_grad: tl.tensor,
    vectors: tl.tensor,
    grads: tl.tensor,
    partial: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    programs: int,
    H: tl.constexpr,
    NORM: tl.constexpr,
    PROGRAMS: tl.constexpr,
) -> None:
    """Sums the shares; `scale_of_grad` is the power of two that brings the gradients to about 1."""
    channel = tl.arange(0, H)
    program = tl.arange(0, PROGRAMS)
    at = (program * 3 * H)[:, None] + 2 * H + channel[None, :]
    largest = tl.max(tl.load(partial + at, mask=(program < programs)[:, None], other=0.0), 0)
    total = sum_few(partial, channel, programs, 3 * H)
    if vectors is None:
        tl.store(grads + 2 * H + channel, total)
    else:
        product = sum_few(partial + H, channel, programs, 3 * H)
        rows = tl.load(row_ptr + pairs).to(tl.int32)
        largest *= tl.abs(tl.load(vectors + channel))
        store_grads(vectors, grads, channel, total, product, rows, 1.0, H, NORM)
    tl.store(scale_of_grad, power_for(tl.max(largest, 0)))


@kernel
def norm_elu_grad_kernel(
    out: tl.tensor,
    grad: tl.tensor,
    p: tl.tensor,
    vectors: tl.tensor,
    scale_of_grad: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    D: tl.constexpr,
    H: tl.constexpr,
    ELU: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """Gradient by p, scaled, [R, H]."""
    row = tl.program_id(0).to(tl.int64) * BLOCK_R + tl.arange(0, BLOCK_R)
    channel = tl.arange(0, H)
    there = row < tl.load(row_ptr + pairs)
    x, d = elu_grad(grad, p, vectors, row, there, D, H, ELU)
    if vectors is not None:
        d *= tl.load(vectors + channel)[None, :]
        d += tl.load(vectors + 4 * H + channel)[None, :]
        d += x * tl.load(vectors + 5 * H + channel)[None, :]
    d *= tl.load(scale_of_grad)
    tl.store(out + row[:, None] * H + channel[None, :], d, mask=there[:, None])
