import pytest
import torch

from i2gnn.ops.cpu.pages import Pages
from i2gnn.parallel import have
from tests.helpers import on_gpu


@pytest.fixture(
    params=[
        pytest.param(
            "cpu",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="kernels are compiled"),
        ),
        pytest.param("cuda", marks=on_gpu),
    ]
)
def device(request):
    """Where Triton's kernels run: interpreted on a CPU, compiled on a GPU."""
    return request.param


@pytest.fixture(autouse=True)
def _empty_is_nan(monkeypatch):
    """What a kernel does not write is NaN."""

    def filled(function):
        def fill(*args, **kwargs):
            out = function(*args, **kwargs)
            return out.fill_(float("nan")) if out.is_floating_point() else out

        return fill

    for owner, name in ((torch, "empty"), (torch, "empty_like"), (torch.Tensor, "new_empty")):
        monkeypatch.setattr(owner, name, filled(getattr(owner, name)))
    monkeypatch.setattr(Pages, "take", filled(Pages.take))


@pytest.fixture(autouse=True)
def _few_programs(monkeypatch):
    """One program, not hundreds, adds up the shares where each takes milliseconds to interpret.

    The sizes that are used on a GPU are those of test_shares.py.
    """
    if have("triton") and not torch.cuda.is_available():
        monkeypatch.setattr("i2gnn.ops.triton.shares.COLUMNS", (1024, 16384))
