"""Records of runs: small files from which all tables and plots are made."""

import json
import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from i2gnn.errors import InputError
from i2gnn.files import write_atomically
from i2gnn.training.record import short

__all__ = ["read_record", "read_records", "record_name", "thin_curve", "write_record"]

log = logging.getLogger(__name__)

KEYS = frozenset(
    [
        "table",
        "preset",
        "dataset",
        "level",
        "model",
        "target",
        "seed",
        "settings",
        "test",
        "validation",
        "epochs",
        "seconds",
        "hardware",
        "deviations",
    ]
)
"""What every record has."""

POINTS = 200
"""Epochs of a learning curve that are kept."""


def thin_curve(history: Sequence[Mapping[str, float]], best_epoch: int) -> dict[str, list[float]]:
    """About `POINTS` epochs of a history, column by column, with the best one among them.

    Example:
        >>> history = [{"epoch": e, "validation": 1 / e} for e in (1, 2, 3)]
        >>> thin_curve(history, best_epoch=3)
        {'epoch': [1, 2, 3], 'validation': [1, 0.5, 0.33333]}
    """
    last = len(history) - 1
    chosen = {round(place) for place in np.linspace(0, last, min(POINTS, last + 1))}
    rows = [history[place] for place in sorted(chosen | {best_epoch - 1})]
    return {name: [short(row[name]) for row in rows] for name in rows[0]}


def write_record(path: str | os.PathLike[str], record: Mapping[str, Any]) -> None:
    """Writes a record as JSON, lists of numbers on one line each."""
    text = json.dumps(record, indent=2, ensure_ascii=False)
    flat = re.sub(r"\[\s+([^][{}\"]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text)
    write_atomically(path, flat + "\n")


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads a record.

    Raises:
        InputError: Not a record.
    """
    try:
        record: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    missing = KEYS - record.keys() if isinstance(record, dict) else KEYS
    if missing:
        raise InputError(f"{path}: not a record, without {', '.join(sorted(missing))}")
    return record


def record_name(record: Mapping[str, Any]) -> str:
    """Where a record belongs below the folder of results, unique among all runs.

    Example:
        >>> parts = {"table": "table2", "preset": "paper", "dataset": "chembl", "model": "mpnn"}
        >>> record_name({**parts, "target": "cycle3", "seed": 0})
        'table2/paper-chembl-mpnn-cycle3-0'
    """
    keys = ("preset", "dataset", "model", "target", "seed")
    return f"{record['table']}/{'-'.join(str(record[key]) for key in keys)}"


def read_records(results: str | os.PathLike[str], tables: Sequence[str]) -> list[dict[str, Any]]:
    """All records of these tables below a folder, in the order of their names.

    Copies under another name are left out, with a warning.
    """
    records = []
    for path in (p for table in tables for p in sorted(Path(results, table).glob("*.json"))):
        record = read_record(path)
        if path.with_suffix("") == Path(results, record_name(record)):
            records.append(record)
        else:
            log.warning("left out: %s is the record of %s", path, record_name(record))
    return records
