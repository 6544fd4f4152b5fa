"""`i2gnn reproduce report`: the page of all reproduced tables, from the records alone."""

import argparse
import json
from pathlib import Path

__all__ = ["add_arguments", "execute"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the report."""
    parser.add_argument("--out", metavar="DIR", default="results", help="folder of the records")
    parser.add_argument(
        "--markdown", metavar="F", default="docs/reproducing.md", help="(docs/reproducing.md)"
    )
    parser.add_argument(
        "--html", metavar="F", default="runs/reproducing.html", help="(runs/reproducing.html)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Writes both pages."""
    from i2gnn.errors import InputError
    from i2gnn.report.reproducing import write_reproduction

    if not Path(arguments.out).is_dir():
        raise InputError(f"{arguments.out}: no such folder; expected records of `i2gnn reproduce`")
    sections = write_reproduction(arguments.out, arguments.markdown, arguments.html)
    cells = [cell for section in sections if section.table.tests for cell in section.cells]
    filled = sum(bool(cell.values) for cell in cells)
    if arguments.json:
        print(json.dumps({"cells": len(cells), "filled": filled}))
    else:
        print(f"{filled} of {len(cells)} cells: {arguments.markdown}, {arguments.html}")
    return 0
