"""Cells of the counting experiments as a table for the terminal."""

from rich.box import SIMPLE_HEAD
from rich.table import Table

from i2gnn.paper.counting import CountingTable, dataset_title, model_title, target_title
from i2gnn.paper.summary import Cell

__all__ = ["result_table"]

MARKS = {True: " ✓", False: " ✗", None: ""}


def result_table(table: CountingTable, cells: list[Cell]) -> Table:
    """Rows are models, columns targets; each cell has ours, and the paper's below it."""
    what = "test MAE, ours over the paper's" if table.tests else "validation MAE"
    marks = "✓ the goal is met, ✗ it is not" if table.tests else "* the lowest"
    shown = Table(
        title=f"{table.title}: normalised {what}",
        caption=f"mean of the seeds (how many, if not three); {marks}",
        box=SIMPLE_HEAD,
        title_justify="left",
    )
    columns = list(dict.fromkeys((cell.task.dataset, cell.task.target) for cell in cells))
    rows = list(dict.fromkeys((cell.task.model, cell.preset) for cell in cells))
    found = {((c.task.model, c.preset), (c.task.dataset, c.task.target)): c for c in cells}
    shown.add_column("", no_wrap=True)
    many = len({dataset for dataset, _ in columns}) > 1
    for dataset, target in columns:
        title = target_title(target)
        shown.add_column(f"{dataset_title(dataset)}\n{title}" if many else title, justify="right")
    lowest = {} if table.tests else _lowest(cells)
    for row in rows:
        model, preset = row
        texts = [_text(found.get((row, column)), lowest.get(column)) for column in columns]
        shown.add_row(f"{model_title(model)}\n{preset}", *texts)
    return shown


def _lowest(cells: list[Cell]) -> dict[tuple[str, str], Cell]:
    """The best cell of each column."""
    found: dict[tuple[str, str], Cell] = {}
    for cell in sorted(cells, key=lambda c: float("inf") if c.mean is None else c.mean):
        found.setdefault((cell.task.dataset, cell.task.target), cell)
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
