"""Counts for a whole file: read in blocks, counted, written as they come."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from i2gnn.counting.api import Counts, count
from i2gnn.counting.patterns import Pattern, resolve
from i2gnn.counting.tables import open_table
from i2gnn.errors import InputError
from i2gnn.graphs import Level
from i2gnn.graphs.readers import Block, Problem, read_blocks

__all__ = ["FileSummary", "count_file"]

PROBLEMS_KEPT = 1000


@dataclass
class FileSummary:
    """What `count_file` did.

    Attributes:
        level: What a row belongs to.
        what: Names of the columns.
        graphs: Graphs counted.
        rows: Rows of the table.
        skipped: Records left out.
        problems: The first thousand of them, with line and reason.
        total: Copies over all graphs, by name.
        head: The first rows of the table.
    """

    level: Level
    what: list[str]
    graphs: int = 0
    rows: int = 0
    skipped: int = 0
    problems: list[Problem] = field(default_factory=list)
    total: dict[str, int] = field(default_factory=dict)
    head: pd.DataFrame = field(default_factory=pd.DataFrame)

    def mean_per_graph(self) -> dict[str, float]:
        """Copies per graph, by name."""
        return {name: total / max(1, self.graphs) for name, total in self.total.items()}


def count_file(
    path: str | Path,
    what: str | Pattern | Iterable[str | Pattern],
    level: Level = "node",
    *,
    out: str | Path | None = None,
    format: str | None = None,
    column: str | None = None,
    strict: bool = False,
    head: int = 10,
    progress: bool = False,
    on_problem: Callable[[Problem], None] | None = None,
    on_block: Callable[[Block, Counts], None] | None = None,
) -> FileSummary:
    """Counts in every graph of a file, in constant memory for molecules and graph6.

    Args:
        path: Molecules (.smi, .csv, .parquet), graph6, an edge list or an npz file; "-" is
            standard input.
        what: Substructures, as in `count`.
        level: "node", "edge" or "graph".
        out: Where the table goes: .csv, .parquet or .json; complete or not written at all.
        format: Format of the input, if its name does not tell.
        column: Column of the SMILES, if it is not called "smiles".
        strict: Stops at the first record that cannot be read instead of leaving it out.
        head: Rows kept in the summary.
        progress: Shows bars on standard error; only for files that are one block.
        on_problem: Called for each record left out.
        on_block: Called with each block and its counts.
    """
    patterns = resolve(what)
    summary = FileSummary(level, [p.name for p in patterns])
    summary.total = dict.fromkeys(summary.what, 0)

    def report(problem: Problem) -> None:
        if strict:
            raise InputError(f"line {problem.line}: {problem.reason}")
        summary.skipped += 1
        if len(summary.problems) < PROBLEMS_KEPT:
            summary.problems.append(problem)
        if on_problem is not None:
            on_problem(problem)

    with open_table(out) as write:
        for block in read_blocks(path, report, format=format, column=column):
            counts = count(block.store, patterns, level, progress=progress)
            frame = counts.to_frame(block.numbers, block.names)
            write(frame)
            _add(summary, counts, frame, head)
            if on_block is not None:
                on_block(block, counts)
        if not summary.graphs:
            raise InputError(f"{path}: no graph could be read{_first_reason(summary)}")
    return summary


def _add(summary: FileSummary, counts: Counts, frame: pd.DataFrame, head: int) -> None:
    summary.graphs += len(counts.store)
    summary.rows += len(frame)
    copies: Any = counts.per_graph().to(torch.int64).numpy().astype(object).sum(axis=0)
    for name, number in zip(summary.what, copies, strict=True):
        summary.total[name] += int(number)
    if len(summary.head) < head:
        summary.head = pd.concat([summary.head, frame.head(head - len(summary.head))])


def _first_reason(summary: FileSummary) -> str:
    if not summary.problems:
        return "; it has no records"
    first = summary.problems[0]
    return f"; {summary.skipped} skipped, the first at line {first.line}: {first.reason}"
