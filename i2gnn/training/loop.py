"""The training loop: epochs, validation, the best weights, checkpoints."""

import dataclasses
import json
import logging
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from i2gnn.data.splits import Splits
from i2gnn.errors import InputError
from i2gnn.files import lock_folder
from i2gnn.graphs import GraphStore
from i2gnn.models import StreamedModel
from i2gnn.progress import progress_bar
from i2gnn.subgraphs.sample import draw_branches
from i2gnn.training.averaging import WeightAverage
from i2gnn.training.capture import Recording, StaticEpochs, rehearse
from i2gnn.training.checkpoint import Checkpoint, Copies
from i2gnn.training.checks import (
    can_record,
    check_shapes,
    check_subgraphs,
    measure_targets,
    metric_of,
    warn_of_features,
)
from i2gnn.training.config import TrainingConfig
from i2gnn.training.distinct import Distinct
from i2gnn.training.environment import environment, place, rng_states, set_rng_states
from i2gnn.training.evaluate import batches, compare, run_model
from i2gnn.training.forward import Box, OnStore
from i2gnn.training.logs import RunLog
from i2gnn.training.metrics import higher_is_better
from i2gnn.training.optimize import Schedule, load_moments, make_optimizer
from i2gnn.training.resume import check_same_run, digest_data
from i2gnn.training.targets import Scaling, compute_loss

if TYPE_CHECKING:
    from lightning_fabric import Fabric

__all__ = ["CHECKPOINT", "Result", "check_folder", "fit"]

log = logging.getLogger(__name__)

CHECKPOINT = "checkpoint.safetensors"
"""Name of the checkpoint in a run's folder."""

