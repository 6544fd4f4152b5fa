"""What a benchmark runs on, and how often."""

from dataclasses import dataclass
from typing import Literal

import torch

from i2gnn.errors import InputError
from i2gnn.training.environment import resolve_device

__all__ = ["BenchmarkSettings", "MeasurementSettings"]

Precision = Literal["tf32", "float32"]


@dataclass(frozen=True, kw_only=True)
class MeasurementSettings:
    """Where one batch is measured, and how often; what is None depends on the device.

    Attributes:
        device: "auto", "cpu", "cuda" or "cuda:N".
        precision: Of matrix products; by default "tf32" on a GPU and "float32" on a CPU.
        graphs: Graphs in a batch.
        rounds: Measurements of each time, of which the median counts.
        data_root: Folder of data sets.
        seed: Of all that is random.
    """

    device: str = "auto"
    precision: Precision | None = None
    graphs: int = 256
    rounds: int | None = None
    data_root: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        _check_positive(self, "graphs", "rounds")
        if self.precision not in (None, "tf32", "float32"):
            raise InputError(f"precision is {self.precision!r}; expected tf32 or float32")

    @property
    def where(self) -> torch.device:
        """The device."""
        return resolve_device(self.device)

    @property
    def on_gpu(self) -> bool:
        """Whether the device is a GPU."""
        return self.where.type == "cuda"

    @property
    def matmul(self) -> Precision:
        """The precision of matrix products."""
        return self.precision or ("tf32" if self.on_gpu else "float32")

    @property
    def repeats(self) -> int:
        """Measurements of each time."""
        return self.rounds or (7 if self.on_gpu else 3)

    @property
    def calls(self) -> int:
        """Calls in one measurement: on a GPU several, queued up as in training."""
        return 10 if self.on_gpu else 1


@dataclass(frozen=True, kw_only=True)
class BenchmarkSettings(MeasurementSettings):
    """Sizes and repetitions of the engine's benchmark, the same in all formulations.

    Attributes:
        epoch_graphs: Graphs in an epoch; by default 1,500 (the training set of the paper's
            synthetic data) on a GPU and two batches on a CPU.
        layers: Depth T of both models.
        width: Width D of both models.
        agreement_graphs: Graphs on which outputs and gradients are compared.
    """

    epoch_graphs: int | None = None
    layers: int = 5
    width: int = 64
    agreement_graphs: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_positive(self, "epoch_graphs", "layers", "width", "agreement_graphs")

    @property
    def graphs_per_epoch(self) -> int:
        """Graphs in an epoch, at least a batch."""
        usual = 1500 if self.on_gpu else 2 * self.graphs
        return max(self.epoch_graphs or usual, self.graphs)


def _check_positive(settings: MeasurementSettings, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}; expected at least 1")
