"""Whole GIN or GINE layers, with everything that may follow them, in fused kernels.

    a   = (1 + eps) [h, z] + sum over neighbours of relu([h, z] + edge)      gather
    u   = relu(norm(a W_1 + b_1)) W_2 + b_2                                  perceptron
    v   = relu(u W_x + q[node]) W_3 + b_3                                    mix, see `mix`
    out = elu(norm(v)) + h

States are float32 where they are added up, and float16 where they are gathered, as all else between
kernels. Kept for the backward pass are h, a, u and v; the embedded labels z and both hidden layers
are computed again. The statistics of a normalisation over rows need a pass of their own.
Those of the hidden layer a W_1, which is not kept, follow from the covariance of a.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from i2gnn.ops.autograd import once_differentiable
from i2gnn.ops.reference import GINELayer, tensors_of
from i2gnn.ops.triton.aggregate import MAX_TYPES
from i2gnn.ops.triton.gather import Gather
from i2gnn.ops.triton.launch import SideWork
from i2gnn.ops.triton.mix import Mix, fits_mix
from i2gnn.ops.triton.norm import Norm
from i2gnn.ops.triton.perceptron import TwoLayers
from i2gnn.ops.triton.rows import filled
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["fits_gine_layer", "gine_layers"]

MAX_INPUT, MAX_HIDDEN, MAX_OUTPUT = 128, 256, 64
"""Widths up to which the weights of a perceptron fit into the memory of a processor."""
MAX_CODES = 512


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
        rounded: Tensor | None = h.to(torch.float16)
        widths = [h.shape[1], *(layer.mlp.weight_out.shape[1] for layer in layers)]
        left = [
            FusedLayer(subgraphs, layer, edge_type, width)
            for layer, width in zip(layers, widths, strict=False)
        ]
        ctx.layers = [*left] if keeps else []
        while left:
            layer = left.pop(0)  # and with it, unless it is kept, what it has computed
            assert rounded is not None
            h, rounded = layer.forward(h, rounded, last=not left)
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Runs the gradients, last layer first.

        Gradients by rows follow from each other; those by weights come beside, and may take until
        the norm and the mix of the next layer are through.
        """
        grad, found = grad.contiguous(), list[tuple[Tensor | None, ...]]()
        before = SideWork(grad)
        for layer in reversed(ctx.layers):
            side = SideWork(grad)
            grad, of_layer = layer.backward(grad, side, before)
            found.insert(0, of_layer)
            before = side
        before.join()
        return None, None, None, None, grad, *itertools.chain(*found)


class FusedLayer:
    """The pieces of a layer."""

    def __init__(
        self, subgraphs: Subgraphs, layer: GINELayer, edge_type: Tensor | None, width: int
    ) -> None:
        self.gather = Gather(subgraphs, layer, edge_type, width)
        self.perceptron = TwoLayers(subgraphs, layer.mlp, self.gather)
        self.mix = None if layer.mix is None else Mix(subgraphs, layer.mix)
        width = layer.mlp.weight_out.shape[1]
        self.norm = Norm(subgraphs, layer.norm, width, layer.activation)
        self.residual = layer.residual

    def forward(self, h: Tensor, rounded: Tensor, last: bool) -> tuple[Tensor, Tensor | None]:
        """The result, [R, D], and unless it is the last the same in float16.

        Args:
            h: States, to be added.
            rounded: The same in float16, to be gathered.
            last: Whether no layer follows.
        """
        rows = self.perceptron.forward(self.gather.forward(rounded))
        if self.mix is not None:
            rows = self.mix.forward(rows)
        return self.norm.forward(rows, h if self.residual else None, last)

    def backward(
        self, grad: Tensor, side: SideWork, before: SideWork
    ) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """Gradient by h, and those by the tensors of the layer, which are there after a join.

        Inside, gradients of rows are float16, times a power of two. `before`, what the layer above
        has left to do, is joined before the perceptron takes memory.
        """
        rows, scale, total, of_norm = self.norm.backward(grad)
        bias: Tensor | None = total  # the gradient of the last bias, which may be that of the mix
        of_mix: tuple[Tensor | None, ...] = (None,) * 7
        if self.mix is not None:
            rows, of_mix = self.mix.backward(rows, scale, side)
            of_mix, bias = (*of_mix, total), None
        before.join()
        rows, of_perceptron = self.perceptron.backward(rows, scale, bias, side)
        added = grad if self.residual else None
        grad_h, of_gather = self.gather.backward(rows, scale, added, side)
        return grad_h, (*of_gather, *of_perceptron, *of_mix, *of_norm)
