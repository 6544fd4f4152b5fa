"""Sums of the shares that programs leave, against plain sums in float64."""

import pytest
import torch

shares = pytest.importorskip("i2gnn.ops.triton.shares", reason="Triton is not installed")

COLUMNS = shares.COLUMNS
"""As they are on a GPU; other tests of interpreted kernels have wider ones."""


@pytest.fixture(autouse=True)
def _sizes(_few_programs, monkeypatch):
    monkeypatch.setattr(shares, "COLUMNS", COLUMNS)
    monkeypatch.setattr(shares, "MANY", 100)  # so that few programs do


@pytest.mark.parametrize("programs", [1, 2, 3, 128, 300])
@pytest.mark.parametrize("shape", [(1,), (16,), (3, 7), (99,), (100,), (2, 65)])
def test_sums(programs, shape, device):
    partial = torch.randn(programs, *shape, device=device)
    found = shares.sum_shares(partial)
    assert found.dtype == torch.float32 and found.shape == shape
    exact = partial.double().sum(0)
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", [5, 130])
def test_a_scale_is_taken_off_exactly(length, device):
    partial = torch.randn(3, length, device=device)
    scale = torch.tensor([2.0**-20], device=device)
    assert torch.equal(shares.sum_shares(partial, scale), shares.sum_shares(partial) * 2**20)


@pytest.mark.parametrize("shape", [(0,), (0, 4)])
def test_no_numbers(shape, device):
    assert shares.sum_shares(torch.ones(3, *shape, device=device)).shape == shape
