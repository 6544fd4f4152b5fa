"""Ops on a GPU, forward and backward: Triton's kernels against the references.

    python benchmarks/bench_ops.py [--data-root DIR] [--graphs 256] [--width 64] [--dtype float32]

One JSON line per op and pass. Times are those of the device: work is queued up behind a pause
that covers the time of the host. `of_copy` compares the bytes that the pass must at least read
and write, per second, with those of a plain copy of the rows in the same run.
"""

import argparse
import json
from collections.abc import Callable
from typing import NamedTuple

import torch
from common import describe_hardware, synthetic_graphs
from torch import Tensor

from i2gnn import Subgraphs, extract_subgraphs, ops

Op = Callable[..., Tensor]


class Case(NamedTuple):
    """An op, the lengths of its inputs, and whether its backward pass reads them again."""

    op: Op
    lengths: tuple[int, ...]
    reads_again: bool = False


def main() -> None:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-root", help="folder with counting/synthetic5000.npz")
    parser.add_argument("--graphs", type=int, default=256)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--hops", type=int, default=3)
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--only", default="", help="ops whose name contains this")
    arguments = parser.parse_args()
    dtype = getattr(torch, arguments.dtype)

    graphs, source = synthetic_graphs(arguments.graphs, arguments.data_root)
    subgraphs = extract_subgraphs(graphs, hops=arguments.hops).to("cuda")
    print(json.dumps(describe_hardware("cuda") | vars(arguments) | {"data": source}))
    print(json.dumps({axis: subgraphs.length(axis) for axis in subgraphs.sizes}))

    rows = torch.randn(subgraphs.num_rows, arguments.width, device="cuda", dtype=dtype)
    seconds = time_of(lambda: torch.empty_like(rows).copy_(rows))
    copy = 2 * rows.nbytes / seconds
    print(json.dumps({"op": "copy of the rows", "us": 1e6 * seconds, "gb_per_s": copy / 1e9}))

    for name, case in cases(subgraphs).items():
        if arguments.only in name:
            inputs = [
                torch.randn(length, arguments.width, device="cuda", dtype=dtype, requires_grad=True)
                for length in case.lengths
            ]
            for record in measure(case, inputs, copy):
                print(json.dumps({"op": name} | record), flush=True)


def cases(s: Subgraphs) -> dict[str, Case]:
    """All ops, by name."""
    kinds = torch.arange(s.num_edges, device=s.device) % 4
    code = s.label_code
    assert code is not None
    labels = 1
    for size in s.label_sizes:
        labels *= size
    many = (code.long() * 7919 + torch.arange(s.num_rows, device=s.device)) % 300
    R, B, N, E = s.num_rows, s.num_branches, s.num_nodes, s.num_edges
    return {
        "aggregate": Case(lambda h: ops.aggregate(h, s), (R,)),
        "aggregate, edge features": Case(lambda h, e: ops.aggregate(h, s, e), (R, E), True),
        "aggregate, 4 edge types": Case(
            lambda h, table: ops.aggregate(h, s, table, kinds), (R, 4), True
        ),
        "pool_nodes": Case(lambda h: ops.pool_nodes(h, s), (R,)),
        "pool_branches": Case(lambda h: ops.pool_branches(h, s), (B,)),
        "pool_graphs": Case(lambda h: ops.pool_graphs(h, s), (N,)),
        "pool_context, mean": Case(lambda h: ops.pool_context(h, s, "mean"), (R,)),
        "spread_nodes": Case(lambda x: ops.spread_nodes(x, s), (N,)),
        "read_subgraphs": Case(lambda h: ops.read_subgraphs(h, s), (R,)),
        "read_subgraphs, gate": Case(lambda h, g: ops.read_subgraphs(h, s, g), (R, R), True),
        f"lookup, {labels} labels": Case(lambda table: ops.lookup(table, code), (labels,)),
        "lookup, 300 codes": Case(lambda table: ops.lookup(table, many), (300,)),
    }


def measure(case: Case, inputs: list[Tensor], copy: float) -> list[dict[str, object]]:
    """Forward and backward of one op with both backends."""
    times: dict[str, dict[str, float]] = {"forward": {}, "backward": {}}
    for backend in ("triton", "reference"):
        with ops.backend(backend):
            out = case.op(*inputs)
            back = torch.randn_like(out)

            def forward() -> Tensor:
                with torch.no_grad():
                    return case.op(*inputs)

            def backward(out: Tensor = out, back: Tensor = back) -> tuple[Tensor, ...]:
                return torch.autograd.grad(out, inputs, back, retain_graph=True)

            times["forward"][backend] = time_of(forward)
            times["backward"][backend] = time_of(backward)
    read = sum(tensor.nbytes for tensor in inputs)
    least = {
        "forward": read + out.nbytes,
        "backward": out.nbytes + read + (read if case.reads_again else 0),
    }
    return [
        {
            "pass": name,
            "triton_us": 1e6 * both["triton"],
            "reference_us": 1e6 * both["reference"],
            "ratio": both["reference"] / both["triton"],
            "gb_per_s": least[name] / both["triton"] / 1e9,
            "of_copy": least[name] / both["triton"] / copy,
        }
        for name, both in times.items()
    ]


def time_of(work: Callable[[], object], calls: int = 20, repeats: int = 5) -> float:
    """Device time of one call in seconds, the best of several measurements."""
    for _ in range(3):
        work()
    best = float("inf")
    for _ in range(repeats):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda._sleep(40_000_000)  # some 20 ms, in which the host queues the calls
        start.record()
        for _ in range(calls):
            work()
        stop.record()
        stop.synchronize()
        best = min(best, start.elapsed_time(stop) / 1e3 / calls)
    return best


if __name__ == "__main__":
    main()
