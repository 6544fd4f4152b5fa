"""From targets to a loss: scaling, missing values, losses."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from i2gnn.training.config import Loss

__all__ = ["Scaling", "compute_loss", "first_target"]


@dataclass(frozen=True)
class Scaling:
    """How the T outputs of a model relate to the targets: target = output * scale + center.

    Attributes:
        center: [T], mean of the targets, or 0.
        scale: [T], standard deviation of the targets, or 1.
        unit: [T], standard deviation of the targets, the unit of normalised errors.
    """

    center: Tensor
    scale: Tensor
    unit: Tensor

    @classmethod
    def measure(cls, targets: Tensor, standardize: bool = True) -> Self:
        """Takes mean and standard deviation of each column, without its NaNs.

        A constant column gets the standard deviation 1.

        Example:
            >>> Scaling.measure(torch.tensor([[1.0], [3.0], [float("nan")]])).center
            tensor([2.], dtype=torch.float64)
        """
        values = targets.detach().cpu().double()
        center = values.nanmean(dim=0).nan_to_num()
        std = (values - center).square().nanmean(dim=0).sqrt().nan_to_num()
        largest = values.nan_to_num().abs().amax(dim=0) if len(values) else 0.0
        std = torch.where(std > 1e-12 * largest, std, 1.0)  # of a constant it may be rounding
        if standardize:
            return cls(center=center, scale=std, unit=std)
        return cls(center=torch.zeros_like(std), scale=torch.ones_like(std), unit=std)

    @classmethod
    def none(cls, targets: int) -> Self:
        """Leaves outputs as they are: classes, or T targets in their own units."""
        one = torch.ones(targets, dtype=torch.float64)
        return cls(center=torch.zeros_like(one), scale=one, unit=one)

    def to(self, like: Tensor) -> "Scaling":
        """The same numbers with another tensor's type and device."""
        return Scaling(self.center.to(like), self.scale.to(like), self.unit.to(like))


HUBER = 0.01
"""Errors below it, in standard deviations of the target, count by their square."""


def compute_loss(name: Loss, output: Tensor, target: Tensor, scaling: Scaling) -> Tensor:
    """Mean loss over all known targets; a gradient never comes from a missing one (NaN).

    Args:
        name: "l1", "mse", "l1+mse" and "huber" compare with standardised targets; "bce" and "ce"
            take logits.
        output: What the model returned, [n, T], or [n, C] for "ce".
        target: [n, T], or [n, 1] with the class for "ce".
        scaling: On the device of `output`.
    """
    known = target == target  # NaN differs from itself
    if name == "ce":
        classes = torch.where(known, target, 0).long().squeeze(1)
        losses = functional.cross_entropy(output, classes, reduction="none").unsqueeze(1)
    else:
        goal = torch.where(known, target, 0).to(output.dtype)
        if name == "bce":
            losses = functional.binary_cross_entropy_with_logits(output, goal, reduction="none")
        else:
            goal = (goal - scaling.center) / scaling.scale
            losses = _distance(name, output - goal)
    return (losses * known).sum() / known.sum().clamp(min=1)


def _distance(name: Loss, error: Tensor) -> Tensor:
    if name == "l1":
        return error.abs()
    if name == "mse":
        return error.square()
    if name == "l1+mse":
        # Where most targets are zero, L1 alone rests at zero; the square of the others does not.
        return error.abs() + error.square()
    # As L1, but the gradient fades where the error does, and steps need not overshoot.
    return functional.huber_loss(error, torch.zeros_like(error), "none", HUBER) / HUBER


def first_target(values: Tensor) -> npt.NDArray[np.float64]:
    """The first column of targets or predictions, [n, T] to [n], for records and plots."""
    column: npt.NDArray[np.float64] = values[:, 0].double().cpu().numpy()
    return column
