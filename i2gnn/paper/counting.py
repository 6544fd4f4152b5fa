"""The counting experiments as tables: their cells, the runs that fill them, the paper's numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from i2gnn.errors import InputError
from i2gnn.models import REGISTRY
from i2gnn.paper.counting_published import (
    ABLATION,
    BEST_GOALS,
    CYCLES,
    GRAPHLETS,
    TABLE2,
    TABLE3,
    TABLE6,
)
from i2gnn.paper.deviations import deviations
from i2gnn.paper.experiment import Experiment
from i2gnn.paper.presets import TRIALS, Preset, Task, candidate_of, configure

__all__ = [
    "TABLES",
    "CountingTable",
    "Search",
    "dataset_title",
    "model_title",
    "outdated",
]

DATASETS = {"counting": "synthetic", "chembl": "ChEMBL"}
TITLES = {"i2gnn_single": "I²-GNN (single)", "i2gnn_id": "I²-GNN (id)", "gnnak_plain": "GNN-AK+"}


@dataclass(frozen=True)
class CountingTable:
    """One table or figure.

    Attributes:
        name: On the command line.
        title: In reports.
        published: The paper's numbers; these are the cells.
        ours: Further cells, which only the presets `best` fill.

    Of all tables of a kind:
        measure: Which error of a record is shown.
        measured: What it is, in words.
        marks: What marks beside it mean.
        complete: Whether all cells should have runs.
        seeds: How many each cell usually has.
        presets: Names of those that it usually has.
        fitting: Those that it may have, in words.
    """

    measure: ClassVar[str] = "test"
    measured: ClassVar[str] = "test MAE, ours over the paper's"
    marks: ClassVar[str] = "✓ the goal is met, ✗ it is not"
    complete: ClassVar[bool] = True
    seeds: ClassVar[int] = 3
    presets: ClassVar[tuple[str, ...]] = ("paper",)
    fitting: ClassVar[str] = "paper, paper-*, best, more-graphs"

    name: str
    title: str
    published: Mapping[Task, float]
    ours: tuple[Task, ...] = ()

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets, in the order of the cells."""
        return list(dict.fromkeys(task.dataset for task in (*self.published, *self.ours)))

    def tasks(self, preset: Preset) -> list[Task]:
        """The cells that a preset fills: those of the paper, or of I²-GNN and what we add."""
        if preset.reading:
            return list(self.published)
        found = [*(task for task in self.published if task.model.startswith("i2gnn")), *self.ours]
        if preset.name == "more-graphs":  # of the kind that we can generate
            return [task for task in found if task.dataset == "counting"]
        return found

    def goal(self, preset: Preset, task: Task) -> float | None:
        """What the error should not exceed."""
        if not preset.plain:
            return None
        if preset.reading:
            paper = self.published.get(task)
            # Other models should show the paper's pattern; I²-GNN, its numbers.
            return None if paper is None else paper * (1.1 if task.model == "i2gnn" else 1.25)
        if task.model != "i2gnn" or preset.name != "best":  # candidates and other data have none
            return None
        return BEST_GOALS.get((task.dataset, task.level), {}).get(task.target)

    def experiments(self, preset: Preset, seeds: Sequence[int]) -> Iterator[Experiment]:
        """The runs of all cells, seed by seed, so that there is one of each early."""
        for seed in seeds:
            yield from (self.experiment(preset, task, seed) for task in self.tasks(preset))

    def experiment(self, preset: Preset, task: Task, seed: int) -> Experiment:
        """One run of one cell."""
        config = configure(preset, task, seed)
        return Experiment(
            task=task,
            preset=preset,
            seed=seed,
            config=config,
            deviations=deviations(preset, task, config),
            tests=self.measure == "test",
        )

    def row_title(self, preset: Preset, model: str) -> str:
        """What a row is called where all rows have the same preset, or are of a search."""
        return model_title(model)

    def full_title(self, preset: Preset, model: str) -> str:
        """What a row is called among those of other presets."""
        return f"{model_title(model)}, {preset}"


