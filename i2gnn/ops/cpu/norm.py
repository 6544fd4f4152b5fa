"""Normalisation over rows, ELU and residual behind a fused layer, slice by slice."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from i2gnn.ops.cpu.pages import empty_rows
from i2gnn.ops.cpu.rows import Finish, as_it_is, longest
from i2gnn.ops.cpu.slices import Slice, run_slices
from i2gnn.ops.reference import NormState

__all__ = ["Affine", "Norm", "affine"]


class Affine(NamedTuple):
    """A normalisation as x * scale + shift, and the statistics it came from, [D] each.

    They are float64; `of_batch` says whether the statistics depend on the rows.
    """

    scale: Tensor
    shift: Tensor
    mean: Tensor
    inverse: Tensor
    of_batch: bool


def affine(norm: NormState, mean: Tensor, variance: Tensor, rows: int) -> Affine:
    """The normalisation of rows with these moments; updates the running statistics in training."""
    of_batch = norm.training and rows > 1
    if of_batch:
        unbiased = variance * (rows / (rows - 1))
        norm.running_mean.lerp_(mean.to(norm.running_mean.dtype), norm.momentum)
        norm.running_var.lerp_(unbiased.to(norm.running_var.dtype), norm.momentum)
    else:
        mean, variance = norm.running_mean.double(), norm.running_var.double()
    inverse = torch.rsqrt(variance + norm.eps)
    scale = norm.weight.detach().double() * inverse
    return Affine(scale, norm.bias.detach().double() - mean * scale, mean, inverse, of_batch)


def _add_moments(rows: Tensor, room: Tensor, total: Tensor, squares: Tensor) -> None:
    """Adds the sums of rows and of their squares to [D] in float64, from centred rows in a room."""
    mean = rows.mean(0)
    centered = torch.sub(rows, mean, out=room[: len(rows)])
    mean = mean.double()
    total.add_(mean, alpha=len(rows))
    squares.add_(centered.mul_(centered).sum(0)).addcmul_(mean, mean, value=len(rows))


class Norm:
    """out = elu(norm(p)) + h, each of the three optional; [R, D] to the same."""

    def __init__(self, norm: NormState | None, p: Tensor, slices: list[Slice], elu: bool) -> None:
        self.p, self.slices, self.elu = p, slices, elu
        self.affine: Affine | None = None
        if norm is not None:
            self.affine = affine(norm, *self._moments(norm), len(p))
            parts = self.affine.scale, self.affine.shift, self.affine.mean
            self.scale, self.shift, self.mean = (part.float() for part in parts)

    def forward(self, h: Tensor | None) -> Tensor:
        """The result, with `h` added if given."""
        out = empty_rows(*self.p.shape)

        def work(slices: list[Slice]) -> list[Tensor]:
            for s in slices:
                rows = self._normalized(s, out[s.rows])
                if self.elu:
                    functional.elu_(rows)
                if h is not None:
                    rows += h[s.rows]
            return []

        run_slices(self.slices, work)
        return out

    def backward(self, grad: Tensor) -> tuple[Tensor, Finish, tuple[Tensor | None, Tensor | None]]:
        """The gradient by p, how to finish it, and those by the weight and the bias of the norm."""
        out = empty_rows(*self.p.shape)

        def work(slices: list[Slice]) -> list[Tensor]:
            room = torch.empty(longest(slices), self.p.shape[1])
            sums = torch.zeros(2, self.p.shape[1], dtype=torch.float64)
            for s in slices:
                rows, before = out[s.rows], self._normalized(s, room[: s.size])
                if self.elu:
                    torch.ops.aten.elu_backward.grad_input(
                        grad[s.rows], 1.0, 1.0, 1.0, False, before, grad_input=rows
                    )
                else:
                    rows.copy_(grad[s.rows])
                if self.affine is not None:
                    centered = torch.sub(self.p[s.rows], self.mean, out=before)
                    sums[0] += rows.sum(0)
                    sums[1] += centered.mul_(rows).sum(0)
            return [sums]

        total = run_slices(self.slices, work)
        if self.affine is None:
            return out, as_it_is, (None, None)
        (by_bias, by_weight), of = total[0], self.affine
        by_weight *= of.inverse
        slope = start = torch.zeros_like(by_bias)
        if of.of_batch:
            slope = -of.scale * of.inverse * by_weight / len(self.p)
            start = -of.scale * by_bias / len(self.p) - slope * of.mean
        slope, start = slope.float(), start.float()

        def finish(s: Slice, rows: Tensor) -> Tensor:
            return rows.mul_(self.scale).addcmul_(self.p[s.rows], slope).add_(start)

        return out, finish, (by_weight.float(), by_bias.float())

    def _normalized(self, s: Slice, room: Tensor) -> Tensor:
        """The normalised rows of a slice, in a room."""
        if self.affine is None:
            return room.copy_(self.p[s.rows])
        return torch.addcmul(self.shift, self.p[s.rows], self.scale, out=room)

    def _moments(self, norm: NormState) -> tuple[Tensor, Tensor]:
        """Mean and variance of the rows."""
        if not norm.training:
            return norm.running_mean, norm.running_var

        def work(slices: list[Slice]) -> list[Tensor]:
            room = torch.empty(longest(slices), self.p.shape[1])
            sums = torch.zeros(2, self.p.shape[1], dtype=torch.float64)
            for s in slices:
                _add_moments(self.p[s.rows], room, *sums)
            return [sums]

        total, squares = run_slices(self.slices, work)[0] / len(self.p)
        return total, (squares - total * total).clamp_(min=0)
