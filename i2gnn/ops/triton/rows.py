"""What the pieces of a fused layer share: rows in float16, filled-up widths, embedded labels."""

import torch
import triton
from torch import Tensor

from i2gnn.ops.reference import LabelEmbedding
from i2gnn.ops.triton import gine_kernels as kernels
from i2gnn.ops.triton.launch import blocks, launch
from i2gnn.ops.triton.shares import programs_on, sum_shares
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["Labels", "fill", "filled", "label_grad", "rows_of"]


def filled(width: int) -> int:
    """The width that kernels work on: a power of two, and no less than a matrix unit takes."""
    result: int = max(16, triton.next_power_of_2(width))
    return result


def fill(weight: Tensor, rows: int, columns: int) -> Tensor:
    """A matrix in float16, filled up with zeros."""
    if weight.shape == (rows, columns):
        return weight.to(torch.float16).contiguous()
    out = torch.zeros(rows, columns, dtype=torch.float16, device=weight.device)
    out[: weight.shape[0], : weight.shape[1]] = weight
    return out


def rows_of(subgraphs: Subgraphs, width: int) -> Tensor:
    """Room for rows in float16, [R, width]."""
    return torch.empty(subgraphs.num_rows, width, dtype=torch.float16, device=subgraphs.device)


class Labels:
    """Embedded labels, which kernels compute where they need them.

    Attributes:
        width: Their width, 0 if there are none.
        tensors: Codes, resistances, table and weight; None for what there is not.
        sizes: Columns of the resistances that are used, and that there are.
    """

    def __init__(self, labels: LabelEmbedding | None, subgraphs: Subgraphs) -> None:
        self.subgraphs = subgraphs
        self.width = 0
        self.tensors: tuple[Tensor | None, ...] = (None,) * 4
        self.sizes = {"J": 0, "COLUMNS": 0}
        if labels is None:
            return
        self.codes, self.width = labels.table.shape
        resistance = weight = None
        if labels.weight is not None:
            assert subgraphs.resistance is not None, "rows have no resistances"
            resistance, weight = subgraphs.resistance.contiguous(), labels.weight.contiguous()
            self.sizes = {"J": len(weight), "COLUMNS": resistance.shape[1]}
        self.tensors = (subgraphs.label_code, resistance, labels.table.contiguous(), weight)


def label_grad(grad: Tensor, labels: Labels, scale: Tensor) -> tuple[Tensor, Tensor | None]:
    """Gradients of table and weight from those of the embeddings, [R, D] scaled float16."""
    D, J = grad.shape[1], labels.sizes["J"]
    block_c = min(64, filled(labels.codes))
    several, programs = blocks(labels.codes, block_c), programs_on(grad.device, 2)
    partial = scale.new_empty(programs, several, block_c + 16, D)
    launch(
        kernels.label_grad_kernel,
        (programs, several),
        partial,
        grad,
        *labels.tensors[:2],
        labels.subgraphs.row_ptr,
        labels.subgraphs.num_pairs,
        D=D,
        **labels.sizes,
        BLOCK_C=block_c,
        BLOCK_R=32,
        STAGES=3,
        num_warps=4,
    )
    total = sum_shares(partial, scale)[:, :, : labels.width]
    table = total[:, :block_c].flatten(0, 1)[: labels.codes]
    return table, total[0, block_c : block_c + J] if J else None
