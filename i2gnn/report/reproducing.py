"""The page of reproduced tables, made from records alone: as Markdown and as HTML with plots."""

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

from markupsafe import Markup

from i2gnn.counting import in_words
from i2gnn.files import write_atomically
from i2gnn.paper.candidates import CANDIDATES, CHANGES
from i2gnn.paper.counting import (
    TABLES,
    CountingTable,
    Search,
    dataset_title,
    model_title,
    outdated,
)
from i2gnn.paper.presets import PRESETS, Preset, Task, chosen
from i2gnn.paper.records import read_records, record_name
from i2gnn.paper.summary import Cell, summarize
from i2gnn.report.figures import binned_errors, learning_curves
from i2gnn.report.page import write_page

__all__ = ["Section", "collect_sections", "percent", "write_reproduction"]

log = logging.getLogger(__name__)

SHOWN = ("table2", "table3", "table6", "ablation", "search", "search6")
"""Tables of the page, in its order; the figure of errors is drawn from the records of table2."""

PAPER, BEST = Preset("paper"), Preset("best")
ALWAYS = {
    "table2": (PAPER, BEST),
    "table3": (PAPER, BEST),
    "table6": (PAPER, BEST),
    "ablation": (PAPER,),
}
"""Presets that are shown even if no run has been made; others appear with their first record."""

INTRODUCTION = """\
Normalised mean absolute errors on the test graphs, at the epoch with the lowest validation error: \
mean and standard deviation over the seeds, beside what the paper prints. Every number comes from \
a file in `results/`, one for each run, with its settings, versions and hardware; a cell without \
one is missing. Where `paper` has no run, one with fewer epochs or by another reading of the paper \
stands in, and the cell says which. Ticks (green cells) meet their goal: for `paper`, I²-GNN at \
most 10 % and other models at most 25 % above the paper; for `best`, a number at or below the \
lowest published for any model; all at the four digits that papers print. Exact: the share of \
counts that are right once predictions are rounded. Searches are compared on validation graphs, \
and have no goals.\
"""

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
        cls, table: CountingTable, presets: Sequence[Preset], records: Iterable[dict[str, Any]]
    ) -> Self:
        """From those of the records that belong there."""
        cells = summarize(table, presets, records, stand_ins=presets == (PAPER,))
        order = {(cell.stand_in or cell.preset, cell.task): n for n, cell in enumerate(cells)}
        used = [record for record in records if _key(record) in order]
        used.sort(key=lambda record: (order[_key(record)], record["seed"]))
        return cls(table, tuple(presets), tuple(cells), tuple(used))

    @property
    def title(self) -> str:
        """Heading."""
        return f"{self.table.title}: {self.presets[0]}"

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


def write_reproduction(
    results: str | os.PathLike[str],
    markdown: str | os.PathLike[str] | None = None,
    html: str | os.PathLike[str] | None = None,
) -> list[Section]:
    """Writes the page, as Markdown, as HTML or both, from the records below a folder."""
    sections = collect_sections(results)
    if markdown is not None:
        write_atomically(markdown, _markdown(sections))
    if html is not None:
        errors = [_error_figure(sections, target) for target in ("cycle5", "cycle6")]
        values = {
            "introduction": INTRODUCTION.replace("`", ""),
            "percent": percent,
            "sections": [(section, list(_curves(section))) for section in sections],
            "errors": [Markup(figure) for figure in errors if figure],
        }
        write_page(html, "reproducing.html", values)
    return sections


def collect_sections(results: str | os.PathLike[str]) -> list[Section]:
    """All tables with all their presets that have records, and those that should."""
    records = []
    for record in read_records(results, SHOWN):
        if reasons := outdated(record):
            log.warning("left out: %s: %s", record_name(record), ", ".join(reasons))
        else:
            records.append(record)
    sections: list[Section] = []
    for table in (TABLES[name] for name in SHOWN):
        own = [r for r in records if r["table"] == table.name]
        if isinstance(table, Search):
            sections += _search_sections(table, [*own, *_runs_of_best(table, records, own)])
        else:  # may show runs of another table
            presets = dict.fromkeys([*ALWAYS[table.name], *map(_preset, own)])
            sections += _once([Section.of(table, (preset,), records) for preset in presets])
    return sections


def _search_sections(
    table: CountingTable, records: Sequence[dict[str, Any]]
) -> Iterator[SearchSection]:
    for dataset in table.datasets:
        here = [r for r in records if r["dataset"] == dataset]
        if tried := sorted({*map(_preset, here)}, key=_turn):
            yield SearchSection.of(table, tried, here)


