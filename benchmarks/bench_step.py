"""Training step on the CPU: ours, ours with reference ops, and copied subgraphs in plain PyG.

    python benchmarks/bench_step.py [--data-root DIR] [--graphs 256]

All three run the counting model (5 gated layers, 64 wide, K = 3) on the same graphs with the same
weights. Timings alternate between the formulations inside one process; peak memory is measured
in a fresh process each, as the growth of the resident set over the state before the first step.
"""

import argparse
import contextlib
import gc
import json
import multiprocessing
import resource
import statistics
import time
from multiprocessing.connection import Connection
from typing import Any

import torch
from common import describe_hardware, synthetic_graphs
from copied import CopiedI2GNN, copy_subgraphs

from i2gnn import I2GNN, ops

FORMULATIONS = ("ours", "reference ops", "copied")


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", help="folder with counting/synthetic5000.npz")
    parser.add_argument("--graphs", type=int, default=256)
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--hops", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    arguments = parser.parse_args()
    print(json.dumps(describe_hardware()))
    memory = {name: memory_of(name, arguments) for name in FORMULATIONS}
    setups = {name: Setup(name, arguments) for name in FORMULATIONS}
    outputs = {name: setup.step()[2] for name, setup in setups.items()}  # also warms up
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in FORMULATIONS}
    for _ in range(arguments.steps):
        for name, setup in setups.items():
            times[name].append(setup.step()[:2])

    print(f"\n{'':15} {'step s':>8} {'forward s':>10} {'memory MB':>10} {'step':>7} {'memory':>7}"
          f"  {'difference of outputs':>22}")  # fmt: skip
    base = statistics.median(step for _, step in times["copied"])
    for name in FORMULATIONS:
        forward = statistics.median(f for f, _ in times[name])
        step = statistics.median(s for _, s in times[name])
        gap = float((outputs[name] - outputs["copied"]).abs().max())
        record = {"name": name, "rows": setups["ours"].data.num_rows, "step_s": step,
                  "forward_s": forward, "memory_mb": memory[name], "output_gap": gap}  # fmt: skip
        print(json.dumps(record))
        print(f"{name:15} {step:8.2f} {forward:10.2f} {memory[name]:10.0f} {base / step:6.2f}x "
              f"{memory['copied'] / memory[name]:6.2f}x  {gap:22.1e}")  # fmt: skip


class Setup:
    """One formulation, ready to step."""

    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        graphs, _ = synthetic_graphs(arguments.graphs, arguments.data_root)
        torch.manual_seed(0)
        model = I2GNN(
            num_layers=arguments.layers, hidden_channels=arguments.width, hops=arguments.hops
        )
        subgraphs = model.extract(graphs)
        self.target = torch.randn(subgraphs.num_nodes, 1)
        self.name = name
        self.model: torch.nn.Module = CopiedI2GNN(model) if name == "copied" else model
        self.data: Any = copy_subgraphs(subgraphs) if name == "copied" else subgraphs

    def step(self) -> tuple[float, float, torch.Tensor]:
        """Forward, loss, backward; returns seconds of the forward and of all, and the output."""
        choose = ops.backend("reference") if self.name == "reference ops" else None
        with choose or contextlib.nullcontext():
            start = time.perf_counter()
            self.model.zero_grad(set_to_none=True)
            # Ours assembles its batch in every step; the copied one finds it ready.
            data = self.data if self.name == "copied" else self.data.batch(range(len(self.data)))
            output = self.model(data)
            forward = time.perf_counter() - start
            (output - self.target).abs().mean().backward()
        return forward, time.perf_counter() - start, output.detach()


def memory_of(name: str, arguments: argparse.Namespace) -> float:
    """Peak memory of a step in MB, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_measure, args=(name, arguments, there))
    process.start()
    there.close()
    result: float = here.recv()
    process.join()
    return result


def _measure(name: str, arguments: argparse.Namespace, connection: Connection) -> None:
    setup = Setup(name, arguments)
    small = argparse.Namespace(**vars(arguments) | {"graphs": 2})
    Setup(name, small).step()  # compiles, and loads what the first step loads
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    setup.step()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    connection.send((after - before) / 1024)


if __name__ == "__main__":
    main()
