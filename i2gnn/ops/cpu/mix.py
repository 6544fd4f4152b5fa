"""The exchange between subgraphs behind a fused layer: rows to node states and back to rows."""

import torch
from torch import Tensor

from i2gnn.ops.cpu import gine_kernels as kernels
from i2gnn.ops.cpu.node_states import NodeStates, sum_nodes
from i2gnn.ops.cpu.pages import empty_rows
from i2gnn.ops.cpu.rows import Finish, flat, longest
from i2gnn.ops.cpu.slices import Slice, run_slices
from i2gnn.ops.reference import NodeMix
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["Mix"]


class Mix:
    """out = relu(h W_x + q[node]) W_3 + b_3 with q = states W_p + b; [R, D] to the same."""

    def __init__(self, subgraphs: Subgraphs, mix: NodeMix, h: Tensor, slices: list[Slice]) -> None:
        self.subgraphs, self.mix, self.h, self.slices = subgraphs, mix, h, slices
        self.hidden = mix.bias.shape[0]
        nodes = subgraphs.row_to_node
        self.reader = NodeStates(subgraphs, mix.gate, h)
        self.states = self.reader.forward()
        self.q = torch.addmm(mix.bias, self.states, mix.weight_states)
        self.active = empty_rows(len(h), self.hidden)
        self.out = empty_rows(len(h), mix.weight_out.shape[1])

        def work(slices: list[Slice]) -> list[Tensor]:
            for s in slices:
                active = self.active[s.rows]
                torch.index_select(self.q, 0, nodes[s.rows], out=active)
                active.addmm_(h[s.rows], mix.weight_rows).relu_()
                torch.addmm(mix.bias_out, active, mix.weight_out, out=self.out[s.rows])
            return []

        run_slices(slices, work)

    def backward(self, grad: Tensor, finish: Finish) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """[R, D] to the same, in place, and the gradients of the gate and the weights."""
        mix, hidden = self.mix, self.hidden
        of_pairs = empty_rows(self.subgraphs.num_pairs, hidden)
        row_ptr = self.subgraphs.row_ptr.numpy()

        def work(slices: list[Slice]) -> list[Tensor]:
            room = torch.empty(longest(slices), hidden)
            by_rows, by_out = torch.zeros_like(mix.weight_rows), torch.zeros_like(mix.weight_out)
            by_bias = torch.zeros_like(mix.bias_out)
            for s in slices:
                active, d_hidden = self.active[s.rows], room[: s.size]
                d_out = finish(s, grad[s.rows])
                by_out.addmm_(active.t(), d_out)
                by_bias += d_out.sum(0)
                torch.mm(d_out, mix.weight_out.t(), out=d_hidden)
                torch.ops.aten.threshold_backward.grad_input(
                    d_hidden, active, 0, grad_input=d_hidden
                )
                by_rows.addmm_(self.h[s.rows].t(), d_hidden)
                torch.mm(d_hidden, mix.weight_rows.t(), out=d_out)
                pairs = s.first_pair, s.last_pair, hidden, row_ptr
                kernels.sum_rows(*pairs, flat(d_hidden), s.start, flat(of_pairs))
            return [by_rows, by_out, by_bias]

        by_rows, by_out, by_bias = run_slices(self.slices, work)
        grad_q = sum_nodes(of_pairs, self.subgraphs)
        of_gate = self.reader.backward(grad_q @ mix.weight_states.t(), grad)
        of_states = self.states.t() @ grad_q
        return grad, (*of_gate, of_states, by_rows, grad_q.sum(0), by_out, by_bias)
