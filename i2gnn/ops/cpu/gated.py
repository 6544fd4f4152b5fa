"""`gated_layer` and `gru_update` on the CPU, slice by slice; they keep nothing but their inputs.

A slice of rows goes through sums over neighbours, products with the weights of the gates, gates
and projection while it is in a core's cache. The backward pass takes the same slices and computes
all of that again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from i2gnn.ops import reference
from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.cpu.aggregate import add_links
from i2gnn.ops.cpu.cell import Cell, Room, Workspace
from i2gnn.ops.cpu.slices import Links, Slice, cut, fits_whole_roots, label_codes, run_slices
from i2gnn.ops.reference import GRUWeights, Projection
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["gated_layer", "gru_update"]


def gru_update(
    message: Tensor,
    h: Tensor,
    weight_message: Tensor,
    weight_state: Tensor,
    bias_message: Tensor,
    bias_state: Tensor,
) -> Tensor:
    """See `i2gnn.ops.gru_update`; float64 takes the reference."""
    weights = GRUWeights(weight_message, weight_state, bias_message, bias_state)
    if h.dtype != torch.float32:
        return reference.gru_update(message, h, *weights)
    result: Tensor = GatedRows.apply(h, message, None, *weights)  # type: ignore[no-untyped-call]
    return result


def gated_layer(
    h: Tensor, subgraphs: Subgraphs, weights: GRUWeights, then: Projection | None = None
) -> Tensor:
    """See `i2gnn.ops.gated_layer`; for float32 alone."""
    arguments = (h, None, subgraphs, *weights, *(then or ()))
    result: Tensor = GatedRows.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


class GatedRows(torch.autograd.Function):
    """`gru_update` if messages are given, else `gated_layer`."""

    @staticmethod
    def forward(
        ctx: Any, h: Tensor, message: Tensor | None, subgraphs: Subgraphs | None, *weights: Tensor
    ) -> Tensor:
        """[R, D] to [R, D']."""
        ctx.save_for_backward(h, message, *weights)
        ctx.subgraphs = subgraphs
        return Layer(h, message, subgraphs, weights).forward()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """[R, D'] to the gradients of all inputs."""
        h, message, *weights = ctx.saved_tensors
        layer = Layer(h, message, ctx.subgraphs, weights)
        grad_h, grad_message, *grads = layer.backward(grad)
        return grad_h, grad_message, None, *grads


class Layer:
    """One call of the layer, from rows to rows."""

    def __init__(
        self,
        h: Tensor,
        message: Tensor | None,
        subgraphs: Subgraphs | None,
        weights: Sequence[Tensor],
    ) -> None:
        then = Projection(*weights[4:]) if len(weights) > 4 else None
        self.cell = Cell(GRUWeights(*weights[:4]), then)
        self.subgraphs = subgraphs
        self.h = h.detach().contiguous().numpy()
        self.message = None if message is None else message.detach().numpy()
        self.slices = cut(len(h), subgraphs)
        self.links = None if subgraphs is None else Links(subgraphs)
        self.code = np.empty(0) if subgraphs is None else label_codes(subgraphs)

    def forward(self) -> Tensor:
        """New states, [R, D']."""
        cell, out = self.cell, self._empty(self.cell.out_width)
        result = out.numpy()

        def work(slices: list[Slice]) -> list[Tensor]:
            memory = Workspace(max(s.size for s in slices), [cell], cell.out_width)
            for s in slices:
                (room,), (projected,) = memory.take(s.size)
                self._climb(s, room)
                cell.project(room, self.code[s.rows], projected)
                result[s.rows] = projected.array[: s.size]
            return []

        run_slices(self.slices, work)
        return out

    def backward(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients by h, by the messages if they are given, and by the weights."""
        cell, links = self.cell, self.links
        closed = self.subgraphs is not None and fits_whole_roots(self.subgraphs)
        grad_h = self._empty(cell.width)
        grad_message = self._empty(0 if closed else cell.channels)
        source, by_h, by_message = (t.numpy() for t in (grad, grad_h, grad_message))

        def work(slices: list[Slice]) -> list[Tensor]:
            longest = max(s.size for s in slices)
            memory = Workspace(longest, [cell], cell.out_width, cell.width, cell.width)
            sums = cell.zeros()
            for s in slices:
                (room,), (d_out, d_state, d_h) = memory.take(s.size)
                self._climb(s, room)
                d_out.array[: s.size] = source[s.rows]
                d_out.array[s.size :] = 0
                d_state = cell.project_backward(room, self.code[s.rows], d_out, d_state, sums)
                cell.gate_backward(s.size, room, d_state, d_h, sums)
                cell.multiply_backward(room, d_h, sums)
                if links is not None and closed:
                    links.add(s, cell.width, room.message.flat, d_h.flat)
                else:
                    by_message[s.rows] = room.message.array[: s.size]
                by_h[s.rows] = d_h.array[: s.size]
            return [matrix.tensor for matrix in sums]

        total = run_slices(self.slices, work)
        if self.subgraphs is not None and not closed:
            add_links(grad_message, self.subgraphs, grad_h)
        given = None if self.message is None else grad_message
        return grad_h, given, *cell.gradients(total)

    def _climb(self, s: Slice, room: Room) -> None:
        """Computes the new states of a slice."""
        room.h.array[: s.size] = self.h[s.rows]
        if self.message is not None:
            room.message.array[: s.size] = self.message[s.rows]
        elif self.links is not None:
            self.links.sum(s, self.cell.width, self.h.reshape(-1), 0, room.message.flat)
        self.cell.multiply(room)
        self.cell.gate(s.size, room)

    def _empty(self, width: int) -> Tensor:
        """Rows that are about to be written; spare ones are zero."""
        out = torch.empty(len(self.h), width)
        out[self.slices[-1].stop if self.slices else 0 :] = 0
        return out
