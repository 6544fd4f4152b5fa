import csv
import logging
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from i2gnn.data import Splits
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.training import Checkpoint, TrainingConfig, evaluate, fit
from i2gnn.training.averaging import WeightAverage
from i2gnn.training.loop import CHECKPOINT
from tests.training.toy import make_model, split, stars


def config(**changes: Any) -> TrainingConfig:
    quick = {"epochs": 6, "batch_size": 8, "optimizer": {"lr": 0.01}, "checkpoint_seconds": 0}
    return TrainingConfig.from_dict(quick | {"tensorboard": False} | changes)


def assert_same_run(first: Path, second: Path) -> None:
    """Same log and same state, bit by bit; only the time may differ."""
    assert (first / "log.csv").read_bytes() == (second / "log.csv").read_bytes()
    one, two = Checkpoint.load(first / CHECKPOINT), Checkpoint.load(second / CHECKPOINT)
    for part in ("model", "best", "rng", "optimizer", "average"):
        _assert_equal(getattr(one, part), getattr(two, part))
    assert (one.scheduler, one.history) == (two.scheduler, two.history)
    assert (one.epoch, one.best_epoch) == (two.epoch, two.best_epoch)


def _assert_equal(one: Any, two: Any) -> None:
    if isinstance(one, Tensor):
        assert torch.equal(one, two)
    elif isinstance(one, dict):
        assert one.keys() == two.keys()
        for key in one:
            _assert_equal(one[key], two[key])
    elif isinstance(one, list):
        assert len(one) == len(two)
        for left, right in zip(one, two, strict=True):
            _assert_equal(left, right)
    else:
        assert one == two


class InterruptedModel(nn.Module):
    """Presses Ctrl-C at the given training step."""

    def __init__(self, model: nn.Module, step: int) -> None:
        super().__init__()
        self.model, self.left = model, step

    def forward(self, batch: GraphStore) -> Tensor:
        self.left -= self.training
        if self.left == 0:
            raise KeyboardInterrupt
        output: Tensor = self.model(batch)
        return output


def test_fit_learns_and_tests_the_best_epoch(tmp_path: Path) -> None:
    model, data = make_model(), stars()
    result = fit(model, data, split(), config(epochs=60), run_dir=tmp_path, progress=True)
    validations = [row["validation"] for row in result.history]
    assert result.best_epoch == 1 + validations.index(min(validations))
    assert result.validation == min(validations)
    assert result.test is not None and result.test < 0.1
    again = evaluate(
        model, data, split().test, metrics=["normalized_mae", "mae"], scaling=result.scaling
    )
    assert again["normalized_mae"] == [pytest.approx(result.test)]
    assert again["mae"] == pytest.approx(result.test_metrics["mae"])
    unit = float(result.scaling.unit)
    assert again["mae"][0] == pytest.approx(result.test * unit)
    assert (result.epochs, result.stopped, result.metric) == (60, "epochs", "normalized_mae")
    assert result.parameters == sum(p.numel() for p in model.parameters())


def test_log_holds_the_history(tmp_path: Path) -> None:
    result = fit(make_model(), stars(), split(), config(), run_dir=tmp_path, progress=False)
    with (tmp_path / "log.csv").open() as file:
        rows = [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]
    assert rows == result.history


@pytest.mark.parametrize(
    ("schedule", "changes"),
    [
        ("plateau", {"average": 0.8}),
        ("step", {"optimizer": {"name": "adamw", "weight_decay": 0.1}}),
        ("none", {}),
    ],
)
def test_a_longer_run_goes_on_exactly(
    tmp_path: Path, schedule: str, changes: dict[str, Any]
) -> None:
    rest = {"schedule": {"name": schedule, "patience": 0, "step_size": 2, "warmup": 4}} | changes
    for epochs in (3, 8):
        fit(
            make_model(dropout=0.5),
            stars(),
            split(),
            config(epochs=epochs, **rest),
            run_dir=tmp_path / "stopped",
            resume=epochs == 8,
            progress=False,
        )
    whole = config(epochs=8, **rest)
    fit(make_model(dropout=0.5), stars(), split(), whole, run_dir=tmp_path / "whole")
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")


@pytest.mark.parametrize("seconds", [0.0, 1000.0])
def test_ctrl_c_keeps_the_last_epoch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, seconds: float
) -> None:
    settings = config(schedule={"name": "cosine"}, checkpoint_seconds=seconds)
    steps_per_epoch = 3  # 20 graphs in batches of 8
    model = InterruptedModel(make_model(dropout=0.5), step=3 * steps_per_epoch + 2)
    with caplog.at_level(logging.WARNING), pytest.raises(KeyboardInterrupt):
        fit(model, stars(), split(), settings, run_dir=tmp_path / "stopped", progress=False)
    assert "stopped after epoch 3 of 6; resume goes on from" in caplog.text
    assert Checkpoint.load(tmp_path / "stopped" / CHECKPOINT).epoch == 3
    for name in ("stopped", "whole"):
        fit(
            InterruptedModel(make_model(dropout=0.5), step=-1),
            stars(),
            split(),
            settings,
            run_dir=tmp_path / name,
            resume=True,
            progress=False,
        )
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")


