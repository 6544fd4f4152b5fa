"""`i2gnn reproduce report`: the page of all reproduced tables, from the records alone."""

import argparse
import json
from pathlib import Path

__all__ = ["add_arguments", "execute"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the report."""
    parser.add_argument("--out", metavar="DIR", help="folder of the records (results)")
    parser.add_argument(
        "--markdown", metavar="F", help="(docs/reproducing.md; with --out, below that folder)"
    )
    parser.add_argument(
        "--html", metavar="F", help="(runs/reproducing.html; with --out, below that folder)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Writes both pages."""
    from i2gnn.errors import InputError
    from i2gnn.report.reproducing import write_reproduction

    results = Path(arguments.out or "results")
    if not results.is_dir():
        raise InputError(f"{results}: no such folder; expected records of `i2gnn reproduce`")
    usual = ("docs/reproducing.md", "runs/reproducing.html")
    below = (results / "reproducing.md", results / "reproducing.html")
    pages = below if arguments.out else usual
    markdown, html = arguments.markdown or pages[0], arguments.html or pages[1]
    sections = write_reproduction(results, markdown, html)
    counted = [section.filled for section in sections if section.table.complete]
    filled, cells = (sum(numbers) for numbers in zip(*counted, strict=True))
    if arguments.json:
        print(json.dumps({"cells": cells, "filled": filled}))
    else:
        print(f"{filled} of {cells} cells: {markdown}, {html}")
    return 0
