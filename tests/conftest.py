"""Settings of the whole suite."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _own_caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the caches of the person who runs it."""
    monkeypatch.setenv("I2GNN_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
