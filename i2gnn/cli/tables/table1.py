"""`i2gnn reproduce table1`: pairs of EXP and SR25 that the models tell apart."""

import argparse
import json
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from i2gnn.errors import InputError

__all__ = ["add_arguments", "execute"]

NOTES = """\
Percent of the pairs that models with random weights tell apart. In float64, a gap above 10,000 \
times the noise of relabelled copies separates a pair, one below 30 times ties it, and what lies \
between is unclear. ties, gaps: the largest gap of a tie and the smallest of a separation, in \
units of the noise."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the table."""
    parser.add_argument("--quick", action="store_true", help="a smoke test on a few pairs")
    parser.add_argument(
        "--out", metavar="DIR", help="write the records below it (results keeps those of this work)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Runs the models, writes the records, prints the table."""
    from i2gnn.paper.records import record_name, write_record
    from i2gnn.paper.table1 import reproduce_table1
    from i2gnn.training.environment import resolve_device

    if resolve_device(arguments.device).type != "cpu" and arguments.device != "auto":
        raise InputError(f"--device is {arguments.device!r}; table1 runs on the CPU, in float64")
    records = reproduce_table1(
        arguments.data_root,
        seed=arguments.seed,
        quick=arguments.quick,
        progress=not arguments.quiet,
    )
    for record in records if arguments.out else ():
        write_record(Path(arguments.out, f"{record_name(record)}.json"), record)
    if arguments.json:
        print(json.dumps(records, indent=2, ensure_ascii=False))
        return 0
    console = Console()
    console.print(_table(records))
    console.print(NOTES, highlight=False)
    console.print("Other than in the paper:", highlight=False)
    for deviation in records[0]["deviations"]:
        console.print(f"- {deviation}", highlight=False)
    return 0


def _table(records: list[dict[str, Any]]) -> Table:
    """One row per model: the paper's numbers, ours, and how clear they are."""
    from i2gnn.paper.table1 import PUBLISHED

    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 2), pad_edge=False)  # fits 80 characters
    table.add_column("", no_wrap=True)
    heads = ("EXP\npaper", "\nours", "SR25\npaper", "\nours", "\nunclear", "\nties", "\ngaps")
    for head in (*heads, "\nseconds"):
        table.add_column(head, justify="right", no_wrap=True)
    for model, published in PUBLISHED.items():
        rows = [record for record in records if record["model"] == model]
        percents = [f"{row[who]:.4g} %" for row in rows for who in ("published", "test")]
        unclear = sum(row["verdicts"]["unclear"] for row in rows)
        ties = max(_known(rows, "largest_tie_over_noise"), default=None)
        gaps = min(_known(rows, "smallest_separation_over_noise"), default=None)
        margins = ["" if margin is None else f"{margin:.2g}" for margin in (ties, gaps)]
        seconds = sum(row["seconds"] for row in rows)
        table.add_row(published.title, *percents, str(unclear), *margins, f"{seconds:.1f}")
    return table


def _known(rows: list[dict[str, Any]], name: str) -> list[float]:
    return [row["verdicts"][name] for row in rows if row["verdicts"][name] is not None]
