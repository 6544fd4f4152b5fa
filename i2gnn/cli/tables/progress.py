"""What runs, what is done, and how long it will take, while experiments run."""

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from i2gnn.counting import in_words
from i2gnn.paper.counting import dataset_title, model_title
from i2gnn.paper.experiment import Experiment
from i2gnn.paper.presets import Preset
from i2gnn.paper.runner import ENDED, Event, Notify

__all__ = ["show_progress"]


@contextlib.contextmanager
def show_progress(
    experiments: Sequence[Experiment], before: Sequence[Event], enabled: bool = True
) -> Iterator[Notify]:
    """Shows the state of all runs on standard error; yields what to tell events to.

    On a terminal it is a grid of cells and bars with the time left; elsewhere, as in a log file,
    one line for every run that begins or ends.
    """
    if not enabled:
        yield lambda event: None
    elif not sys.stderr.isatty():
        yield _Lines(len(experiments))
    else:
        view = _View(experiments, before)
        with Live(view.render(), console=Console(stderr=True), transient=True) as live:

            def notify(event: Event) -> None:
                view.take(event)
                live.update(view.render())

            yield notify


class _Lines:
    """One line for every change of a run's state."""

    def __init__(self, total: int) -> None:
        self._total, self._ended, self._states = total, 0, dict[str, str]()

    def __call__(self, event: Event) -> None:
        if self._states.get(event.name) == event.state:
            return
        self._states[event.name] = event.state
        self._ended += event.state != "running"
        note = f", {event.note}" if event.note else ""
        epoch = f" at epoch {event.epoch}" if event.epoch else ""
        line = f"[{self._ended}/{self._total}] {event.name}: {event.state}{epoch}{note}"
        print(line, file=sys.stderr, flush=True)


class _View:
    """A grid of cells, a bar for everything, and a bar for every run."""

    def __init__(self, experiments: Sequence[Experiment], before: Sequence[Event]) -> None:
        self._experiments = experiments
        self._states = {event.name: event for event in before}
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            TextColumn("{task.completed:.0f}/{task.total:.0f} left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        self._of_run = dict[str, TaskID]()
        self._epochs = {one.name: one.epochs for one in experiments}
        total, done = sum(self._epochs.values()), self._finished()
        self._all = self._bars.add_task("epochs of all runs", total=total, completed=done, note="")

    def take(self, event: Event) -> None:
        """Notes an event."""
        name = event.name
        self._states[name] = event
        if event.state == "running":
            if name not in self._of_run:
                total, title = self._epochs[name], name.split("/")[-1]
                self._of_run[name] = self._bars.add_task(title, total=total, note="")
            self._bars.update(self._of_run[name], completed=event.epoch, note=event.note)
        elif name in self._of_run:
            self._bars.remove_task(self._of_run.pop(name))
        self._bars.update(self._all, completed=self._finished())

    def _finished(self) -> int:
        """Epochs that need not be run any more."""
        return sum(
            self._epochs[name] if event.state in ENDED else event.epoch
            for name, event in self._states.items()
        )

    def render(self) -> RenderableType:
        """The grid and the bars as they are now."""
        grid = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        columns = list(dict.fromkeys((e.task.dataset, e.task.target) for e in self._experiments))
        grid.add_column("")
        for dataset, target in columns:
            grid.add_column(f"{in_words(target)}\n{dataset_title(dataset)}", justify="right")
        rows = dict.fromkeys((e.preset, e.task.model) for e in self._experiments)
        for preset, model in rows:
            texts = [self._cell(preset, model, *column) for column in columns]
            grid.add_row(f"{model_title(model)} {preset}", *texts)
        return Group(grid, self._bars)

    def _cell(self, preset: Preset, model: str, dataset: str, target: str) -> str:
        wanted = (preset, model, dataset, target)
        states: Counter[str] = Counter(
            self._states[e.name].state
            for e in self._experiments
            if (e.preset, e.task.model, e.task.dataset, e.task.target) == wanted
        )
        if not states:
            return ""
        text = f"{states['done']}/{states.total()}"
        marks = {"running": "[cyan]▶[/]", "stopped": "[yellow]‖[/]", "failed": "[red]✗[/]"}
        marks["outdated"] = "[red]≠[/]"
        found = "".join(mark for state, mark in marks.items() if states[state])
        return (
            f"[green]{text}[/]" if states["done"] == states.total() else f"{found} {text}".strip()
        )
