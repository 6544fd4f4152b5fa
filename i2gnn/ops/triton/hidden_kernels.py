"""Kernels of the normalisation inside a perceptron, whose hidden layer p = a W is not written out.

Its statistics follow from the covariance of a. Vectors are those of `norm_kernels`.
"""

import triton.language as tl

from i2gnn.ops.triton.gated_kernels import tile
from i2gnn.ops.triton.launch import kernel
from i2gnn.ops.triton.norm_kernels import BATCH, store_grads, store_vectors

__all__ = ["gram_kernel", "hidden_grad_kernel", "hidden_statistics_kernel"]


@kernel
def gram_kernel(
    partial: tl.tensor,
    a: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    K: tl.constexpr,
    BLOCK_R: tl.constexpr,
) -> None:
    """Shares of sum of d'd and of sum of d over the rows, d = a[r] - a[0]: [K + 1, K].

    The statistics of a W, whatever W, follow from these.
    """
    k = tl.arange(0, K)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    base = tl.load(a + k).to(tl.float32)
    products = tl.zeros([K, K], tl.float32)
    sums = tl.zeros([BLOCK_R, K], tl.float32)
    for t in range(tl.program_id(0), tl.cdiv(rows, BLOCK_R), tl.num_programs(0)):
        row = t * BLOCK_R + tl.arange(0, BLOCK_R)
        there = row < rows
        d = tile(a, row, k, there, K).to(tl.float32) - base[None, :]
        d = tl.where(there[:, None], d, 0.0).to(tl.float16)
        sums += d.to(tl.float32)
        products = tl.dot(tl.trans(d), d, products)
    out = partial + tl.program_id(0) * ((K + 1) * K) + k
    tl.store(out[None, :] + k[:, None] * K, products)
    tl.store(out + K * K, tl.sum(sums, 0))


@kernel
def hidden_statistics_kernel(
    vectors: tl.tensor,
    spread: tl.tensor,
    gram: tl.tensor,
    a: tl.tensor,
    weight_in: tl.tensor,
    bias_in: tl.tensor,
    weight: tl.tensor,
    shift: tl.tensor,
    running_mean: tl.tensor,
    running_var: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    momentum: tl.tensor,
    eps: tl.tensor,
    D: tl.constexpr,
    K: tl.constexpr,
    H: tl.constexpr,
    NORM: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_K: tl.constexpr,
) -> None:
    """Vectors of the hidden layer p = a W + bias, for BLOCK_H of its units, of which D are real.

    `spread` [H, K] gets W' times the covariance of a.
    """
    unit = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)
    k = tl.arange(0, K)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    mean = tl.zeros([BLOCK_H], tl.float32)
    var = tl.zeros([BLOCK_H], tl.float32)
    if NORM == BATCH:
        n = tl.maximum(rows, 1).to(tl.float32)
        w = tl.load(weight_in + unit[:, None] * K + k[None, :]).to(tl.float32)
        center = tl.load(gram + K * K + k) / n
        base = tl.load(a + k).to(tl.float32)
        mean = tl.sum(w * (center + base)[None, :], 1)
        for begin in tl.static_range(0, K, BLOCK_K):
            some = begin + tl.arange(0, BLOCK_K)
            covariance = tl.load(gram + k[:, None] * K + some[None, :]) / n
            covariance -= center[:, None] * (tl.load(gram + K * K + some) / n)[None, :]
            w_some = tl.load(weight_in + unit[:, None] * K + some[None, :]).to(tl.float32)
            part = tl.dot(w, covariance, input_precision="tf32x3")
            tl.store(spread + unit[:, None] * K + some[None, :], part)
            var += tl.sum(part * w_some, 1)
        var = tl.maximum(var, 0.0)
    bias = tl.load(bias_in + unit, mask=unit < D, other=0.0)
    store_vectors(
        vectors, unit, mean, var, bias, weight, shift, running_mean, running_var, rows, momentum,
        eps, D, H, NORM
    )  # fmt: skip


@kernel
def hidden_grad_kernel(
    grad_in: tl.tensor,
    grad_out: tl.tensor,
    grads: tl.tensor,
    vectors: tl.tensor,
    sums: tl.tensor,
    spread: tl.tensor,
    gram: tl.tensor,
    a: tl.tensor,
    weight_in: tl.tensor,
    scale_of_grad: tl.tensor,
    row_ptr: tl.tensor,
    pairs: int,
    K: tl.constexpr,
    H: tl.constexpr,
    OUT: tl.constexpr,
    NORM: tl.constexpr,
    BLOCK_H: tl.constexpr,
) -> None:
    """Gradients from the sums of `perceptron_weights_grad_kernel`, for BLOCK_H hidden units.

    With dy the gradient by the normalised and scaled hidden layer, that by W is, for one unit,

        scale * (dy' a - c_0 sum of a - c_1 (normalised p)' a),   (normalised p)' a = n rstd spread
    """
    unit = tl.program_id(0) * BLOCK_H + tl.arange(0, BLOCK_H)
    k = tl.arange(0, K)
    o = tl.arange(0, OUT)
    by_in = tl.load(sums + unit[:, None] + k[None, :] * H)
    by_out = tl.load(sums + unit[:, None] + (K + o)[None, :] * H)
    total = tl.load(sums + (K + OUT) * H + unit)
    rows = tl.load(row_ptr + pairs).to(tl.int32)
    unscale = tl.load(scale_of_grad)
    scale = tl.load(vectors + unit)
    rstd = tl.load(vectors + 2 * H + unit)
    offset = tl.load(vectors + 3 * H + unit)
    w = tl.load(weight_in + unit[:, None] * K + k[None, :]).to(tl.float32)
    product = rstd * tl.sum(w * by_in, 1) + offset * total
    c_0, c_1 = store_grads(vectors, grads, unit, total, product, rows, unscale, H, NORM)
    if NORM == BATCH:
        n = rows.to(tl.float32)
        base = tl.load(a + k).to(tl.float32)
        sum_of_a = n * base + tl.load(gram + K * K + k)
        by_in -= c_0[:, None] * sum_of_a[None, :]
        along = tl.load(spread + unit[:, None] * K + k[None, :])
        by_in -= (n * c_1 * rstd)[:, None] * along
    at = unit[:, None] * K + k[None, :]
    tl.store(grad_in + at, scale[:, None] * by_in / unscale)
    tl.store(grad_out + o[None, :] * H + unit[:, None], by_out / unscale)
