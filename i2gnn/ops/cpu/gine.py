"""A whole GIN or GINE layer, with everything that may follow it, slice by slice.

    a   = (1 + eps) [h, z] + sum over neighbours of relu([h, z] + edge)      gather
    u   = relu(norm(a W_1 + b_1)) W_2 + b_2                                  perceptron
    v   = relu(u W_x + q[node]) W_3 + b_3                                    mix, see `mix`
    out = elu(norm(v)) + h

Each piece takes slices of whole roots through a core's cache. Kept for the backward pass are h, a,
u, v and the hidden layer of the mix; embedded labels, gates and the hidden layer of the perceptron,
the widest of all, are computed again. The statistics of a W_1 follow from the covariance of a.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.cpu import gine_kernels as kernels
from i2gnn.ops.cpu.mix import Mix
from i2gnn.ops.cpu.norm import Affine, Norm, affine
from i2gnn.ops.cpu.pages import empty_rows
from i2gnn.ops.cpu.rows import Finish, Labels, as_it_is, flat, longest, matrix, slices_of
from i2gnn.ops.cpu.slices import Slice, run_slices
from i2gnn.ops.reference import GINELayer, Perceptron, tensors_of
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["gine_layer"]

Array = npt.NDArray[Any]


def gine_layer(
    h: Tensor, subgraphs: Subgraphs, layer: GINELayer, edge_type: Tensor | None
) -> Tensor:
    """See `i2gnn.ops.gine_layer`; for float32 and subgraphs that fit `fits_whole_roots`."""
    result: Tensor = FusedLayer.apply(  # type: ignore[no-untyped-call]
        subgraphs, layer, edge_type, h, *tensors_of(layer)
    )
    return result


class FusedLayer(torch.autograd.Function):
    """[R, D] to [R, D']; the tensors of the layer are given again, so that they get gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        subgraphs: Subgraphs,
        layer: GINELayer,
        edge_type: Tensor | None,
        h: Tensor,
        *tensors: Tensor | None,
    ) -> Tensor:
        """Runs the pieces one after the other; each keeps what it needs."""
        h = h.contiguous()
        slices = slices_of(subgraphs)
        gather = Gather(subgraphs, layer, edge_type, h, slices)
        perceptron = TwoLayers(layer.mlp, gather, slices)
        mix = Mix(subgraphs, layer.mix, perceptron.out, slices) if layer.mix else None
        last = perceptron.out if mix is None else mix.out
        norm = Norm(layer.norm, last, slices, layer.activation)
        ctx.pieces = gather, perceptron, mix, norm
        ctx.residual = layer.residual
        return norm.forward(h if layer.residual else None)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Runs the pieces' gradients, the last one first."""
        gather, perceptron, mix, norm = ctx.pieces
        grad = grad.contiguous()
        rows, finish, of_norm = norm.backward(grad)
        of_mix: tuple[Tensor | None, ...] = (None,) * 7
        if mix is not None:
            rows, of_mix = mix.backward(rows, finish)
            finish = as_it_is
        rows, finish, of_perceptron = perceptron.backward(rows, finish)
        grad_h, of_gather = gather.backward(rows, finish, grad if ctx.residual else None)
        return None, None, None, grad_h, *of_gather, *of_perceptron, *of_mix, *of_norm


