"""The exchange between subgraphs behind a fused layer: rows to node states and back to rows."""

import torch
from torch import Tensor

from i2gnn.ops.reference import NodeMix
from i2gnn.ops.triton import mix_kernels as kernels
from i2gnn.ops.triton.launch import blocks, launch
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

    def __init__(self, subgraphs: Subgraphs, mix: NodeMix, h: Tensor) -> None:
        self.subgraphs, self.mix, self.h = subgraphs, mix, h
        self.OUT = h.shape[1]
        self.width, self.hidden = mix.weight_rows.shape
        self.M = filled(self.hidden)
        self.labels = Labels(mix.gate, subgraphs)
        self.weight_in = fill(mix.weight_rows.t(), self.M, self.OUT)
        self.weight_out = fill(mix.weight_out.t(), self.OUT, self.M)
        self.states, self.size = self._node_states()
        q = torch.addmm(mix.bias, self._real(self.states), mix.weight_states)
        self.q = fill(q, len(q), self.M)
        self.out = rows_of(subgraphs, self.OUT)
        launch(
            kernels.mix_kernel,
            (programs_on(h.device, 2),),
            self.out,
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

    def backward(self, grad: Tensor, scale: Tensor) -> tuple[Tensor, tuple[Tensor | None, ...]]:
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
            BLOCK_R=TILE,
            num_warps=8,
            num_stages=1,
        )
        by_rows, by_out = sum_shares(partial, scale)[:, : self.width, : self.hidden]
        grad_q = sum_context(grad_hidden, self.subgraphs, torch.float32)[:, : self.hidden]
        grad_states = grad_q @ mix.weight_states.t()
        of_weights = (
            self._real(self.states).t() @ grad_q / scale,
            by_rows,
            grad_q.sum(0) / scale,
            by_out.t(),
        )
        of_gate = self._node_states_grad(grad_h, grad_states, scale)
        return grad_h, (*of_gate, *of_weights)

    def _node_states(self) -> tuple[Tensor, Tensor]:
        """The states of nodes, [N, 4 OUT], and of how many rows their contexts are means, [N]."""
        subgraphs, nodes = self.subgraphs, self.subgraphs.num_nodes
        out = self.h.new_empty(nodes, 4 * self.OUT, dtype=torch.float32)
        size = torch.empty(nodes, dtype=torch.int32, device=self.h.device)
        launch(
            kernels.node_states_kernel,
            (nodes,),
            out,
            size,
            self.h,
            *self.labels.tensors,
            subgraphs.pair_ptr,
            subgraphs.branch_ptr,
            subgraphs.branch_to_pair,
            subgraphs.row_ptr,
            *subgraphs.node_to_pair,
            nodes,
            **self._label_sizes(),
            BLOCK_R=16,
        )
        return out, size

    def _node_states_grad(
        self, grad_h: Tensor, grad_states: Tensor, scale: Tensor
    ) -> tuple[Tensor | None, Tensor | None]:
        """Adds what the states give back to `grad_h`; returns the gradients of the gate."""
        subgraphs, rows = self.subgraphs, len(grad_h)
        grad_gate = rows_of(subgraphs, self.OUT) if self.labels.width else None
        launch(
            kernels.node_states_grad_kernel,
            (blocks(rows, 16),),
            grad_h,
            grad_gate,
            self._filled(grad_states),
            grad_h,
            self.size,
            self.h,
            *self.labels.tensors,
            subgraphs.row_to_pair,
            subgraphs.row_ptr,
            subgraphs.pair_to_root,
            subgraphs.pair_to_node,
            subgraphs.pair_ptr,
            subgraphs.branch_ptr,
            subgraphs.branch_to_pair,
            rows,
            **self._label_sizes(),
            BLOCK_R=16,
        )
        return (None, None) if grad_gate is None else label_grad(grad_gate, self.labels, scale)

    def _nodes_of_rows(self) -> tuple[Tensor, Tensor, Tensor, int]:
        s = self.subgraphs
        return s.row_to_pair, s.pair_to_node, s.row_ptr, s.num_pairs

    def _label_sizes(self) -> dict[str, int]:
        return {"D": self.OUT, "WIDTH": self.width, **self.labels.sizes}

    def _real(self, states: Tensor) -> Tensor:
        """[N, 4 OUT] to [N, 4 width]."""
        if self.width == self.OUT:
            return states
        return states.view(-1, 4, self.OUT)[:, :, : self.width].flatten(1)

    def _filled(self, states: Tensor) -> Tensor:
        """[N, 4 width] to [N, 4 OUT]."""
        if self.width == self.OUT:
            return states.contiguous()
        out = states.new_zeros(len(states), 4, self.OUT)
        out[:, :, : self.width] = states.view(-1, 4, self.width)
        return out.flatten(1)
