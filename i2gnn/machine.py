"""The machine that numbers come from, and the versions of what runs on it."""

import importlib.metadata
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

__all__ = ["hardware", "machine_name", "versions"]

PACKAGES = ("i2gnn", "torch", "torch_geometric", "pytorch-lightning", "numpy", "numba")


def hardware(device: torch.device) -> dict[str, Any]:
    """Names the processor, the threads in use and, on CUDA, the GPU."""
    found: dict[str, Any] = {
        "device": device.type,
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }
    if device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found


def machine_name(found: Mapping[str, Any]) -> str:
    """What computes on a machine, from what `hardware` says about it.

    Example:
        >>> machine_name({"device": "cpu", "cpu": "Abacus", "cores": 8, "threads": 2})
        'Abacus, 2 threads'
    """
    return found.get("gpu") or f"{found['cpu']}, {found['threads']} threads"


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on, if installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """The processor's model; `platform` often gives only its architecture."""
    path = Path("/proc/cpuinfo")
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
