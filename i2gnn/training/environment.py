"""Where and how a run computes: device, precision, seeds, determinism; all restored afterwards."""

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeVar

import torch

from i2gnn.errors import InputError
from i2gnn.graphs.flat import FlatStore
from i2gnn.numerics import matmul_precision
from i2gnn.training.config import TrainingConfig

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["environment", "place", "resolve_device", "rng_states", "set_rng_states"]

Store = TypeVar("Store", bound=FlatStore)


def resolve_device(name: str) -> torch.device:
    """A device that exists here, from "auto", "cpu", "cuda" or "cuda:N"."""
    available = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = "cuda" if available else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"device is {name!r}; expected auto, cpu, cuda or cuda:N") from error
    if device.type not in ("cpu", "cuda"):
        raise InputError(f"device is {name!r}; expected auto, cpu, cuda or cuda:N")
    if device.type == "cuda":
        device = torch.device("cuda", device.index or 0)
        if device.index >= available:
            raise InputError(f"device is {name!r}; this machine has {available} CUDA devices")
    return device


@contextlib.contextmanager
def environment(config: TrainingConfig) -> Iterator["Fabric"]:
    """Sets up Fabric, seeds and numerics for a run; the caller's state comes back at the end."""
    from lightning_fabric import Fabric

    device = resolve_device(config.device)
    mixed: Literal["bf16-mixed", "32-true"]
    mixed = "bf16-mixed" if config.precision == "bfloat16" else "32-true"
    fabric = Fabric(
        accelerator=device.type,
        devices=1 if device.type == "cpu" else [device.index],
        precision=mixed,
    )
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    devices = [device.index] if device.type == "cuda" else []
    with torch.random.fork_rng(devices), matmul_precision(config.precision):
        try:
            if config.deterministic:
                os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
                torch.use_deterministic_algorithms(True)
            torch.manual_seed(config.seed)
            yield fabric
        finally:
            torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)


def place(data: Store, device: torch.device, dtype: torch.dtype) -> Store:
    """Sets the type of the floats, and moves the data to the device if half its memory suffices."""
    data = data.to(dtype=dtype)
    if device.type == "cuda" and data.nbytes < torch.cuda.mem_get_info(device)[0] // 2:
        return data.to(device)
    return data


def rng_states(device: torch.device) -> dict[str, torch.Tensor]:
    """States of the random number generators that training uses."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def set_rng_states(states: dict[str, torch.Tensor], device: torch.device) -> None:
    """Sets what `rng_states` returned."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
