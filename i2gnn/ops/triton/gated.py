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
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from i2gnn.ops.reference import GRUWeights, Part, Projection, read_rows, rows_read
from i2gnn.ops.triton import gated_kernels as kernels
from i2gnn.ops.triton.aggregate import links_of, sum_links
from i2gnn.ops.triton.launch import SideWork, blocks, launch
from i2gnn.ops.triton.pool import sum_nodes
from i2gnn.ops.triton.scaling import find_scale
from i2gnn.ops.triton.shares import programs_on, sum_shares
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["fits_gated_layer", "fits_gated_stack", "gated_layer", "gated_stack"]

SMALLEST, WIDEST = 16, 64
"""Widths that the kernels take; others are filled up with zeros, which stay zeros."""
TILE = 64
"""Rows of a tile: as many as a group of four warps multiplies at once."""


def fits_gated_stack(table: Tensor, subgraphs: Subgraphs) -> bool:
    """Whether the kernels can take this width, this many labels and this many rows."""
    small = max(table.shape) <= WIDEST
    return small and subgraphs.num_rows * 4 * WIDEST < 2**31


def fits_gated_layer(h: Tensor, subgraphs: Subgraphs, then: Projection | None = None) -> bool:
    """The same of a layer on rows, whose projection must keep the width."""
    table = h[:0] if then is None else then.table
    return table.shape[1] == h.shape[1] and fits_gated_stack(table, subgraphs)


