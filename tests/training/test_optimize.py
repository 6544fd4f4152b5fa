import math

import pytest
import torch
from torch import nn

from i2gnn.training import TrainingConfig
from i2gnn.training.optimize import Schedule, load_moments, make_optimizer


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


def test_warm_up_goes_before_the_schedule() -> None:
    warm: dict[str, object] = {"name": "cosine", "min_lr": 0, "warmup": 3}
    grown = [1e-3 * e / 4 for e in (2, 3)]  # the first epoch's, e = 1, was there from the start
    fallen = [5e-4 * (1 + math.cos(math.pi * e / 2)) for e in (0, 1, 2)]
    assert rates(warm, [1] * 5) == pytest.approx(grown + fallen)
    config = TrainingConfig.from_dict({"schedule": warm})
    optimizer = make_optimizer(nn.Linear(1, 1), config.optimizer)
    assert Schedule(optimizer, config, maximize=False).lr == 2.5e-4
    assert optimizer.param_groups[0]["lr"] == 2.5e-4


def test_adamw_decays_weights_apart_from_gradients() -> None:
    settings = {"name": "adamw", "weight_decay": 0.5, "lr": 0.1}
    model = nn.Linear(1, 1, bias=False)
    before = model.weight.item()
    optimizer = make_optimizer(model, TrainingConfig.from_dict({"optimizer": settings}).optimizer)
    model.weight.grad = torch.zeros(1, 1)
    optimizer.step()
    assert model.weight.item() == pytest.approx(before * (1 - 0.1 * 0.5))


def test_the_rate_is_exact_on_the_host_and_written_into_a_tensor() -> None:
    config = TrainingConfig.from_dict({"schedule": {"name": "step", "step_size": 1}})
    rate = torch.tensor(1e-3)
    optimizer = torch.optim.Adam([nn.Parameter(torch.zeros(1))], lr=rate)
    schedule = Schedule(optimizer, config, maximize=False)
    schedule.step(0.0)
    assert schedule.lr == 1e-3 * config.schedule.factor
    assert optimizer.param_groups[0]["lr"] is rate
    assert float(rate) == pytest.approx(schedule.lr)
    again = Schedule(optimizer, config, maximize=False)
    again.load_state_dict(schedule.state_dict())
    schedule.step(0.0)
    again.step(0.0)
    assert again.lr == schedule.lr


def test_moments_move_between_ways_to_compute() -> None:
    """A checkpoint from a GPU, where Adam is fused, goes on where it is not."""
    weights = [nn.Parameter(torch.ones(3)) for _ in range(2)]
    fused = torch.optim.Adam(weights[:1], lr=torch.tensor(0.5), fused=True)
    plain = torch.optim.Adam(weights[1:], lr=0.1)
    for weight, optimizer in zip(weights, (fused, plain), strict=True):
        weight.grad = torch.ones(3)
        optimizer.step()
    load_moments(plain, fused.state_dict()["state"])
    assert plain.param_groups[0]["lr"] == 0.1 and not plain.param_groups[0]["fused"]
    for name, moment in fused.state[weights[0]].items():
        assert torch.equal(plain.state[weights[1]][name], moment)
    plain.step()
