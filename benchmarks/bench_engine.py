"""The engine beside copied subgraphs in plain PyG: time, memory, precision, whole training runs.

    python benchmarks/bench_engine.py --data-root DIR              all measurements and the table
    python benchmarks/bench_engine.py --data-root DIR --check      also what is promised: PASS, FAIL
    python benchmarks/bench_engine.py --json                       JSON lines on stdout, no table

Everything is measured on one device in one run, on the same graphs and weights; what each number
means is said under the table and in `i2gnn/benchmark/`. With --check the exit code is 1 if a
promise is not kept. On a GPU, --check includes a training run of 2,000 epochs (--epochs), and the
time of a first epoch with empty and with filled caches of compiled kernels.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from i2gnn.benchmark import BenchmarkSettings, run_benchmark
from i2gnn.benchmark.bars import PROMISED_GRAPHS, TRAINING_EPOCHS, check
from i2gnn.benchmark.cases import CASES
from i2gnn.benchmark.end_to_end import record_training
from i2gnn.benchmark.records import Record
from i2gnn.benchmark.table import tables


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 1 if a promise is not kept."""
    arguments = parse(argv)
    settings = BenchmarkSettings(
        device=arguments.device,
        precision=arguments.precision,
        graphs=arguments.graphs,
        rounds=arguments.rounds,
        data_root=arguments.data_root,
        seed=arguments.seed,
    )
    if arguments.out:
        Path(arguments.out).write_text("")

    def write(record: Record) -> None:
        line = json.dumps(record)
        if arguments.json:
            print(line, flush=True)
        if arguments.out:
            with open(arguments.out, "a") as file:  # what is done stays if a later part fails
                print(line, file=file)

    def notify(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    records = run_benchmark(settings, cases=arguments.cases, on_record=write, notify=notify)
    trains = "counting" in arguments.cases and arguments.epochs
    if arguments.check and settings.on_gpu and trains:
        records += record_training(settings, arguments.epochs, on_record=write, notify=notify)
    verdicts = check(records) if arguments.check else []
    console = Console(stderr=arguments.json)
    if not arguments.json:
        console.print(tables(records), highlight=False)
    for verdict in verdicts:
        console.print(str(verdict), highlight=False, soft_wrap=True)
    return int(any(verdict.passed is False for verdict in verdicts))


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-root", help="folder of data sets; without it graphs are generated")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", choices=("tf32", "float32"), help="tf32 on a GPU")
    parser.add_argument("--graphs", type=int, default=PROMISED_GRAPHS, help="in a batch")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES, help="which models")
    parser.add_argument("--rounds", type=int, help="measurements of each time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="JSON lines on stdout, no table")
    parser.add_argument("--out", metavar="FILE", help="JSON lines to a file")
    parser.add_argument("--check", action="store_true", help="compare with what is promised")
    parser.add_argument(
        "--epochs",
        type=int,
        default=TRAINING_EPOCHS,
        help="of the counting model's run; 0 leaves it out",
    )
    arguments = parser.parse_args(argv)
    if arguments.check and arguments.graphs != PROMISED_GRAPHS:
        parser.error(f"--check is about batches of {PROMISED_GRAPHS} graphs")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
