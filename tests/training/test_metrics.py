import pytest
import torch

from i2gnn.training.metrics import METRICS, accuracy, exact, higher_is_better

NAN = float("nan")
PREDICTION = torch.tensor([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]])
TARGET = torch.tensor([[1.0, 4.0], [4.0, NAN], [4.0, 8.0]])
UNIT = torch.tensor([2.0, 4.0])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mae", [4 / 3, 2.0]),
        ("normalized_mae", [2 / 3, 0.5]),
        ("mse", [8 / 3, 5.0]),
        ("rmse", [(8 / 3) ** 0.5, 5.0**0.5]),
    ],
)
def test_errors_by_hand(name: str, expected: list[float]) -> None:
    assert METRICS[name](PREDICTION, TARGET, UNIT).tolist() == pytest.approx(expected)
    assert not higher_is_better(name)


def test_exact_after_rounding() -> None:
    prediction = torch.tensor([[2.4, 0.0], [6.6, 1.0], [3.0, 2.0]])
    target = torch.tensor([[2.0, float("nan")], [6.0, 1.0], [3.0, 2.0]])
    assert exact(prediction, target, torch.ones(2)).tolist() == [pytest.approx(2 / 3), 1.0]
    assert higher_is_better("exact")


def test_accuracy() -> None:
    logits = torch.tensor([[2.0, -1.0], [-3.0, 1.0]])
    target = torch.tensor([[1.0, 1.0], [0.0, NAN]])
    assert accuracy(logits, target, torch.ones(2)).tolist() == [1.0, 0.0]
    classes = torch.tensor([[0], [0]])
    assert accuracy(logits, classes, torch.ones(1)).tolist() == [0.5]
    assert higher_is_better("accuracy")


def test_predictions_that_are_no_numbers_are_not_perfect() -> None:
    prediction = torch.tensor([[NAN, 5.0], [2.0, NAN], [6.0, 5.0]])  # [1, 1] has no target
    assert METRICS["mae"](prediction, TARGET, UNIT).isnan().tolist() == [True, False]
