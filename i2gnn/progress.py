"""Progress bars with the time left, on standard error."""

import contextlib
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

__all__ = ["Advance", "progress_bar"]

Advance = Callable[..., None]
"""`advance(steps=1, note="")`: moves the bar and replaces the note behind it."""


@contextlib.contextmanager
def progress_bar(description: str, total: int, enabled: bool = True) -> Iterator[Advance]:
    """Shows a bar while the block runs and yields the function that moves it.

    Example:
        >>> with progress_bar("counting", total=3, enabled=False) as advance:
        ...     for _ in range(3):
        ...         advance()
    """
    if not enabled:
        yield lambda steps=1, note="": None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=14),
        MofNCompleteColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(description, total=total, note="")

        def advance(steps: int = 1, note: str = "") -> None:
            progress.advance(task, steps)
            if note:
                progress.update(task, note=note)

        yield advance
