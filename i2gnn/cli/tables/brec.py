"""`i2gnn reproduce brec`: which of BREC's pairs a trained model tells apart."""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table

from i2gnn.cli.tables.counting import parse_time

if TYPE_CHECKING:
    from i2gnn.paper.brec import BRECSettings

__all__ = ["add_arguments", "execute"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the table."""
    ours = "of our models (default %(default)s)"
    parser.add_argument("--model", default="i2gnn", help="a name, or my.module:factory")
    parser.add_argument("--hops", type=int, default=12, help=f"radius {ours}")
    parser.add_argument("--layers", type=int, default=8, help=f"depth {ours}")
    parser.add_argument("--width", type=int, default=16, help=f"width {ours}")
    parser.add_argument(
        "--node-states", action="store_true", help="rows see the pooled state of their node"
    )
    parser.add_argument("--epochs", type=int, default=20, help="at most (default 20)")
    parser.add_argument("--lr", type=float, default=1e-3, help="default %(default)s")
    parser.add_argument("--precision", choices=("float32", "float64"), default="float32")
    parser.add_argument("--memory-budget", metavar="SIZE", help="such as 2GB; batches are cut")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="from --seed on")
    parser.add_argument("--pairs", type=_range, metavar="A:B", help="only these, such as 0:100")
    parser.add_argument("--time-limit", metavar="TIME", help="begin no pair after it: 540, 9m, 2h")
    parser.add_argument("--quick", action="store_true", help="a smoke test on a few pairs")
    parser.add_argument(
        "--out", metavar="DIR", default="runs", help="where a run is kept and taken up"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Runs what is not there yet, writes the records, prints the tables."""
    from i2gnn.paper.brec import reproduce_brec
    from i2gnn.paper.records import write_record

    records = []
    folder = Path(arguments.out, "brec")
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        settings = _settings(arguments, seed)
        record = reproduce_brec(settings, folder, progress=not arguments.quiet)
        write_record(folder / f"{settings.name}.json", record)
        records.append(record)
        if not arguments.json:
            Console().print(_tables(record), highlight=False)
    if arguments.json:
        print(json.dumps(records, indent=2, ensure_ascii=False))
    return 0


def _settings(arguments: argparse.Namespace, seed: int) -> "BRECSettings":
    from i2gnn.paper.brec import PROTOCOL, BRECSettings

    limit = arguments.time_limit
    rpc = dataclasses.replace(
        PROTOCOL,
        epochs=arguments.epochs,
        lr=arguments.lr,
        precision=arguments.precision,
        memory_budget=arguments.memory_budget,
        seed=seed,
    )
    if arguments.quick:
        rpc = dataclasses.replace(rpc, copies=8, epochs=2)
    return BRECSettings(
        model=arguments.model,
        hops=arguments.hops,
        layers=arguments.layers,
        width=arguments.width,
        node_states=arguments.node_states,
        rpc=rpc,
        data_root=arguments.data_root,
        device=arguments.device,
        pairs=arguments.pairs,
        quick=arguments.quick,
        time_limit=None if limit is None else parse_time(limit),
    )


def _range(text: str) -> range:
    start, _, stop = text.partition(":")
    chosen = range(int(start), int(stop)) if start.isdecimal() and stop.isdecimal() else range(0)
    if not chosen:
        raise argparse.ArgumentTypeError(f"{text!r} holds no pairs; expected such as 0:100")
    return chosen


def _tables(record: dict[str, Any]) -> Group:
    """Counts by category, and what the columns mean."""
    from i2gnn.paper.brec import PUBLISHED

    summary = record["summary"]
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("category")
    for column in ("pairs", "distinguished", "exact bound", "unreliable"):
        table.add_column(column, justify="right")
    known = any(line["exact"] is not None for line in record["pairs"])
    rows = [*summary["categories"].items(), ("all", summary)]
    for name, counts in rows:
        exact = str(counts["exact"]) if known else "-"
        numbers = (counts["pairs"], counts["distinguished"], exact, counts["unreliable"])
        table.add_row(name, *map(str, numbers), style="bold" if name == "all" else None)
    published = ", ".join(f"{name}: {count}" for name, count in PUBLISHED.items())
    state = "" if record["complete"] else f"; {summary['pairs']} of 400 pairs so far"
    return Group(
        f"BREC by RPC: {record['model']}, seed {record['seed']}{state}",
        table,
        "exact bound: pairs that colour refinement with the model's subgraphs and layers tells "
        f"apart. Distinguished beyond it: {summary['beyond_exact']}. unreliable: copies of one "
        f"graph told apart. Published, of 400: {published}.",
        f"{summary['seconds']:,.0f} s. Other than published: {'; '.join(record['deviations'])}.\n",
    )
