"""`i2gnn train`: trains a model as a YAML file says."""

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["HELP", "add_arguments", "execute"]

HELP = "train a model as a YAML file says, or go on with a stopped run"


TITLES = {
    "normalized_mae": "normalised MAE",
    "mae": "MAE",
    "mse": "MSE",
    "rmse": "RMSE",
    "exact": "exact if rounded",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options; those that the file has too override it only when given."""
    parser.add_argument("--config", metavar="F", help="YAML file with the settings")
    parser.add_argument("--run-dir", metavar="DIR", help="where to write (runs/<name of F>)")
    parser.add_argument("--cache", metavar="DIR", help="keep extracted subgraphs there")
    parser.add_argument("--memory-budget", metavar="SIZE", help="extract while running: 500MB, 2GB")
    parser.add_argument("--resume", action="store_true", help="go on from the run's checkpoint")
    parser.add_argument("--print-config", action="store_true", help="print all settings as YAML")
    parser.set_defaults(seed=None, device=None)


def execute(arguments: argparse.Namespace) -> int:
    """Runs the command."""
    from i2gnn.training.config import RunConfig
    from i2gnn.training.run import train

    if arguments.config is None and arguments.resume and arguments.run_dir:
        kept = Path(arguments.run_dir) / "config.yaml"
        arguments.config = kept if kept.is_file() else None
    if arguments.config is None and not arguments.print_config:
        print("i2gnn train: give --config F; --print-config shows one", file=sys.stderr)
        return 2
    config = RunConfig() if arguments.config is None else RunConfig.from_yaml(arguments.config)
    given = {name: getattr(arguments, name) for name in ("seed", "device", "memory_budget")}
    overrides: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    training = dataclasses.replace(config.training, **overrides)
    config = dataclasses.replace(config, training=training)
    if arguments.print_config:
        as_json = json.dumps(config.to_dict(), indent=2) + "\n"
        print(as_json if arguments.json else config.to_yaml(), end="")
        return 0
    run_dir = Path(arguments.run_dir or Path("runs") / Path(arguments.config).stem)
    record = train(
        config,
        run_dir,
        data_root=arguments.data_root,
        cache_dir=arguments.cache,
        resume=arguments.resume,
        progress=not arguments.quiet,
    )
    if arguments.json:
        print(json.dumps(record, indent=2))
    else:
        _print_table(record, run_dir)
    return 0


def _print_table(record: dict[str, Any], run_dir: Path) -> None:
    table = Table()
    table.add_column("target")
    tested = record["test_metrics"]
    for metric in tested:
        table.add_column(TITLES.get(metric, metric), justify="right")
    for place, target in enumerate(record["target"].split("+")):
        table.add_row(target, *(f"{values[place]:.4f}" for values in tested.values()))
    console = Console()
    console.print(table)
    console.print(
        f"{record['model']} on {record['dataset']}, {record['level']} level, "
        f"test at epoch {record['best_epoch']} of {record['epochs']}, the best in validation "
        f"({record['metric']} {record['validation']:.4f}); {record['parameters']} parameters, "
        f"{record['seconds']:.1f} s; files in {run_dir}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
