"""The engine and plain PyTorch train the same network: the errors of both, seed by seed.

    python benchmarks/bench_training.py --data-root DIR --seeds 0 1 2 --epochs 2000 --out FILE

Trains the counting model on 6-cycles with the kernels and with the reference ops, which take ten
times as long. Runs whose line is in FILE are not repeated. The exit code is 1 if the mean errors
differ by more than the seeds do; one seed alone is not judged.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from i2gnn import ops
from i2gnn.benchmark import BenchmarkSettings
from i2gnn.benchmark.bars import TRAINING_EPOCHS
from i2gnn.benchmark.end_to_end import training_run
from i2gnn.benchmark.records import Log

PATHS = ("ours", "reference ops")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs what is missing, and compares."""
    arguments = parse(argv)
    out = Path(arguments.out)
    lines = out.read_text().splitlines() if out.is_file() else []
    records = [json.loads(line) for line in lines]
    for seed in arguments.seeds:
        for path in PATHS:
            if not any(_is(record, path, seed, arguments.epochs) for record in records):
                records.append(run(arguments, path, seed))
                with open(out, "a") as file:
                    print(json.dumps(records[-1]), file=file)
    chosen = {
        path: [r for s in arguments.seeds for r in records if _is(r, path, s, arguments.epochs)]
        for path in PATHS
    }
    Console().print(table(chosen, arguments.epochs), highlight=False)
    if len(arguments.seeds) < 2:
        print("NOT CHECKED  mean validation errors: one seed has no spread")
        return 0
    (ours, spread), (reference, other) = (
        agreement([record["value"] for record in chosen[path]]) for path in PATHS
    )
    same = abs(ours - reference) <= max(spread, other)
    print(f"{'PASS' if same else 'FAIL'}  mean validation errors differ by no more than the seeds")
    return int(not same)


def run(arguments: argparse.Namespace, path: str, seed: int) -> dict[str, Any]:
    """One run, as a record whose value is the validation error of the best epoch."""
    settings = BenchmarkSettings(device=arguments.device, data_root=arguments.data_root, seed=seed)
    log = Log(settings, lambda record: None)
    print(f"seed {seed}, {path}: {arguments.epochs} epochs", file=sys.stderr, flush=True)
    with ops.backend("auto" if path == "ours" else "reference"):
        found = training_run(settings, arguments.epochs, arguments.graphs)
    log.add("validation", found.pop("validation"), "", case="counting", formulation=path, **found)
    return log.records[0]


def agreement(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def table(chosen: dict[str, list[dict[str, Any]]], epochs: int) -> Table:
    """Both paths, seed by seed."""
    seeds = [record["seed"] for record in chosen[PATHS[0]]]
    shown = Table(title=f"Normalised validation MAE of 6-cycles after {epochs:,} epochs")
    for heading in ("", *(f"seed {seed}" for seed in seeds), "mean", "std", "seconds"):
        shown.add_column(heading, justify="left" if not heading else "right")
    for path, records in chosen.items():
        values = [record["value"] for record in records]
        seconds = statistics.fmean(record["seconds"] for record in records)
        cells = [*values, *agreement(values)]
        shown.add_row(path, *(f"{value:.5f}" for value in cells), f"{seconds:.0f}")
    return shown


def _is(record: dict[str, Any], path: str, seed: int, epochs: int) -> bool:
    return (record["formulation"], record["seed"], record["epochs"]) == (path, seed, epochs)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", help="folder of data sets; without it graphs are generated")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--epochs", type=int, default=TRAINING_EPOCHS)
    parser.add_argument("--graphs", type=int, default=5000, help="to generate, if there are none")
    parser.add_argument("--out", metavar="FILE", required=True, help="JSON lines, one per run")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
