"""Experiments side by side: processes that share one device."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

import torch

from i2gnn.models import REGISTRY
from i2gnn.paper.experiment import Experiment
from i2gnn.paper.runner import ENDED, Event, Notify, Runner, RunSettings, state_of
from i2gnn.training.sources import inputs_of

__all__ = ["run_experiments", "take_next"]

PATIENCE = 60.0
"""Seconds that a process may take to stop at a checkpoint."""


def run_experiments(
    experiments: Sequence[Experiment], settings: RunSettings, notify: Notify
) -> dict[str, Event]:
    """Runs all experiments that are not done, in `settings.jobs` processes.

    One that fails leaves the others alone: the next begins in a new process.

    Args:
        experiments: In the order in which to begin them.
        settings: Where and how.
        notify: Told of every event, in this process.

    Returns:
        What became of each experiment, by name.

    Raises:
        KeyboardInterrupt: Ctrl-C; all runs have stopped at a checkpoint.
    """
    found: dict[str, Event] = {}

    def keep(event: Event) -> None:
        found[event.name] = event
        notify(event)

    if settings.jobs == 1:
        runner = Runner(settings, notify)
        for experiment in experiments:
            found[experiment.name] = runner.run(experiment)
        return found
    waiting = []
    for experiment in experiments:
        event = state_of(experiment, settings)
        if event.state in ENDED:
            keep(event)
        else:
            waiting.append(experiment)
    with _Pool(settings) as pool:
        pool.run(waiting, keep)
    return found


class _Worker(NamedTuple):
    """A process, the way to it, and what it is busy with."""

    process: BaseProcess
    connection: Connection
    experiment: Experiment


class _Pool(contextlib.AbstractContextManager["_Pool"]):
    """Processes that take an experiment at a time."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        # A forked process could not use CUDA once this one has.
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()
        self._workers: list[_Worker] = []
        self._leaving: list[BaseProcess] = []

    def run(self, experiments: Sequence[Experiment], notify: Notify) -> None:
        """Hands out the experiments until all have ended."""
        waiting = list(experiments)
        while waiting and len(self._workers) < self._settings.jobs:
            self._start(waiting.pop(0))
        while self._workers:
            ready = wait([worker.connection for worker in self._workers])
            for worker in [w for w in self._workers if w.connection in ready]:
                self._hear(worker, waiting, notify)

    def _hear(self, worker: _Worker, waiting: list[Experiment], notify: Notify) -> None:
        try:
            event: Event = worker.connection.recv()
        except (EOFError, OSError):
            worker.process.join()
            note = f"its process ended with exit code {worker.process.exitcode}"
            self._workers.remove(worker)
            notify(Event(worker.experiment.name, "failed", note=note))
            if waiting:
                self._start(waiting.pop(0))
            return
        notify(event)
        if event.state == "running":
            return
        self._workers.remove(worker)
        if event.state == "failed":  # perhaps by a fault that no process on the device survives
            self._dismiss(worker)
            if waiting:
                self._start(waiting.pop(0))
            return
        following = take_next(waiting, worker.experiment)
        if following is None:
            self._dismiss(worker)
            return
        try:
            worker.connection.send(following)
        except OSError:  # it ended after its last experiment was done
            worker.process.join()
            self._start(following)
            return
        self._workers.append(worker._replace(experiment=following))

    def _dismiss(self, worker: _Worker) -> None:
        """Lets a process end; it takes seconds to leave a GPU, and nobody waits for that here."""
        with contextlib.suppress(OSError):  # it has ended already
            worker.connection.send(None)
        self._leaving.append(worker.process)

    def _start(self, experiment: Experiment) -> None:
        here, there = self._context.Pipe()
        process = self._context.Process(target=_work, args=(there, self._settings, self._stop))
        with _ctrl_c_ignored():
            process.start()
        there.close()
        with contextlib.suppress(OSError):  # it has ended already, and receiving will tell
            here.send(experiment)
        self._workers.append(_Worker(process, here, experiment))

    def __exit__(self, *_: object) -> None:
        """Lets runs stop at a checkpoint, and ends processes that do not."""
        self._stop.set()
        for worker in self._workers:
            with contextlib.suppress(OSError):
                worker.connection.send(None)
        for process in [*self._leaving, *(worker.process for worker in self._workers)]:
            process.join(PATIENCE)
            if process.is_alive():
                process.terminate()
                process.join()


@contextlib.contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """A process that starts in here ignores Ctrl-C from its first moment on."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def take_next(waiting: list[Experiment], last: Experiment) -> Experiment | None:
    """The first that is waiting and needs the same subgraphs as the last, else the first."""
    if not waiting:
        return None
    place = next((n for n, one in enumerate(waiting) if _inputs(one) == _inputs(last)), 0)
    return waiting.pop(place)


def _inputs(experiment: Experiment) -> tuple[Any, ...]:
    model = experiment.config.model
    arguments = {"hops": model.hops, "labels": model.labels, **model.options}
    return inputs_of(experiment.config.data, REGISTRY[model.name].model, arguments)


def _work(connection: Connection, settings: RunSettings, stop: Any) -> None:
    """What a process does: run what it is given until it is given nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process tells when to stop
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // settings.jobs))
    asked: Callable[[], bool] = stop.is_set

    def tell(event: Event) -> None:
        try:
            connection.send(event)
        except OSError:  # the first process is no more: stop at a checkpoint, as if it had asked
            raise KeyboardInterrupt from None

    runner = Runner(settings, tell, asked)
    with contextlib.suppress(KeyboardInterrupt, EOFError):
        while (experiment := connection.recv()) is not None:
            runner.run(experiment)
