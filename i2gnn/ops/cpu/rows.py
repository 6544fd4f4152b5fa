"""What the pieces of a fused layer share: slices of rows, and embedded labels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from i2gnn.ops.cpu import gine_kernels as kernels
from i2gnn.ops.cpu.slices import Slice, cut, label_codes
from i2gnn.ops.reference import LabelEmbedding
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["Finish", "Labels", "as_it_is", "flat", "longest", "matrix", "slices_of"]

WIDE_SLICE = 2048
"""Rows of a slice where each goes through a dozen calls: fewer calls weigh more than the cache."""

Array = npt.NDArray[Any]
Finish = Callable[[Slice, Tensor], Tensor]
"""The last touch to the gradient of a slice, in place, by whoever takes it into the cache next."""


def flat(tensor: Tensor) -> Array:
    """A contiguous tensor as the flat array that kernels take."""
    result: Array = tensor.detach().numpy().reshape(-1)
    return result


def matrix(tensor: Tensor) -> Array:
    """A tensor as a contiguous array."""
    result: Array = tensor.detach().contiguous().numpy()
    return result


def as_it_is(_: Slice, rows: Tensor) -> Tensor:
    """Nothing is left to be done."""
    return rows


def slices_of(subgraphs: Subgraphs) -> list[Slice]:
    """The slices of roots in which a layer goes through all rows."""
    return cut(subgraphs.num_rows, subgraphs, WIDE_SLICE)


def longest(slices: list[Slice]) -> int:
    """Rows of the longest slice."""
    return max(s.size for s in slices)


class Labels:
    """Embedded labels, computed slice by slice where they are needed."""

    def __init__(self, labels: LabelEmbedding, subgraphs: Subgraphs) -> None:
        self.table = matrix(labels.table)
        self.code = label_codes(subgraphs).astype(np.int32, copy=False)
        self.weighted = labels.weight is not None
        self.weight = np.empty((0, self.width), np.float32)
        self.resistance = np.empty((0, 0), np.float32)
        if labels.weight is not None:
            assert subgraphs.resistance is not None, "rows have no resistances"
            self.weight = matrix(labels.weight)
            self.resistance = matrix(subgraphs.resistance.to(torch.float32))

    @property
    def width(self) -> int:
        """Width of the embeddings."""
        return int(self.table.shape[1])

    def write(self, s: Slice, out: Array, stride: int, column: int = 0) -> None:
        """Writes the embeddings of a slice into flat rows, `stride` wide, from a column on."""
        rows = s.start, s.stop, self.code, self.resistance
        kernels.embed(*rows, self.table, self.weight, out, stride, column)

    def zeros(self) -> tuple[Tensor, Tensor]:
        """Room for the gradients by table and weight."""
        return torch.zeros(self.table.shape), torch.zeros(self.weight.shape)

    def add_grad(
        self, s: Slice, grad: Array, stride: int, column: int, sums: tuple[Tensor, Tensor]
    ) -> None:
        """Adds the gradients by table and weight, from those by the embeddings of a slice."""
        rows = s.start, s.stop, self.code, self.resistance
        kernels.embed_grad(*rows, grad, stride, column, *(total.numpy() for total in sums))

    def gradients(self, table: Tensor, weight: Tensor) -> tuple[Tensor, Tensor | None]:
        """The sums as gradients."""
        return table, weight if self.weighted else None
