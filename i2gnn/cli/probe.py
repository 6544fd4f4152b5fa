"""`i2gnn probe`: what a model tells apart and learns to count, as a report."""

import argparse
import dataclasses
import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from i2gnn.cli.distinguish import DATASETS, parse_option

if TYPE_CHECKING:
    from i2gnn.expressiveness.probe import Probe, ProbeSettings

__all__ = ["HELP", "add_arguments", "execute"]

HELP = "probe a model, ours or yours: which graphs it tells apart, what it learns to count"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--model",
        required=True,
        metavar="NAME",
        help="a name of `i2gnn models`, my.module:factory or file.py:factory (a function or class "
        "that returns a torch.nn.Module)",
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an argument of the model or factory, such as num_layers=8; may be repeated",
    )
    parser.add_argument(
        "--datasets", nargs="*", choices=DATASETS, help="of pairs (default: all; none to skip)"
    )
    parser.add_argument(
        "--levels", nargs="*", choices=("node", "graph"), help="of counting (default: both)"
    )
    parser.add_argument("--structures", nargs="+", metavar="S", help="to count, such as cycle5")
    parser.add_argument("--graphs", type=int, metavar="N", help="generated for counting")
    parser.add_argument("--epochs", type=int, metavar="N", help="of training to count")
    parser.add_argument(
        "--quick", action="store_true", help="some pairs of each category, a short training"
    )
    parser.add_argument("--out", default="runs/probe", metavar="DIR", help="(default runs/probe)")


def execute(arguments: argparse.Namespace) -> int:
    """Probes, writes the report, prints the tables."""
    from i2gnn.expressiveness.probe import probe
    from i2gnn.report.probe import write_report

    found = probe(
        arguments.model,
        options=dict(map(parse_option, arguments.option)),
        settings=_settings(arguments),
        progress=not arguments.quiet,
    )
    page = write_report(found, arguments.out, command=_command())
    if arguments.json:
        print(json.dumps(found.to_dict(), indent=2))
        return 0
    console = Console()
    for table in _tables(found):
        console.print(table, highlight=False)
    console.print(f"Report: {page} ({found.seconds:.0f} s)", highlight=False)
    return 0


def _settings(arguments: argparse.Namespace) -> "ProbeSettings":
    from i2gnn.expressiveness.probe import ProbeSettings

    settings = ProbeSettings(
        quick=arguments.quick,
        data_root=arguments.data_root,
        seed=arguments.seed,
        device=arguments.device,
    )
    return dataclasses.replace(
        settings,
        datasets=_given(arguments.datasets, settings.datasets),
        levels=_given(arguments.levels, settings.levels),
        study=dataclasses.replace(
            settings.learning,
            structures=_given(arguments.structures, settings.learning.structures),
            graphs=arguments.graphs or settings.learning.graphs,
            epochs=arguments.epochs or settings.learning.epochs,
        ),
    )


def _given(values: list[Any] | None, usual: tuple[Any, ...]) -> tuple[Any, ...]:
    return usual if values is None else tuple(values)


def _command() -> str:
    return shlex.join(["i2gnn", *sys.argv[1:]])


def _tables(found: "Probe") -> list[Table]:
    """Pairs by category, and what is counted."""
    tables = []
    if found.separation:
        apart = _table(f"Pairs that {found.name} tells apart", "pairs", "separated", "tied")
        for name, verdicts in found.separation.items():
            for category, counts in verdicts.by_category().items():
                title = name if category.lower() == name else f"{name}, {category}"
                numbers = (counts["pairs"], counts["separated"], counts["tied"] + counts["unclear"])
                apart.add_row(title, *map(str, numbers))
        tables.append(apart)
    for level, learnt in found.learnt.items():
        counted = _table(f"What it learns to count per {level}", "error", "left", "verdict")
        for one in learnt:
            counted.add_row(one.structure, f"{one.error:.4f}", f"{one.left:.3f}", one.verdict)
        tables.append(counted)
    return tables


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    return table
