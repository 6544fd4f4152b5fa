"""`i2gnn reproduce complexity`: what the models cost, beside the paper's numbers and theory."""

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console

__all__ = ["add_arguments", "execute"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the table."""
    parser.add_argument("--quick", action="store_true", help="a smoke test on a few graphs")
    parser.add_argument(
        "--out", metavar="DIR", help="write the record below it (results keeps those of this work)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Measures, prints the tables."""
    from i2gnn.paper import ComplexitySettings, measure_complexity
    from i2gnn.paper.complexity_table import tables
    from i2gnn.paper.records import write_record

    settings = ComplexitySettings(
        device=arguments.device,
        graphs=16 if arguments.quick else 256,
        rounds=1 if arguments.quick else None,
        quick=arguments.quick,
        data_root=arguments.data_root,
        seed=arguments.seed,
    )
    record = measure_complexity(settings, progress=not arguments.quiet)
    if arguments.out:
        write_record(_path(arguments.out, record), record)
    if arguments.json:
        print(json.dumps(record, indent=2, ensure_ascii=False))
    else:
        Console().print(tables(record), highlight=False)
    return 0


def _path(folder: str, record: dict[str, Any]) -> Path:
    """`<folder>/<table>/<device>.json`; a quick run has a name of its own."""
    quick = "quick-" if record["preset"] == "quick" else ""
    return Path(folder, record["table"], f"{quick}{record['hardware']['device']}.json")
