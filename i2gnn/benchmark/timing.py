"""Wall-clock time of work on a device."""

import time
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

import torch

__all__ = ["alternate", "seconds_of"]

Work = Callable[[], object]
Key = TypeVar("Key", bound=Hashable)


def alternate(
    works: Mapping[Key, Work], device: torch.device, rounds: int, calls: int = 1, warm_up: int = 1
) -> dict[Key, list[float]]:
    """Seconds per call of each work, `rounds` times.

    The works take turns, so that a disturbance of the machine meets all of them.

    Args:
        works: By name.
        device: That they run on.
        rounds: How many measurements of each.
        calls: How many calls to one measurement.
        warm_up: Calls of each that do not count.
    """
    for work in works.values():
        for _ in range(warm_up):
            work()
    times: dict[Key, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds_of(work, device, calls))
    return times


def seconds_of(work: Work, device: torch.device, calls: int = 1) -> float:
    """Seconds per call, from an idle device to an idle device.

    On a GPU between two events; calls are queued up one behind the other, as training queues its
    steps, so the time of the host counts only where the device has to wait for it.
    """
    if device.type == "cpu":
        begin = time.perf_counter()
        for _ in range(calls):
            work()
        return (time.perf_counter() - begin) / calls
    with torch.cuda.device(device):
        start = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        stop = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()
        start.record()
        for _ in range(calls):
            work()
        stop.record()
        stop.synchronize()
        return float(start.elapsed_time(stop)) / 1000 / calls
