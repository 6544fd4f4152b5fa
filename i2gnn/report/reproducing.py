"""The page of reproduced tables, made from records alone: as Markdown and as HTML with plots."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from i2gnn.counting import in_words
from i2gnn.files import write_atomically
from i2gnn.paper.counting import model_title
from i2gnn.paper.presets import Preset
from i2gnn.paper.sections import BEST, PAPER, Section
from i2gnn.paper.selection import collect_sections
from i2gnn.paper.summary import Cell
from i2gnn.report.figures import binned_errors, compared_errors, learning_curves
from i2gnn.report.page import write_page

__all__ = ["percent", "write_reproduction"]

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

CAPTION = """\
Every error of the paper's counting tables, and those of I²-GNN here: with the paper's settings, \
and with what was chosen on validation graphs. Lower is better.\
"""

OVERVIEW = {
    "table2": {"counting": "nodes of synthetic graphs", "chembl": "atoms of ChEMBL"},
    "table3": {"counting": "nodes of synthetic graphs"},
    "table6": {"counting": "whole synthetic graphs"},
}
"""By table and data set the panel of the figure that compares all errors."""


def write_reproduction(
    results: str | os.PathLike[str],
    markdown: str | os.PathLike[str] | None = None,
    html: str | os.PathLike[str] | None = None,
) -> list[Section]:
    """Writes the page, as Markdown, as HTML or both, from the records below a folder.

    Beside the Markdown goes the figure that compares all errors, `<name>.svg`.
    """
    sections = collect_sections(results)
    overview = _overview_figure(sections)
    if markdown is not None:
        figure = Path(markdown).with_suffix(".svg")
        write_atomically(figure, overview + "\n")
        write_atomically(markdown, _markdown(sections, figure.name))
    if html is not None:
        errors = [_error_figure(sections, target) for target in ("cycle5", "cycle6")]
        values = {
            "introduction": INTRODUCTION.replace("`", ""),
            "percent": percent,
            "overview": Markup(overview),
            "caption": CAPTION,
            "sections": [(section, list(_curves(section))) for section in sections],
            "errors": [Markup(figure) for figure in errors if figure],
        }
        write_page(html, "reproducing.html", values)
    return sections


def _markdown(sections: Sequence[Section], figure: str) -> str:
    lines = ["# Reproducing the counting experiments", "", INTRODUCTION, ""]
    lines += [f"![{CAPTION}]({figure})", "", CAPTION, ""]
    lines += ["Made by `i2gnn reproduce report`; not edited by hand.", ""]
    lines += ["| | runs | cells with runs | goals met |", "|---|---|---|---|"]
    for section in sections:
        filled, goals = ("{} of {}".format(*pair) for pair in (section.filled, section.goals))
        of_goals = goals if section.goals[1] else ""
        link = f"[{section.title}](#{section.anchor})"
        lines.append(f"| {link} | {len(section.records)} | {filled} | {of_goals} |")
    lines.append("")
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
            title = section.table.row_title(Preset.of(record), record["model"])
            here = (record["dataset"], record["target"]) == (dataset, target)
            if here and "curve" in record and title not in histories:
                columns = record["curve"]
                pairs = zip(columns["epoch"], columns["validation"], strict=True)
                histories[title] = [{"epoch": e, "validation": v} for e, v in pairs]
        if histories:
            yield heading, Markup(learning_curves(histories, "error"))


def _overview_figure(sections: Sequence[Section]) -> str:
    """All errors that the paper prints, and of I²-GNN ours: with its settings, and the best."""
    panels: dict[str, dict[str, dict[str, list[float]]]] = {}
    for section in sections:
        if section.presets not in ((PAPER,), (BEST,)) or section.table.name not in OVERVIEW:
            continue
        for cell in section.cells:
            panel = OVERVIEW[section.table.name].get(cell.task.dataset)
            if panel is None or cell.paper is None:
                continue
            errors = panels.setdefault(panel, {}).setdefault(in_words(cell.task.target), {})
            own = cell.task.model == "i2gnn"
            if section.presets == (PAPER,):
                name = "the paper, I²-GNN" if own else "the paper, other models"
                errors.setdefault(name, []).append(cell.paper)
            if own and cell.mean is not None:
                errors[f"ours, {section.presets[0]}"] = [cell.mean]
    return compared_errors(panels)


def _error_figure(sections: Sequence[Section], target: str) -> str | None:
    """Errors against the true count: all models with the paper's settings, and our best."""
    errors: dict[str, Any] = {}
    for section in sections:
        if section.table.name != "table2":
            continue
        for record in section.records:
            if (record["dataset"], record["target"]) == ("counting", target):
                title = model_title(record["model"])
                title += "" if Preset.of(record) == PAPER else f", {record['preset']}"
                if "errors" in record:
                    errors.setdefault(title, record["errors"])
    return binned_errors(errors, f"{in_words(target)}s") if errors else None