class Gather:
    """a = (1 + eps) x + sum over neighbours of relu(x + edge), x = [h, z]; [R, K].

    Attributes:
        total: Sum of a over rows, [K] in float64.
        covariance: [K, K] in float64, if it was asked for: if the hidden layer is normalised.
    """

    def __init__(
        self,
        subgraphs: Subgraphs,
        layer: GINELayer,
        edge_type: Tensor | None,
        h: Tensor,
        slices: list[Slice],
    ) -> None:
        self.subgraphs, self.h, self.slices = subgraphs, h, slices
        self.labels = None if layer.labels is None else Labels(layer.labels, subgraphs)
        self.width = h.shape[1] + (0 if self.labels is None else self.labels.width)
        self.own = 1 + layer.eps.item()
        self.edges = np.empty((0, self.width), np.float32)
        self.edge_type = edge_type
        if layer.edges is not None:
            self.edges = matrix(layer.edges)
        self.links = subgraphs.link_ptr.numpy(), subgraphs.link_to_pair.numpy()
        self.a = empty_rows(len(h), self.width)
        normalized = layer.mlp.norm is not None and layer.mlp.norm.training
        layout = self._layout(subgraphs.link_to_edge)

        def work(slices: list[Slice]) -> list[Tensor]:
            room = torch.empty(longest(slices), self.width)
            total = torch.zeros(self.width, dtype=torch.float64)
            products = torch.zeros(self.width, self.width, dtype=torch.float64)
            for s in slices:
                x = self._input(s, room)
                first, last, width = s.first_pair, s.last_pair, self.width
                kernels.gather(first, last, width, *layout, flat(x), s.start, flat(self.a))
                if normalized:
                    _add_moments(self.a[s.rows], x, total, products)
            return [total, products]

        self.total, products = run_slices(slices, work)
        products = products.triu() + products.triu(1).t()
        self.mean = self.total / len(h)
        self.covariance = products / len(h) - torch.outer(self.mean, self.mean)

    def backward(
        self, grad: Tensor, finish: Finish, add: Tensor | None
    ) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """[R, K] to [R, D], and the gradients of eps, labels and edges."""
        width = self.h.shape[1]
        grad_h = empty_rows(len(self.h), width)
        layout = self._layout(self.subgraphs.link_to_reverse_edge)

        def work(slices: list[Slice]) -> list[Tensor]:
            room, other = torch.empty(2, longest(slices), self.width)
            by_edges, by_own = torch.zeros(self.edges.shape), torch.zeros(self.width)
            of_labels = None if self.labels is None else self.labels.zeros()
            for s in slices:
                x, d_x = self._input(s, room), other[: s.size]
                kernels.gather_grad(
                    s.first_pair,
                    s.last_pair,
                    self.width,
                    *layout,
                    flat(x),
                    s.start,
                    flat(finish(s, grad[s.rows])),
                    flat(d_x),
                    by_edges.numpy(),
                    by_own.numpy(),
                )
                if self.labels is not None and of_labels is not None:
                    self.labels.add_grad(s, flat(d_x), self.width, width, of_labels)
                mine = d_x[:, :width]
                grad_h[s.rows] = mine if add is None else mine.add_(add[s.rows])
            return [by_edges, by_own, *(of_labels or ())]

        by_edges, by_own, *of_labels = run_slices(self.slices, work)
        labels: tuple[Tensor | None, Tensor | None] = (None, None)
        if self.labels is not None:
            labels = self.labels.gradients(*of_labels)
        return grad_h, (by_own.sum(), *labels, by_edges if len(self.edges) else None)

    def _input(self, s: Slice, room: Tensor) -> Tensor:
        """What a slice starts from: h and beside it the embedded labels, in a room."""
        x = room[: s.size]
        x[:, : self.h.shape[1]] = self.h[s.rows]
        if self.labels is not None:
            self.labels.write(s, flat(x), self.width, self.h.shape[1])
        return x

    def _layout(self, link_to_edge: Tensor) -> tuple[Array, Array, Array, Array, float, Array]:
        kind = torch.empty(0, dtype=torch.int32)
        if self.edge_type is not None:
            kind = self.edge_type.index_select(0, link_to_edge).to(torch.int32)
        row_ptr = self.subgraphs.row_ptr.numpy()
        return *self.links, kind.numpy(), row_ptr, self.own, self.edges


def _add_moments(rows: Tensor, room: Tensor, total: Tensor, products: Tensor) -> None:
    """Adds the sum of rows, and of their outer products, from centred rows in a room.

    Of the products, which are symmetric, the lower left quarter is left out.
    """
    mean, half = rows.mean(0), rows.shape[1] // 2
    centered = torch.sub(rows, mean, out=room)
    left, right = centered[:, :half], centered[:, half:]
    mean = mean.double()
    total += mean * len(rows)
    products[:half, :half] += left.t() @ left
    products[:, half:] += centered.t() @ right
    products.addr_(mean, mean, alpha=len(rows))