VALIDATION = 4
"""Without gradients, so many training batches fit into one: recorded validation takes few steps."""


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
    stopped: Literal["epochs", "early_stop", "time_limit"]
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
        run = _Run(fabric, model, data, splits, config, folder, kept)
        if folder is not None:
            held.enter_context(lock_folder(folder))
            for unfinished in folder.glob(f".{CHECKPOINT}.*.tmp"):  # of a process that was killed
                unfinished.unlink()
        run.start(resume)
        epochs_left = max(0, config.epochs - len(run.history))
        try:
            with progress_bar(
                description, epochs_left, enabled=progress and epochs_left > 0
            ) as advance:
                while not (stopped := run.reason_to_stop()):
                    run.run_epoch()
                    advance(1, note=run.note())
                    if on_epoch is not None:
                        on_epoch(run.history[-1])
        except KeyboardInterrupt:
            run.save()
            if folder is not None and run.snapshot is not None:
                done, path = run.snapshot.epoch, folder / CHECKPOINT
                log.warning(
                    "stopped after epoch %d of %d; resume goes on from %s",
                    done,
                    config.epochs,
                    path,
                )
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
    """The moving parts of one call of `fit`."""

    def __init__(
        self,
        fabric: "Fabric",
        model: nn.Module,
        data: GraphStore,
        splits: Splits,
        config: TrainingConfig,
        folder: Path | None,
        settings: dict[str, Any],
    ) -> None:
        self.fabric, self.model, self.config, self.folder = fabric, model, config, folder
        check_subgraphs(model, data, config)
        warn_of_features(model, data)
        self.scaling = measure_targets(data, splits, config)
        self.digest = digest_data(data, splits)
        self.distinct: Distinct | None = None
        if config.distinct:
            self.distinct = Distinct(data, splits, fabric.device)
            data, splits = self.distinct.data, self.distinct.splits
        self.splits = splits
        self.settings = {**settings, "training": config.to_dict()}
        self.metric = metric_of(config)
        dtype = torch.float64 if config.precision == "float64" else torch.float32
        model.to(device=fabric.device, dtype=dtype)
        optimizer = make_optimizer(model, config.optimizer)
        budget = config.memory_budget
        runner = model if budget is None else StreamedModel(model, budget)
        self.forward, self.optimizer = fabric.setup(OnStore(runner), optimizer)
        self.schedule = Schedule(optimizer, config, maximize=higher_is_better(self.metric))
        self.average = None if config.average is None else WeightAverage(model, config.average)
        self.data = place(data, fabric.device, dtype)
        self.loss_scaling = self.scaling.to(torch.empty(0, dtype=dtype, device=fabric.device))
        self.static: StaticEpochs | None = None
        self.validation: Recording | None = None
        if can_record(model, self.data, config, fabric):
            assert self.data.y is not None
            # Floats, which alone can be missing; classes are small integers.
            self.data = dataclasses.replace(self.data, y=self.data.y.to(dtype))
            self.static = StaticEpochs(
                self.data,
                min(config.batch_size, len(splits.train)),
                self._static_step,
                lambda: rehearse(model, optimizer, self.average),
            )
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Tensor] = {}
        self.best_epoch = 0
        self.seconds_before = 0.0
        self.snapshot: Checkpoint | None = None
        self.copies: dict[str, Copies] = {}

    def start(self, resume: bool) -> None:
        """Takes up an earlier run, or makes sure that none is overwritten."""
        if self.folder is not None:
            check_folder(self.folder, resume)
            path = self.folder / CHECKPOINT
            if path.is_file():
                self._restore(path, Checkpoint.load(path))
        self.log = RunLog(self.folder, self.history, self.config.tensorboard)
        self.started = self.saved = time.monotonic()

    def _restore(self, path: Path, checkpoint: Checkpoint) -> None:
        check_same_run(path, checkpoint, self.settings, self.model, self.scaling, self.digest)
        self.model.load_state_dict(checkpoint.model)
        load_moments(self.optimizer, checkpoint.optimizer)
        if self.average is not None:
            self.average.load_state_dict(checkpoint.average)
        self.schedule.load_state_dict(checkpoint.scheduler)
        if self.static is not None:
            self.static.capacity = dict(checkpoint.capacity)
        set_rng_states(checkpoint.rng, self.fabric.device)
        self.history = checkpoint.history
        self.best, self.best_epoch = checkpoint.best, checkpoint.best_epoch
        self.seconds_before = checkpoint.seconds
        self.snapshot = checkpoint

    @property
    def seconds(self) -> float:
        """Time in training, over all calls."""
        return self.seconds_before + time.monotonic() - self.started

    def reason_to_stop(self) -> Literal["epochs", "early_stop", "time_limit"] | None:
        """Why no further epoch is due, if so."""
        config, done = self.config, len(self.history)
        if done >= config.epochs:
            return "epochs"
        if config.early_stop is not None and done - self.best_epoch >= config.early_stop:
            return "early_stop"
        limit = config.time_limit
        if limit is not None and done and time.monotonic() - self.started >= limit:
            return "time_limit"
        return None

    def run_epoch(self) -> None:
        """Trains, validates, and notes both; the host waits for the device once."""
        train_loss = self.train_epoch()
        with self._judged():
            results = torch.stack([train_loss, self.validate()])
        self.end_epoch(*results.tolist())

    def _judged(self) -> AbstractContextManager[None]:
        """Inside, the model has the weights that are validated and kept."""
        return nullcontext() if self.average is None else self.average.in_place()

    def train_epoch(self) -> Tensor:
        """One pass over the training graphs; returns the mean loss."""
        config, epoch = self.config, len(self.history) + 1
        # The order depends on the seed and the epoch alone, so there is no state to restore.
        order = np.random.default_rng([config.seed, epoch]).permutation(len(self.splits.train))
        indices = self.splits.train[torch.as_tensor(order)]
        if self.static is not None:
            return self.static.run(indices)
        self.model.train()
        total = torch.zeros((), device=self.fabric.device, dtype=torch.float64)
        drawn = self._draw_branches(epoch)
        chosen = torch.split(indices, config.batch_size)
        for graphs, batch in zip(chosen, self._batches(indices), strict=True):
            branches = None if drawn is None else drawn[self.data.items_of("edge", graphs)]
            total += self.train_step(batch, branches) * len(batch)
        return total / len(indices)

    def _draw_branches(self, epoch: int) -> Tensor | None:
        """The edges whose branches to train on, [E]; None for all."""
        config = self.config
        if config.branches is None:
            return None
        draw = epoch if config.resample == "epoch" else 0
        return draw_branches(self.data, config.branches, config.seed, draw, 1)

    def _static_step(self, batch: GraphStore) -> Tensor:
        self.model.train()
        return self.train_step(batch)

    def train_step(self, batch: GraphStore, branches: Tensor | None = None) -> Tensor:
        """Changes the weights once; returns the mean loss before."""
        assert batch.y is not None
        config = self.config
        output = self.forward(Box(batch, branches))
        check_shapes(output, batch.y, config.loss, self.data.level)
        loss = compute_loss(config.loss, output, batch.y, self.loss_scaling)
        self.optimizer.zero_grad(set_to_none=True)
        self.fabric.backward(loss)
        if config.optimizer.max_grad_norm is not None:
            self.fabric.clip_gradients(
                self.forward,
                self.optimizer,
                max_norm=config.optimizer.max_grad_norm,
                error_if_nonfinite=False,  # would wait for the device; the epoch's loss tells
            )
        self.optimizer.step()
        if self.average is not None:
            self.average.update()
        return loss.detach()

    def validate(self) -> Tensor:
        """The metric on the validation graphs, averaged over the targets."""
        if self.static is None:
            return self._mean_metric(self._batches(self.splits.val))
        if self.validation is None:
            kept = list(self._batches(self.splits.val, VALIDATION * self.config.batch_size))
            self.validation = Recording(lambda: self._mean_metric(kept), self.fabric.device)
        return self.validation()

    def _mean_metric(self, graphs: Iterable[GraphStore]) -> Tensor:
        found = compare([self.metric], *self._predict(graphs, "val"), self.loss_scaling)
        return found[self.metric].double().mean()

    def _predict(
        self, graphs: Iterable[GraphStore], part: Literal["val", "test"]
    ) -> tuple[Tensor, Tensor]:
        """Predictions and targets of a part of the data, [n, T] each."""
        prediction, target = run_model(
            self.model, lambda batch: self.forward(Box(batch)), graphs, self.loss_scaling
        )
        assert target is not None
        if self.distinct is not None:
            prediction = prediction.index_select(0, self.distinct.places[part])
        return prediction, target

    def _batches(self, indices: Tensor, batch_size: int | None = None) -> Iterable[GraphStore]:
        size = batch_size or self.config.batch_size
        return batches(self.data, indices, size, self.fabric.device)

    def end_epoch(self, train_loss: float, validation: float) -> None:
        """Notes the epoch, keeps the best weights, cuts the learning rate, saves if due."""
        epoch = len(self.history) + 1
        for name, value in (("training loss", train_loss), ("validation metric", validation)):
            if not math.isfinite(value):
                raise InputError(
                    f"epoch {epoch}: the {name} is {value}; expected a finite number. "
                    "Lower optimizer.lr, or set optimizer.max_grad_norm"
                )
        row = {
            "epoch": epoch,
            "lr": self.schedule.lr,
            "train_loss": train_loss,
            "validation": validation,
        }
        if self._improves(validation):
            with self._judged():
                self.best, self.best_epoch = self._copy("best", self.model.state_dict), epoch
        self.history = [*self.history, row]
        self.schedule.step(validation)
        self.log.write(row)
        if self.folder is None:
            return
        self.snapshot = self._checkpoint()
        if time.monotonic() - self.saved >= self.config.checkpoint_seconds:
            self.save()

    def _improves(self, validation: float) -> bool:
        if not self.best_epoch:
            return True
        best = self.history[self.best_epoch - 1]["validation"]
        return validation > best if higher_is_better(self.metric) else validation < best

    def _copy(self, name: str, state: Callable[[], dict[Any, Any]]) -> dict[Any, Any]:
        """Copies a state. In static training, its tensors are looked up only once."""
        if self.static is None or name not in self.copies:
            self.copies[name] = Copies(state())
        copy: dict[Any, Any] = self.copies[name].take()
        return copy

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            epoch=len(self.history),
            model=self._copy("model", self.model.state_dict),
            best=self.best,
            best_epoch=self.best_epoch,
            optimizer=self._copy("optimizer", lambda: self.optimizer.state_dict()["state"]),
            average={} if self.average is None else self._copy("average", self.average.state_dict),
            scheduler=self.schedule.state_dict(),
            rng=rng_states(self.fabric.device),
            scaling=dict(vars(self.scaling)),
            history=self.history,
            seconds=self.seconds,
            settings=self.settings,
            capacity={} if self.static is None else self.static.capacity,
            data=self.digest,
        )

    def save(self) -> None:
        """Writes the last finished epoch, which an interrupted one has not touched."""
        if self.folder is not None and self.snapshot is not None:
            self.snapshot.save(self.folder / CHECKPOINT)
            self.saved = time.monotonic()

    def result(self, stopped: Literal["epochs", "early_stop", "time_limit"]) -> Result:
        """Tests the best weights."""
        # A finished run that is only read again does not get longer.
        seconds = self.snapshot.seconds if self.snapshot is not None else self.seconds
        self.model.load_state_dict(self.best)
        self.model.eval()
        tested: dict[str, list[float]] = {}
        prediction: Tensor | None = None
        if len(self.splits.test):
            assert self.data.y is not None
            whole = bool((self.data.y.nan_to_num() % 1 == 0).all())
            regression = ["normalized_mae", "mae", "rmse", *(["exact"] if whole else [])]
            names = ["accuracy"] if self.config.loss in ("bce", "ce") else regression
            names = list(dict.fromkeys([self.metric, *names]))
            prediction, target = self._predict(self._batches(self.splits.test), "test")
            found = compare(names, prediction, target, self.loss_scaling)
            tested = {name: values.tolist() for name, values in found.items()}
            prediction = prediction.cpu()
        return Result(
            metric=self.metric,
            validation=self.history[self.best_epoch - 1]["validation"],
            test=_average(tested[self.metric]) if tested else None,
            test_metrics=tested,
            prediction=prediction,
            best_epoch=self.best_epoch,
            epochs=len(self.history),
            stopped=stopped,
            seconds=seconds,
            parameters=sum(p.numel() for p in self.model.parameters() if p.requires_grad),
            history=self.history,
            scaling=self.scaling,
        )

    def note(self) -> str:
        """The last epoch in a few words, for the progress bar."""
        last, best = self.history[-1], self.history[self.best_epoch - 1]
        return f"val {last['validation']:.3g} best {best['validation']:.3g}"


def _average(values: list[float]) -> float:
    return sum(values) / len(values)
