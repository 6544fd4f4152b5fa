"""Tables written piece by piece: CSV, Parquet or JSON."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from i2gnn.errors import InputError
from i2gnn.files import atomic_path

__all__ = ["open_table", "rows_as_json"]

Write = Callable[[pd.DataFrame], None]


@contextlib.contextmanager
def open_table(path: str | os.PathLike[str] | None) -> Iterator[Write]:
    """Yields a function that appends rows; the file appears when the block ends without error.

    The kind is that of the name: .csv, .parquet or .json. Without a path, rows are dropped.
    """
    if path is None:
        yield lambda frame: None
        return
    writers = {".csv": _csv, ".parquet": _parquet, ".json": _json}
    ending = Path(path).suffix.lower()
    if ending not in writers:
        raise InputError(f"{path}: expected a name in {', '.join(writers)}")
    if Path(path).is_dir():
        raise InputError(f"{path}: is a directory; expected a file name")
    try:
        with atomic_path(path) as temporary, writers[ending](temporary) as write:
            yield write
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error})") from error


def rows_as_json(frame: pd.DataFrame) -> Iterator[str]:
    """One JSON object per row; numbers of any size stay exact."""
    names = list(frame.columns)
    for row in zip(*(frame[name].tolist() for name in names), strict=True):
        yield json.dumps(dict(zip(names, row, strict=True)))


@contextlib.contextmanager
def _csv(path: Path) -> Iterator[Write]:
    with path.open("w", newline="") as file:
        first = True

        def write(frame: pd.DataFrame) -> None:
            nonlocal first
            frame.to_csv(file, index=False, header=first, lineterminator="\n")
            first = False

        yield write


@contextlib.contextmanager
def _json(path: Path) -> Iterator[Write]:
    with path.open("w") as file:
        separator = "[\n"

        def write(frame: pd.DataFrame) -> None:
            nonlocal separator
            for row in rows_as_json(frame):
                file.write(separator + row)
                separator = ",\n"

        yield write
        file.write("[]\n" if separator == "[\n" else "\n]\n")


@contextlib.contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise InputError("Parquet needs pyarrow: pip install 'i2gnn[parquet]'") from error
    with contextlib.ExitStack() as stack:
        writer: Any = None

        def write(frame: pd.DataFrame) -> None:
            nonlocal writer
            table = arrow.Table.from_pandas(frame, preserve_index=False)
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(path, table.schema))
            writer.write_table(table)

        yield write
