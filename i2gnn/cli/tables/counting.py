"""`i2gnn reproduce table2` and the other counting experiments: trains all cells, prints them."""

import argparse
import dataclasses
import json
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from i2gnn.errors import InputError

if TYPE_CHECKING:
    from i2gnn.paper.counting import CountingTable
    from i2gnn.paper.experiment import Experiment
    from i2gnn.paper.runner import RunSettings

__all__ = ["add_arguments", "execute"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of all counting experiments."""
    parser.add_argument(
        "--preset",
        nargs="+",
        help="paper (default), paper-5, paper-text, paper-code, best, more-graphs; of a search all",
    )
    parser.add_argument("--only", nargs="+", metavar="TARGET", help="such as cycle5 cycle6")
    parser.add_argument("--models", nargs="+", metavar="MODEL", help="such as mpnn i2gnn")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="counting, chembl")
    parser.add_argument(
        "--seeds", nargs="+", type=int, help="three, from --seed on; --quick, search: one"
    )
    parser.add_argument("--epochs", type=int, help="other than the preset's, to try something")
    parser.add_argument("--quick", action="store_true", help="a smoke test, on a CPU in seconds")
    parser.add_argument("--list", action="store_true", help="show the runs and their state; no run")
    parser.add_argument("--resume", action="store_true", help="go on with runs that were stopped")
    parser.add_argument("--time-limit", metavar="TIME", help="stop at checkpoints: 540, 9m, 2h")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time on the device")
    parser.add_argument(
        "--out", metavar="DIR", help="folder of records (results; runs/quick/results)"
    )
    parser.add_argument(
        "--runs", metavar="DIR", help="folder of checkpoints (runs/reproduce; runs/quick)"
    )


def execute(arguments: argparse.Namespace) -> int:
    """Plans, runs, prints the table."""
    from i2gnn.cli.tables.progress import show_progress
    from i2gnn.paper.counting import TABLES
    from i2gnn.paper.runner import ENDED, state_of
    from i2gnn.paper.workers import run_experiments

    table = TABLES[arguments.table]
    experiments, settings = _plan(table, arguments), _settings(arguments)
    before = [state_of(experiment, settings) for experiment in experiments]
    if arguments.list:
        _print_plan(experiments, before, arguments.json)
        return 0
    quiet = arguments.quiet or arguments.json
    for place, event in enumerate(before):
        if event.state == "outdated" and arguments.quick:  # a smoke test is made again
            experiments[place].record_path(settings.results).unlink()
            shutil.rmtree(experiments[place].run_dir(settings.runs), ignore_errors=True)
            before[place] = state_of(experiments[place], settings)
    waiting = sum(event.state not in ENDED for event in before)
    settings = dataclasses.replace(settings, jobs=max(1, min(settings.jobs, waiting)))
    with show_progress(experiments, before, enabled=not quiet) as notify:
        events = run_experiments(experiments, settings, notify)
    failed = [event for event in events.values() if event.state == "failed"]
    made = [one for one in experiments if events[one.name].state == "done"]
    _print_results(table, experiments, made, settings, arguments.json)
    outdated = [event for event in events.values() if event.state == "outdated"]
    left = [e for e in events.values() if e.state in ("stopped", "waiting")]
    for event in failed:
        print(f"failed: {event.name}: {event.note}", file=sys.stderr)
    for event in outdated:
        print(f"not run: {event.name}: {event.note}", file=sys.stderr)
    if left and not quiet:
        print(f"{len(left)} of {len(events)} runs are left; --resume goes on", file=sys.stderr)
    if not quiet and not arguments.quick:
        where = f" --out {shlex.quote(arguments.out)}" if arguments.out else ""
        print(f"`i2gnn reproduce report{where}` makes the page, with plots", file=sys.stderr)
    return 1 if failed or outdated else 0


def _plan(table: "CountingTable", arguments: argparse.Namespace) -> "list[Experiment]":
    from i2gnn.paper.plan import choose_experiments

    seeds = arguments.seeds
    if seeds is None:
        count = 1 if arguments.quick else table.seeds
        seeds = range(arguments.seed, arguments.seed + count)
    return choose_experiments(
        table,
        presets=arguments.preset,
        seeds=list(seeds),
        targets=arguments.only,
        models=arguments.models,
        datasets=arguments.datasets,
        epochs=arguments.epochs,
        quick=arguments.quick,
        data_root=arguments.data_root,
    )


def _settings(arguments: argparse.Namespace) -> "RunSettings":
    from i2gnn.paper.runner import RunSettings
    from i2gnn.training.environment import resolve_device

    resolve_device(arguments.device)  # or raise, before anything is run
    if arguments.jobs < 1:
        raise InputError(f"--jobs is {arguments.jobs}; expected at least 1")
    results, runs = ("results", "runs/reproduce")
    if arguments.quick:  # apart from real ones
        results, runs = ("runs/quick/results", "runs/quick")
    limit = None if arguments.time_limit is None else parse_time(arguments.time_limit)
    return RunSettings(
        results=Path(arguments.out or results),
        runs=Path(arguments.runs or runs),
        data_root=arguments.data_root,
        device=arguments.device,
        resume=arguments.resume,
        deadline=None if limit is None else time.time() + limit,
        jobs=arguments.jobs,
    )


def parse_time(text: str) -> float:
    """Seconds, from "540", "540s", "9m" or "1.5h".

    Example:
        >>> parse_time("9m")
        540.0
    """
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    try:
        seconds = float(number) * units[unit]
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise InputError(f"--time-limit is {text!r}; expected such as 540, 9m or 2h")
    return seconds


def _print_plan(experiments: "list[Experiment]", events: list[Any], as_json: bool) -> None:
    rows = [
        {
            "name": experiment.name,
            "state": event.state,
            "epoch": event.epoch,
            "of": experiment.epochs,
            "note": event.note,
        }
        for experiment, event in zip(experiments, events, strict=True)
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        where = f" at epoch {row['epoch']} of {row['of']}" if row["state"] == "stopped" else ""
        note = f": {row['note']}" if row["note"] else ""
        print(f"{row['name']}: {row['state']}{where}{note}")
    done = sum(row["state"] == "done" for row in rows)
    print(f"{done} of {len(rows)} runs are done")


def _print_results(
    table: "CountingTable",
    experiments: "list[Experiment]",
    made: "list[Experiment]",
    settings: "RunSettings",
    as_json: bool,
) -> None:
    """Prints the cells of the experiments, from the records of those that were made."""
    from i2gnn.cli.tables.cells import result_tables
    from i2gnn.paper.records import read_record
    from i2gnn.paper.summary import summarize

    records = [read_record(experiment.record_path(settings.results)) for experiment in made]
    if as_json:
        print(json.dumps(records, indent=2))
        return
    presets = list(dict.fromkeys(experiment.preset for experiment in experiments))
    wanted = {(experiment.task, experiment.preset) for experiment in experiments}
    cells = [c for c in summarize(table, presets, records) if (c.task, c.preset) in wanted]
    console = Console()
    for part in result_tables(table, cells, console.width):
        console.print(part, highlight=False)