class Search(CountingTable):
    """Candidates for `best`, compared by what they give on the validation graphs alone."""

    measure = "validation"
    measured = "validation MAE"
    marks = "* the lowest"
    complete = False
    seeds = 1
    presets = tuple(TRIALS)
    fitting = "best-<candidate>"

    def tasks(self, preset: Preset) -> list[Task]:
        """All cells that a candidate can fill: one node of each kind says nothing of graphs."""
        if preset.name == "more-graphs":
            return []
        return [
            task
            for task in super().tasks(preset)
            if task.level == "node" or not candidate_of(preset, task).training.get("distinct")
        ]

    def goal(self, preset: Preset, task: Task) -> float | None:
        """None: goals are of test errors."""
        return None

    def row_title(self, preset: Preset, model: str) -> str:
        """The candidate."""
        return str(preset).removeprefix("best-")

    def full_title(self, preset: Preset, model: str) -> str:
        """The preset."""
        return str(preset)


def outdated(record: Mapping[str, Any]) -> list[str]:
    """Why a record is none of its table by now: settings that differ, or what is no more there."""
    table, task = TABLES.get(record["table"]), Task.of(record)
    try:
        preset = Preset.of(record)
        if preset.quick:
            return ["a smoke test"]
        if table is None or task not in table.tasks(preset):
            return [f"no table has such a cell with preset {preset}"]
        return table.experiment(preset, task, record["seed"]).differences(record)
    except InputError as error:  # an unknown preset, or a seed that is none
        return [str(error)]


def model_title(model: str) -> str:
    """A row's title, as the paper writes it."""
    return TITLES.get(model) or REGISTRY[model].title


def dataset_title(dataset: str) -> str:
    """A data set's name, as the paper writes it."""
    return DATASETS.get(dataset, dataset)


def _cells(
    table: str,
    level: str,
    columns: Sequence[str],
    rows: Mapping[str, Sequence[float]],
    dataset: str = "counting",
) -> dict[Task, float]:
    return {
        Task(table, dataset, level, model, target): value
        for model, values in rows.items()
        for target, value in zip(columns, values, strict=True)
    }


def _ours(
    table: str, dataset: str, level: str, models: Sequence[str], targets: Sequence[str]
) -> Iterator[Task]:
    for model in models:
        yield from (Task(table, dataset, level, model, target) for target in targets)


_CYCLES = _cells("table2", "node", CYCLES, TABLE2["counting"])
_GRAPHLETS = _cells("table3", "node", GRAPHLETS, TABLE3)


def _ablation() -> Iterator[tuple[Task, float]]:
    """The full model is that of Tables 2 and 3: its runs are not repeated."""
    for target, row in ABLATION.items():
        for model, value in row.items():
            home = "table2" if target in CYCLES else "table3"
            table = home if model == "i2gnn" else "ablation"
            yield Task(table, "counting", "node", model, target), value


TABLES: Mapping[str, CountingTable] = MappingProxyType(
    {
        table.name: table
        for table in (
            CountingTable(
                "table2",
                "Table 2, cycles at nodes",
                _CYCLES | _cells("table2", "node", CYCLES, TABLE2["chembl"], "chembl"),
                ours=tuple(
                    _ours("table2", "counting", "node", ["i2gnn", "i3gnn"], ["cycle7", "cycle8"])
                ),
            ),
            CountingTable("table3", "Table 3, graphlets at nodes", _GRAPHLETS),
            CountingTable(
                "table6",
                "Cycles in graphs (Table 9 of the paper)",
                _cells("table6", "graph", CYCLES, TABLE6),
            ),
            CountingTable("ablation", "Ablation, labels and identifiers", dict(_ablation())),
            CountingTable(
                "figure-error",
                "Error against the true count",
                {task: n for task, n in _CYCLES.items() if task.target in ("cycle5", "cycle6")},
            ),
            Search(
                "search",
                "Candidates for best by their validation error, at nodes",
                {},
                ours=(
                    *_ours("search", "counting", "node", ["i2gnn"], [*CYCLES, *GRAPHLETS]),
                    *_ours("search", "chembl", "node", ["i2gnn"], CYCLES),
                ),
            ),
            Search(
                "search6",
                "Candidates for best by their validation error, in graphs",
                {},
                ours=tuple(_ours("search6", "counting", "graph", ["i2gnn"], CYCLES)),
            ),
        )
    }
)
"""By name."""
