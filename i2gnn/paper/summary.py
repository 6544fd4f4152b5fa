"""Records side by side with the paper's numbers: means, ratios, whether goals are met."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from i2gnn.paper.counting import CountingTable
from i2gnn.paper.presets import READINGS, Preset, Task, configure

__all__ = ["Cell", "find_stand_in", "summarize"]


@dataclass(frozen=True)
class Cell:
    """What is known of one cell with one preset.

    Attributes:
        task: Data set, level, model and target.
        preset: Which settings its runs should have.
        values: Errors of all seeds: on the test graphs, in a search on the validation graphs.
        exact: Shares of test items whose rounded count is right, where records have them.
        paper: What the paper prints.
        goal: What the error should not exceed.
        stand_in: The preset of the records, where there are none of its own.
    """

    task: Task
    preset: Preset
    values: tuple[float, ...]
    exact: tuple[float, ...] = ()
    paper: float | None = None
    goal: float | None = None
    stand_in: Preset | None = None

    @property
    def mean(self) -> float | None:
        """Over the seeds; None if there is none."""
        return statistics.fmean(self.values) if self.values else None

    @property
    def digits(self) -> int:
        """Decimals that show the mean: four, as in the paper, or more where these would be few."""
        if self.mean is None or self.mean >= 0.001:
            return 4
        return 5 if self.mean >= 0.00001 else 6

    @property
    def deviation(self) -> float | None:
        """Standard deviation over the seeds; None for fewer than two."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def mean_exact(self) -> float | None:
        """Share of exact counts, over the seeds; None if unknown."""
        return statistics.fmean(self.exact) if self.exact else None

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's."""
        return None if self.mean is None or not self.paper else self.mean / self.paper

    @property
    def met(self) -> bool | None:
        """Whether the goal is met by the four digits that papers print; None if unknown."""
        if self.mean is None or self.goal is None:
            return None
        return round(self.mean, 4) <= self.goal + 1e-9  # 1.1 * 0.001 is 0.0011, but not quite

    @property
    def notes(self) -> list[str]:
        """How many seeds there are, if not three; the reading and the epochs of a stand-in."""
        seeds = len(self.values)
        notes = [] if seeds in (0, 3) else [f"{seeds} seed{'' if seeds == 1 else 's'}"]
        if self.stand_in and self.stand_in.name != self.preset.name:
            notes.append(self.stand_in.name)
        if self.stand_in and self.stand_in.epochs is not None:
            notes.append(f"{self.stand_in.epochs} epochs")
        return notes


def summarize(
    table: CountingTable,
    presets: Sequence[Preset],
    records: Iterable[dict[str, Any]],
    stand_ins: bool = False,
) -> list[Cell]:
    """One cell for each task and preset of a table, row by row; those without records too.

    With `stand_ins` these have the records of the nearest preset, see `find_stand_in`.
    """
    found: dict[Task, dict[Preset, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        found[Task.of(record)][Preset.of(record)].append(record)
    cells = []
    for preset in presets:
        for task in table.tasks(preset):
            made = found.get(task, {})
            stand_in = find_stand_in(preset, task, made) if stand_ins else None
            here = made.get(stand_in or preset, [])
            cells.append(
                Cell(
                    task,
                    preset,
                    values=tuple(record[table.measure] for record in here),
                    exact=tuple(
                        record["test_metrics"]["exact"][0]
                        for record in here
                        if "exact" in record.get("test_metrics", {})
                    ),
                    paper=table.published.get(task),
                    goal=table.goal(preset, task),
                    stand_in=stand_in,
                )
            )
    return cells


def find_stand_in(preset: Preset, task: Task, made: Iterable[Preset]) -> Preset | None:
    """Which of the presets that were made stands in for a reading of the paper that was not.

    Fewer epochs of the same reading, or else another reading, or else one with fewer epochs; of
    several lengths the longest.

    Example:
        >>> task = Task("table2", "chembl", "node", "ppgn", "cycle3")
        >>> made = [Preset.parse(text) for text in ("paper-code", "paper@250", "paper@500")]
        >>> str(find_stand_in(Preset("paper"), task, made))
        'paper@500'
    """
    distances = {}
    for other in made:
        if other == preset:
            return None
        if other.reading:
            full = configure(Preset(other.name), task, seed=0).training.epochs
            lacking = full - (other.epochs or full)
            if lacking >= 0:  # what was trained for longer is no stand-in
                place = list(READINGS).index(other.name)
                distances[other] = (other.name != preset.name, lacking, place)
    return min(distances, key=distances.__getitem__, default=None)
