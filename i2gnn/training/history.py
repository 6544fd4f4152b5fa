"""Where a run stands: its finished epochs, the best of them, its time."""

import time
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

from i2gnn.training.checkpoint import Checkpoint
from i2gnn.training.config import TrainingConfig

__all__ = ["History", "Stopped"]

Stopped = Literal["epochs", "early_stop", "time_limit"]
"""Why a run had no more epochs."""


@dataclass(kw_only=True)
class History:
    """The finished epochs of a run.

    Attributes:
        maximize: Whether a larger validation metric is the better one.
        rows: One per epoch, as in the CSV log.
        best: Weights of the best epoch.
        best_epoch: Counted from 1; 0 before the first.
        before: Seconds in training, over all calls before this one.
        started: When this call began to train, on the monotonic clock.
    """

    maximize: bool
    rows: list[dict[str, float]] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)
    best_epoch: int = 0
    before: float = 0.0
    started: float = field(default_factory=time.monotonic)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Goes on from the end of an earlier epoch."""
        self.rows, self.before = checkpoint.history, checkpoint.seconds
        self.best, self.best_epoch = checkpoint.best, checkpoint.best_epoch

    @property
    def seconds(self) -> float:
        """Time in training, over all calls."""
        return self.before + time.monotonic() - self.started

    @property
    def validation(self) -> float:
        """The metric at the best epoch."""
        return self.rows[self.best_epoch - 1]["validation"]

    def improves(self, validation: float) -> bool:
        """Whether an epoch with this metric is the best so far."""
        if not self.best_epoch:
            return True
        best = self.validation
        return validation > best if self.maximize else validation < best

    def reason_to_stop(self, config: TrainingConfig) -> Stopped | None:
        """Why no further epoch is due, if so."""
        done, limit = len(self.rows), config.time_limit
        if done >= config.epochs:
            return "epochs"
        if config.early_stop is not None and done - self.best_epoch >= config.early_stop:
            return "early_stop"
        if limit is not None and done and time.monotonic() - self.started >= limit:
            return "time_limit"
        return None

    def note(self) -> str:
        """The last epoch in a few words, for the progress bar."""
        return f"val {self.rows[-1]['validation']:.3g} best {self.validation:.3g}"
