"""A whole stack of gated layers on labels, from tables to subgraphs, in a few fused kernels.

Forward, a layer is two kernels: neighbours are summed, then products, gates and the projection
for the next layer happen on a tile of rows at a time. Backward computes the gates again from the
layer's input and message, which are all that is kept. The first layer sees labels alone: it
counts the labels of neighbours and multiplies the counts with weights of the label table.
"""

from functools import cached_property
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

__all__ = ["fits_gated_stack", "gated_stack"]

SMALLEST, WIDEST = 16, 64
"""Widths that the kernels take; others are filled up with zeros, which stay zeros."""
TILE = 64
"""Rows of a tile: as many as a group of four warps multiplies at once."""


def fits_gated_stack(table: Tensor, subgraphs: Subgraphs) -> bool:
    """Whether the kernels can take this width, this many labels and this many rows."""
    small = max(table.shape) <= WIDEST
    return small and subgraphs.num_rows * 4 * WIDEST < 2**31


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

    def gates(weight: Tensor, inputs: int) -> Tensor:
        """[t, n, 3 width] to [t, 3 D, inputs]: gates below each other, zeros where filled up."""
        by_gate = weight.reshape(*weight.shape[:2], 3, width).permute(
            0, 2, 3, 1
        )  # [t, 3, width, n]
        return _pad(by_gate, inputs, D).flatten(1, 2)

    def biases(bias: Tensor) -> Tensor:
        return _pad(bias.view(-1, 3, width), D, 3).flatten(1)

    if then is None:
        then = Projection(table.new_empty(0, width, width), table.new_empty(0, labels, width))
    result: Tensor = GatedStack.apply(  # type: ignore[no-untyped-call]
        subgraphs,
        part,
        _pad(table, D, C),
        gates(table @ layers.message[:1], C),
        gates(table @ layers.state[:1], C),
        biases(layers.message_bias),
        biases(layers.state_bias),
        gates(layers.message[1:], D),
        gates(layers.state[1:], D),
        _pad(then.weight, D, D),
        _pad(then.table, D, C),
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
    def forward(ctx: Any, subgraphs: Subgraphs, part: Part, *weights: Tensor) -> Tensor:
        """Keeps the input and the message of every layer, in float16."""
        run = _Run(subgraphs, part, *weights)
        counts = run.label_counts()
        h = run.gates(0, run.table, counts)
        kept = [(run.table, counts)]
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
        rows = torch.mul(grad, scale, out=torch.empty_like(grad, dtype=torch.float16))
        later = run.shares(run.layers - 1, 7 * run.width + 16 + run.labels)
        for t in range(run.layers - 1, 0, -1):
            rows = run.gates_grad(t, rows, *kept[t], later[:, t - 1])
            kept[t] = None
        first = run.shares(1, 9 * run.labels + run.width)
        run.label_grad(rows, kept[0][1], first[:, 0])
        return None, None, *run.collect(sum_shares(first, scale)[0], sum_shares(later, scale))


class _Run:
    """Launches of one pass, and the float16 copies of the weights that they share."""

    def __init__(
        self,
        subgraphs: Subgraphs,
        part: Part,
        table: Tensor,
        label_message: Tensor,
        label_state: Tensor,
        message_bias: Tensor,
        state_bias: Tensor,
        message: Tensor,
        state: Tensor,
        weight: Tensor,
        tables: Tensor,
    ) -> None:
        half = torch.float16
        self.subgraphs, self.part = subgraphs, part
        self.table = table.contiguous()
        self.layers = len(message_bias)
        self.projects = len(weight) > 0
        self.labels, self.width = table.shape
        self.label_weights = (
            label_message.to(half).contiguous(),
            label_state.to(half).contiguous(),
        )
        self.message, self.state = message.to(half).contiguous(), state.to(half).contiguous()
        self.message_bias, self.state_bias = message_bias.contiguous(), state_bias.contiguous()
        self.weight, self.tables = weight.to(half).contiguous(), tables.contiguous()
        self.weight_out = self.weight.transpose(1, 2).contiguous()
        assert subgraphs.label_code is not None
        self.code = subgraphs.label_code

    def label_counts(self) -> Tensor:
        """How many neighbours of each row have each label, [R, C] float16."""
        rows = self.subgraphs.num_rows
        counts = self._rows(self.labels)
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

    def gates(self, t: int, h: Tensor, message: Tensor) -> Tensor:
        """Layer t from its input and messages, [R, D] float16."""
        out = self._rows(self.width)
        then = self._projects(t)
        launch(
            kernels.gates_kernel,
            (programs_on(self.table.device, 2),),
            out,
            h,
            message,
            self.code,
            *self._weights(t),
            self.weight_out[t] if then else self.weight,
            self.tables[t] if then else self.tables,
            self.subgraphs.row_ptr,
            self.subgraphs.num_pairs,
            D=self.width,
            K=message.shape[1],
            LABELS=t == 0,
            THEN=then,
            BLOCK_R=TILE,
            num_warps=4,
            num_stages=1,
        )
        return out

    def gates_grad(
        self, t: int, grad: Tensor, h: Tensor, message: Tensor, partial: Tensor
    ) -> Tensor:
        """From the gradient by layer t's result that by its input; shares of those of weights."""
        then = self._projects(t)
        grad_h, grad_message, new = (self._rows(self.width) for _ in range(3))
        grad_gates = self._rows(4 * self.width)
        launch(
            kernels.gates_grad_kernel,
            (programs_on(self.table.device, 2),),
            grad_h,
            grad_message,
            grad_gates,
            new,
            grad,
            self.source,
            h,
            message,
            *self._weights(t),
            self.weight[t] if then else self.weight,
            self.subgraphs.row_ptr,
            self.subgraphs.num_pairs,
            D=self.width,
            THEN=then,
            LAST=t == self.layers - 1,
            BLOCK_R=TILE,
            STAGES=2,
            num_warps=4,
            num_stages=2,
        )
        # Both read much and compute little, so that side by side they take less time.
        side = SideWork(grad)
        side.run(self._weights_grad, t, grad, h, message, grad_gates, new, partial)
        result = sum_links(grad_message, self.subgraphs, own=grad_h)
        side.join()
        return result

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
            (programs_on(self.table.device),),
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
            THEN=self._projects(t),
            BLOCK_R=TILE // 2,
            STAGES=3,
            num_warps=8,
            num_stages=3,
        )

    def label_grad(self, grad: Tensor, counts: Tensor, partial: Tensor) -> None:
        """Shares of the gradients of the first layer's weights."""
        then = self._projects(0)
        launch(
            kernels.label_grad_kernel,
            (programs_on(self.table.device),),
            partial,
            grad,
            self.source,
            counts,
            self.table,
            self.code,
            *self._weights(0),
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

    @cached_property
    def source(self) -> Tensor:
        """For each row the branch that read it, [R]; -1 where none did."""
        branch = self.subgraphs.row_to_branch
        if self.part == "nodes":
            return branch
        read = rows_read(self.subgraphs, self.part).index_select(0, branch)
        row = torch.arange(len(branch), dtype=read.dtype, device=read.device)
        return branch.masked_fill(read != row, -1)

    def shares(self, layers: int, rows: int) -> Tensor:
        """Room for what the programs find for each layer, [programs, layers, rows, D]."""
        return self.table.new_empty(programs_on(self.table.device), layers, rows, self.width)

    def collect(self, first: Tensor, later: Tensor) -> tuple[Tensor, ...]:
        """Sorts what `label_grad` and `gates_grad` found into the order of the weights."""
        C, D, T = self.labels, self.width, self.layers
        by_label = first[: 9 * C].view(9, C, D)
        squares = later[:, : 7 * D].view(T - 1, 7, D, D)
        # By gate: new (from the message), reset, update, new (from the state).
        of_first = torch.cat([by_label[7:8], by_label[3:6]]).sum(1, keepdim=True)
        biases = torch.cat([of_first.transpose(0, 1), later[:, 7 * D : 7 * D + 4]])
        weight, tables = self.weight.new_empty(0), self.tables.new_empty(0)
        if self.projects:
            weight = torch.cat([first[None, 9 * C :], squares[: T - 2, 6]])
            tables = torch.cat([by_label[None, 8], later[: T - 2, 7 * D + 16 :]])
        return (
            by_label[6],
            _below(by_label[None, 0:3]),
            _below(by_label[None, 3:6]),
            torch.cat([biases[:, 1:3], biases[:, 0:1]], dim=1).flatten(1),
            biases[:, 1:4].flatten(1),
            _below(squares[:, 0:3]),
            _below(squares[:, 3:6]),
            weight.view(self.weight.shape),
            tables.view(self.tables.shape),
        )

    def _weights(self, t: int) -> tuple[Tensor, ...]:
        weights = self.label_weights if t == 0 else (self.message[t - 1], self.state[t - 1])
        return *weights, self.message_bias[t], self.state_bias[t]

    def _projects(self, t: int) -> bool:
        return self.projects and t < self.layers - 1

    def _rows(self, width: int) -> Tensor:
        shape = (self.subgraphs.num_rows, width)
        return torch.empty(shape, dtype=torch.float16, device=self.table.device)


def _filled(length: int) -> int:
    filled: int = max(SMALLEST, triton.next_power_of_2(length))
    return filled


def _below(gates: Tensor) -> Tensor:
    """[..., 3, n, D] gradients, one matrix per gate, to [..., 3 D, n]."""
    return gates.transpose(-1, -2).flatten(-3, -2)


def _pad(x: Tensor, columns: int, rows: int) -> Tensor:
    """Fills up the last two dimensions with zeros."""
    missing = (0, columns - x.shape[-1], 0, rows - x.shape[-2])
    return pad(x, missing) if any(missing) else x