def test_ctrl_c_in_the_first_epoch_leaves_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        fit(InterruptedModel(make_model(), 1), stars(), split(), config(), run_dir=tmp_path)
    assert not (tmp_path / CHECKPOINT).exists()


def test_a_finished_run_can_be_asked_again(tmp_path: Path) -> None:
    first = fit(make_model(), stars(), split(), config(), run_dir=tmp_path)
    again = fit(make_model(), stars(), split(), config(), run_dir=tmp_path, resume=True)
    assert (first.test, first.history) == (again.test, again.history)


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    fit(make_model(), stars(), split(), config(), run_dir=tmp_path)
    before = (tmp_path / "log.csv").read_bytes()
    with pytest.raises(InputError, match="already holds a run"):
        fit(make_model(), stars(), split(), config(), run_dir=tmp_path)
    assert (tmp_path / "log.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "changes", "message"),
    [
        ((slice(None), float("nan")), {}, "a target is missing in all of the train graphs"),
        ((0, float("inf")), {}, "a target is infinite"),
        ((0, 2.0), {"loss": "bce"}, r"the targets are \d\.\.\d+; loss bce takes 0 and 1"),
        ((0, 0.5), {"loss": "ce"}, r"loss ce takes classes 0, 1, \.\.\."),
        ((0, 1.0), {"loss": "ce", "metric": "mae"}, "metric is mae, expected accuracy"),
        ((0, 1.0), {"loss": "bce", "metric": "mae"}, "metric is mae, expected accuracy"),
        ((0, 1.0), {"loss": "l1", "metric": "accuracy"}, "metric accuracy is of classes"),
    ],
)
def test_targets_that_cannot_be_learnt_are_named(
    change: tuple[Any, float], changes: dict[str, Any], message: str
) -> None:
    data = stars()
    y = data.degree.float()
    y[change[0]] = change[1]
    with pytest.raises(InputError, match=message):
        fit(make_model(), data.with_targets(y, "node"), split(), config(**changes))


def test_averages_of_tied_weights() -> None:
    """A weight under two names is one weight."""
    first, second = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
    second.weight = first.weight
    model = nn.Sequential(first, second)
    average = WeightAverage(model, 0.9)
    average.update()
    before = first.weight.detach().clone()
    with average.in_place():
        torch.testing.assert_close(first.weight.detach(), before)
    assert torch.equal(first.weight, before)
    average.load_state_dict({**average.state_dict(), "1.weight": before})  # written with both


def test_averaged_weights_are_validated_and_kept() -> None:
    """A whole epoch is one step here, so that all averages are known."""
    weights: list[Tensor] = []
    model = make_model()

    def remember(row: Mapping[str, float]) -> None:
        weights.append(model.head.weight.detach().clone())

    settings = config(epochs=4, batch_size=100, average=0.75, optimizer={"lr": 1e-3})
    result = fit(model, stars(), split(), settings, progress=False, on_epoch=remember)
    last = weights[: result.best_epoch]
    shares = 0.75 ** torch.arange(len(last)).flip(0)
    average = torch.tensordot(shares / shares.sum(), torch.stack(last), dims=1)
    torch.testing.assert_close(model.head.weight.detach(), average)
    assert not torch.equal(weights[result.best_epoch - 1], average)
    found = evaluate(
        model, stars(), split().val, metrics=["normalized_mae"], scaling=result.scaling
    )
    assert found["normalized_mae"][0] == pytest.approx(result.validation)


