import sys
from pathlib import Path

import pytest

from i2gnn.training.logs import RunLog

ROWS = [
    {"epoch": epoch, "lr": 0.1, "train_loss": 1 / epoch, "validation": 2 / 3} for epoch in (1, 2, 3)
]


def test_rows_are_appended_and_later_ones_dropped(tmp_path: Path) -> None:
    log = RunLog(tmp_path, [], tensorboard=False)
    for row in ROWS:
        log.write(row)
    log.close()
    whole = (tmp_path / "log.csv").read_text()
    assert whole.splitlines()[0] == "epoch,lr,train_loss,validation"
    assert whole.splitlines()[3] == "3,0.1,0.3333333333333333,0.6666666666666666"
    with (tmp_path / "log.csv").open("a") as file:
        file.write("4,0.1,0.2")  # a row that a kill cut off
    log = RunLog(tmp_path, ROWS[:1], tensorboard=False)
    for row in ROWS[1:]:
        log.write(row)
    log.close()
    assert (tmp_path / "log.csv").read_text() == whole


def test_tensorboard_gets_the_same_numbers(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = RunLog(tmp_path, [], tensorboard=True)
    for row in ROWS:
        log.write(row)
    log.close()
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    found = [(event.step, event.value) for event in events.Scalars("train_loss")]
    assert found == [(row["epoch"], pytest.approx(row["train_loss"])) for row in ROWS]


def test_without_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    log = RunLog(tmp_path, [], tensorboard=True)
    log.write(ROWS[0])
    log.close()
    assert not (tmp_path / "tensorboard").exists()


def test_without_a_folder() -> None:
    log = RunLog(None, [], tensorboard=True)
    log.write(ROWS[0])
    log.close()
