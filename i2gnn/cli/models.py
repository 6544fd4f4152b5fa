"""`i2gnn models`: the models by name, with their size and cost."""

import argparse
import json
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["HELP", "add_arguments", "execute"]

HELP = "list the models: parameters, complexity, tables of the paper that they serve"

NOTE = (
    "Parameters at the paper's counting preset: all of them, those that the paper's Table 12 "
    "counts (linear layers and GRU cells), and what it prints. Time and memory of one layer for n "
    "nodes, m edges, degree d, ego-nets of s nodes and width D."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `models`: only the common ones."""


def execute(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    from i2gnn.models.registry import REGISTRY, describe

    rows = [describe(entry) for entry in REGISTRY.values()]
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    _print_table(rows)
    return 0


def _print_table(rows: list[dict[str, Any]]) -> None:
    from i2gnn.models.registry import TABLES

    table = Table()
    table.add_column("name", no_wrap=True)
    for title in ("parameters", "counted", "paper"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("time", no_wrap=True)
    table.add_column("memory", no_wrap=True)
    for row in rows:
        table.add_row(
            row["name"],
            f"{row['parameters']:,}",
            f"{row['parameters_counted']:,}" if row["parameters_published"] else "",
            row["parameters_published"] or "",
            row["time"],
            row["memory"],
        )
    console = Console()
    console.print(table)
    for row in rows:
        where, several = ", ".join(map(str, row["tables"])), len(row["tables"]) > 1
        served = f" (table{'s' if several else ''} {where})" if where else ""
        console.print(f"{row['name']}: {row['summary']}{served}", highlight=False)
    about = "; ".join(f"{number} {what}" for number, what in TABLES.items())
    console.print(f"\n{NOTE} The paper's tables: {about}.", highlight=False)
