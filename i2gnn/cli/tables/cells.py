"""Cells of the counting experiments as a table for the terminal."""

from rich.box import SIMPLE_HEAD
from rich.table import Table

from i2gnn.paper.counting import CountingTable, dataset_title, model_title, target_title
from i2gnn.paper.summary import Cell

__all__ = ["result_table"]

MARKS = {True: " ✓", False: " ✗", None: ""}


def result_table(table: CountingTable, cells: list[Cell]) -> Table:
    """Rows are models, columns targets; each cell has ours, and the paper's below it."""
    measure = "test" if table.tests else "validation"
    shown = Table(
        title=f"{table.title}: normalised {measure} MAE, ours over the paper's",
        caption="mean of the seeds (how many, if not three); ✓ the goal is met, ✗ it is not",
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
    for row in rows:
        model, preset = row
        texts = [_text(found.get((row, column))) for column in columns]
        shown.add_row(f"{model_title(model)}\n{preset}", *texts)
    return shown


def _text(cell: Cell | None) -> str:
    if cell is None:
        return ""
    ours = "missing" if cell.mean is None else f"{cell.mean:.4f}{MARKS[cell.met]}"
    seeds = len(cell.values)
    if seeds and seeds != 3:
        ours += f" ({seeds})"
    return ours if cell.paper is None else f"{ours}\n{cell.paper:.4f}"
