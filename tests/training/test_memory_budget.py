"""Training and prediction under a memory budget, and on sampled branches."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import i2gnn
from i2gnn import I2GNN, GraphStore, StreamedModel
from i2gnn.cli.main import main
from i2gnn.counting import count
from i2gnn.data import Splits
from i2gnn.errors import InputError
from i2gnn.models import IdentifierGNN, SubgraphMPNN
from i2gnn.training import Checkpoint, Result, TrainingConfig, evaluate, fit, predict
from i2gnn.training.loop import CHECKPOINT
from tests.helpers import random_graphs

BUDGET = "150KB"  # a few of the graphs below


def data() -> GraphStore:
    graphs = random_graphs(12, seed=1, nodes=(6, 9), p=0.5)
    return graphs.with_targets(count(graphs, ["cycle3"]).values.double(), "node")


def model(kind: type[IdentifierGNN] = I2GNN, **options: Any) -> IdentifierGNN:
    torch.manual_seed(0)
    return kind(**{"hidden_channels": 8, "num_layers": 2, "hops": 1, **options})


def run(
    network: IdentifierGNN, graphs: GraphStore, folder: Path | None = None, **changes: Any
) -> Result:
    settings = {"epochs": 3, "batch_size": 5, "tensorboard": False, "precision": "float64"}
    settings |= {"optimizer": {"lr": 0.01}, "device": "cpu"}
    config = TrainingConfig.from_dict(settings | changes)
    splits = Splits.random(12, (0.5, 0.25, 0.25), seed=0)
    return fit(network, graphs, splits, config, run_dir=folder, resume=True, progress=False)


def losses(result: Result) -> list[float]:
    return [row[name] for row in result.history for name in ("train_loss", "validation")]


def test_a_streamed_run_is_the_same_run(tmp_path: Path) -> None:
    whole, streamed = model(), model()
    expected = run(whole, whole.extract(data()), tmp_path / "whole")
    found = run(streamed, data(), tmp_path / "streamed", memory_budget=BUDGET)
    assert losses(found) == pytest.approx(losses(expected), rel=1e-9)
    assert found.test == pytest.approx(expected.test, rel=1e-9)
    kept = Checkpoint.load(tmp_path / "streamed" / CHECKPOINT).best
    model().load_state_dict(kept)  # the names are those of the model, not of its wrapper
    by_hand = StreamedModel(model(), BUDGET)
    assert losses(run(by_hand, data())) == losses(found)


def test_predictions_under_a_budget_are_the_predictions() -> None:
    graphs, network = data(), model().double()
    chosen = torch.tensor([3, 0, 11])
    expected = predict(network, network.extract(graphs), chosen)
    found = i2gnn.predict(network, graphs, chosen, memory_budget=BUDGET, batch_size=2)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert network.training
    errors = [
        evaluate(network, network.extract(graphs), chosen),
        evaluate(network, graphs, chosen, memory_budget=BUDGET),
    ]
    assert errors[0]["mae"] == pytest.approx(errors[1]["mae"], rel=1e-12)


def test_progress_of_a_streamed_prediction(capsys: pytest.CaptureFixture[str]) -> None:
    predict(model(), data(), memory_budget=BUDGET, progress=True)
    assert "roots" in capsys.readouterr().err


@pytest.mark.parametrize("resample", ["epoch", "once"])
def test_sampled_branches_in_training_alone(resample: str) -> None:
    graphs = data()
    most = int(graphs.degree.max())

    def sampled(branches: int | None, **changes: Any) -> list[float]:
        network = model()
        store = graphs if "memory_budget" in changes else network.extract(graphs)
        return losses(run(network, store, branches=branches, resample=resample, **changes))

    everything = sampled(None)
    assert sampled(most) == everything
    two = sampled(2)
    assert two[0] != pytest.approx(everything[0], rel=1e-7)
    assert two == sampled(2)
    assert two[0] != sampled(2, seed=1)[0]
    assert sampled(2, memory_budget=BUDGET) == pytest.approx(two, rel=1e-9)


def test_branches_drawn_once_stay_the_same_and_others_change() -> None:
    """With weights that do not move, the loss of an epoch tells which branches it saw."""
    for resample, different in (("once", 1), ("epoch", 3)):
        network = model()
        frozen = {"optimizer": {"lr": 1e-30}, "batch_size": 12, "branches": 1}
        result = run(network, network.extract(data()), resample=resample, **frozen)
        assert len({round(row["train_loss"], 9) for row in result.history}) == different
        assert len({row["validation"] for row in result.history}) == 1


def test_validation_and_test_see_every_branch() -> None:
    network = model()
    store = network.extract(data())
    result = run(network, store, branches=1)
    splits = Splits.random(12, (0.5, 0.25, 0.25), seed=0)
    found = evaluate(network, store.to(dtype=torch.float64), splits.test, scaling=result.scaling)
    assert found["mae"] == pytest.approx(result.test_metrics["mae"], rel=1e-6)


def test_a_longer_run_on_sampled_branches_goes_on_exactly(tmp_path: Path) -> None:
    for name, epochs in (("stopped", 2), ("stopped", 5), ("whole", 5)):
        network = model()
        run(network, network.extract(data()), tmp_path / name, branches=2, epochs=epochs)
    logs = [(tmp_path / name / "log.csv").read_bytes() for name in ("stopped", "whole")]
    assert logs[0] == logs[1]


def test_mistakes_are_named() -> None:
    network = model()
    with pytest.raises(InputError, match="expected graphs, got Subgraphs"):
        run(network, network.extract(data()), memory_budget=BUDGET)
    one = model(SubgraphMPNN)
    with pytest.raises(InputError, match="branches is 2; .* with 2 identifiers, not with 1"):
        run(one, one.extract(data()), branches=2)
    edges = data()
    edges = edges.with_targets(torch.zeros(edges.num_edges), "edge")
    by_edge = model(level="edge")
    with pytest.raises(InputError, match="cannot be drawn at edge level"):
        run(by_edge, by_edge.extract(edges), branches=2)
    with pytest.raises(InputError, match="size is '2 apples'; expected such as '500MB'"):
        TrainingConfig(memory_budget="2 apples")


CONFIG = """
data: {count: 20, targets: [cycle3]}
model: {name: MODEL, hidden_channels: 8, num_layers: 2, hops: 1}
training: {epochs: 1, batch_size: 4, device: cpu, tensorboard: false, branches: BRANCHES}
"""


def test_the_command_takes_a_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.yaml"
    results = []
    for options in ([], ["--memory-budget", "300KB"]):
        path.write_text(CONFIG.replace("MODEL", "i2gnn").replace("BRANCHES", "2"))
        folder = tmp_path / f"run{len(options)}"
        arguments = ["train", "--json", "--quiet", "--config", str(path), "--run-dir", str(folder)]
        assert main([*arguments, *options]) == 0
        results.append(json.loads(capsys.readouterr().out))
    assert results[1]["test"] == pytest.approx(results[0]["test"], rel=1e-4)
    assert results[1]["settings"]["training"]["memory_budget"] == "300KB"
    path.write_text(CONFIG.replace("MODEL", "mpnn").replace("BRANCHES", "null"))
    arguments = ["train", "--quiet", "--config", str(path), "--run-dir", str(tmp_path / "none")]
    assert main([*arguments, "--memory-budget", "1MB"]) == 1
    assert "MPNN has 0 identifiers" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
