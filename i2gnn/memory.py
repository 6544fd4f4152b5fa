"""Amounts of memory: as people write them, and what is left of it."""

import math
import os
import re
from pathlib import Path

import torch

from i2gnn.errors import InputError

__all__ = ["available_memory", "format_size", "left_in_container", "parse_size"]

UNITS = {
    **{"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12},
    **{"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40},
}


def parse_size(size: str | int) -> int:
    """Bytes from "500MB", "2 GB", "1.5GiB" or a number of bytes.

    Example:
        >>> parse_size("1.5 GB"), parse_size("2KiB"), parse_size(100)
        (1500000000, 2048, 100)
    """
    match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", str(size))
    try:
        if match is None:
            raise ValueError
        result = float(match[1]) * UNITS[match[2].upper()]
    except (ValueError, KeyError):
        raise InputError(f"size is {size!r}; expected such as '500MB' or '2GB'") from None
    if not 1 <= result < math.inf:
        raise InputError(f"size is {size!r}; expected at least one byte")
    return int(result)


def format_size(size: float) -> str:
    """A number of bytes for people.

    Example:
        >>> format_size(1_536_000_000), format_size(812)
        ('1.5 GB', '812 B')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.1f} {unit}"
    return f"{size:.0f} B"


def available_memory(device: torch.device | None = None) -> int:
    """Bytes that can still be taken, on the host or on a GPU.

    On the host without swapping, and within the limit of a container; free pages where the system
    does not say.
    """
    if device is not None and device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        free = 1024 * _field(Path("/proc/meminfo"), "MemAvailable:")
    except (OSError, StopIteration):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    left = left_in_container()
    return free if left is None else min(free, left)


def left_in_container(group: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Bytes below the memory limit of the control group (version 2); None without a limit."""
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        cached = _field(group / "memory.stat", "inactive_file")  # given back on demand
    except (OSError, StopIteration, ValueError):
        return None
    return max(0, limit - used + cached)


def _field(path: Path, name: str) -> int:
    """The number behind a name in a file of such lines."""
    lines = (line.split() for line in path.read_text().splitlines())
    return next(int(words[1]) for words in lines if words[:1] == [name])
