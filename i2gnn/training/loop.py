"""The training loop: epochs, the best weights, checkpoints, the test."""

import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from i2gnn.data.splits import Splits
from i2gnn.errors import InputError
from i2gnn.files import lock_folder
from i2gnn.graphs import GraphStore
from i2gnn.models.registry import count_parameters
from i2gnn.progress import progress_bar
from i2gnn.training.checkpoint import Checkpoint
from i2gnn.training.checks import metric_of
from i2gnn.training.config import TrainingConfig
from i2gnn.training.environment import environment
from i2gnn.training.epochs import Epochs, make_epochs
from i2gnn.training.history import History, Stopped
from i2gnn.training.inputs import Inputs, prepare_inputs
from i2gnn.training.logs import RunLog
from i2gnn.training.metrics import higher_is_better
from i2gnn.training.resume import check_same_run
from i2gnn.training.targets import Scaling

__all__ = ["CHECKPOINT", "Result", "check_folder", "fit"]

log = logging.getLogger(__name__)

CHECKPOINT = "checkpoint.safetensors"
"""Name of the checkpoint in a run's folder."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a run gave; validation and test are those of the best validation epoch.

    Attributes:
        metric: What `validation` and `test` are, averaged over the targets.
        validation: At the best epoch, by which it was chosen.
        test: At the same epoch; None without test graphs.
        test_metrics: Every metric that fits the loss on the test graphs, one number per target.
        prediction: What was tested: targets of the test graphs in their own units, [n, T] on the
            CPU; None without test graphs.
        best_epoch: Counted from 1.
        epochs: How many were run.
        stopped: Why there were no more.
        seconds: Time in training, over all calls.
        parameters: Number of trainable weights.
        history: One row per epoch, as in the CSV log.
        scaling: Turns outputs into targets.
    """

    metric: str
    validation: float
    test: float | None
    test_metrics: dict[str, list[float]]
    prediction: Tensor | None
    best_epoch: int
    epochs: int
    stopped: Stopped
    seconds: float
    parameters: int
    history: list[dict[str, float]]
    scaling: Scaling


def fit(
    model: nn.Module,
    data: GraphStore,
    splits: Splits,
    config: TrainingConfig | None = None,
    *,
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    settings: Mapping[str, Any] | None = None,
    progress: bool = True,
    description: str = "training",
    on_epoch: Callable[[Mapping[str, float]], None] | None = None,
) -> Result:
    """Trains a model and tests it with the weights of the best validation epoch, which it keeps.

    Args:
        model: Any module that turns a batch of `data` into outputs at the level of the targets.
        data: Graphs or subgraphs with targets; NaN marks a missing one.
        splits: Graphs to train on, to select by and to test.
        config: The paper's settings by default.
        run_dir: Folder for `log.csv`, TensorBoard's files and the checkpoint; None keeps nothing.
        resume: Goes on from the checkpoint in `run_dir`, if there is one, exactly as if the run
            had never stopped.
        settings: Further settings to keep in the checkpoint and to compare on resume, by section.
        progress: Shows a bar with the time left.
        description: Title of the bar.
        on_epoch: Called with the row of the history after every epoch; it may raise
            KeyboardInterrupt to stop the run as Ctrl-C does.

    Raises:
        InputError: Targets, splits or a checkpoint that do not fit, a loss that is not finite, or
            another process that trains in `run_dir`.
        KeyboardInterrupt: Ctrl-C; the checkpoint then holds the last finished epoch.
    """
    config = config or TrainingConfig()
    folder = None if run_dir is None else Path(run_dir)
    with environment(config) as fabric, ExitStack() as held:
        kept = json.loads(json.dumps(dict(settings or {})))  # as a checkpoint returns them
        inputs = prepare_inputs(model, data, splits, config)
        epochs = make_epochs(model, inputs, config, fabric)
        run = _Run(epochs, inputs, config, kept, folder)
        if folder is not None:
            held.enter_context(lock_folder(folder))
            for unfinished in folder.glob(f".{CHECKPOINT}.*.tmp"):  # of a process that was killed
                unfinished.unlink()
        run.start(resume)
        left = max(0, config.epochs - len(run.history.rows))
        try:
            with progress_bar(description, left, enabled=progress and left > 0) as advance:
                while not (stopped := run.history.reason_to_stop(config)):
                    run.run_epoch()
                    advance(1, note=run.history.note())
                    if on_epoch is not None:
                        on_epoch(run.history.rows[-1])
        except KeyboardInterrupt:
            run.save()
            run.warn_of_stop()
            raise
        except Exception:
            with suppress(Exception):  # such as a full disk, which the first error tells
                run.save()
            raise
        finally:
            run.log.close()
        run.save()
        return run.result(stopped)


