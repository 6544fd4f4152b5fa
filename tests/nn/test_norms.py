import pytest
import torch
from torch import nn

from i2gnn.nn import BatchNorm, make_norm
from i2gnn.nn.norms import count_batch


def test_two_rows_or_more_are_pytorchs_own():
    ours, theirs = BatchNorm(5), nn.BatchNorm1d(5)
    for rows in (2, 7):
        h = torch.randn(rows, 5)
        assert torch.equal(ours(h), theirs(h))
    assert torch.equal(ours.running_var, theirs.running_var)
    ours.eval()
    theirs.eval()
    assert torch.equal(ours(h[:1]), theirs(h[:1]))


@pytest.mark.parametrize("rows", [0, 1])
def test_rows_without_spread_use_and_keep_the_running_statistics(rows):
    norm = BatchNorm(3)
    norm(torch.randn(10, 3) * 4 + 1)
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    h = torch.randn(rows, 3, requires_grad=True)
    out = norm(h)
    assert torch.equal(out, norm.eval()(h))
    out.sum().backward()
    assert norm.weight.grad.isfinite().all()
    for name, value in norm.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_names():
    assert isinstance(make_norm("none", 4), nn.Identity)
    assert isinstance(make_norm("batch", 4), BatchNorm)
    with pytest.raises(ValueError, match="norm must be one of none, batch, got 'group'"):
        make_norm("group", 4)


def test_batches_are_counted_as_by_forward():
    norms = nn.ModuleList([BatchNorm(3), nn.Sequential(BatchNorm(2)), BatchNorm(4).eval()])
    count_batch(norms, rows=5)
    count_batch(norms, rows=1)  # left alone, as above
    counters = [n.num_batches_tracked.item() for n in norms.modules() if isinstance(n, BatchNorm)]
    assert counters == [1, 1, 0]
