"""Which records the page of reproduced tables shows, and where."""

import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any

from i2gnn.paper.counting import TABLES, CountingTable, Search, outdated
from i2gnn.paper.presets import PRESETS, Preset, Task, chosen
from i2gnn.paper.records import read_records, record_name
from i2gnn.paper.sections import ALWAYS, BEST, SearchSection, Section

__all__ = ["collect_sections"]

log = logging.getLogger(__name__)

SHOWN = ("table2", "table3", "table6", "ablation", "search", "search6")
"""Tables of the page, in its order; the figure of errors is drawn from the records of table2."""


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
            presets = dict.fromkeys([*ALWAYS[table.name], *map(Preset.of, own)])
            sections += _once([Section.of(table, (preset,), records) for preset in presets])
    return sections


def _search_sections(
    table: CountingTable, records: Sequence[dict[str, Any]]
) -> Iterator[SearchSection]:
    for dataset in table.datasets:
        here = [r for r in records if r["dataset"] == dataset]
        if tried := sorted({*map(Preset.of, here)}, key=_turn):
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
    found = {(Preset.of(record), Task.of(record), record["seed"]) for record in own}
    compared = {task for _, task, _ in found}
    for record in (record for record in records if Preset.of(record) == BEST):
        task = Task.of(record)._replace(table=search.name)
        preset = Preset(f"best-{chosen(task)}")
        if task in compared and (preset, task, record["seed"]) not in found:
            here = {"table": search.name, "preset": str(preset), "test_metrics": {}}
            yield {**record, **here}