def check_folder(folder: Path, resume: bool) -> None:
    """Raises an InputError if a run would overwrite another."""
    if not resume and (folder / CHECKPOINT).is_file():
        raise InputError(f"{folder} already holds a run; resume it, or choose another folder")


class _Run:
    """One call of `fit`: its epochs, and what its folder keeps of them."""

    def __init__(
        self,
        epochs: Epochs,
        inputs: Inputs,
        config: TrainingConfig,
        settings: dict[str, Any],
        folder: Path | None,
    ) -> None:
        self.epochs, self.inputs, self.config, self.folder = epochs, inputs, config, folder
        self.settings = {**settings, "training": config.to_dict()}
        self.metric = metric_of(config)
        self.history = History(maximize=higher_is_better(self.metric))
        self.snapshot: Checkpoint | None = None

    def start(self, resume: bool) -> None:
        """Takes up an earlier run, or makes sure that none is overwritten."""
        if self.folder is not None:
            check_folder(self.folder, resume)
            path = self.folder / CHECKPOINT
            if path.is_file():
                self._restore(path, Checkpoint.load(path))
        self.log = RunLog(self.folder, self.history.rows, self.config.tensorboard)
        self.history.started = self.saved = time.monotonic()

    def _restore(self, path: Path, checkpoint: Checkpoint) -> None:
        model, inputs = self.epochs.learner.model, self.inputs
        check_same_run(path, checkpoint, self.settings, model, inputs.scaling, inputs.digest)
        self.epochs.restore(checkpoint)
        self.history.restore(checkpoint)
        self.snapshot = checkpoint

    def run_epoch(self) -> None:
        """Runs an epoch, notes it, keeps the best weights, cuts the learning rate, saves if due."""
        history, schedule = self.history, self.epochs.learner.schedule
        epoch = len(history.rows) + 1
        train_loss, validation = self.epochs.run(epoch)
        row = {
            "epoch": epoch,
            "lr": schedule.lr,
            "train_loss": train_loss,
            "validation": validation,
        }
        if history.improves(validation):
            history.best, history.best_epoch = self.epochs.best_weights(), epoch
        history.rows = [*history.rows, row]
        schedule.step(validation)
        self.log.write(row)
        if self.folder is None:
            return
        self.snapshot = self._checkpoint()
        if time.monotonic() - self.saved >= self.config.checkpoint_seconds:
            self.save()

    def _checkpoint(self) -> Checkpoint:
        history = self.history
        return Checkpoint(
            **self.epochs.state(),
            epoch=len(history.rows),
            best=history.best,
            best_epoch=history.best_epoch,
            history=history.rows,
            seconds=history.seconds,
            scaling=dict(vars(self.inputs.scaling)),
            settings=self.settings,
            data=self.inputs.digest,
        )

    def save(self) -> None:
        """Writes the last finished epoch, which an interrupted one has not touched."""
        if self.folder is not None and self.snapshot is not None:
            self.snapshot.save(self.folder / CHECKPOINT)
            self.saved = time.monotonic()

    def warn_of_stop(self) -> None:
        """Tells where a run that was stopped can go on."""
        if self.folder is not None and self.snapshot is not None:
            log.warning(
                "stopped after epoch %d of %d; resume goes on from %s",
                self.snapshot.epoch,
                self.config.epochs,
                self.folder / CHECKPOINT,
            )

    def result(self, stopped: Stopped) -> Result:
        """Tests the best weights."""
        # A finished run that is only read again does not get longer.
        seconds = self.snapshot.seconds if self.snapshot is not None else self.history.seconds
        model, history = self.epochs.learner.model, self.history
        model.load_state_dict(history.best)
        model.eval()
        prediction, tested = self.epochs.test() if len(self.inputs.splits.test) else (None, {})
        return Result(
            metric=self.metric,
            validation=history.validation,
            test=_average(tested[self.metric]) if tested else None,
            test_metrics=tested,
            prediction=prediction,
            best_epoch=history.best_epoch,
            epochs=len(history.rows),
            stopped=stopped,
            seconds=seconds,
            parameters=count_parameters(model),
            history=history.rows,
            scaling=self.inputs.scaling,
        )


def _average(values: list[float]) -> float:
    return sum(values) / len(values)
