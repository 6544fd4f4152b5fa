import json
from pathlib import Path
from typing import Any

import pytest
import torch

from i2gnn.errors import InputError
from i2gnn.files import lock_folder
from i2gnn.models import REGISTRY
from i2gnn.training import Checkpoint, RunConfig, build_model, predict, train
from i2gnn.training.loop import CHECKPOINT
from i2gnn.training.run import network_of
from i2gnn.training.sources import Sources
from i2gnn.training.targets import Scaling

KEYS = {
    *("table", "preset", "dataset", "level", "model", "target", "seed", "metric", "test"),
    *("validation", "best_epoch", "epochs", "parameters", "seconds", "hardware", "versions"),
    *("settings", "deviations"),
}


def small(**changes: Any) -> RunConfig:
    content: dict[str, Any] = {
        "data": {"count": 20, "targets": ["cycle3", "cycle4"]},
        "model": {"name": "mpnn", "hidden_channels": 8, "num_layers": 2},
        "training": {"epochs": 2, "batch_size": 4, "tensorboard": False, "device": "cpu"},
    }
    for section, values in changes.items():
        content[section] |= values
    return RunConfig.from_dict(content)


def test_a_run_leaves_its_files(tmp_path: Path) -> None:
    config = small()
    record = train(config, tmp_path / "run", progress=False)
    names = {entry.name for entry in (tmp_path / "run").iterdir()}
    assert names == {"config.yaml", "log.csv", CHECKPOINT, "result.json"}
    assert RunConfig.from_yaml(tmp_path / "run" / "config.yaml") == config
    assert json.loads((tmp_path / "run" / "result.json").read_text()) == record
    assert set(record) >= KEYS
    assert record["target"] == "cycle3+cycle4"
    assert record["hardware"]["cores"] >= 1 and record["hardware"]["cpu"]
    assert record["versions"]["torch"] == torch.__version__


def test_a_run_on_distinct_nodes_resumes(tmp_path: Path) -> None:
    changes = {"model": {"name": "i2gnn", "hops": 1}}
    whole = train(small(**changes, training={"distinct": True}), tmp_path / "whole", progress=False)
    for epochs in (1, 2):
        settings = {"distinct": True, "epochs": epochs}
        part = train(
            small(**changes, training=settings), tmp_path / "part", resume=True, progress=False
        )
    assert part["test"] == whole["test"] and part["settings"]["training"]["distinct"] is True
    with pytest.raises(InputError, match="training.distinct"):
        train(small(**changes), tmp_path / "part", resume=True, progress=False)


def test_a_folder_in_use_keeps_its_settings(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("of the run that has begun")
    with lock_folder(tmp_path), pytest.raises(InputError, match="in use by another process"):
        train(small(), tmp_path, progress=False)
    assert (tmp_path / "config.yaml").read_text() == "of the run that has begun"


def test_a_checkpoint_rebuilds_its_model(tmp_path: Path) -> None:
    config = small(data={"level": "graph"})
    record = train(config, tmp_path, progress=False)
    checkpoint = Checkpoint.load(tmp_path / CHECKPOINT)
    model = build_model(checkpoint.settings["network"])
    model.load_state_dict(checkpoint.best)
    data = Sources().load(config.data)
    scaling = Scaling(**checkpoint.scaling)
    graphs = model.extract(data.graphs)
    prediction = predict(model, graphs, data.splits.test, scaling=scaling)
    assert data.graphs.y is not None
    target = data.graphs.y[data.splits.test]
    error = ((prediction - target).abs().mean(dim=0) / scaling.unit).mean()
    assert float(error) == pytest.approx(record["test"], rel=1e-5)


@pytest.mark.parametrize("level", ["node", "graph"])
def test_every_model_trains_from_a_configuration(tmp_path: Path, level: str) -> None:
    for name, entry in REGISTRY.items():
        model: dict[str, Any] = {"name": name}
        if "hops" in entry.arguments:
            model["hops"] = 2
        config = small(model=model, data={"level": level, "targets": ["cycle3"]})
        record = train(config, tmp_path / name, progress=False)
        assert record["model"] == name and record["test"] > 0
        assert record["settings"]["network"]["arguments"]["level"] == level


def test_options_reach_the_model(tmp_path: Path) -> None:
    config = small(model={"name": "ppgn", "options": {"mlp_depth": 1, "pool": "mean"}})
    path = tmp_path / "config.yaml"
    path.write_text(config.to_yaml())
    assert RunConfig.from_yaml(path) == config
    network = network_of(config.model, Sources().load(config.data).graphs)
    assert network["arguments"]["mlp_depth"] == 1
    assert build_model(network).pool == "mean"


def test_seeds_change_the_weights_and_nothing_else(tmp_path: Path) -> None:
    runs = [small(), small(), small(training={"seed": 1})]
    tests = [train(run, tmp_path / str(n), progress=False)["test"] for n, run in enumerate(runs)]
    assert tests[0] == tests[1] != tests[2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"conv": "none such"}}, "model mpnn: .*none such"),
        ({"model": {"name": "ppgn", "conv": "gin"}}, "model ppgn takes no conv; expected one of"),
        ({"model": {"options": {"depth": 3}}}, "model mpnn takes no depth; expected one of .*conv"),
        ({"model": {"options": {"level": "node"}}}, "model mpnn takes no level"),
        ({"data": {"targets": ["cycle99x"]}}, "cycle99x"),
        ({"data": {"name": "counting"}}, "synthetic5000.npz is not in"),
        ({"training": {"device": "cuda:77"}}, "device is 'cuda:77'"),
        ({"training": {"branches": 2}}, "branches is 2; branches are drawn with 2 identifiers"),
        ({"training": {"memory_budget": "1GB"}}, "MPNN has 0 identifiers"),
        ({"training": {"distinct": True}}, "distinct nodes .* the model has no identifiers"),
        (
            {
                "data": {"level": "graph"},
                "model": {"name": "i2gnn"},
                "training": {"distinct": True},
            },
            "targets at nodes; the level is graph",
        ),
        (
            {"model": {"name": "i2gnn", "norm": "batch"}, "training": {"memory_budget": "1GB"}},
            "I2GNN normalises over the rows of all roots",
        ),
        (
            {"model": {"name": "i2gnn"}, "training": {"memory_budget": "1KB"}},
            "the memory budget is 1.0 KB",
        ),
    ],
)
def test_mistakes_are_named_and_leave_no_folder(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        train(small(**changes), tmp_path / "run", data_root=tmp_path, progress=False)
    assert not (tmp_path / "run").exists()


def test_an_unknown_model_is_named() -> None:
    with pytest.raises(InputError, match="model is 'gpt'; expected one of .*i2gnn"):
        build_model({"name": "gpt", "arguments": {}})
