"""Settings of the whole suite."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported: its kernels run on the CPU


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)