def gated_stack(
    table: Tensor,
    subgraphs: Subgraphs,
    layers: GRUWeights,
    then: Projection | None,
    part: Part = "nodes",
) -> Tensor:
    """See `i2gnn.ops.gated_stack`; sums."""
    labels, width = table.shape
    C, D = _filled(labels), _filled(width)
    if then is None:
        then = Projection(table.new_empty(0, width, width), table.new_empty(0, labels, width))
    result: Tensor = GatedStack.apply(  # type: ignore[no-untyped-call]
        subgraphs,
        part,
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
    return result[:, :width] if width < D else result


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
    """T layers; the first on labels, the result summed over each subgraph or read at one row of it.

    Shapes:
        table: [C, D], states of the labels.
        label_message, label_state: [1, 3 D, C], weights of the first layer times the table.
        message_bias, state_bias: [T, 3 D].
        message, state: [T - 1, 3 D, D], weights of the later layers, the input axis last.
        weight, tables: [T - 1, D, D] and [T - 1, C, D], the projections; or none, [0, ...].
        returns: [B, D].
    """

    @staticmethod
    def forward(
        ctx: Any,
        subgraphs: Subgraphs,
        part: Part,
        table: Tensor,
        label_message: Tensor,
        label_state: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        """Keeps the input and the message of every layer, in float16."""
        run = _StackRun(subgraphs, part, table, (label_message, label_state), weights)
        counts = run.label_counts()
        h = run.gates(0, run.table, counts)
        kept: list[Any] = [counts]
        for t in range(1, run.layers):
            message = sum_links(h, subgraphs)
            if any(ctx.needs_input_grad):  # else they are forgotten as soon as they are used
                kept.append((h, message))
            h = run.gates(t, h, message)
        ctx.run, ctx.kept = run, kept
        if part == "nodes":
            return sum_nodes(h, subgraphs, torch.float32)
        return read_rows(h, subgraphs, part).float()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """[B, D] to the gradients of all weights."""
        run, kept = ctx.run, ctx.kept
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
        run = _Run(subgraphs, weights)
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


class _Run:
    """Launches of one pass over layers on rows, and float16 copies of the weights that they share.

    Args:
        subgraphs: Where the rows live.
        weights: As in `GatedLayer`, from `message_bias` on.
    """

    before = 0
    """Layers in front of those whose `message` and `state` are given."""

    def __init__(self, subgraphs: Subgraphs, weights: Sequence[Tensor]) -> None:
        half = torch.float16
        message_bias, state_bias, message, state, weight, tables = weights
        self.subgraphs, self.device = subgraphs, message.device
        self.layers, self.labels, self.width = len(message_bias), tables.shape[1], message.shape[2]
        self.message, self.state = message.to(half).contiguous(), state.to(half).contiguous()
        self.message_bias, self.state_bias = message_bias.contiguous(), state_bias.contiguous()
        self.weight, self.tables = weight.to(half).contiguous(), tables.contiguous()
        self.weight_out = self.weight.transpose(1, 2).contiguous()
        # Where rows have no labels, no kernel reads their codes, and any address will do.
        code = subgraphs.label_code
        self.code = subgraphs.row_ptr if code is None else code

    def source(self) -> Tensor | None:
        """Where the gradient of each row behind the last layer is, if it has not one of its own."""
        return None

    def gates(self, t: int, h: Tensor, message: Tensor) -> Tensor:
        """Layer t from its input and messages, [R, D] float16."""
        out, then = self.result(), self.projects(t)
        launch(
            kernels.gates_kernel,
            (programs_on(self.device, 2),),
            out,
            h,
            message,
            self.code,
            *self.weights(t),
            self.weight_out[t] if then else self.weight,
            self.tables[t] if then else self.tables,
            self.subgraphs.row_ptr,
            self.subgraphs.num_pairs,
            D=self.width,
            K=message.shape[1],
            LABELS=t < self.before,
            THEN=then,
            BLOCK_R=TILE,
            num_warps=4,
            num_stages=1,
        )
        return out

    def gates_grad(
        self,
        t: int,
        grad: Tensor,
        h: Tensor,
        message: Tensor,
        partial: Tensor,
        sends: bool = False,
    ) -> list[Tensor]:
        """From the gradient by layer t's result that by its input; shares of those of weights.

        With `sends` the input was not what rows sent: the gradients by both.
        """
        then, last = self.projects(t), t == self.layers - 1
        source = self.source() if last else None
        grad_h, grad_message, new = self.result(), self.rows(self.width), self.rows(self.width)
        grad_gates = self.rows(4 * self.width)
        launch(
            kernels.gates_grad_kernel,
            (programs_on(self.device, 2),),
            grad_h,
            grad_message,
            grad_gates,
            new,
            grad,
            source,
            h,
            message,
            *self.weights(t),
            self.weight[t] if then else self.weight,
            self.subgraphs.row_ptr,
            self.subgraphs.num_pairs,
            D=self.width,
            THEN=then,
            LAST=source is not None,
            BLOCK_R=TILE,
            STAGES=2,
            num_warps=4,
            num_stages=2,
        )
        # Both read much and compute little, so that side by side they take less time.
        side = SideWork(grad)
        side.run(self._weights_grad, t, grad, h, message, grad_gates, new, partial)
        if sends:
            by_rows = [grad_h, sum_links(grad_message, self.subgraphs)]
        else:
            by_rows = [sum_links(grad_message, self.subgraphs, own=grad_h)]
        side.join()
        return by_rows

    def _weights_grad(
        self,
        t: int,
        grad: Tensor,
        h: Tensor,
        message: Tensor,
        grad_gates: Tensor,
        new: Tensor,
        partial: Tensor,
    ) -> None:
        launch(
            kernels.weights_grad_kernel,
            (programs_on(self.device),),
            partial,
            h,
            message,
            grad_gates,
            new,
            grad,
            self.code,
            self.subgraphs.row_ptr,
            self.subgraphs.num_pairs,
            partial.stride(0),
            D=self.width,
            C=self.labels,
            THEN=self.projects(t),
            BLOCK_R=TILE // 2,
            STAGES=3,
            num_warps=8,
            num_stages=3,
        )

    def shares(self, layers: int) -> Tensor:
        """Room for what the programs find for each layer, [programs, layers, rows, D]."""
        return self.room(layers, 7 * self.width + 16 + self.labels)

    def collect(self, found: Tensor) -> tuple[Tensor, ...]:
        """Sorts what `gates_grad` found into the order of the weights."""
        biases, message, state, weight, tables = self.sort(found)
        return *_by_bias(biases), message, state, weight, tables

    def sort(self, found: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Gradients by biases, one row for each, and by the other weights of the layers."""
        D, count = self.width, len(found)
        squares = found[:, : 7 * D].view(count, 7, D, D)
        # Of the biases: new (from the message), reset, update, new (from the state).
        biases = found[:, 7 * D : 7 * D + 4]
        projected = len(self.weight) - self.before
        return (
            biases,
            _below(squares[:, 0:3]),
            _below(squares[:, 3:6]),
            squares[: max(projected, 0), 6],
            found[: max(projected, 0), 7 * D + 16 :],
        )

    def weights(self, t: int) -> tuple[Tensor, ...]:
        """Of layer t."""
        at = t - self.before
        return self.message[at], self.state[at], self.message_bias[t], self.state_bias[t]

    def projects(self, t: int) -> bool:
        """Whether a projection follows layer t."""
        return t < len(self.weight)

    def result(self) -> Tensor:
        """Room for rows that others will read, [R, D] float16: spare ones, never written, are 0."""
        return self.rows(self.width).zero_()

    def rows(self, width: int) -> Tensor:
        """Room for rows, [R, width] float16."""
        shape = (self.subgraphs.num_rows, width)
        return torch.empty(shape, dtype=torch.float16, device=self.device)

    def room(self, layers: int, rows: int) -> Tensor:
        """[programs, layers, rows, D] numbers."""
        shape = (programs_on(self.device), layers, rows, self.width)
        return torch.empty(shape, device=self.device)


class _StackRun(_Run):
    """The same with a first layer that sees labels alone, and a part of each subgraph read."""

    before = 1

    def __init__(
        self,
        subgraphs: Subgraphs,
        part: Part,
        table: Tensor,
        label_weights: tuple[Tensor, Tensor],
        weights: Sequence[Tensor],
    ) -> None:
        super().__init__(subgraphs, weights)
        self.part, self.table = part, table.contiguous()
        by_message, by_state = (weight.to(torch.float16).contiguous() for weight in label_weights)
        self.label_weights = by_message, by_state

    def source(self) -> Tensor:
        """For each row the branch that read it, [R]; -1 where none did."""
        branch = self.subgraphs.row_to_branch
        if self.part == "nodes":
            return branch
        read = rows_read(self.subgraphs, self.part).index_select(0, branch)
        row = torch.arange(len(branch), dtype=read.dtype, device=read.device)
        return branch.masked_fill(read != row, -1)

    def weights(self, t: int) -> tuple[Tensor, ...]:
        """Of layer t."""
        if t > 0:
            return super().weights(t)
        return *self.label_weights, self.message_bias[0], self.state_bias[0]

    def result(self) -> Tensor:
        """Room for rows; spare ones are not read."""
        return self.rows(self.width)

    def label_counts(self) -> Tensor:
        """How many neighbours of each row have each label, [R, C] float16."""
        rows = self.subgraphs.num_rows
        counts = self.rows(self.labels)
        launch(
            kernels.label_counts_kernel,
            (blocks(rows, TILE),),
            counts,
            self.code,
            *links_of(self.subgraphs),
            rows,
            C=self.labels,
            BLOCK_R=TILE,
            num_warps=2,
        )
        return counts

    def label_shares(self) -> Tensor:
        """Room for what the programs find for the first layer."""
        return self.room(1, 9 * self.labels + self.width)

    def label_grad(self, grad: Tensor, counts: Tensor, partial: Tensor) -> None:
        """Shares of the gradients of the first layer's weights."""
        then = self.projects(0)
        launch(
            kernels.label_grad_kernel,
            (programs_on(self.device),),
            partial,
            grad,
            self.source() if self.layers == 1 else None,
            counts,
            self.table,
            self.code,
            *self.weights(0),
            self.weight[0] if then else self.weight,
            self.subgraphs.row_ptr,
            self.subgraphs.num_pairs,
            partial.stride(0),
            D=self.width,
            C=self.labels,
            THEN=then,
            LAST=self.layers == 1,
            BLOCK_R=TILE // 2,
            STAGES=2,
            num_warps=8,
            num_stages=2,
        )

    def collect_all(self, first: Tensor, later: Tensor) -> tuple[Tensor, ...]:
        """Sorts what `label_grad` and `gates_grad` found into the order of the weights."""
        C, D = self.labels, self.width
        by_label = first[: 9 * C].view(9, C, D)
        biases, message, state, weight, tables = self.sort(later)
        of_first = torch.cat([by_label[7:8], by_label[3:6]]).sum(1, keepdim=True)
        if len(self.weight):
            weight = torch.cat([first[None, 9 * C :], weight])
            tables = torch.cat([by_label[None, 8], tables])
        return (
            by_label[6],
            _below(by_label[None, 0:3]),
            _below(by_label[None, 3:6]),
            *_by_bias(torch.cat([of_first.transpose(0, 1), biases])),
            message,
            state,
            weight,
            tables,
        )


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


def _below(gates: Tensor) -> Tensor:
    """[..., 3, n, D] gradients, one matrix per gate, to [..., 3 D, n]."""
    return gates.transpose(-1, -2).flatten(-3, -2)


def _by_bias(found: Tensor) -> tuple[Tensor, Tensor]:
    """[T, 4, D] column sums, of which new (from the message) is first, by both biases."""
    by_message = torch.cat([found[:, 1:3], found[:, 0:1]], dim=1)
    return by_message.flatten(1), found[:, 1:4].flatten(1)


def _pad(x: Tensor, columns: int, rows: int) -> Tensor:
    """Fills up the last two dimensions with zeros."""
    missing = (0, columns - x.shape[-1], 0, rows - x.shape[-2])
    return pad(x, missing) if any(missing) else x
