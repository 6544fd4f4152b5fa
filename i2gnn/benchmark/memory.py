"""Peak memory of a piece of work, over what was taken before."""

import contextlib
import gc
import resource
import sys
from collections.abc import Callable
from pathlib import Path

import torch

__all__ = ["peak_growth"]


def peak_growth(work: Callable[[], object], device: torch.device) -> int:
    """Bytes by which memory grows at most while the work runs.

    On a GPU, of what PyTorch's allocator has given out. On a CPU, of the resident set: call it in
    a new process, where no freed memory is left over that the work could use unseen.
    """
    gc.collect()
    if device.type == "cpu":
        before = _begin_host_peak()
        work()
        return _host_peak() - before
    torch.cuda.synchronize(device)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    work()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before


def _begin_host_peak() -> int:
    """Resident bytes now, from where the peak starts; its highest value ever where it must."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak is what is resident now
    return _host_peak()


def _host_peak() -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak
