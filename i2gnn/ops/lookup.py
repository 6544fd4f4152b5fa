"""`lookup` with a backward pass that does not pile up on a few rows."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

__all__ = ["MAX_TABLE", "lookup_by_product"]

MAX_TABLE = 1024
"""Above this many table rows the one-hot matrix costs more than it saves."""


def lookup_by_product(table: Tensor, code: Tensor) -> Tensor:
    """See `i2gnn.ops.lookup`: hundreds of thousands of rows read a few dozen table rows.

    The gradient of such a table by indexing adds all rows to a few addresses, one after the
    other. As a product with the one-hot matrix of the codes it is an ordinary matrix product.
    """
    result: Tensor = LookupByProduct.apply(table, code)  # type: ignore[no-untyped-call]
    return result


class LookupByProduct(torch.autograd.Function):
    """Indexing forward, a matrix product backward."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, code: Tensor) -> Tensor:
        """[C, D] and [R] to [R, D]."""
        ctx.save_for_backward(code)
        ctx.size = len(table)
        return table.index_select(0, code)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """[R, D] to [C, D]."""
        (code,) = ctx.saved_tensors
        one_hot = functional.one_hot(code, ctx.size).to(grad.dtype)  # [R, C]
        return one_hot.t() @ grad, None
