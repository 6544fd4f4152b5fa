"""`i2gnn count`: exact counts of substructures in the graphs of a file."""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from i2gnn.progress import progress_bar

if TYPE_CHECKING:
    from i2gnn.counting import Counts, FileSummary
    from i2gnn.graphs.readers import Block, Problem

__all__ = ["FORMATS", "HELP", "add_arguments", "execute"]

FORMATS = ("smi", "csv", "parquet", "graph6", "edges", "npz", "names")
"""Those of `i2gnn.graphs.readers`, which takes long to import."""

SHOWN = 10
"""Bad records that are named; the summary has their number, --json the first thousand."""

HELP = "count cycles, paths, graphlets and any small pattern, per node, edge or graph"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `count`."""
    parser.add_argument(
        "input", help="file of graphs or molecules, see --format; - is standard input"
    )
    parser.add_argument(
        "--what",
        help="names, separated by commas: cycle3..cycle8, path2..path6, star3..star5, clique4, "
        "clique5, tailed_triangle, chordal_cycle, triangle_rectangle, orbit0..orbit14 "
        "(induced); default: the nine of the paper, or none beside a pattern of your own",
    )
    parser.add_argument(
        "--pattern",
        action="append",
        default=[],
        metavar="NAME=EDGES@NODE",
        help="count a pattern of your own, for example bowtie=0-1,1-2,2-0,2-3,3-4,4-2@2",
    )
    parser.add_argument(
        "--induced-pattern",
        action="append",
        default=[],
        metavar="NAME=EDGES@NODE",
        help="the same, as an induced subgraph",
    )
    parser.add_argument("--level", choices=("node", "edge", "graph"), default="node")
    parser.add_argument("--out", metavar="FILE", help="write the table: .csv, .parquet or .json")
    parser.add_argument(
        "--format", choices=FORMATS, help="kind of input, if unclear; names: edges of named nodes"
    )
    parser.add_argument("--column", help="column of the SMILES (default: smiles)")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad record")
    parser.add_argument("--head", type=int, default=10, help="rows to print (default 10)")
    parser.add_argument(
        "--draw", metavar="FILE", help="draw molecules, atoms coloured by count: .svg or .html"
    )
    parser.add_argument(
        "--draw-limit", type=int, default=24, help="molecules to draw at most (default 24)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Counts, prints the table and its summary."""
    from i2gnn.counting import PAPER_TARGETS, parse_pattern, resolve
    from i2gnn.report.molecules import MoleculeDrawing

    own = [parse_pattern(text) for text in arguments.pattern]
    own += [parse_pattern(text, induced=True) for text in arguments.induced_pattern]
    named: list[str] = [] if own else list(PAPER_TARGETS)
    if arguments.what is not None:
        named = [text for text in arguments.what.split(",") if text.strip()]
    patterns = resolve([*named, *own])
    drawing = None
    if arguments.draw:
        drawing = MoleculeDrawing(arguments.draw, patterns, arguments.level, arguments.draw_limit)
    with tempfile.TemporaryDirectory() as folder:
        out = arguments.out
        if arguments.json and not out:
            out = Path(folder) / "rows.json"  # printed when complete, never in part
        summary = _run(arguments, patterns, out, drawing)
        if drawing is not None:
            drawing.save()
        if arguments.json:
            _print_json(summary, arguments.input, None if arguments.out else Path(out))
        else:
            _print_table(summary, arguments.out)
    return 0


def _run(arguments, patterns, out, drawing) -> "FileSummary":  # type: ignore[no-untyped-def]
    from i2gnn.counting import count_file
    from i2gnn.graphs import readers

    size = Path(arguments.input).stat().st_size if Path(arguments.input).is_file() else 0
    shown = not arguments.quiet and sys.stderr.isatty()
    # A file that is one block has bars for each kind of count; a stream has one, for its bytes.
    one_block = ("edges", "npz", "names")
    endings = tuple(ending for format in one_block for ending in readers.FORMATS[format])
    whole = arguments.format in one_block or arguments.input.endswith(endings)
    with progress_bar("counting (bytes)", size, enabled=shown and not whole) as advance:
        done = 0

        def on_block(block: "Block", counts: "Counts") -> None:
            nonlocal done
            advance(max(0, min(block.read, size) - done))
            done = max(done, min(block.read, size))
            if drawing is not None:
                drawing.add(block.smiles, block.numbers, counts)

        problems = 0

        def on_problem(problem: "Problem") -> None:
            nonlocal problems
            problems += 1
            if not arguments.quiet and problems <= SHOWN:
                print(f"skipped line {problem.line}: {problem.reason}", file=sys.stderr)
            elif not arguments.quiet and problems == SHOWN + 1:
                print("... and more; is it another --format, such as names?", file=sys.stderr)

        summary = count_file(
            arguments.input,
            patterns,
            arguments.level,
            out=out,
            format=arguments.format,
            column=arguments.column,
            strict=arguments.strict,
            head=max(0, arguments.head),
            progress=shown and whole,
            on_problem=on_problem,
            on_block=on_block,
        )
    note = f"{summary.graphs} graphs, {summary.rows} rows, {summary.skipped} records skipped"
    if not arguments.quiet or summary.skipped:
        print(note, file=sys.stderr)
    return summary


def _print_table(summary: "FileSummary", out: str | None) -> None:
    console = Console()
    if not out and len(summary.head):
        print(f"counts per {summary.level} (first {len(summary.head)} rows)")
        for table in _head_tables(summary, console.width):
            console.print(table)
    means = Table(title=f"copies per graph, mean of {summary.graphs}")
    means.add_column("substructure")
    means.add_column("mean", justify="right")
    means.add_column("total", justify="right")
    for name, mean in summary.mean_per_graph().items():
        means.add_row(name, f"{mean:.4f}", str(summary.total[name]))
    console.print(means)


def _head_tables(summary: "FileSummary", width: int) -> Iterator[Table]:
    """The first rows, as one table or, if that were too wide, as several: numbers are never cut."""
    head = summary.head
    columns = {str(name): [str(value) for value in head[name]] for name in head.columns}
    needs = {name: 3 + max(map(len, [name, *texts])) for name, texts in columns.items()}
    where = [name for name in columns if name not in summary.what]  # which graph, node or edge
    parts: list[list[str]] = [[]]
    for name in summary.what:
        taken = 1 + sum(needs[column] for column in (*where, *parts[-1], name))
        if parts[-1] and taken > width:
            parts.append([])
        parts[-1].append(name)
    for part in parts:
        table = Table()
        for name in (*where, *part):
            table.add_column(name, justify="right", no_wrap=True)
        for row in zip(*(columns[name] for name in (*where, *part)), strict=True):
            table.add_row(*row)
        yield table


def _print_json(summary: "FileSummary", source: str, rows: Path | None) -> None:
    document = {
        "input": source,
        "level": summary.level,
        "what": summary.what,
        "graphs": summary.graphs,
        "rows": summary.rows,
        "skipped": summary.skipped,
        "problems": [problem._asdict() for problem in summary.problems],
        "total": summary.total,
        "mean_per_graph": summary.mean_per_graph(),
    }
    text = json.dumps(document)
    if rows is None:
        print(text)
        return
    sys.stdout.write(text[:-1] + ', "table": ')
    with rows.open() as file:
        shutil.copyfileobj(file, sys.stdout)
    sys.stdout.write("}\n")