def _once(sections: Sequence[Section]) -> list[Section]:
    """Without those of presets all of whose records stand in for another's."""
    elsewhere = {(c.stand_in, c.task) for s in sections for c in s.cells if c.stand_in}

    def is_repeated(section: Section) -> bool:
        own = {(c.preset, c.task) for c in section.cells if c.values and not c.stand_in}
        return bool(own) and own <= elsewhere

    return [section for section in sections if not is_repeated(section)]


def _turn(preset: Preset) -> tuple[int, str]:
    """Candidates in the order in which they are listed."""
    return list(PRESETS).index(preset.name), str(preset)


def _runs_of_best(
    search: CountingTable, records: Sequence[dict[str, Any]], own: Sequence[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Runs of `best` as those of the candidate it is, where candidates have been compared."""
    found = {(*_key(record), record["seed"]) for record in own}
    compared = {task for _, task, _ in found}
    for record in (record for record in records if _preset(record) == BEST):
        task = Task.of(record)._replace(table=search.name)
        preset = Preset(f"best-{chosen(task)}")
        if task in compared and (preset, task, record["seed"]) not in found:
            here = {"table": search.name, "preset": str(preset), "test_metrics": {}}
            yield {**record, **here}


def _place(cell: Cell) -> tuple[str, str]:
    return cell.task.dataset, cell.task.target


def _preset(record: dict[str, Any]) -> Preset:
    return Preset.parse(record["preset"])


def _key(record: dict[str, Any]) -> tuple[Preset, Task]:
    return _preset(record), Task.of(record)


def _markdown(sections: Sequence[Section]) -> str:
    lines = ["# Reproducing the counting experiments", "", INTRODUCTION, ""]
    lines += ["Made by `i2gnn reproduce report`; not edited by hand.", ""]
    for section in sections:
        lines += [f"## {section.title}", "", section.about, ""]
        lines.append(f"| | {' | '.join(section.headings)} |")
        lines.append("|---" * (1 + len(section.headings)) + "|")
        for title, cells in section.rows:
            lines.append(f"| {title} | {' | '.join(_markdown_cell(cell) for cell in cells)} |")
        lines += ["", f"    {section.command}", ""]
        if section.glossary:
            lines += [f"- {name}: {about}" for name, about in section.glossary.items()] + [""]
        if section.deviations:
            lines += ["Other than in the paper: " + "; ".join(section.deviations) + ".", ""]
    return "\n".join(lines)


def _markdown_cell(cell: Cell | None) -> str:
    if cell is None:
        return ""
    ours = "missing"
    if cell.mean is not None:
        ours = f"**{cell.mean:.{cell.digits}f}**"
        ours += "" if cell.deviation is None else f" ± {cell.deviation:.{cell.digits}f}"
        ours += {True: " ✓", False: " ✗", None: ""}[cell.met]
        ours += f" ({', '.join(cell.notes)})" if cell.notes else ""
        if cell.mean_exact is not None:
            ours += f"<br>exact {percent(cell.mean_exact)}"
    if cell.paper is None:
        return ours
    ratio = "" if cell.ratio is None else f", × {cell.ratio:.2f}"
    return f"{ours}<br>paper {cell.paper:.4f}{ratio}"


def percent(share: float) -> str:
    """A share in percent, which is 100 only if all of it is there.

    Example:
        >>> percent(1.0), percent(0.99996), percent(0.9352)
        ('100 %', '99.99 %', '93.52 %')
    """
    return "100 %" if share == 1 else f"{min(100 * share, 99.99):.2f} %"


def _curves(section: Section) -> Iterator[tuple[str, Markup]]:
    """For each column with learning curves its title and figure; the first seed of each row."""
    for (dataset, target), heading in zip(section.columns, section.headings, strict=True):
        histories = {}
        for record in section.records:
            title = section.table.row_title(_preset(record), record["model"])
            here = (record["dataset"], record["target"]) == (dataset, target)
            if here and "curve" in record and title not in histories:
                columns = record["curve"]
                pairs = zip(columns["epoch"], columns["validation"], strict=True)
                histories[title] = [{"epoch": e, "validation": v} for e, v in pairs]
        if histories:
            yield heading, Markup(learning_curves(histories, "error"))


def _error_figure(sections: Sequence[Section], target: str) -> str | None:
    """Errors against the true count: all models with the paper's settings, and our best."""
    errors: dict[str, Any] = {}
    for section in sections:
        if section.table.name != "table2":
            continue
        for record in section.records:
            if (record["dataset"], record["target"]) == ("counting", target):
                title = model_title(record["model"])
                title += "" if _preset(record) == PAPER else f", {record['preset']}"
                if "errors" in record:
                    errors.setdefault(title, record["errors"])
    return binned_errors(errors, f"{in_words(target)}s") if errors else None
