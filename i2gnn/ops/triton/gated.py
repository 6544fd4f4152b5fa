"""A gated layer, or a whole stack of them from labels to subgraphs, in a few fused kernels.

Forward, a layer is two kernels: neighbours are summed, then products, gates and the projection
for the next layer happen on a tile of rows at a time. Backward computes the gates again from the
layer's input and message, which are all that is kept. The first layer of a stack sees labels alone:
it counts the labels of neighbours and multiplies the counts with weights of the label table.
"""

from collections.abc import Sequence
from typing import Any

import torch
import triton
from torch import Tensor
from torch.nn.functional import pad

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.reference import GRUWeights, Part, Projection, read_part
from i2gnn.ops.triton.aggregate import sum_links
from i2gnn.ops.triton.gated_run import GatedRun, StackRun
from i2gnn.ops.triton.pool import sum_nodes
from i2gnn.ops.triton.scaling import find_scale
from i2gnn.ops.triton.shares import sum_shares
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["fits_gated_layer", "fits_gated_stack", "gated_layer", "gated_stack"]

SMALLEST, WIDEST = 16, 64
"""Widths that the kernels take; others are filled up with zeros, which stay zeros."""


def fits_gated_stack(table: Tensor, subgraphs: Subgraphs) -> bool:
    """Whether the kernels can take this width, this many labels and this many rows."""
    small = max(table.shape) <= WIDEST
    return small and subgraphs.num_rows * 4 * WIDEST < 2**31


def fits_gated_layer(h: Tensor, subgraphs: Subgraphs, then: Projection | None = None) -> bool:
    """Whether the kernels can take a layer on rows; its projection must keep the width."""
    table = h[:0] if then is None else then.table
    return table.shape[1] == h.shape[1] and fits_gated_stack(table, subgraphs)


def gated_stack(
    table: Tensor,
    subgraphs: Subgraphs,
    layers: GRUWeights,
    then: Projection | None,
    parts: Sequence[Part] = ("nodes",),
) -> Tensor:
    """See `i2gnn.ops.gated_stack`; sums."""
    labels, width = table.shape
    C, D = _filled(labels), _filled(width)
    if then is None:
        then = Projection(table.new_empty(0, width, width), table.new_empty(0, labels, width))
    result: Tensor = GatedStack.apply(  # type: ignore[no-untyped-call]
        subgraphs,
        parts,
        _pad(table, D, C),
        _gates(table @ layers.message[:1], C),
        _gates(table @ layers.state[:1], C),
        _biases(layers.message_bias),
        _biases(layers.state_bias),
        _gates(layers.message[1:], D),
        _gates(layers.state[1:], D),
        _pad(then.weight, D, D),
        _pad(then.table, D, C),
    )
    if width == D:
        return result
    return result.view(len(result), len(parts), D)[:, :, :width].flatten(1)


def gated_layer(
    h: Tensor,
    subgraphs: Subgraphs,
    weights: GRUWeights,
    then: Projection | None = None,
    sent: Tensor | None = None,
) -> Tensor:
    """See `i2gnn.ops.gated_layer`."""
    rows, width = h.shape
    D = _filled(width)
    if then is None:
        weight, tables = h.new_empty(0, D, D), h.new_empty(0, SMALLEST, D)
    else:
        weight = _pad(then.weight[None], D, D)
        tables = _pad(then.table[None], D, _filled(len(then.table)))
    result: Tensor = GatedLayer.apply(  # type: ignore[no-untyped-call]
        subgraphs,
        _pad(h, D, rows),
        None if sent is None else _pad(sent, D, rows),
        _biases(weights.message_bias[None]),
        _biases(weights.state_bias[None]),
        _gates(weights.message[None], D),
        _gates(weights.state[None], D),
        weight,
        tables,
    )
    return result[:, :width] if width < D else result


