from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from i2gnn.errors import InputError
from i2gnn.training import RunConfig, TrainingConfig
from i2gnn.training.options import Settings, option


def test_yaml_round_trip(tmp_path: Path) -> None:
    config = RunConfig.from_dict(
        {
            "data": {"targets": ["cycle3", "cycle6"]},
            "training": {"early_stop": 5, "schedule": {"min_lr": 1e-7}, "time_limit": 3},
        }
    )
    path = tmp_path / "config.yaml"
    path.write_text(config.to_yaml())
    assert RunConfig.from_yaml(path) == config
    assert RunConfig.from_dict(config.to_dict()) == config


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("# nothing\n")
    assert RunConfig.from_yaml(path) == RunConfig()


def test_numbers_without_a_point_are_read(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("training: {optimizer: {lr: 1e-4}}")
    assert RunConfig.from_yaml(path).training.optimizer.lr == 1e-4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"trainin": {}}, "unknown key trainin; expected one of data, model, training"),
        ({"training": {"optimizer": {"lrr": 1}}}, "unknown key training.optimizer.lrr; expected"),
        (
            {"training": {"optimizer": {"lr": "fast"}}},
            "training.optimizer.lr is 'fast'; expected a",
        ),
        (
            {"training": {"optimizer": {"lr": 0}}},
            "training.optimizer.lr is 0; expected more than 0",
        ),
        ({"training": {"optimizer": {"lr": float("nan")}}}, "lr is nan; expected a number"),
        ({"training": {"schedule": {"factor": 1.5}}}, "factor is 1.5; expected less than 1"),
        ({"training": {"epochs": 2.5}}, "training.epochs is 2.5; expected an integer"),
        ({"training": {"epochs": True}}, "training.epochs is True; expected an integer"),
        ({"training": {"batch_size": 0}}, "training.batch_size is 0; expected at least 1"),
        ({"training": {"early_stop": "no"}}, "early_stop is 'no'; expected an integer or null"),
        ({"training": {"loss": "l2"}}, r"training.loss is 'l2'; expected one of l1, mse, l1\+mse,"),
        ({"training": {"deterministic": 1}}, "deterministic is 1; expected true or false"),
        ({"data": {"targets": "cycle5"}}, "data.targets is 'cycle5'; expected a list"),
        ({"data": {"targets": [5]}}, r"data.targets is \(5,\); expected a list, each item text"),
        ({"data": 3}, "data is 3; expected a mapping of settings"),
        ([1], r"the document is \[1\]; expected a mapping of settings"),
    ],
)
def test_mistakes_are_named(content: Any, message: str) -> None:
    with pytest.raises(InputError, match="^file.yaml: .*" + message):
        RunConfig.from_dict(content, where="file.yaml: ")


def test_mistakes_in_python_are_named_too() -> None:
    with pytest.raises(InputError, match="TrainingConfig.epochs is 0; expected at least 1"):
        TrainingConfig(epochs=0)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.yaml: no such file"):
        RunConfig.from_yaml(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("a: [1")
    with pytest.raises(InputError, match=r"bad.yaml: not YAML"):
        RunConfig.from_yaml(tmp_path / "bad.yaml")


def test_text_that_looks_like_yaml_survives() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Names(Settings):
        names: tuple[str, ...] = option(("null", "1", "a: b", "#x"), "odd text")

    import yaml

    assert Names.from_dict(yaml.safe_load(Names().to_yaml())) == Names()
