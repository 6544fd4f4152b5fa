"""`i2gnn bench`: how fast the engine is here, beside the copied formulation."""

import argparse
import json
import sys

from rich.console import Console

__all__ = ["HELP", "add_arguments", "execute"]

HELP = "measure time, memory and precision beside copied subgraphs in plain PyG, on this machine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bench`."""
    parser.add_argument("--quick", action="store_true", help="small batches: a minute or two")
    parser.add_argument("--precision", choices=("tf32", "float32"), help="of matrix products")
    parser.add_argument("--graphs", type=int, help="graphs in a batch (256; 32 with --quick)")
    parser.add_argument("--out", metavar="FILE", help="write all records there, as JSON lines")


def execute(arguments: argparse.Namespace) -> int:
    """Measures, prints the tables."""
    from i2gnn.benchmark import BenchmarkSettings, run_benchmark
    from i2gnn.benchmark.ratios import summarize
    from i2gnn.benchmark.table import tables
    from i2gnn.files import write_atomically

    graphs = arguments.graphs or (32 if arguments.quick else 256)
    settings = BenchmarkSettings(
        device=arguments.device,
        precision=arguments.precision,
        graphs=graphs,
        epoch_graphs=2 * graphs if arguments.quick else None,
        rounds=2 if arguments.quick else None,
        agreement_graphs=16 if arguments.quick else 64,
        data_root=arguments.data_root,
        seed=arguments.seed,
    )
    status = Console(stderr=True, quiet=arguments.quiet)
    with status.status("starting") as shown:
        records = run_benchmark(settings, notify=shown.update)
    if arguments.out:
        write_atomically(arguments.out, "".join(json.dumps(r) + "\n" for r in records))
    if arguments.json:
        json.dump({"summary": summarize(records), "records": records}, sys.stdout)
        print()
    else:
        Console().print(tables(records), highlight=False)
    return 0
