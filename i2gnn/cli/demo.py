"""`i2gnn demo`: train networks with 0, 1 and 2 identifiers to count, and compare them."""

import argparse
import json

from rich.console import Console
from rich.table import Table

__all__ = ["HELP", "add_arguments", "execute"]

HELP = "train networks with 0, 1 and 2 identifiers to count cycles, and compare them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--run-dir", default="runs/demo", help="folder (default runs/demo)")
    parser.add_argument(
        "--target",
        default="cycle5",
        choices=["cycle3", "cycle4", "cycle5", "cycle6"],
        help="what to count at every node (default cycle5)",
    )
    parser.add_argument("--graphs", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--epochs", type=int, default=40, help="training epochs (default 40)")


def execute(arguments: argparse.Namespace) -> int:
    """Runs the comparison and prints the table."""
    from i2gnn.demo import DemoSettings, run_demo

    settings = DemoSettings(
        target=arguments.target,
        hops=3 if arguments.target == "cycle6" else 2,
        count=arguments.graphs,
        epochs=arguments.epochs,
        seed=arguments.seed,
        device=arguments.device,
    )
    if not arguments.quiet and not arguments.json:
        print(
            f"Three networks learn to count {settings.what} at every node of "
            f"{settings.count} generated graphs."
        )
    demo = run_demo(
        arguments.run_dir,
        settings,
        command=f"i2gnn demo --target {settings.target} --graphs {settings.count} "
        f"--epochs {settings.epochs} --seed {settings.seed}",
        progress=not arguments.quiet,
    )
    if arguments.json:
        print(json.dumps([run.record for run in demo.runs], indent=2))
        return 0
    table = Table(title=f"Counting {settings.what} per node: test error", title_justify="left")
    table.add_column("network")
    table.add_column("identifiers")
    for column in ("normalised MAE", "parameters", "seconds"):
        table.add_column(column, justify="right")
    best = min(run.test for run in demo.runs)
    for run in demo.runs:
        table.add_row(
            run.title,
            run.identifiers,
            f"{run.test:.4f}",
            f"{run.result.parameters:,}",
            f"{run.result.seconds:.0f}",
            style="bold" if run.test == best else None,
        )
    console = Console()
    console.print(table)
    console.print(f"Report: {demo.report}", highlight=False)
    return 0
