"""What the page of reproduced tables says: one section for each table and preset."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from i2gnn.counting import in_words
from i2gnn.paper.candidates import CANDIDATES, CHANGES
from i2gnn.paper.counting import CountingTable, dataset_title
from i2gnn.paper.presets import Preset, Task
from i2gnn.paper.summary import Cell, summarize

__all__ = ["ALWAYS", "BEST", "PAPER", "SearchSection", "Section"]

PAPER, BEST = Preset("paper"), Preset("best")
ALWAYS = {
    "table2": (PAPER, BEST),
    "table3": (PAPER, BEST),
    "table6": (PAPER, BEST),
    "ablation": (PAPER,),
}
"""Presets that are shown even if no run has been made; others appear with their first record."""

SEARCH = (
    "the lowest with seed 0 is taken, unless docs/experiments.md says why not; runs of the preset "
    "best are among those of the candidate that it is"
)


@dataclass(frozen=True)
class Section:
    """One table with one preset.

    Attributes:
        table: Of the paper.
        presets: Which settings the runs have.
        cells: Row by row.
        records: From which they were made.
    """

    table: CountingTable
    presets: tuple[Preset, ...]
    cells: tuple[Cell, ...]
    records: tuple[dict[str, Any], ...]

    @classmethod
    def of(
        cls, table: CountingTable, presets: Sequence[Preset], records: Sequence[dict[str, Any]]
    ) -> Self:
        """From those of the records that belong there."""
        cells = summarize(table, presets, records, stand_ins=presets == (PAPER,))
        places = {(cell.stand_in or cell.preset, cell.task): n for n, cell in enumerate(cells)}
        keys = [(Preset.of(record), Task.of(record)) for record in records]
        used = [(places[key], r) for key, r in zip(keys, records, strict=True) if key in places]
        used.sort(key=lambda one: (one[0], one[1]["seed"]))
        return cls(table, tuple(presets), tuple(cells), tuple(record for _, record in used))

    @property
    def title(self) -> str:
        """Heading."""
        return f"{self.table.title}: {self.presets[0]}"

    @property
    def anchor(self) -> str:
        """Where links to the heading lead, as on the sites that show Markdown."""
        return re.sub(r"[^\w -]", "", self.title.lower()).replace(" ", "-")

    @property
    def what(self) -> str:
        """What the preset is."""
        return self.presets[0].about

    @property
    def about(self) -> str:
        """What is shown, and what the runs took."""
        sentence = f"{self.what[:1].upper()}{self.what[1:]}."
        if not self.records:
            return f"{sentence} No run has been made yet."
        seconds = sum(record["seconds"] for record in self.records)
        machines = {r["hardware"].get("gpu") or r["hardware"]["cpu"] for r in self.records}
        on = " and ".join(sorted(machines))
        runs = "1 run" if len(self.records) == 1 else f"{len(self.records)} runs"
        at_once = max(record["hardware"].get("runs_at_once", 1) for record in self.records)
        together = f", up to {at_once} at a time" if at_once > 1 else ""
        return f"{sentence} {runs}, {seconds:,.0f} s of training on {on}{together}."

    @property
    def command(self) -> str:
        """Makes what is missing."""
        preset = self.presets[0]
        epochs = "" if preset.epochs is None else f" --epochs {preset.epochs}"
        return f"i2gnn reproduce {self.table.name} --preset {preset.name}{epochs}"

    @property
    def shown(self) -> list[Cell]:
        """All cells of the presets that should be complete; of others, those that have runs."""
        complete = self.presets[0] in ALWAYS.get(self.table.name, ())
        return [cell for cell in self.cells if cell.values or complete]

    @property
    def filled(self) -> tuple[int, int]:
        """How many of the cells that are shown have runs, and how many there are."""
        return sum(bool(cell.values) for cell in self.shown), len(self.shown)

    @property
    def goals(self) -> tuple[int, int]:
        """How many goals are met, and how many there are to be met by cells that have runs."""
        met = [cell.met for cell in self.shown if cell.met is not None]
        return sum(met), len(met)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Data set and target of each column."""
        shown = {_place(cell) for cell in self.shown}
        return [place for place in dict.fromkeys(map(_place, self.cells)) if place in shown]

    @property
    def headings(self) -> list[str]:
        """Titles of the columns, with the data set where the table has several."""
        several = len({cell.task.dataset for cell in self.cells}) > 1
        return [
            f"{in_words(target)}, {dataset_title(dataset)}" if several else in_words(target)
            for dataset, target in self.columns
        ]

    @property
    def rows(self) -> list[tuple[str, list[Cell | None]]]:
        """Title and cells of each row: a model, or a candidate."""
        titles = dict.fromkeys(self.table.row_title(c.preset, c.task.model) for c in self.shown)
        found = {(self.table.row_title(c.preset, c.task.model), _place(c)): c for c in self.shown}
        return [(title, [found.get((title, c)) for c in self.columns]) for title in titles]

    @property
    def glossary(self) -> dict[str, str]:
        """What names in it mean."""
        return {}

    @property
    def deviations(self) -> list[str]:
        """What these runs do otherwise than the paper."""
        return list(dict.fromkeys(d for record in self.records for d in record["deviations"]))


class SearchSection(Section):
    """A search on one data set with all its candidates, which say by themselves what they change.

    At least one has been tried.
    """

    @property
    def title(self) -> str:
        """Heading."""
        where = f": {dataset_title(self.dataset)}" if self.dataset else ""
        return self.table.title + where

    @property
    def what(self) -> str:
        """How candidates are compared."""
        return SEARCH

    @property
    def command(self) -> str:
        """Makes what is missing."""
        names = dict.fromkeys(preset.name for preset in self.presets)
        where = f" --datasets {self.dataset}" if self.dataset else ""
        return f"i2gnn reproduce {self.table.name}{where} --preset {' '.join(names)}"

    @property
    def dataset(self) -> str | None:
        """The data set, if the table has several."""
        return None if len(self.table.datasets) == 1 else self.records[0]["dataset"]

    @property
    def glossary(self) -> dict[str, str]:
        """What the names of candidates are made of, and what it means."""
        names = [preset.candidate for preset in self.presets]
        used = {change for name in names if name for change in CANDIDATES[name]}
        return {name: change.about for name, change in CHANGES.items() if name in used}

    @property
    def deviations(self) -> list[str]:
        """None: names say them."""
        return []


def _place(cell: Cell) -> tuple[str, str]:
    return cell.task.dataset, cell.task.target
