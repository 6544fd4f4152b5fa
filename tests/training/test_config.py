from typing import get_args, get_type_hints

import pytest

from i2gnn.errors import InputError
from i2gnn.models import REGISTRY
from i2gnn.training import ModelConfig, RunConfig, TrainingConfig
from i2gnn.training.metrics import METRICS


def test_defaults_are_those_of_the_paper() -> None:
    training = RunConfig().training
    assert (training.loss, training.batch_size, training.epochs) == ("l1", 256, 2000)
    assert (training.optimizer.lr, training.standardize) == (1e-3, "train+val")
    schedule = training.schedule
    assert (schedule.name, schedule.factor, schedule.patience, schedule.min_lr) == (
        "plateau",
        0.9,
        10,
        1e-5,
    )


def test_names_are_those_of_the_library() -> None:
    assert all(ModelConfig(name=name).name == name for name in REGISTRY)
    with pytest.raises(InputError, match="name is 'gnn'; expected one of .*i2gnn"):
        ModelConfig(name="gnn")
    assert set(get_args(get_type_hints(TrainingConfig)["metric"])) == {"auto", *METRICS}
