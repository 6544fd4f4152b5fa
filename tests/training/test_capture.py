"""Steps of fixed shape do what ordinary steps do; on a GPU, replayed ones too."""

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from i2gnn.models import I2GNN, I3GNN, IDGNN, MPNN, GNNAKPlain, Network, SubgraphMPNN
from i2gnn.ops import backend
from i2gnn.subgraphs import Subgraphs
from i2gnn.training import Checkpoint, TrainingConfig, capture, checks, fit
from i2gnn.training.capture import Recording, StaticEpochs, rehearse
from i2gnn.training.loop import CHECKPOINT, Result
from tests.helpers import no_waiting
from tests.training.test_loop import assert_same_run
from tests.training.toy import graphs_with_targets, make_static_model, split, subgraphs

GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=GPU)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """On the CPU, takes the path of recorded steps without a recording."""
    if request.param == "cpu":
        take_static_path(monkeypatch)
    return str(request.param)


def take_static_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def can_record(model: Any, data: Any, config: TrainingConfig, fabric: Any) -> bool:
        return config.cuda_graphs == "auto"

    monkeypatch.setattr("i2gnn.training.epochs.can_record", can_record)


def config(device: str = "cpu", **changes: Any) -> TrainingConfig:
    """Batches of 8: 20 training graphs make two full ones and one of 4."""
    quick = {"epochs": 4, "batch_size": 8, "optimizer": {"lr": 0.01}, "checkpoint_seconds": 0}
    quick |= {"tensorboard": False, "device": device}
    quick |= {"precision": "float64" if device == "cpu" else "float32"}
    return TrainingConfig.from_dict(quick | changes)


def losses(result: Result) -> Tensor:
    return torch.tensor([[row["train_loss"], row["validation"]] for row in result.history])


def assert_static_equals_ordinary(
    make: Callable[[], nn.Module], data: Subgraphs, device: str, **changes: Any
) -> None:
    found = []
    for mode in ("auto", "off"):
        model, settings = make(), config(device, cuda_graphs=mode, **changes)
        with patch.object(StaticEpochs, "run", autospec=True, side_effect=StaticEpochs.run) as run:
            result = fit(model, data, split(), settings, progress=False)
        assert run.call_count == (settings.epochs if mode == "auto" else 0)
        found.append((losses(result), [weight.detach().cpu() for weight in model.parameters()]))
    (static, static_weights), (ordinary, ordinary_weights) = found
    exact = device == "cpu"  # in float64; on a GPU in float32
    tolerance = 1e-9 if exact else 1e-3
    torch.testing.assert_close(static, ordinary, rtol=tolerance, atol=tolerance)
    # Adam divides gradients by their size, so that the rounding of the smallest shows.
    tolerance = 1e-9 if exact else 1e-2
    torch.testing.assert_close(static_weights, ordinary_weights, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("level", "changes"),
    [
        ("node", {"loss": "l1"}),
        ("graph", {"loss": "mse", "optimizer": {"lr": 0.01, "max_grad_norm": 0.1}}),
        ("node", {"loss": "bce"}),
        ("graph", {"loss": "ce", "schedule": {"name": "cosine"}}),
        ("node", {"batch_size": 100, "schedule": {"name": "step", "step_size": 1}}),
        ("node", {"loss": "huber", "average": 0.5, "schedule": {"warmup": 2}}),
    ],
    ids=str,
)
def test_static_steps_equal_ordinary_ones(device: str, level: str, changes: Any) -> None:
    data = subgraphs(level)
    classes, loss = 1, changes.get("loss")
    if loss in ("bce", "ce"):
        y = data.y > 4
        data = data.with_targets(y.long() if loss == "ce" else y, level)
        classes = 2 if loss == "ce" else 1
    make = lambda: make_static_model(data, classes, level=level)  # noqa: E731
    assert_static_equals_ordinary(make, data, device, **changes)