class TwoLayers:
    """u = relu(norm(a W_1 + b_1)) W_2 + b_2; [R, K] to [R, D]."""

    def __init__(self, mlp: Perceptron, gather: Gather, slices: list[Slice]) -> None:
        self.mlp, self.gather, self.slices = mlp, gather, slices
        self.a, self.hidden = gather.a, mlp.bias_in.shape[0]
        self.affine: Affine | None = None
        self.weight_in, self.bias_in = mlp.weight_in.detach(), mlp.bias_in.detach()
        if mlp.norm is not None:
            self._fold_norm()
        self.out = empty_rows(len(self.a), mlp.weight_out.shape[1])

        def work(slices: list[Slice]) -> list[Tensor]:
            room = torch.empty(longest(slices), self.hidden)
            for s in slices:
                torch.addmm(
                    mlp.bias_out, self._hidden(s, room), mlp.weight_out, out=self.out[s.rows]
                )
            return []

        run_slices(slices, work)

    def backward(
        self, grad: Tensor, finish: Finish
    ) -> tuple[Tensor, Finish, tuple[Tensor | None, ...]]:
        """[R, D] to [R, K], how to finish it, and the gradients of the weights."""
        mlp, hidden = self.mlp, self.hidden
        grad_a = empty_rows(*self.a.shape)

        def work(slices: list[Slice]) -> list[Tensor]:
            room, other = torch.empty(2, longest(slices), hidden)
            by_in, by_out = torch.zeros_like(mlp.weight_in), torch.zeros_like(mlp.weight_out)
            by_bias, total = torch.zeros_like(mlp.bias_out), torch.zeros(hidden)
            for s in slices:
                active, d_hidden = self._hidden(s, room), other[: s.size]
                d_out = finish(s, grad[s.rows])
                by_out.addmm_(active.t(), d_out)
                by_bias += d_out.sum(0)
                torch.mm(d_out, mlp.weight_out.t(), out=d_hidden)
                torch.ops.aten.threshold_backward.grad_input(
                    d_hidden, active, 0, grad_input=d_hidden
                )
                by_in.addmm_(self.a[s.rows].t(), d_hidden)
                total += d_hidden.sum(0)
                torch.mm(d_hidden, self.weight_in.t(), out=grad_a[s.rows])
            return [by_in, total, by_out, by_bias]

        by_in, total, by_out, by_bias = run_slices(self.slices, work)
        if self.affine is None:
            return grad_a, as_it_is, (by_in, total, None, None, by_out, by_bias)
        then, of_inner = self._norm_backward(self.affine, by_in, total)
        return grad_a, then, (*of_inner, by_out, by_bias)

    def _fold_norm(self) -> None:
        """Folds the normalisation into the weights."""
        mlp, gather = self.mlp, self.gather
        assert mlp.norm is not None
        weight = self.weight_in.double()
        mean = gather.mean @ weight + self.bias_in
        variance = ((gather.covariance @ weight) * weight).sum(0).clamp_(min=0)
        self.affine = affine(mlp.norm, mean, variance, len(self.a))
        self.weight_in = (weight * self.affine.scale).float()
        self.bias_in = (self.bias_in * self.affine.scale + self.affine.shift).float()

    def _norm_backward(
        self, of: Affine, by_in: Tensor, total: Tensor
    ) -> tuple[Finish, tuple[Tensor, Tensor, Tensor, Tensor]]:
        """From gradients by the normalised hidden layer to those by W_1, b_1, weight and bias.

        What the statistics add to the gradient by a is left to be done.
        """
        gather, rows = self.gather, len(self.a)
        weight, by_in, total = self.mlp.weight_in.detach().double(), by_in.double(), total.double()
        offset = self.mlp.bias_in.detach() - of.mean
        by_scale = of.inverse * ((weight * by_in).sum(0) + offset * total)
        of_norm = by_scale.float(), total.float()
        if not of.of_batch:
            return as_it_is, ((by_in * of.scale).float(), (total * of.scale).float(), *of_norm)
        # The gradient by the hidden layer is scale * (g - mean of g - (a - mean of a) W_1 slope).
        slope = of.inverse * by_scale / rows
        by_in -= torch.outer(gather.total, total / rows) + rows * (
            gather.covariance @ weight * slope
        )
        by_a = -(weight * (of.scale * slope)) @ weight.t()
        start = (-gather.mean @ by_a - weight @ (of.scale * total / rows)).float()
        through = by_a.float()

        def finish(s: Slice, grad: Tensor) -> Tensor:
            return grad.addmm_(self.a[s.rows], through).add_(start)

        by_bias = torch.zeros_like(self.mlp.bias_in)
        return finish, ((by_in * of.scale).float(), by_bias, *of_norm)

    def _hidden(self, s: Slice, room: Tensor) -> Tensor:
        """relu(norm(a W_1 + b_1)) of a slice, in a room."""
        return torch.addmm(self.bias_in, self.a[s.rows], self.weight_in, out=room[: s.size]).relu_()
