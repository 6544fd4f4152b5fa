"""What to write beside a result so that others can judge and repeat it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from i2gnn.machine import hardware, versions
from i2gnn.training.loop import Result

__all__ = ["bin_errors", "make_record", "short"]

BINS = 64
"""Bins of true values at most."""


def make_record(
    found: Result | Mapping[str, Any],
    *,
    dataset: str,
    level: str,
    seed: int,
    device: torch.device,
    settings: Mapping[str, Any],
    model: str | None = None,
    target: str | None = None,
    table: str | None = None,
    preset: str | None = None,
    deviations: Sequence[str] = (),
) -> dict[str, Any]:
    """One result as JSON: the numbers found by training or otherwise, and all they depend on.

    What compares several models, or has no targets, has none of its own.
    """
    own = {"model": model, "target": target}
    return {
        "table": table,
        "preset": preset,
        "dataset": dataset,
        "level": level,
        **{key: name for key, name in own.items() if name is not None},
        "seed": seed,
        **(_numbers(found) if isinstance(found, Result) else found),
        "hardware": hardware(device),
        "versions": versions(),
        "settings": dict(settings),
        "deviations": list(deviations),
    }


def _numbers(result: Result) -> dict[str, Any]:
    return {
        "metric": result.metric,
        "test": result.test,
        "validation": result.validation,
        "test_metrics": result.test_metrics,
        "best_epoch": result.best_epoch,
        "epochs": result.epochs,
        "stopped": result.stopped,
        "parameters": result.parameters,
        "seconds": round(result.seconds, 3),
    }


def bin_errors(
    target: npt.NDArray[np.float64], prediction: npt.NDArray[np.float64]
) -> dict[str, Any]:
    """Errors by true count, in bins of equal width: what is left of predictions in a record.

    Args:
        target: [n], true counts.
        prediction: [n].

    Returns:
        "width" of the bins and, for every bin that is not empty, the least count in it ("count"),
        the number of items ("number"), their mean absolute error ("mae") and the standard
        deviation of their errors ("spread").
    """
    width = 1 + int(target.max(initial=0)) // BINS
    bins, index, number = np.unique(target // width, return_inverse=True, return_counts=True)
    error = prediction - target
    mean = np.bincount(index, error) / number
    spread = np.sqrt(np.bincount(index, (error - mean[index]) ** 2) / number)
    return {
        "width": width,
        "count": [int(b) * width for b in bins],
        "number": number.tolist(),
        "mae": [short(v) for v in np.bincount(index, np.abs(error)) / number],
        "spread": [short(v) for v in spread],
    }


def short(value: float) -> float:
    """Five significant digits: enough for plots, and short in a file."""
    return int(value) if float(value).is_integer() else float(f"{value:.5g}")
