"""One graph of 10^3 to 10^6 nodes under a memory budget: time per node and memory.

    python benchmarks/bench_scale.py [--nodes 1000 10000 100000 1000000] [--memory-budget 256MB]

The graphs have bounded degree: a square grid with diagonals (8 neighbours), and a random graph with
4 neighbours, made of two random cycles through all nodes, numbered at random. Every size runs in a
process of its own, after a small graph has loaded what there is to load. Memory is the growth of
the process at its peak, over what it holds with the graph in memory; it may be the budget, the
outputs and about 40 bytes per node for offsets and sizes. Prints one JSON line per run and a
closing table: time per node should be flat, and memory within its bound.
"""

import argparse
import ctypes
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import describe_hardware

from i2gnn import I2GNN, GraphStore, StreamedModel, count_subgraphs
from i2gnn.memory import parse_size

GRAPHS = ("grid", "regular")
PER_NODE = 40
"""Bytes that streaming holds per node beside the budget: offsets, marks, sizes of some roots."""
REPEAT_BELOW = 30_000
"""Nodes up to which a run is short enough to take the best of several."""


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, nargs="+", default=[10**3, 10**4, 10**5, 10**6])
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--memory-budget", default="256MB")
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--hops", type=int, default=2)
    parser.add_argument("--training", action="store_true", help="with the gradient of a loss")
    parser.add_argument("--one", metavar="GRAPH:NODES", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        kind, nodes = arguments.one.split(":")
        print(json.dumps(measure(kind, int(nodes), arguments)))
        return
    settings = {name: value for name, value in vars(arguments).items() if name != "one"}
    print(json.dumps(settings | describe_hardware()), flush=True)
    runs = []
    for kind in arguments.graphs:
        for nodes in arguments.nodes:
            command = [sys.executable, str(Path(__file__)), *sys.argv[1:], "--one"]
            done = subprocess.run([*command, f"{kind}:{nodes}"], check=True, stdout=subprocess.PIPE)
            runs.append(json.loads(done.stdout))
            print(json.dumps(runs[-1]), flush=True)
    print_table(runs)


def measure(kind: str, nodes: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time and memory of one run."""
    torch.manual_seed(0)
    model = I2GNN(
        hidden_channels=arguments.width, num_layers=arguments.layers, hops=arguments.hops
    ).eval()
    streamed = StreamedModel(model, arguments.memory_budget)

    def run(graph: GraphStore) -> tuple[float, float]:
        start, start_cpu = time.perf_counter(), time.process_time()
        with torch.set_grad_enabled(arguments.training):
            output = streamed(graph)
            if arguments.training:
                output.square().mean().backward()
        assert output.isfinite().all()
        return time.perf_counter() - start, time.process_time() - start_cpu

    run(make_graph(kind, 500))
    graph = make_graph(kind, nodes)
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # from here on the peak is that of the run
    times = [run(graph)]
    growth = memory("VmHWM") - before
    if nodes < REPEAT_BELOW:
        times += [run(graph) for _ in range(4)]
    seconds, cpu_seconds = np.min(times, axis=0)
    rows = int(count_subgraphs(graph, hops=model.hops).rows.sum())
    bound = parse_size(arguments.memory_budget) + PER_NODE * nodes + 4 * nodes
    return {
        "graph": kind,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "rows": rows,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu_seconds, 3),
        "us_per_node": round(1e6 * seconds / graph.num_nodes, 2),
        "cpu_us_per_node": round(1e6 * cpu_seconds / graph.num_nodes, 2),
        "ns_per_row": round(1e9 * seconds / rows, 1),
        "peak_growth_mb": round(growth / 1e6, 1),
        "bound_mb": round(bound / 1e6, 1),
        "graph_mb": round(graph.nbytes / 1e6, 1),
    }


def make_graph(kind: str, nodes: int) -> GraphStore:
    """A grid with diagonals, or two random cycles; the grid rounds to a square."""
    if kind == "grid":
        side = round(nodes**0.5)
        place = np.arange(side * side).reshape(side, side)
        pairs = [
            (place[:, :-1], place[:, 1:]),
            (place[:-1], place[1:]),
            (place[:-1, :-1], place[1:, 1:]),
            (place[:-1, 1:], place[1:, :-1]),
        ]
        edges = np.concatenate([np.stack([a.ravel(), b.ravel()], 1) for a, b in pairs])
        return GraphStore.from_edge_lists([edges], [side * side], symmetrize=True)
    rng = np.random.default_rng(0)
    cycles = [rng.permutation(nodes) for _ in range(2)]
    edges = np.concatenate([np.stack([cycle, np.roll(cycle, 1)], 1) for cycle in cycles])
    edges = np.unique(np.sort(edges, axis=1), axis=0)  # an edge in both cycles counts once
    return GraphStore.from_edge_lists([edges], [nodes], symmetrize=True)


def memory(field: str) -> int:
    """Bytes of this process: VmRSS now, VmHWM at its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def print_table(runs: list[dict[str, Any]]) -> None:
    """The runs, and for each kind of graph how flat the time per node is."""
    columns = f"{'graph':8} {'nodes':>9} {'rows':>12} {'seconds':>9} {'µs/node':>8} {'CPU µs':>8}"
    print(f"\n{columns} {'MB':>6} {'bound':>6}")
    for run in runs:
        print(
            f"{run['graph']:8} {run['nodes']:9,} {run['rows']:12,} {run['seconds']:9.2f} "
            f"{run['us_per_node']:8.1f} {run['cpu_us_per_node']:8.1f} "
            f"{run['peak_growth_mb']:6.0f} {run['bound_mb']:6.0f}"
        )
    for kind in dict.fromkeys(run["graph"] for run in runs):
        for name in ("us_per_node", "cpu_us_per_node"):
            times = [run[name] for run in runs if run["graph"] == kind]
            print(f"{kind}: {name}, slowest size over fastest: {max(times) / min(times):.2f}")


if __name__ == "__main__":
    main()
