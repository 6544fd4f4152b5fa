import time

import pytest

from i2gnn.training import TrainingConfig
from i2gnn.training.history import History


def history(*validations: float, best_epoch: int, maximize: bool = False) -> History:
    rows = [{"epoch": n + 1, "validation": value} for n, value in enumerate(validations)]
    return History(maximize=maximize, rows=rows, best_epoch=best_epoch)


@pytest.mark.parametrize("maximize", [False, True])
def test_only_a_better_epoch_improves(maximize: bool) -> None:
    assert History(maximize=maximize).improves(7.0)
    found = history(3.0, 2.0, best_epoch=2, maximize=maximize)
    assert found.improves(1.0) is not maximize
    assert found.improves(2.5) is maximize
    assert not found.improves(2.0)
    assert found.note() == "val 2 best 2"


def test_reasons_to_stop() -> None:
    found = history(3.0, 4.0, 5.0, best_epoch=1)
    assert found.reason_to_stop(TrainingConfig(epochs=3)) == "epochs"
    assert found.reason_to_stop(TrainingConfig(early_stop=2)) == "early_stop"
    assert found.reason_to_stop(TrainingConfig(early_stop=3, time_limit=60.0)) is None
    found.started = time.monotonic() - 100
    found.before = 50.0
    assert found.reason_to_stop(TrainingConfig(time_limit=60.0)) == "time_limit"
    assert found.seconds == pytest.approx(150, abs=30)
    late = History(maximize=False, started=found.started)
    assert late.reason_to_stop(TrainingConfig(time_limit=60.0)) is None  # one epoch at least
