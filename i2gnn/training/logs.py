"""The log of a run: a CSV file and, if installed, TensorBoard."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from i2gnn.files import write_atomically

__all__ = ["RunLog"]

COLUMNS = ("epoch", "lr", "train_loss", "validation")


class RunLog:
    """Appends one row per epoch to `log.csv`, and to TensorBoard's event files.

    Numbers are written in full, and nothing depends on the clock: equal runs give equal files.

    Args:
        folder: The run's folder, or None to log nothing.
        history: Rows of the epochs before this one; rows beyond them are dropped.
        tensorboard: Whether to write event files too.
    """

    def __init__(
        self, folder: Path | None, history: Sequence[Mapping[str, float]], tensorboard: bool
    ) -> None:
        self._file: io.TextIOBase | None = None
        self._board: Any = None
        if folder is None:
            return
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(history)
        write_atomically(folder / "log.csv", text.getvalue())
        self._file = (folder / "log.csv").open("a", encoding="utf-8", newline="")
        if tensorboard:
            self._board = _summary_writer(folder, purge_step=len(history) + 1)

    def write(self, row: Mapping[str, float]) -> None:
        """Logs one epoch."""
        if self._file is not None:
            csv.DictWriter(self._file, COLUMNS, lineterminator="\n").writerow(row)
            self._file.flush()
        if self._board is not None:
            for name in COLUMNS[1:]:
                self._board.add_scalar(name, row[name], global_step=int(row["epoch"]))

    def close(self) -> None:
        """Closes the files."""
        for output in (self._file, self._board):
            if output is not None:
                output.close()


def _summary_writer(folder: Path, purge_step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(folder / "tensorboard", purge_step=purge_step)
