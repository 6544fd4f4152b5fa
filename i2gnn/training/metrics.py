"""Metrics, one number per target; missing targets (NaN) are left out.

Every metric takes predictions and targets [n, T] in the targets' own units (logits for classes)
and `unit` [T], the targets' standard deviations, and returns [T].
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

__all__ = [
    "METRICS",
    "Metric",
    "MetricName",
    "accuracy",
    "exact",
    "higher_is_better",
    "mae",
    "mse",
    "normalized_mae",
    "rmse",
]

MetricName = Literal["normalized_mae", "mae", "mse", "rmse", "exact", "accuracy"]
Metric = Callable[[Tensor, Tensor, Tensor], Tensor]


def mae(prediction: Tensor, target: Tensor, unit: Tensor) -> Tensor:
    """Mean absolute error."""
    return _mean((prediction - target).abs(), target)


def normalized_mae(prediction: Tensor, target: Tensor, unit: Tensor) -> Tensor:
    """Mean absolute error in units of the target's standard deviation (the paper's tables)."""
    return mae(prediction, target, unit) / unit


def mse(prediction: Tensor, target: Tensor, unit: Tensor) -> Tensor:
    """Mean squared error."""
    return _mean((prediction - target).square(), target)


def rmse(prediction: Tensor, target: Tensor, unit: Tensor) -> Tensor:
    """Root of the mean squared error."""
    return mse(prediction, target, unit).sqrt()


def exact(prediction: Tensor, target: Tensor, unit: Tensor) -> Tensor:
    """Share of predictions that are right once rounded to whole numbers, which counts are."""
    return _mean((prediction.round() == target).to(unit.dtype), target)


def accuracy(prediction: Tensor, target: Tensor, unit: Tensor) -> Tensor:
    """Share of right classes: logits above 0 per target, or the largest of [n, C] logits."""
    if prediction.shape == target.shape:
        right = (prediction > 0) == (target > 0.5)
    else:
        right = prediction.argmax(dim=1, keepdim=True) == target
    return _mean(right.to(unit.dtype), target)


def higher_is_better(name: str) -> bool:
    """Whether a larger value of the metric is the better one."""
    return name in ("accuracy", "exact")


METRICS: dict[str, Metric] = {
    "normalized_mae": normalized_mae,
    "mae": mae,
    "mse": mse,
    "rmse": rmse,
    "exact": exact,
    "accuracy": accuracy,
}


def _mean(values: Tensor, target: Tensor) -> Tensor:
    """Column means [T] over the rows whose target is known; NaN for a column without any."""
    known = target == target  # NaN differs from itself; works for integers too
    return torch.where(known, values, 0).sum(dim=0) / known.sum(dim=0)