def test_the_callback_can_stop_a_run(tmp_path: Path) -> None:
    def stop(row: Mapping[str, float]) -> None:
        if row["epoch"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(make_model(), stars(), split(), config(), run_dir=tmp_path, on_epoch=stop)
    assert Checkpoint.load(tmp_path / CHECKPOINT).epoch == 3


def test_early_stop_and_time_limit() -> None:
    frozen = config(epochs=50, early_stop=4, optimizer={"lr": 1e-30})
    result = fit(make_model().eval(), stars(), split(), frozen, progress=False)
    assert result.stopped == "early_stop"
    assert result.epochs == result.best_epoch + 4
    quick = config(epochs=10**6, time_limit=0.2)
    result = fit(make_model(), stars(), split(), quick, progress=False)
    assert result.stopped == "time_limit"
    assert 0.2 <= result.seconds < 5


def test_missing_targets_are_left_out() -> None:
    data = stars()
    assert data.y is not None
    y = data.y.repeat(1, 2)
    y[::3, 1] = float("nan")
    result = fit(
        make_model(2), data.with_targets(y, "node"), split(), config(epochs=40), progress=False
    )
    assert result.test is not None and result.test < 0.3
    assert len(result.test_metrics["mae"]) == 2


@pytest.mark.parametrize("loss", ["bce", "ce"])
def test_classes(loss: str) -> None:
    data = stars()
    data = data.with_targets((data.degree > 3).long() if loss == "ce" else data.degree > 3, "node")
    model = make_model(2 if loss == "ce" else 1)
    result = fit(model, data, split(), config(epochs=40, loss=loss), progress=False)
    assert result.metric == "accuracy"
    assert result.test is not None and result.test > 0.95


def test_graph_level_and_standardisation_off() -> None:
    data = stars()
    data = data.with_targets(data.sizes["node"].float(), "graph")
    settings = config(epochs=80, standardize="none", loss="mse", metric="rmse")
    result = fit(make_model(level="graph"), data, split(), settings, progress=False)
    assert result.metric == "rmse"
    assert result.test is not None and result.test < 1.0
    assert float(result.scaling.scale) == 1.0


@pytest.mark.parametrize("precision", ["float64", "bfloat16", "tf32"])
def test_precision(precision: str) -> None:
    model = make_model()
    result = fit(model, stars(), split(), config(precision=precision, epochs=20), progress=False)
    assert result.test is not None and result.test < 0.5
    expected = torch.float64 if precision == "float64" else torch.float32
    assert next(model.parameters()).dtype == expected


def test_same_seed_same_run_and_the_callers_state_is_kept(tmp_path: Path) -> None:
    torch.manual_seed(11)
    before = torch.get_rng_state()
    for name in ("one", "two"):
        fit(
            make_model(dropout=0.5),
            stars(),
            split(),
            config(deterministic=True, optimizer={"max_grad_norm": 1.0}),
            run_dir=tmp_path / name,
            progress=False,
        )
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.are_deterministic_algorithms_enabled()
    assert_same_run(tmp_path / "one", tmp_path / "two")


def test_the_callers_mode_comes_back() -> None:
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        fit(make_model(), stars(), split(), config(epochs=1), progress=False)
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


def test_mistakes_are_named() -> None:
    data, none = stars(), torch.empty(0, dtype=torch.int64)
    with pytest.raises(InputError, match=r"returned \[\d+, 2\]; expected \[\d+, 1\]"):
        fit(make_model(2), data, split(), config(), progress=False)
    with pytest.raises(InputError, match="the val split is empty"):
        fit(make_model(), data, Splits(split().train, none, none), config(), progress=False)
    bare = GraphStore.from_edge_lists([[(0, 1)]], symmetrize=True)
    with pytest.raises(InputError, match="no targets"):
        fit(make_model(), bare, split(), config(), progress=False)
    wild = config(optimizer={"lr": 1e30})
    with pytest.raises(InputError, match=r"epoch \d: the .* is (nan|inf); expected a finite"):
        fit(make_model(), data, split(), wild, progress=False)
    with pytest.raises(InputError, match="device is 'tpu'"):
        fit(make_model(), data, split(), config(device="tpu"), progress=False)


def test_without_test_graphs() -> None:
    parts = split()
    parts = Splits(parts.train, parts.val, torch.empty(0, dtype=torch.int64))
    result = fit(make_model(), stars(), parts, config(), progress=False)
    assert result.test is None and result.test_metrics == {}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16", "float64"])
def test_a_longer_run_on_a_gpu_goes_on_exactly(tmp_path: Path, precision: str) -> None:
    rest: dict[str, Any] = {"device": "cuda", "precision": precision, "deterministic": True}
    for name, epochs in (("stopped", 3), ("stopped", 8), ("whole", 8)):
        result = fit(
            make_model(dropout=0.5),
            stars(),
            split(),
            config(epochs=epochs, **rest),
            run_dir=tmp_path / name,
            resume=True,
            progress=False,
        )
    assert result.test is not None and result.test < 1
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")


def test_two_processes_cannot_train_in_one_folder(tmp_path):
    data = stars()
    hold = "import sys; from i2gnn.files import lock_folder\n"
    hold += "with lock_folder(sys.argv[1]): print('held', flush=True); sys.stdin.read()"
    line = [sys.executable, "-c", hold, str(tmp_path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="in use by another process"):
            fit(make_model(), data, split(), config(epochs=1), run_dir=tmp_path)
        other.communicate("")
    again = fit(make_model(), data, split(), config(epochs=1), run_dir=tmp_path)
    assert again.epochs == 1  # the lock has gone with the process
