"""The exchange between subgraphs behind a fused layer: rows to node states and back to rows."""

import torch
from torch import Tensor

from i2gnn.ops.reference import NodeMix
from i2gnn.ops.triton import mix_kernels as kernels
from i2gnn.ops.triton.launch import SideWork, launch
from i2gnn.ops.triton.node_states import node_states, node_states_grad
from i2gnn.ops.triton.pool import sum_context
from i2gnn.ops.triton.rows import Labels, fill, filled, label_grad, rows_of
from i2gnn.ops.triton.shares import programs_on, sum_shares
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["Mix", "fits_mix"]

MAX_WIDTH = 64
TILE = 64


def fits_mix(mix: NodeMix) -> bool:
    """Whether the weights fit into the memory of a processor."""
    width, hidden = mix.weight_rows.shape
    return width <= MAX_WIDTH and hidden <= 2 * MAX_WIDTH


class Mix:
    """out = relu(h W_x + q[node]) W_3 + b_3 with q = states W_p + b; [R, OUT] float16 to the same.

    The states of nodes are [nodes, centre, side, context], gated by the labels of the rows.
    """

    def __init__(self, subgraphs: Subgraphs, mix: NodeMix) -> None:
        self.subgraphs, self.mix = subgraphs, mix
        self.width, self.hidden = mix.weight_rows.shape
        self.OUT, self.M = filled(self.width), filled(self.hidden)
        self.labels = Labels(mix.gate, subgraphs)
        self.weight_in = fill(mix.weight_rows.t(), self.M, self.OUT)
        self.weight_out = fill(mix.weight_out.t(), self.OUT, self.M)

    def forward(self, h: Tensor) -> Tensor:
        """[R, OUT] to the same."""
        mix, self.h = self.mix, h
        self.states, self.size = node_states(h, self.labels, self.width)
        q = torch.addmm(mix.bias, self.states, mix.weight_states)
        self.q = fill(q, len(q), self.M)
        out = rows_of(self.subgraphs, self.OUT)
        launch(
            kernels.mix_kernel,
            (programs_on(h.device, 3),),
            out,
            h,
            self.q,
            self.weight_in,
            self.weight_out,
            mix.bias_out,
            *self._nodes_of_rows(),
            WIDTH=self.width,
            D=self.OUT,
            M=self.M,
            BLOCK_R=TILE,
            num_warps=4,
            num_stages=1,
        )
        return out

    def backward(
        self, grad: Tensor, scale: Tensor, side: SideWork
    ) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """[R, OUT] to the same, and the gradients of the gate and the weights, the last aside."""
        mix, OUT, M = self.mix, self.OUT, self.M
        grad_h, grad_hidden = rows_of(self.subgraphs, OUT), rows_of(self.subgraphs, M)
        programs = programs_on(grad.device)
        partial = scale.new_empty(programs, 2, OUT, M)
        launch(
            kernels.mix_grad_kernel,
            (programs,),
            grad_h,
            grad_hidden,
            partial,
            grad,
            self.h,
            self.q,
            self.weight_in,
            self.weight_out,
            *self._nodes_of_rows(),
            D=OUT,
            M=M,
            BLOCK_R=2 * TILE,
            STAGES=2,
            num_warps=8,
            num_stages=2,
        )
        shares = side.run(sum_shares, partial, scale)
        by_rows, by_out = shares[:, : self.width, : self.hidden]
        grad_q = sum_context(grad_hidden, self.subgraphs, torch.float32)
        del grad_hidden  # its memory is used again
        by_states, by_bias = side.run(self._states_grad, grad_q, scale)
        grad_gate = rows_of(self.subgraphs, OUT) if self.labels.width else None
        grad_states = grad_q[:, : self.hidden] @ mix.weight_states.t()
        node_states_grad(
            grad_h, grad_gate, grad_states, None, grad_h, self.size, self.h, self.labels
        )
        of_gate: tuple[Tensor | None, Tensor | None] = (None, None)
        if grad_gate is not None:
            of_gate = side.run(label_grad, grad_gate, self.labels, scale)
        return grad_h, (*of_gate, by_states, by_rows, by_bias, by_out.t())

    def _states_grad(self, grad_q: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients of the weight and the bias of q."""
        grad_q = grad_q[:, : self.hidden]
        by_states = grad_q.t() @ self.states  # as a linear layer keeps it, so that none copies it
        return (by_states / scale).t(), grad_q.sum(0) / scale

    def _nodes_of_rows(self) -> tuple[Tensor, Tensor, Tensor, int]:
        s = self.subgraphs
        return s.row_to_pair, s.pair_to_node, s.row_ptr, s.num_pairs