@pytest.mark.parametrize("level", ["node", "graph"])
@pytest.mark.parametrize(
    ("kind", "conv"),
    [
        *itertools.product([MPNN, IDGNN, SubgraphMPNN, I2GNN, I3GNN], ["gated", "product"]),
        (GNNAKPlain, "gated"),
    ],
)
def test_static_steps_of_a_whole_model(device: str, kind: Any, level: str, conv: str) -> None:
    def make() -> Network:
        torch.manual_seed(1)
        model: Network = kind(hidden_channels=16, num_layers=2, hops=2, level=level, conv=conv)
        return model

    data = make().extract(graphs_with_targets(level))
    assert make().static_shapes(data)
    assert_static_equals_ordinary(make, data, device, epochs=2)


def test_static_steps_on_distinct_nodes(device: str) -> None:
    def make() -> Network:
        torch.manual_seed(1)
        return I2GNN(hidden_channels=16, num_layers=2, hops=1)

    data = make().extract(graphs_with_targets("node"))
    assert_static_equals_ordinary(make, data, device, epochs=2, distinct=True)


@pytest.mark.parametrize("level", ["node", "graph"])
def test_static_steps_of_a_learned_start(device: str, level: str) -> None:
    """Its gradient is a sum over all rows, of which the spare ones must not count."""

    def make() -> Network:
        torch.manual_seed(1)
        return IDGNN(hidden_channels=16, num_layers=2, hops=2, level=level, learned_start=True)

    data = make().extract(graphs_with_targets(level))
    assert make().static_shapes(data)
    assert_static_equals_ordinary(make, data, device, epochs=2)


@pytest.mark.parametrize("level", ["node", "graph"])
@pytest.mark.parametrize("readout", ["side", "center", "nodes+center+side"])
def test_static_steps_of_other_readouts(device: str, readout: str, level: str) -> None:
    def make() -> Network:
        torch.manual_seed(1)
        return I2GNN(hidden_channels=16, num_layers=2, hops=2, level=level, readout=readout)

    data = make().extract(graphs_with_targets(level))
    assert make().static_shapes(data)
    assert_static_equals_ordinary(make, data, device, epochs=2)


def test_a_batch_without_room_is_recorded_anew(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, int]] = []
    data = subgraphs()

    class Counted(StaticEpochs):
        def _make_room(self, indices: Tensor) -> None:
            before = self.capacity
            super()._make_room(indices)
            assert all(length >= before.get(axis, 0) for axis, length in self.capacity.items())
            if self.capacity != before:
                assert self._recording is None
                made.append(self.capacity)

    monkeypatch.setattr("i2gnn.training.epochs.StaticEpochs", Counted)
    monkeypatch.setattr(capture, "SLACK", 1.0)
    monkeypatch.setattr(capture, "ROUND", 1)
    assert_static_equals_ordinary(lambda: make_static_model(data), data, device, epochs=8)
    assert len(made) > 1


