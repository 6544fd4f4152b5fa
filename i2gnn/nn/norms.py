"""Normalisation over rows."""

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from i2gnn import ops

__all__ = ["BatchNorm", "Norm", "count_batch", "make_norm"]

Norm = Literal["none", "batch"]


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation of [n, D], defined for every n.

    Fewer than two rows have no spread: in training they are normalised by the running statistics,
    which they leave alone, as in evaluation.
    """

    def forward(self, input: Tensor) -> Tensor:
        """[n, D] to the same."""
        if self.training and len(input) < 2:
            return functional.batch_norm(
                input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(input)

    def state(self) -> ops.NormState | None:
        """What an op needs that normalises; None if the statistics are kept in another way."""
        mean, var = self.running_mean, self.running_var
        if mean is None or var is None or self.momentum is None:
            return None
        return ops.NormState(
            self.weight, self.bias, mean, var, self.momentum, self.eps, self.training
        )


def count_batch(modules: Iterable[nn.Module], rows: int) -> None:
    """Counts a batch that ops have normalised in these modules, as `BatchNorm.forward` does."""
    norms = [m for module in modules for m in module.modules() if isinstance(m, BatchNorm)]
    counters = [norm.num_batches_tracked for norm in norms if norm.training]
    known = [counter for counter in counters if counter is not None]
    if known and rows > 1:
        torch._foreach_add_(known, 1)


def make_norm(norm: Norm, channels: int) -> nn.Module:
    """The normalisation of that name: "batch", or "none", which does nothing."""
    if norm not in ("none", "batch"):
        raise ValueError(f"norm must be one of none, batch, got {norm!r}")
    return BatchNorm(channels) if norm == "batch" else nn.Identity()
