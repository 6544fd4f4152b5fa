"""The first piece of a fused layer: states and embedded labels, and the sums of neighbours."""

import torch
import triton
from torch import Tensor

from i2gnn.ops.reference import GINELayer
from i2gnn.ops.triton import gine_kernels as kernels
from i2gnn.ops.triton.aggregate import links_of
from i2gnn.ops.triton.launch import SideWork, blocks, launch
from i2gnn.ops.triton.rows import Labels, fill, filled, label_grad, rows_of
from i2gnn.ops.triton.shares import programs_on, sum_shares
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["Gather"]

NUMBERS, WARPS = 1024, 2
"""Numbers of a tile of the gather, and warps that share it."""
GRAD_NUMBERS, GRAD_WARPS, GRAD_PROGRAMS = 512, 1, 16
"""Numbers and warps of a tile of the gather's gradient, and programs on a processor; with many
types, tiles are smaller."""


class Gather:
    """a = (1 + eps) x + sum over neighbours of relu(x + edge), x = [h, z]; [R, K] float16.

    Each part of x is filled up to the same width, K / 2 or K.
    """

    def __init__(
        self, subgraphs: Subgraphs, layer: GINELayer, edge_type: Tensor | None, width: int
    ) -> None:
        self.subgraphs = subgraphs
        self.labels = Labels(layer.labels, subgraphs)
        self.widths = [width] + [self.labels.width] * (layer.labels is not None)
        self.part = filled(max(self.widths))
        self.K = self.part * len(self.widths)
        self.eps = layer.eps
        self.edges = None if layer.edges is None else layer.edges.contiguous()
        self.edge_type = None if edge_type is None else edge_type.contiguous()
        self.types = 0 if self.edges is None else len(self.edges)
        # Derived here, and not where both streams would race for them.
        self.links = links_of(subgraphs)
        self.reverse: Tensor | None = None

    def forward(self, h: Tensor) -> Tensor:
        """[R, D] float16 to [R, K]."""
        self.h, a = h, rows_of(self.subgraphs, self.K)
        side = SideWork(h)
        if self.labels.width:
            side.run(self._gather, 1, a)
        self._gather(0, a)
        side.join()
        return a

    def _gather(self, number: int, a: Tensor) -> None:
        subgraphs, block_r = self.subgraphs, max(1, NUMBERS // self.part)
        launch(
            kernels.gather_kernel,
            (blocks(subgraphs.num_rows, block_r),),
            a[:, number * self.part :],
            *self._part(number),
            *self._edges(number),
            self.eps,
            *self.links,
            subgraphs.link_to_edge,
            *self._counts(),
            self.types,
            **self._sizes(number),
            BLOCK_R=block_r,
            num_warps=WARPS,
        )

    def backward(
        self, grad: Tensor, scale: Tensor, add: Tensor | None, side: SideWork
    ) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """[R, K] to [R, D], and the gradients of eps, labels and edges."""
        programs = programs_on(grad.device, GRAD_PROGRAMS)
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
            *self._part(number),
            *self._edges(number),
            self.eps,
            scale,
            add,
            *self.links,
            self.reverse,
            *self._counts(),
            **self._sizes(number),
            TYPES=self.types,
            BLOCK_R=max(1, GRAD_NUMBERS // (self.part * several)),
            num_warps=GRAD_WARPS,
        )

    def _sums(self, partial: Tensor, scale: Tensor) -> tuple[Tensor, Tensor | None]:
        by_type = sum_shares(partial, scale)
        of_edges = None if self.edges is None else self.real(by_type[: self.types])
        return by_type[-1].sum(), of_edges

    def _part(self, number: int) -> tuple[Tensor | None, ...]:
        return (None, *self.labels.tensors) if number else (self.h, None, None, None, None)

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

    def real(self, x: Tensor) -> Tensor:
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
