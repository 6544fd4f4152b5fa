"""What the benchmarks share."""

import time
from collections.abc import Callable
from typing import Any

import torch

from i2gnn.benchmark.cases import counting_graphs as synthetic_graphs
from i2gnn.machine import hardware, versions

__all__ = ["best_of", "describe_hardware", "synthetic_graphs"]


def describe_hardware(device: str = "cpu") -> dict[str, Any]:
    """Machine and versions, for the first line of the output."""
    return {"hardware": hardware(torch.device(device)), "versions": versions()}


def best_of(repeats: int, work: Callable[[], object]) -> float:
    """Shortest of several timings, in seconds: machines are noisy, upwards."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
