"""Records of runs: small files from which all tables and plots are made."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from i2gnn.errors import InputError
from i2gnn.files import write_atomically
from i2gnn.training.record import short

__all__ = ["read_record", "read_records", "thin_curve", "write_record"]

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
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    if not isinstance(record, dict) or not {"table", "preset", "settings"} <= record.keys():
        raise InputError(f"{path}: not a record; expected table, preset, settings and others")
    return record


def read_records(results: str | os.PathLike[str], tables: Sequence[str]) -> list[dict[str, Any]]:
    """All records of these tables below a folder, in the order of their names."""
    return [read_record(p) for t in tables for p in sorted(Path(results, t).glob("*.json"))]
