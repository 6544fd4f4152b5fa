"""What the kernels' gradients have in common."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch

__all__ = ["once_differentiable"]

Result = TypeVar("Result")


def once_differentiable(backward: Callable[..., Result]) -> Callable[..., Result]:
    """Marks the backward pass of kernels that have no gradient of their own.

    PyTorch's decorator of this name leaves second derivatives out without a word where
    `torch.autograd.grad` is asked for some inputs alone; this one refuses to prepare them.
    """

    @wraps(backward)
    def refuse_second_derivatives(ctx: Any, *grads: Any) -> Result:
        if torch.is_grad_enabled():  # create_graph=True
            raise RuntimeError(
                "the kernels have no second derivatives (create_graph=True); the definitions do: "
                "with i2gnn.ops.backend('reference')"
            )
        return backward(ctx, *grads)

    return refuse_second_derivatives
