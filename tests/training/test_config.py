import dataclasses
from typing import get_args, get_type_hints

import pytest
import torch

from i2gnn import I2GNN
from i2gnn.errors import InputError
from i2gnn.models import REGISTRY
from i2gnn.models.i2gnn import ZINC_OPTIONS
from i2gnn.training import ModelConfig, RunConfig, TrainingConfig
from i2gnn.training.metrics import METRICS
from i2gnn.training.run import build_model, network_of
from tests.helpers import random_molecules


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


def test_the_zinc_model_can_be_written_as_a_config() -> None:
    graphs = random_molecules(3).with_targets(torch.zeros(3), "graph")
    named = {field.name for field in dataclasses.fields(ModelConfig)}
    settings = {k: v for k, v in ZINC_OPTIONS.items() if k in named}
    rest = {k: v for k, v in ZINC_OPTIONS.items() if k not in named and k != "level"}
    rest |= {"node_types": [28], "edge_types": [4]}  # as YAML has them
    config = ModelConfig.from_dict({"name": "i2gnn", "options": rest} | settings)
    model = build_model(network_of(config, graphs))
    assert model.state_dict().keys() == I2GNN(**ZINC_OPTIONS).state_dict().keys()
    assert model(model.extract(graphs)).shape == (3, 1)


def test_types_beyond_the_features_are_refused() -> None:
    config = ModelConfig(options={"node_types": [3, 4]})
    with pytest.raises(InputError, match="node_types names 2 columns; the graphs have .* of 1"):
        network_of(config, random_molecules(2))


def test_null_leaves_the_choice_to_the_model() -> None:
    graphs = random_molecules(2)
    arguments = network_of(ModelConfig(name="i2gnn"), graphs)["arguments"]
    assert not {"norm", "labels", "gates"} & set(arguments)
    assert network_of(ModelConfig(norm="batch"), graphs)["arguments"]["norm"] == "batch"
    with pytest.raises(InputError, match="model ppgn takes no gates"):
        network_of(ModelConfig(name="ppgn", gates=True), graphs)