class GatedStack(torch.autograd.Function):
    """T layers; the first on labels, the result summed over each subgraph or read at rows of it.

    Shapes:
        table: [C, D], states of the labels.
        label_message, label_state: [1, 3 D, C], weights of the first layer times the table.
        message_bias, state_bias: [T, 3 D].
        message, state: [T - 1, 3 D, D], weights of the later layers, the input axis last.
        weight, tables: [T - 1, D, D] and [T - 1, C, D], the projections; or none, [0, ...].
        returns: [B, parts D].
    """

    @staticmethod
    def forward(
        ctx: Any,
        subgraphs: Subgraphs,
        parts: Sequence[Part],
        table: Tensor,
        label_message: Tensor,
        label_state: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        """Keeps the input and the message of every layer, in float16."""
        run = StackRun(subgraphs, parts, table, (label_message, label_state), weights)
        counts = run.label_counts()
        h = run.gates(0, run.table, counts)
        kept: list[Any] = [counts]
        for t in range(1, run.layers):
            message = sum_links(h, subgraphs)
            if any(ctx.needs_input_grad):  # else they are forgotten as soon as they are used
                kept.append((h, message))
            h = run.gates(t, h, message)
        ctx.run, ctx.kept = run, kept
        found = [
            sum_nodes(h, subgraphs, torch.float32)
            if part == "nodes"
            else read_part(h, subgraphs, part).float()
            for part in parts
        ]
        return found[0] if len(found) == 1 else torch.cat(found, dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """[B, parts D] to the gradients of all weights."""
        run, kept = ctx.run, ctx.kept
        grad = run.by_kind(grad)
        scale = find_scale(grad)
        rows = _scaled(grad, scale)
        later = run.shares(run.layers - 1)
        for t in range(run.layers - 1, 0, -1):
            (rows,) = run.gates_grad(t, rows, *kept[t], later[:, t - 1])
            kept[t] = None
        first = run.label_shares()
        run.label_grad(rows, kept[0], first[:, 0])
        found = sum_shares(first, scale)[0], sum_shares(later, scale)
        return None, None, *run.collect_all(*found)


class GatedLayer(torch.autograd.Function):
    """One layer on rows, and its projection.

    Shapes:
        h: [R, D].
        sent: [R, D], what rows send to their neighbours; None if that is h.
        message_bias, state_bias: [1, 3 D].
        message, state: [1, 3 D, D].
        weight, tables: [1, D, D] and [1, C, D], the projection; or none, [0, ...].
        returns: [R, D].
    """

    @staticmethod
    def forward(
        ctx: Any, subgraphs: Subgraphs, h: Tensor, sent: Tensor | None, *weights: Tensor
    ) -> Tensor:
        """Keeps its input and the message, in float16."""
        run = GatedRun(subgraphs, weights)
        state = h.to(torch.float16).contiguous()
        message = sum_links(state if sent is None else sent.to(torch.float16), subgraphs)
        ctx.run, ctx.kept, ctx.sends = run, (state, message), sent is not None
        return run.gates(0, state, message).float()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """[R, D] to the gradients of rows and weights."""
        run = ctx.run
        scale = find_scale(grad)
        partial = run.shares(1)
        scaled = _scaled(grad, scale)
        by_rows = run.gates_grad(0, scaled, *ctx.kept, partial[:, 0], sends=ctx.sends)
        by_h, by_sent = [*(rows.float() / scale for rows in by_rows), None][:2]
        return None, by_h, by_sent, *run.collect(sum_shares(partial, scale))


def _scaled(grad: Tensor, scale: Tensor) -> Tensor:
    grad = grad.contiguous()
    return torch.mul(grad, scale, out=torch.empty_like(grad, dtype=torch.float16))


def _filled(length: int) -> int:
    filled: int = max(SMALLEST, triton.next_power_of_2(length))
    return filled


def _gates(weight: Tensor, inputs: int) -> Tensor:
    """[T, n, 3 width] to [T, 3 D, inputs]: gates below each other, zeros where filled up."""
    count, n, width = *weight.shape[:2], weight.shape[2] // 3
    by_gate = weight.reshape(count, n, 3, width).permute(0, 2, 3, 1)  # [T, 3, width, n]
    return _pad(by_gate, inputs, _filled(width)).flatten(1, 2)


def _biases(bias: Tensor) -> Tensor:
    """[T, 3 width] to [T, 3 D]."""
    width = bias.shape[1] // 3
    return _pad(bias.reshape(-1, 3, width), _filled(width), 3).flatten(1)


def _pad(x: Tensor, columns: int, rows: int) -> Tensor:
    """Fills up the last two dimensions with zeros."""
    missing = (0, columns - x.shape[-1], 0, rows - x.shape[-2])
    return pad(x, missing) if any(missing) else x