def test_a_run_with_static_steps_goes_on_exactly(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after the capacity grew: with less room, sums would be rounded otherwise."""
    monkeypatch.setattr(capture, "SLACK", 1.0)
    monkeypatch.setattr(capture, "ROUND", 1)
    data = subgraphs()
    for name, epochs in (("stopped", 3), ("stopped", 8), ("whole", 8)):
        fit(
            make_static_model(data, dropout=0.5),
            data,
            split(),
            config(device, epochs=epochs, deterministic=True, average=0.9),
            run_dir=tmp_path / name,
            resume=True,
            progress=False,
        )
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")
    capacities = [
        Checkpoint.load(tmp_path / name / CHECKPOINT).capacity for name in ("stopped", "whole")
    ]
    assert capacities[0] == capacities[1] != {}


def test_static_steps_are_off_unless_model_and_device_allow(tmp_path: Path) -> None:
    data = subgraphs()
    fit(make_static_model(data), data, split(), config(epochs=1), run_dir=tmp_path)
    assert Checkpoint.load(tmp_path / CHECKPOINT).capacity == {}


def test_rehearsals_leave_no_trace() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def step() -> None:
        model(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()

    def state() -> list[Tensor]:
        moments = [t for kept in optimizer.state.values() for t in kept.values()]
        return [t.detach().clone() for t in (*model.parameters(), *model.buffers(), *moments)]

    before = state()
    with rehearse(model, optimizer):
        step()
    moments = state()[len(before) :]
    assert moments and not any(moment.any() for moment in moments)
    torch.testing.assert_close(state()[: len(before)], before, rtol=0, atol=0)
    step()
    before = state()
    with rehearse(model, optimizer):
        step()
        assert not torch.equal(state()[0], before[0])
    torch.testing.assert_close(state(), before, rtol=0, atol=0)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_replays_equal_the_steps_they_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    """Bit by bit: a replay starts the same kernels on the same shapes."""
    data = subgraphs()
    for name in ("replayed", "run"):
        if name == "run":
            monkeypatch.setattr(capture, "Recording", Unrecorded)
            monkeypatch.setattr("i2gnn.training.epochs.Recording", Unrecorded)
        fit(
            make_static_model(data),
            data,
            split(),
            config("cuda", epochs=10, precision=precision, optimizer={"max_grad_norm": 1.0}),
            run_dir=tmp_path / name,
            progress=False,
        )
    one, two = (Checkpoint.load(tmp_path / name / CHECKPOINT) for name in ("replayed", "run"))
    assert one.capacity
    torch.testing.assert_close(one.model, two.model, rtol=0, atol=0)
    assert one.history == two.history


class Unrecorded(Recording):
    """Calls the function every time, also on a GPU."""

    def _record(self, rehearsal: Any) -> None:
        pass


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_epochs_do_not_wait_for_the_device() -> None:
    data = subgraphs().to("cuda")
    model = make_static_model(data).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(batch: Subgraphs) -> Tensor:
        optimizer.zero_grad()
        known = batch.y == batch.y
        loss = ((model(batch) - batch.y.nan_to_num()) * known).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    epochs = StaticEpochs(data, 8, step, lambda: rehearse(model, optimizer))
    first = float(epochs.run(split().train))
    with no_waiting():
        results = [epochs.run(split().train) for _ in range(20)]
    assert float(results[-1]) < first


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_dropout_differs_from_replay_to_replay() -> None:
    values = torch.ones(1000, device="cuda")
    recording = Recording(lambda: torch.dropout(values, 0.5, True), values.device)
    before = torch.cuda.get_rng_state()
    first, second = recording().clone(), recording().clone()
    assert not torch.equal(first, second)
    torch.cuda.set_rng_state(before)
    assert torch.equal(recording(), first)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_function_that_waits_cannot_be_recorded() -> None:
    values = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="cannot be recorded as a CUDA graph"):
        Recording(lambda: values[values > 0], values.device)
    functional.dropout(values, 0.5)  # random numbers are drawn as before


@pytest.mark.parametrize(
    ("fused", "options"),
    [
        (True, {"node_states": True, "pool": "mean", "readout": "nodes+center+side+context"}),
        (False, {"node_states": True}),
        (False, {"node_states": True, "pool": "mean", "readout": "nodes+center"}),
        (False, {"expansion": 20}),
    ],
)
def test_layers_that_do_not_fuse_are_not_recorded(fused: bool, options: dict[str, Any]) -> None:
    """Outside of fused kernels, batch normalisation would count spare rows."""
    concat: dict[str, Any] = {"conv": "gin", "norm": "batch", "label_injection": "concat"}
    model = I2GNN(hidden_channels=16, num_layers=2, hops=2, **concat, **options)
    with backend("triton"):
        assert model.static_shapes(model.extract(graphs_with_targets("node"))) is fused


def test_steps_are_recorded_where_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: models of ours with layers that can, others if they say so."""
    monkeypatch.setattr(checks, "has_kernel", lambda device: True)
    fabric: Any = SimpleNamespace(device=torch.device("cpu"), world_size=1)
    model = I2GNN(hidden_channels=16, num_layers=2, hops=2)
    data = model.extract(graphs_with_targets("node"))
    settings = TrainingConfig(device="cpu")
    assert checks.can_record(model, data, settings, fabric)
    other = I2GNN(hidden_channels=16, num_layers=2, hops=2, conv="graph")
    for refused in (other, nn.Linear(1, 1)):
        assert not checks.can_record(refused, data, settings, fabric)
    off = TrainingConfig.from_dict({"cuda_graphs": "off", "device": "cpu"})
    assert not checks.can_record(model, data, off, fabric)
