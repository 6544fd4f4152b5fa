"""`i2gnn reproduce`: a table of the paper, measured again, both side by side."""

import argparse
from importlib import import_module

from i2gnn.cli.main import add_common_arguments

__all__ = ["HELP", "add_arguments", "execute"]

HELP = "run an experiment of the paper again and print it beside the paper's numbers"

TABLES = {
    "table1": ("table1", "pairs of EXP and SR25 that models tell apart"),
    "table2": ("counting", "cycles at nodes, synthetic graphs and ChEMBL"),
    "table3": ("counting", "graphlets at nodes"),
    "table6": ("counting", "cycles in graphs (the paper's Table 9)"),
    "ablation": ("counting", "I²-GNN with one identifier, or identity labels"),
    "figure-error": ("counting", "error against the true count of 5- and 6-cycles"),
    "search": ("counting", "candidates for the preset best, on validation graphs alone"),
    "search6": ("counting", "the same in graphs"),
    "complexity": ("complexity", "cost of a forward pass: parameters, memory, time"),
    "brec": ("brec", "BREC's 400 pairs of graphs: which a trained model tells apart"),
    "report": ("report", "one page with all of these, from the records alone"),
}
"""For each table its module in `i2gnn.cli.tables`, which has `add_arguments(parser)` and
`execute(arguments) -> int` as a command has (`arguments.table` is the name), and what it shows."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One subcommand for each table; the common options may stand before or behind its name."""
    tables = parser.add_subparsers(dest="table", required=True, metavar="TABLE")
    for name, (module, about) in TABLES.items():
        table = tables.add_parser(name, help=about, description=about)
        add_common_arguments(table, again=True)
        import_module(f"i2gnn.cli.tables.{module}").add_arguments(table)


def execute(arguments: argparse.Namespace) -> int:
    """Runs the experiments of one table."""
    module = import_module(f"i2gnn.cli.tables.{TABLES[arguments.table][0]}")
    return int(module.execute(arguments))
