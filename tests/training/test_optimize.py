import math

import pytest
import torch
from torch import nn

from i2gnn.training import TrainingConfig
from i2gnn.training.optimize import Schedule, make_optimizer


def rates(
    settings: dict[str, object], validations: list[float], maximize: bool = False
) -> list[float]:
    config = TrainingConfig.from_dict({"epochs": len(validations), "schedule": settings})
    model = nn.Linear(1, 1)
    optimizer = make_optimizer(model, config.optimizer)
    schedule = Schedule(optimizer, config, maximize)
    found = []
    for validation in validations:
        model(torch.ones(1, 1)).sum().backward()
        optimizer.step()
        schedule.step(validation)
        found.append(optimizer.param_groups[0]["lr"])
    return found


def test_plateau() -> None:
    settings: dict[str, object] = {"name": "plateau", "patience": 1, "factor": 0.5}
    assert rates(settings, [3, 2, 2, 2, 2]) == pytest.approx([1e-3, 1e-3, 1e-3, 5e-4, 5e-4])
    assert rates(settings, [1, 2, 3], maximize=True) == pytest.approx([1e-3] * 3)
    floor = settings | {"min_lr": 9e-4, "patience": 0}
    assert rates(floor, [1, 1, 1]) == pytest.approx([1e-3, 9e-4, 9e-4])


def test_step_cosine_none() -> None:
    step: dict[str, object] = {"name": "step", "step_size": 2, "factor": 0.5}
    assert rates(step, [1] * 4) == pytest.approx([1e-3, 5e-4, 5e-4, 2.5e-4])
    cosine = rates({"name": "cosine", "min_lr": 0}, [1] * 4)
    assert cosine == pytest.approx([5e-4 * (1 + math.cos(math.pi * e / 4)) for e in (1, 2, 3, 4)])
    assert rates({"name": "none"}, [1] * 2) == [1e-3, 1e-3]
