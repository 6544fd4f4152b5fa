"""Settings of the whole suite."""

import logging
import os
from collections.abc import Iterator

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported: its kernels run on the CPU


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _same_log_level() -> Iterator[None]:
    """Commands set the level of all logs."""
    level = logging.getLogger().level
    yield
    logging.getLogger().setLevel(level)
