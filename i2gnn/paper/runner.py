"""Runs experiments one after the other: done ones are skipped, stopped ones go on."""

import contextlib
import dataclasses
import logging
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from i2gnn.data import Splits
from i2gnn.errors import InputError
from i2gnn.files import write_atomically
from i2gnn.paper.experiment import Experiment
from i2gnn.paper.records import read_record, thin_curve, write_record
from i2gnn.training import Checkpoint, Result, fit
from i2gnn.training.environment import resolve_device
from i2gnn.training.loop import CHECKPOINT
from i2gnn.training.record import bin_errors, make_record
from i2gnn.training.run import Prepared, prepare
from i2gnn.training.sources import Sources
from i2gnn.training.targets import first_target

__all__ = ["ENDED", "Event", "Notify", "RunSettings", "Runner", "State", "state_of"]

log = logging.getLogger(__name__)

PERIOD = 0.2
"""Seconds between reports of a run's epochs."""

State = Literal["waiting", "running", "done", "stopped", "failed", "outdated"]


class Event(NamedTuple):
    """What became of a run, to be shown.

    Attributes:
        name: Of the experiment.
        state: Its state now.
        epoch: Finished epochs.
        note: Why it failed, or its validation error.
    """

    name: str
    state: State
    epoch: int = 0
    note: str = ""


Notify = Callable[[Event], None]

ENDED: tuple[State, ...] = ("done", "outdated", "failed")
"""States in which there is nothing to be run."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """Where and how experiments run; nothing here changes their results.

    Attributes:
        results: Folder of the records.
        runs: Folder of checkpoints and logs.
        data_root: Folder of data sets.
        device: "auto", "cpu", "cuda" or "cuda:N".
        resume: Whether stopped runs go on.
        deadline: Time (`time.time()`) at which runs stop at a checkpoint; None for never.
        jobs: Number of processes that share the device.
    """

    results: Path
    runs: Path
    data_root: str | None = None
    device: str = "auto"
    resume: bool = False
    deadline: float | None = None
    jobs: int = 1


def state_of(experiment: Experiment, settings: RunSettings) -> Event:
    """What the files say about an experiment: done, stopped at an epoch, or waiting."""
    try:
        return _read_state(experiment, settings)
    except InputError as error:  # a damaged file, which must not stop the others
        return Event(experiment.name, "failed", note=str(error))


def _read_state(experiment: Experiment, settings: RunSettings) -> Event:
    path, folder = experiment.record_path(settings.results), experiment.run_dir(settings.runs)
    if path.is_file():
        record = read_record(path)
        different = experiment.differences(record)
        if not different:
            return Event(experiment.name, "done", record["epochs"])
        note = f"{path} has other settings, and is left out: {', '.join(different)}"
        return Event(experiment.name, "outdated", note=note)
    if (folder / CHECKPOINT).is_file():
        return Event(experiment.name, "stopped", Checkpoint.epoch_of(folder / CHECKPOINT))
    return Event(experiment.name, "waiting")


class Runner:
    """Runs experiments in this process; data and subgraphs are shared between them.

    Args:
        settings: Where and how.
        notify: Told what happens.
        stop: Asked after every epoch; True stops the run as Ctrl-C does.
    """

    def __init__(
        self, settings: RunSettings, notify: Notify, stop: Callable[[], bool] = lambda: False
    ) -> None:
        self.settings, self.notify, self.stop = settings, notify, stop
        self.sources = Sources(settings.data_root)

    def run(self, experiment: Experiment) -> Event:
        """Runs an experiment unless it is done; says what became of it.

        Raises:
            KeyboardInterrupt: Ctrl-C, or `stop`; the run can be resumed.
        """
        event = state_of(experiment, self.settings)
        finished = event.epoch >= experiment.epochs  # all but its record
        if event.state == "stopped" and not (self.settings.resume or finished):
            event = event._replace(note="resume goes on")
        elif event.state not in ENDED and self._time_left() > 0:
            if self.stop():
                raise KeyboardInterrupt
            event = self._try(experiment, event.epoch)
        self.notify(event)
        return event

    def _try(self, experiment: Experiment, epoch: int) -> Event:
        self.notify(Event(experiment.name, "running", epoch))
        try:
            return self._run(experiment)
        except Exception as error:  # one cell must not stop the others
            lines = str(error).strip().splitlines()
            note = f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
            log.debug("%s failed", experiment.name, exc_info=True)
            path = self._error_file(experiment)
            with contextlib.suppress(OSError):  # the folder itself may be what failed
                write_atomically(path, traceback.format_exc())
                note = f"{note} ({path})"
            return Event(experiment.name, "failed", note=note)

    def _error_file(self, experiment: Experiment) -> Path:
        return self.settings.runs / f"{experiment.name}.error.txt"

    def _run(self, experiment: Experiment) -> Event:
        settings, config = self.settings, experiment.config
        training = dataclasses.replace(config.training, device=settings.device)
        prepared = prepare(dataclasses.replace(config, training=training), self.sources)
        if self.stop():
            raise KeyboardInterrupt
        if settings.deadline is not None:
            left = max(self._time_left(), 1e-3)  # at least one epoch, now that all is there
            training = dataclasses.replace(training, time_limit=left)
        splits = prepared.data.splits
        if not experiment.tests:
            splits = Splits(splits.train, splits.val, torch.empty(0, dtype=torch.int64))
        folder = experiment.run_dir(settings.runs)
        result = fit(
            prepared.model,
            prepared.store,
            splits,
            training,
            run_dir=folder,
            resume=True,
            settings=prepared.settings,
            progress=False,
            on_epoch=self._reporter(experiment.name),
        )
        if result.stopped == "time_limit":
            return Event(experiment.name, "stopped", result.epochs, "out of time")
        write_record(
            experiment.record_path(settings.results),
            self._record(experiment, prepared, splits, result),
        )
        self._error_file(experiment).unlink(missing_ok=True)  # of an earlier attempt
        return Event(experiment.name, "done", result.epochs, f"val {result.validation:.3g}")

    def _record(
        self, experiment: Experiment, prepared: Prepared, splits: Splits, result: Result
    ) -> dict[str, Any]:
        task = experiment.task
        record = make_record(
            result,
            dataset=task.dataset,
            level=task.level,
            model=task.model,
            target=task.target,
            seed=experiment.seed,
            device=resolve_device(self.settings.device),
            settings=prepared.settings | experiment.config.to_dict(),
            table=task.table,
            preset=str(experiment.preset),
            deviations=experiment.deviations,
        )
        record["hardware"]["runs_at_once"] = self.settings.jobs  # at most; seconds grow with them
        record["curve"] = thin_curve(result.history, result.best_epoch)
        if experiment.tests:
            target = prepared.data.graphs.batch(splits.test).y
            assert target is not None and result.prediction is not None
            record["errors"] = bin_errors(first_target(target), first_target(result.prediction))
        return record

    def _reporter(self, name: str) -> Callable[[Mapping[str, float]], None]:
        last = 0.0

        def report(row: Mapping[str, float]) -> None:
            nonlocal last
            if self.stop():
                raise KeyboardInterrupt
            if time.monotonic() - last >= PERIOD:
                last = time.monotonic()
                note = f"val {row['validation']:.3g}"
                self.notify(Event(name, "running", int(row["epoch"]), note))

        return report

    def _time_left(self) -> float:
        deadline = self.settings.deadline
        return float("inf") if deadline is None else deadline - time.time()
