"""What the benchmarks share."""

import time
from collections.abc import Callable
from typing import Any

import torch

from i2gnn import GraphStore
from i2gnn.data import generate_graphs, load_counting
from i2gnn.errors import InputError
from i2gnn.training.record import hardware, versions

__all__ = ["best_of", "describe_hardware", "synthetic_graphs"]


def synthetic_graphs(count: int, data_root: str | None) -> tuple[GraphStore, str]:
    """The first graphs of the paper's synthetic set, or generated ones if it is not there."""
    try:
        graphs = load_counting(["cycle3"], root=data_root).graphs
        return graphs.batch(range(min(count, len(graphs)))), "the original 5,000 graphs"
    except InputError:
        return generate_graphs(count), "generated"


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
