"""Compiles every kernel for a GPU, on a machine without one; run as a script.

Models and ops run forward and backward on tensors of the CPU, and whatever they would launch is
compiled with the types and sizes at hand instead. Prints the kernels' names as a list.
"""

import dataclasses
import inspect
import json
import pkgutil
import sys
from importlib import import_module
from typing import Any

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import i2gnn.ops.triton as package
from i2gnn import I2GNN, GraphStore, SubgraphMPNN, Subgraphs, extract_subgraphs, ops
from i2gnn.benchmark.cases import generate_molecules
from i2gnn.models import IDGNN, PPGN, GNNAKPlain, Network
from i2gnn.models.i2gnn import ZINC_OPTIONS

TARGET = GPUTarget("cuda", 90, 32)
TYPES = {
    torch.float32: "*fp32",
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.int64: "*i64",
    torch.int32: "*i32",
    torch.int16: "*i16",
    torch.uint8: "*u8",
    torch.int8: "*i8",
}
OPTIONS = ("num_warps", "num_stages", "maxnreg")

seen: set[tuple[Any, ...]] = set()


def compile_instead(start: Any, grid: tuple[int, ...], *arguments: Any, **sizes: Any) -> None:
    """Takes the place of `launch`."""
    options = {name: sizes.pop(name) for name in OPTIONS if name in sizes}
    given = inspect.signature(start.fn).bind(*arguments, **sizes).arguments
    signature, constants = {}, {}
    for name, value in given.items():
        if isinstance(value, torch.Tensor):
            signature[name] = TYPES[value.dtype]
        elif value is None or start.fn.__annotations__[name] is tl.constexpr:
            signature[name], constants[name] = "constexpr", value
        else:
            signature[name] = "fp32" if isinstance(value, float) else "i32"
    key = (name_of(start), *signature.items(), *constants.items(), *options.items())
    if key not in seen:
        seen.add(key)
        triton.compile(ASTSource(start, signature, constants), target=TARGET, options=options)


def name_of(kernel: Any) -> str:
    """Its module and name: two modules may have kernels of one name."""
    return f"{kernel.fn.__module__.rpartition('.')[2]}.{kernel.fn.__name__}"


def modules() -> list[Any]:
    """The package and all that is in it."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__)]
    return [package, *(import_module(f"{package.__name__}.{name}") for name in names)]


def prepare() -> list[str]:
    """Lets ops take tensors of the CPU; returns the names of all kernels."""
    kernels = set()
    for module in modules():
        for name, value in list(vars(module).items()):
            if name == "launch" and callable(value):
                module.launch = compile_instead
            elif name == "INTERPRETED":
                module.INTERPRETED = True
            elif name.endswith("_kernel"):
                kernels.add(name_of(value))
    return sorted(kernels)


def train(model: Network, graphs: GraphStore) -> None:
    """One step, of which nothing is computed."""
    data = model.extract(graphs)
    model(data).sum().backward()


def relu_sums(subgraphs: Subgraphs) -> None:
    """Sums with edge features, of few kinds and of many."""
    h = torch.ones(subgraphs.num_rows, 64, requires_grad=True)
    edges = torch.ones(subgraphs.num_edges, 64, requires_grad=True)
    types = torch.zeros(subgraphs.num_edges, dtype=torch.int64)
    ops.aggregate(h, subgraphs, edges).sum().backward()
    ops.aggregate(h, subgraphs, edges[:4], types).sum().backward()
    ops.read_subgraphs(h, subgraphs, torch.ones_like(h, requires_grad=True)).sum().backward()


def main() -> None:
    """Runs models and ops that together launch all kernels."""
    assert not package.INTERPRETED, "TRITON_INTERPRET must not be set"
    kernels = prepare()
    molecules = generate_molecules(2)
    graphs = dataclasses.replace(molecules, x=None, edge_attr=None)
    with ops.backend("triton"):
        train(I2GNN(num_layers=3), graphs)
        train(I2GNN(num_layers=3, readout="side"), graphs)
        train(SubgraphMPNN(num_layers=1, level="graph"), graphs)
        train(IDGNN(num_layers=2, hidden_channels=32), graphs)
        train(GNNAKPlain(num_layers=2), graphs)
        train(PPGN(num_layers=2, hidden_channels=300), graphs)
        train(I2GNN(**ZINC_OPTIONS | {"num_layers": 2}), molecules)
        relu_sums(extract_subgraphs(graphs, hops=2))
    found = {key[0] for key in seen}
    json.dump({"compiled": sorted(found), "missing": sorted(set(kernels) - found)}, sys.stdout)


if __name__ == "__main__":
    main()
