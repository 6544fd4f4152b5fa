"""Which checkpoints a run goes on from, and what it leaves when it ends before its time."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from i2gnn.data import Splits
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.training import Checkpoint, fit
from i2gnn.training.loop import CHECKPOINT
from i2gnn.training.resume import digest_data
from tests.training.test_loop import config
from tests.training.toy import make_model, split, stars


def test_resume_names_what_differs(tmp_path: Path) -> None:
    fit(make_model(), stars(), split(), config(), run_dir=tmp_path, settings={"data": {"a": 1}})
    other = config(seed=3, optimizer={"lr": 0.02}, time_limit=100.0)
    with pytest.raises(InputError) as caught:
        fit(make_model(), stars(), split(), other, run_dir=tmp_path, resume=True)
    message = str(caught.value)
    assert "data.a (was 1, is 'absent')" in message
    assert "training.optimizer.lr (was 0.01, is 0.02)" in message
    assert "training.seed (was 0, is 3)" in message
    assert "time_limit" not in message
    same: dict[str, Any] = {"run_dir": tmp_path, "resume": True, "settings": {"data": {"a": 1}}}
    with pytest.raises(
        InputError, match=r"another model: head.bias is \[1\] there; expected \[2\]"
    ):
        fit(make_model(out_channels=2), stars(), split(), config(), **same)
    data = stars()
    data = data.with_targets(data.degree.float(), "node")
    with pytest.raises(InputError, match="is the data the same"):
        fit(make_model(), data, split(), config(), **same)


def test_resume_refuses_other_data(tmp_path: Path) -> None:
    """Also where mean and deviation of the targets are the same."""
    first = split()
    fit(make_model(), stars(), first, config(), run_dir=tmp_path)
    swapped = Splits(first.val, first.train, first.test)
    with pytest.raises(InputError, match="targets or their split differ; is the data the same"):
        fit(make_model(), stars(), swapped, config(), run_dir=tmp_path, resume=True)
    turned = dataclasses.replace(stars(), neighbor=stars().neighbor.flip(0))
    with pytest.raises(InputError, match="is the data the same"):
        fit(make_model(), turned, first, config(), run_dir=tmp_path, resume=True)
    with pytest.raises(InputError, match="the run has 6 epochs; expected at most 4"):
        fit(make_model(), stars(), first, config(epochs=4), run_dir=tmp_path, resume=True)


def test_what_a_killed_process_leaves_is_removed(tmp_path: Path) -> None:
    fit(make_model(), stars(), split(), config(epochs=2), run_dir=tmp_path)
    (tmp_path / f".{CHECKPOINT}.abc.tmp").write_bytes(b"half")
    settings = {"data": {"a": (1, 2)}}  # as a checkpoint cannot return it
    fit(make_model(), stars(), split(), config(), run_dir=tmp_path / "other", settings=settings)
    options: dict[str, Any] = {"resume": True, "settings": settings}
    fit(make_model(), stars(), split(), config(), run_dir=tmp_path / "other", **options)
    fit(make_model(), stars(), split(), config(epochs=3), run_dir=tmp_path, resume=True)
    assert not list(tmp_path.glob(".*.tmp"))


def test_an_error_costs_no_finished_epoch(tmp_path: Path) -> None:
    def fail(row: Mapping[str, float]) -> None:
        if row["epoch"] == 3:
            raise RuntimeError("no more memory")

    seldom = config(checkpoint_seconds=1000)
    with pytest.raises(RuntimeError, match="no more memory"):
        fit(make_model(), stars(), split(), seldom, run_dir=tmp_path, on_epoch=fail)
    assert Checkpoint.epoch_of(tmp_path / CHECKPOINT) == 3


def test_resume_where_sums_are_rounded_otherwise(tmp_path: Path) -> None:
    """Mean and deviation of the same targets, summed by another number of threads."""
    fit(make_model(), stars(), split(), config(), run_dir=tmp_path)
    checkpoint = Checkpoint.load(tmp_path / CHECKPOINT)
    rounded = {name: value * (1 + 4e-16) for name, value in checkpoint.scaling.items()}
    assert not torch.equal(rounded["unit"], checkpoint.scaling["unit"])
    dataclasses.replace(checkpoint, scaling=rounded).save(tmp_path / CHECKPOINT)
    result = fit(make_model(), stars(), split(), config(epochs=7), run_dir=tmp_path, resume=True)
    assert result.epochs == 7


@pytest.mark.parametrize("other", ["column", "row"])
def test_targets_may_lie_anyhow_in_memory(other: str) -> None:
    """A column of a table is [n, 1] of stride n, which is no way for bytes to lie."""
    data, splits = stars(), split()
    y = data.y.clone()
    strided = torch.stack([y[:, 0], y[:, 0]]).t()[:, :1] if other == "column" else y.t().clone().t()
    assert torch.equal(strided, y)
    assert digest_data(data.with_targets(strided, "node"), splits) == digest_data(data, splits)


def test_graphs_need_no_edges() -> None:
    lonely = GraphStore.from_edge_lists([[], []], num_nodes=[1, 1])
    empty = torch.empty(0, dtype=torch.int64)
    assert digest_data(lonely, Splits(torch.tensor([0]), torch.tensor([1]), empty))
