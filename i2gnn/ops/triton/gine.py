"""Whole GIN or GINE layers, with everything that may follow them, in fused kernels.

    a   = (1 + eps) [h, z] + sum over neighbours of relu([h, z] + edge)      gather
    u   = relu(norm(a W_1 + b_1)) W_2 + b_2                                  perceptron
    v   = relu(u W_x + q[node]) W_3 + b_3                                    mix, see `mix`
    out = elu(norm(v)) + h

Kept for the backward pass are h, a, u and v, all in float16; the embedded labels z and both hidden
layers are computed again. The statistics of a normalisation over rows need a pass of their own.
Those of the hidden layer a W_1, which is not kept, follow from the covariance of a.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import torch
import triton
from torch import Tensor
from torch.autograd.function import once_differentiable

from i2gnn.ops.reference import GINELayer, NormState, Perceptron, tensors_of
from i2gnn.ops.triton import gine_kernels as kernels
from i2gnn.ops.triton import norm_kernels
from i2gnn.ops.triton.aggregate import MAX_TYPES, links_of
from i2gnn.ops.triton.launch import SideWork, blocks, launch
from i2gnn.ops.triton.mix import Mix, fits_mix
from i2gnn.ops.triton.norm import Norm, norm_code
from i2gnn.ops.triton.rows import Labels, fill, filled, label_grad, rows_of
from i2gnn.ops.triton.shares import programs_on, sum_shares
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["fits_gine_layer", "gine_layers"]

MAX_INPUT, MAX_HIDDEN, MAX_OUTPUT = 128, 256, 64
"""Widths up to which the weights of a perceptron fit into the memory of a processor."""
MAX_CODES = 512
BLOCK_H = 64
"""Hidden units that are computed at once."""
TILE = 64
"""Rows of a tile: as many as a group of four warps multiplies at once."""
GATHER_NUMBERS, GATHER_WARPS = 1024, 2
"""Numbers of a tile of the gather, and warps that share it."""
GATHER_GRAD_NUMBERS, GATHER_GRAD_WARPS, GATHER_GRAD_PROGRAMS = 512, 1, 16
"""The same for its gradient, and programs on a processor; with many types, tiles are smaller."""


def fits_gine_layer(width: int, subgraphs: Subgraphs, layer: GINELayer) -> bool:
    """Whether the kernels can take these widths, this many types and this many rows."""
    rows, parts = subgraphs.num_rows, [width]
    tables = [e.table for e in (layer.labels, layer.mix and layer.mix.gate) if e]
    if layer.labels is not None:
        parts.append(layer.labels.table.shape[1])
    hidden, out = layer.mlp.weight_out.shape
    return (
        0 < rows * MAX_HIDDEN < 2**31
        and len(parts) * filled(max(parts)) <= MAX_INPUT
        and hidden <= MAX_HIDDEN
        and out <= MAX_OUTPUT
        and (layer.edges is None or len(layer.edges) <= MAX_TYPES)
        and all(len(table) <= MAX_CODES for table in tables)
        and (layer.mix is None or fits_mix(layer.mix))
    )


def gine_layers(
    h: Tensor, subgraphs: Subgraphs, layers: Sequence[GINELayer], edge_type: Tensor | None
) -> Tensor:
    """See `i2gnn.ops.gine_layers`."""
    tensors = [tensor for layer in layers for tensor in tensors_of(layer)]
    result: Tensor = FusedLayers.apply(  # type: ignore[no-untyped-call]
        torch.is_grad_enabled(), subgraphs, layers, edge_type, h, *tensors
    )
    return result


class FusedLayers(torch.autograd.Function):
    """[R, D] to [R, D']; the tensors of the layers are given again, so that they get gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        keeps: bool,
        subgraphs: Subgraphs,
        layers: Sequence[GINELayer],
        edge_type: Tensor | None,
        h: Tensor,
        *tensors: Tensor | None,
    ) -> Tensor:
        """One layer after the other; each has what its gradients need, if that is kept."""
        h = h.contiguous()
        ctx.layers = []
        for layer in layers:
            made = FusedLayer(subgraphs, layer, edge_type, h)
            h = made.forward(h)
            if keeps:
                ctx.layers.append(made)
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The same backwards.

        Gradients by rows follow from each other; those by weights come beside. The last of a layer,
        those of the gather, may take until the norm of the next is through.
        """
        grad, found = grad.contiguous(), list[tuple[Tensor | None, ...]]()
        last = SideWork(grad)
        for layer in reversed(ctx.layers):
            grad, of_layer, last = layer.backward(grad, last)
            found.insert(0, of_layer)
        last.join()
        return None, None, None, None, grad, *itertools.chain(*found)


class FusedLayer:
    """The pieces of a layer."""

    def __init__(
        self, subgraphs: Subgraphs, layer: GINELayer, edge_type: Tensor | None, h: Tensor
    ) -> None:
        self.gather = Gather(subgraphs, layer, edge_type, h)
        self.perceptron = TwoLayers(subgraphs, layer.mlp, self.gather)
        last = self.perceptron.out
        self.mix = None if layer.mix is None else Mix(subgraphs, layer.mix, last)
        last = last if self.mix is None else self.mix.out
        width = layer.mlp.weight_out.shape[1]
        self.norm = Norm(subgraphs, layer.norm, last, width, layer.activation)
        self.residual = layer.residual

    def forward(self, h: Tensor) -> Tensor:
        """The result, [R, D]."""
        return self.norm.forward(h if self.residual else None)

    def backward(
        self, grad: Tensor, before: SideWork
    ) -> tuple[Tensor, tuple[Tensor | None, ...], SideWork]:
        """Gradient by h, and those by the tensors of the layer; some are there after a join.

        Inside, gradients of rows are float16, times a power of two. `before`, what the layer above
        has left to do, is joined before much memory is taken.
        """
        side, last = SideWork(grad), SideWork(grad)
        rows, scale, total, of_norm = self.norm.backward(grad)
        before.join()
        bias: Tensor | None = total  # the gradient of the last bias, which may be that of the mix
        of_mix: tuple[Tensor | None, ...] = (None,) * 7
        if self.mix is not None:
            rows, of_mix = self.mix.backward(rows, scale, side)
            of_mix, bias = (*of_mix, total), None
        rows, of_perceptron = self.perceptron.backward(rows, scale, bias, side)
        added = grad if self.residual else None
        grad_h, of_gather = self.gather.backward(rows, scale, added, last)
        side.join()
        return grad_h, (*of_gather, *of_perceptron, *of_mix, *of_norm), last


class Gather:
    """a = (1 + eps) x + sum over neighbours of relu(x + edge), x = [h, z]; [R, K] float16.

    Each part of x is filled up to the same width, K / 2 or K.
    """

    def __init__(
        self, subgraphs: Subgraphs, layer: GINELayer, edge_type: Tensor | None, h: Tensor
    ) -> None:
        self.subgraphs, self.h = subgraphs, torch.empty_like(h, dtype=torch.float16)
        self.labels = Labels(layer.labels, subgraphs)
        self.widths = [h.shape[1]] + [self.labels.width] * (layer.labels is not None)
        self.part = filled(max(self.widths))
        self.K = self.part * len(self.widths)
        self.eps = layer.eps
        self.edges = None if layer.edges is None else layer.edges.contiguous()
        self.edge_type = None if edge_type is None else edge_type.contiguous()
        self.types = 0 if self.edges is None else len(self.edges)
        self.a = rows_of(subgraphs, self.K)
        # Derived here, and not where both streams would race for them.
        self.links = links_of(subgraphs)
        self.reverse: Tensor | None = None
        side = SideWork(h)
        if self.labels.width:
            side.run(self._gather, 1, h)
        self._gather(0, h)
        side.join()

    def _gather(self, number: int, h: Tensor) -> None:
        subgraphs, block_r = self.subgraphs, max(1, GATHER_NUMBERS // self.part)
        launch(
            kernels.gather_kernel,
            (blocks(subgraphs.num_rows, block_r),),
            self.a[:, number * self.part :],
            None if number else self.h,
            *self._part(number, h),
            *self._edges(number),
            self.eps,
            *self.links,
            subgraphs.link_to_edge,
            *self._counts(),
            self.types,
            **self._sizes(number),
            BLOCK_R=block_r,
            num_warps=GATHER_WARPS,
        )

    def backward(
        self, grad: Tensor, scale: Tensor, add: Tensor | None, side: SideWork
    ) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """[R, K] to [R, D], and the gradients of eps, labels and edges."""
        programs = programs_on(grad.device, GATHER_GRAD_PROGRAMS)
        if self.edges is not None:
            self.reverse = self.subgraphs.link_to_reverse_edge
        partial = scale.new_empty(programs, self.types + 1, self.K)
        grad_h = torch.empty_like(self.h, dtype=torch.float32)
        of_labels: tuple[Tensor | None, Tensor | None] = (None, None)
        if self.labels.width:
            of_labels = side.run(self._labels_grad, partial, grad, scale)
        self._part_grad(0, grad_h, partial, grad, scale, add)
        of_eps, of_edges = side.run(self._sums, partial, scale)
        return grad_h, (of_eps, *of_labels, of_edges)

    def _labels_grad(
        self, partial: Tensor, grad: Tensor, scale: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        grad_z = rows_of(self.subgraphs, self.part)
        self._part_grad(1, grad_z, partial, grad, scale, None)
        return label_grad(grad_z, self.labels, scale)

    def _part_grad(
        self,
        number: int,
        grad_x: Tensor,
        partial: Tensor,
        grad: Tensor,
        scale: Tensor,
        add: Tensor | None,
    ) -> None:
        several = max(1, triton.next_power_of_2(self.types) // 4)
        launch(
            kernels.gather_grad_kernel,
            (len(partial),),
            grad_x,
            partial[:, :, number * self.part :],
            grad[:, number * self.part :],
            *self._part(number, self.h),
            *self._edges(number),
            self.eps,
            scale,
            add,
            *self.links,
            self.reverse,
            *self._counts(),
            **self._sizes(number),
            TYPES=self.types,
            BLOCK_R=max(1, GATHER_GRAD_NUMBERS // (self.part * several)),
            num_warps=GATHER_GRAD_WARPS,
        )

    def _sums(self, partial: Tensor, scale: Tensor) -> tuple[Tensor, Tensor | None]:
        by_type = sum_shares(partial, scale)
        of_edges = None if self.edges is None else self._real(by_type[: self.types])
        return by_type[-1].sum(), of_edges

    def _part(self, number: int, h: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *self.labels.tensors) if number else (h, None, None, None, None)

    def _edges(self, number: int) -> tuple[Tensor | None, Tensor | None]:
        if self.edges is None:
            return None, None
        return self.edges[:, sum(self.widths[:number]) :], self.edge_type

    def _counts(self) -> tuple[Tensor, int, int]:
        return self.subgraphs.row_ptr, self.subgraphs.num_rows, self.subgraphs.num_pairs

    def _sizes(self, number: int) -> dict[str, int]:
        of_labels = self.labels.sizes if number else {"J": 0, "COLUMNS": 0}
        return {
            "D": self.widths[number],
            "K": self.K,
            "EDGE_WIDTH": sum(self.widths),
            "BLOCK_D": self.part,
            **of_labels,
        }

    def _real(self, x: Tensor) -> Tensor:
        """[n, K] to the columns that are not filled up."""
        if sum(self.widths) == self.K:
            return x
        starts = range(0, self.K, self.part)
        columns = [x[:, s : s + w] for s, w in zip(starts, self.widths, strict=True)]
        return torch.cat(columns, dim=1)

    def fill(self, weight: Tensor, rows: int) -> Tensor:
        """[n, sum of widths] to [rows, K] float16."""
        if sum(self.widths) == self.K:
            return fill(weight, rows, self.K)
        parts = [fill(part, rows, self.part) for part in torch.split(weight, self.widths, dim=1)]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


class TwoLayers:
    """u = relu(norm(a W_1 + b_1)) W_2 + b_2; [R, OUT] float16."""

    def __init__(self, subgraphs: Subgraphs, mlp: Perceptron, gather: Gather) -> None:
        self.subgraphs, self.mlp, self.gather = subgraphs, mlp, gather
        self.a, self.K = gather.a, gather.K
        self.hidden, self.width = mlp.weight_out.shape
        self.H, self.OUT = filled(self.hidden), filled(self.width)
        self.block_h = min(BLOCK_H, self.H)
        self.weight_in = gather.fill(mlp.weight_in.t(), self.H)
        self.weight_out = fill(mlp.weight_out.t(), self.OUT, self.H)
        self.norm = norm_code(mlp.norm)
        self.vectors, self.spread, self.gram = self._statistics(mlp.norm)
        self.out = rows_of(subgraphs, self.OUT)
        launch(
            kernels.perceptron_kernel,
            (programs_on(self.a.device, 2),),
            self.out,
            self.a,
            self.weight_in,
            self.weight_out,
            mlp.bias_out,
            self.vectors,
            *self._rows(),
            D=self.width,
            **self._sizes(),
            BLOCK_H=self.block_h,
            BLOCK_R=TILE,
            num_warps=4,
            num_stages=1,
        )

    def backward(
        self, grad: Tensor, scale: Tensor, bias: Tensor | None, side: SideWork
    ) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """[R, OUT] to [R, K], and the gradients of the weights; that of the last may be known."""
        mlp, new = self.mlp, self.vectors.new_empty
        units = self.H // self.block_h
        programs = max(1, programs_on(grad.device) // units)
        partial = new(programs, self.K + self.OUT + 1, self.H)
        launch(
            kernels.perceptron_weights_grad_kernel,
            (programs, units),
            partial,
            self.a,
            grad,
            self.weight_in,
            self.weight_out,
            self.vectors,
            *self._rows(),
            **self._sizes(),
            BLOCK_H=self.block_h,
            BLOCK_R=2 * TILE,
            STAGES=3,
            num_warps=8,
            num_stages=3,
        )
        by_in, by_out = new(self.H, self.K), new(self.OUT, self.H)
        by_norm = new(3, self.H)
        launch(
            norm_kernels.hidden_grad_kernel,
            (self.H // 8,),
            by_in,
            by_out,
            by_norm,
            self.vectors,
            sum_shares(partial),
            self.spread,
            self.gram,
            self.a,
            self.weight_in,
            scale,
            *self._rows(),
            **self._sizes(),
            NORM=self.norm,
            BLOCK_H=8,
        )
        grad_a = torch.empty_like(self.a)
        launch(
            kernels.perceptron_rows_grad_kernel,
            (programs_on(grad.device),),
            grad_a,
            self.a,
            grad,
            self.weight_in,
            self.weight_out,
            self.vectors,
            *self._rows(),
            **self._sizes(),
            BLOCK_H=self.block_h,
            BLOCK_R=2 * TILE,
            num_warps=8,
            num_stages=1,
        )
        weight, shift, before = by_norm[:, : self.hidden]
        of_norm = (None, None) if mlp.norm is None else (weight, shift)
        if bias is None:
            bias = side.run(self._sums, grad, scale)[: self.width]
        grad_in = self.gather._real(by_in[: self.hidden]).t()
        grad_out = by_out[: self.width, : self.hidden].t()
        return grad_a, (grad_in, before, *of_norm, grad_out, bias)

    def _statistics(self, norm: NormState | None) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The vectors of the hidden layer's normalisation, and what its gradient needs besides."""
        new = self.mlp.bias_in.new_empty
        spread = gram = None
        if self.norm == norm_kernels.BATCH:
            programs = programs_on(self.a.device)
            partial = new(programs, self.K + 1, self.K)
            launch(
                norm_kernels.gram_kernel,
                (programs,),
                partial,
                self.a,
                *self._rows(),
                K=self.K,
                BLOCK_R=TILE,
                num_warps=8,
            )
            gram, spread = sum_shares(partial), new(self.H, self.K)
        vectors = new(6, self.H)
        state = (None,) * 4 if norm is None else norm[:4]
        launch(
            norm_kernels.hidden_statistics_kernel,
            (self.H // 16,),
            vectors,
            spread,
            gram,
            self.a,
            self.weight_in,
            self.mlp.bias_in,
            *state,
            *self._rows(),
            0.0 if norm is None else norm.momentum,
            0.0 if norm is None else norm.eps,
            D=self.hidden,
            K=self.K,
            H=self.H,
            NORM=self.norm,
            BLOCK_H=16,
            BLOCK_K=min(32, self.K),
        )
        return vectors, spread, gram

    def _sums(self, x: Tensor, scale: Tensor) -> Tensor:
        """The sums over the rows of [R, OUT] scaled float16."""
        programs = programs_on(x.device, 2)
        partial = scale.new_empty(programs, self.OUT)
        launch(
            norm_kernels.column_sums_kernel,
            (programs,),
            partial,
            x,
            *self._rows(),
            D=self.OUT,
            BLOCK_R=2 * TILE,
            num_warps=8,
        )
        return sum_shares(partial, scale)

    def _rows(self) -> tuple[Tensor, int]:
        return self.subgraphs.row_ptr, self.subgraphs.num_pairs

    def _sizes(self) -> dict[str, int]:
        return {"K": self.K, "H": self.H, "OUT": self.OUT}
