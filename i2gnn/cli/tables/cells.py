"""Cells of the counting experiments as tables for the terminal."""

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.table import Table

from i2gnn.counting import in_words
from i2gnn.paper.counting import CountingTable, Search, dataset_title
from i2gnn.paper.summary import Cell

__all__ = ["result_tables"]

MARKS = {True: " ✓", False: " ✗", None: ""}
WIDE = 15
"""Characters that a column may take: a number, its mark and its seeds; or a title."""


def result_tables(table: CountingTable, cells: list[Cell], width: int) -> Iterator[str | Table]:
    """Rows are models, columns targets; each cell has ours, and the paper's below it.

    A heading and a table for each data set; several tables if one were wider than `width`
    characters. What the marks mean comes last.
    """
    shown = [cell for cell in cells if cell.values or table.complete]
    title_width = max((len(_title(table, cell)) for cell in shown), default=0)
    together = max(1, (width - title_width - 3) // WIDE)
    for dataset in dict.fromkeys(cell.task.dataset for cell in shown):
        yield f"{table.title}, {dataset_title(dataset)}: normalised {table.measured}"
        here = [cell for cell in shown if cell.task.dataset == dataset]
        targets = list(dict.fromkeys(cell.task.target for cell in here))
        for begin in range(0, len(targets), together):
            some = targets[begin : begin + together]
            yield _table(table, [cell for cell in here if cell.task.target in some])
    yield f"mean of the seeds (how many, if not three); {table.marks}"


def _table(table: CountingTable, cells: list[Cell]) -> Table:
    shown = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    shown.add_column("", no_wrap=True)
    targets = list(dict.fromkeys(cell.task.target for cell in cells))
    for target in targets:
        shown.add_column(in_words(target), justify="right")
    lowest = _lowest(cells) if isinstance(table, Search) else {}
    found = {(_title(table, c), c.task.target): c for c in cells}
    for title in dict.fromkeys(title for title, _ in found):
        row = [found.get((title, target)) for target in targets]
        below = "\nthe paper" if any(cell and cell.paper is not None for cell in row) else ""
        texts = (_text(cell, lowest.get(t)) for cell, t in zip(row, targets, strict=True))
        shown.add_row(title + below, *texts)
    return shown


def _title(table: CountingTable, cell: Cell) -> str:
    return table.full_title(cell.preset, cell.task.model)


def _lowest(cells: list[Cell]) -> dict[str, Cell]:
    """The best cell of each column."""
    found: dict[str, Cell] = {}
    for cell in sorted(cells, key=lambda c: float("inf") if c.mean is None else c.mean):
        found.setdefault(cell.task.target, cell)
    return found


def _text(cell: Cell | None, lowest: Cell | None) -> str:
    if cell is None:
        return ""
    ours = "missing" if cell.mean is None else f"{cell.mean:.{cell.digits}f}{MARKS[cell.met]}"
    if cell is lowest and cell.mean is not None:
        ours += " *"
    seeds = len(cell.values)
    if seeds and seeds != 3:
        ours += f" ({seeds})"
    return ours if cell.paper is None else f"{ours}\n{cell.paper:.4f}"
