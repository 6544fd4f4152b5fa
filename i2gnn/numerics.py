"""Random numbers and precision of PyTorch inside of a block; what the caller had comes back."""

import contextlib
from collections.abc import Iterator

import torch

__all__ = ["matmul_precision", "seeded"]


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draws random numbers on the CPU, such as those of fresh weights, from a seed.

    Example:
        >>> with seeded(0):
        ...     weight = torch.rand(3)
        >>> with seeded(0):
        ...     bool((weight == torch.rand(3)).all())
        True
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@contextlib.contextmanager
def matmul_precision(precision: str) -> Iterator[None]:
    """Allows TF32 in products of float32 numbers on a GPU for "tf32", and for nothing else."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
