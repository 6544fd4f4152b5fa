import pytest
import torch

from i2gnn.training.targets import Scaling, compute_loss

NAN = float("nan")


def test_scaling_by_hand() -> None:
    targets = torch.tensor([[1.0, 7.0], [3.0, 7.0], [NAN, 7.0]])
    scaling = Scaling.measure(targets)
    assert scaling.center.tolist() == [2, 7]
    assert scaling.scale.tolist() == [1, 1]  # a constant column is left alone
    assert Scaling.measure(targets * 10, standardize=False).scale.tolist() == [1, 1]
    assert Scaling.measure(targets * 10, standardize=False).unit.tolist() == [10, 1]


def test_a_column_without_targets() -> None:
    scaling = Scaling.measure(torch.tensor([[NAN], [NAN]]))
    assert (scaling.center.tolist(), scaling.scale.tolist()) == ([0], [1])


def test_losses_by_hand() -> None:
    output = torch.tensor([[1.0], [0.0]])
    target = torch.tensor([[4.0], [0.0]])
    scaling = Scaling(torch.tensor([2.0]), torch.tensor([2.0]), torch.tensor([2.0]))
    # standardised targets are 1 and -1
    assert float(compute_loss("l1", output, target, scaling)) == 0.5
    assert float(compute_loss("mse", output, target, scaling)) == 0.5
    far = torch.tensor([[4.0], [-1.0]])
    assert float(compute_loss("l1+mse", far, target, scaling)) == (3 + 9) / 2
    assert float(compute_loss("huber", output, target, scaling)) == pytest.approx(0.4975)
    near = torch.tensor([[1.002], [-1.0]])  # below HUBER = 0.01: half of the square over it
    assert float(compute_loss("huber", near, target, scaling)) == pytest.approx(1e-4, rel=1e-3)
    plain = Scaling.none(1).to(output)
    labels = torch.tensor([[1.0], [0.0]])
    expected = torch.nn.functional.binary_cross_entropy_with_logits(output, labels)
    assert float(compute_loss("bce", output, labels, plain)) == pytest.approx(float(expected))
    logits = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    classes = torch.tensor([[2], [1]])
    expected = torch.nn.functional.cross_entropy(logits, classes[:, 0])
    assert float(compute_loss("ce", logits, classes, plain)) == pytest.approx(float(expected))


@pytest.mark.parametrize("loss", ["l1", "mse", "l1+mse", "huber", "bce", "ce"])
def test_missing_targets_give_no_gradient(loss: str) -> None:
    output = torch.randn(3, 1 if loss != "ce" else 2, requires_grad=True)
    target = torch.tensor([[1.0], [NAN], [0.0]])
    value = compute_loss(loss, output, target, Scaling.none(1).to(output))  # type: ignore[arg-type]
    value.backward()  # type: ignore[no-untyped-call]
    assert output.grad is not None
    assert output.grad[1].abs().sum() == 0
    assert bool(output.grad.isfinite().all()) and output.grad[0].abs().sum() > 0


def test_no_known_target_at_all() -> None:
    output = torch.ones(2, 1)
    assert float(compute_loss("l1", output, torch.full((2, 1), NAN), Scaling.none(1))) == 0


@pytest.mark.parametrize("count", [3, 7, 100])
def test_a_constant_has_the_unit_one(count: int) -> None:
    """Also where its mean is rounded, and differs from it."""
    values = torch.full((count, 1), 0.1, dtype=torch.float64)
    assert Scaling.measure(values).unit.item() == 1
    assert Scaling.measure(values + torch.arange(count).unsqueeze(1) * 1e-9).unit.item() < 1e-6
