"""Checks shared by many tests."""

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from torch import Tensor

from i2gnn.graphs import GraphStore
from i2gnn.graphs.flat import FlatStore

REPOSITORY = Path(__file__).parent.parent

on_gpu = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
"""Marks of a test that needs a GPU."""


def data_root() -> Path | None:
    """Folder with the real data sets: I2GNN_DATA, else shared/data beside the checkout."""
    named = os.environ.get("I2GNN_DATA")
    root = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    return root if root.is_dir() else None


@contextlib.contextmanager
def no_waiting() -> Iterator[None]:
    """Inside, whatever waits for the GPU is an error."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")
        torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode("default")


def random_graphs(
    count: int, seed: int = 0, nodes: tuple[int, int] = (1, 12), p: float = 0.35, **features: int
) -> GraphStore:
    """Erdős–Rényi graphs of mixed sizes; `x=3` or `edge_attr=2` adds random features."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(nodes[0], nodes[1] + 1, count).tolist()
    edges = [np.argwhere(np.triu(rng.random((n, n)) < p, 1)) for n in sizes]
    store = GraphStore.from_edge_lists(edges, sizes, symmetrize=True)
    columns: dict[str, Any] = {}
    if "x" in features:
        columns["x"] = torch.from_numpy(rng.normal(size=(store.num_nodes, features["x"])))
    if "edge_attr" in features:
        columns["edge_attr"] = torch.from_numpy(
            rng.integers(0, 3, (store.num_edges, features["edge_attr"])).astype(np.float64)
        )
    return with_columns(store, **columns)


def random_molecules(count: int, seed: int = 0) -> GraphStore:
    """Trees with a few rings closed; `x` is one of 28 atom types, `edge_attr` one of 4 bonds."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(9, 30, count).tolist()
    edge_lists = []
    for n in sizes:
        edges = {(int(rng.integers(max(0, k - 3), k)), k) for k in range(1, n)}
        for first in rng.integers(0, n - 5, 3).tolist():
            edges.add((first, first + 5))
        edge_lists.append(sorted(edges))
    store = GraphStore.from_edge_lists(edge_lists, sizes, symmetrize=True)
    source, target = store.edge_index
    return with_columns(
        store,
        x=torch.from_numpy(rng.integers(0, 28, (store.num_nodes, 1))),
        edge_attr=(source * target % 4).unsqueeze(1),  # the same in both directions
    )


def to_networkx(graphs: GraphStore, g: int) -> networkx.Graph:
    """One graph of a store, without features."""
    graph = graphs.batch([g])
    result = networkx.empty_graph(graph.num_nodes)
    result.add_edges_from(graph.edge_index.t().tolist())
    return result


def with_columns(store: GraphStore, **columns: Tensor) -> GraphStore:
    import dataclasses

    return dataclasses.replace(store, **columns)


def permute(store: GraphStore, seed: int = 0) -> tuple[GraphStore, Tensor, Tensor]:
    """Relabels the nodes of every graph.

    Returns the new store and, for its nodes and edges, which old ones they were.
    """
    rng = np.random.default_rng(seed)
    old_of_new = torch.cat(
        [torch.from_numpy(rng.permutation(int(n))) + int(o) for n, o in _ranges(store)]
        or [torch.empty(0, dtype=torch.int64)]
    )
    new_of_old = torch.empty_like(old_of_new)
    new_of_old[old_of_new] = torch.arange(len(old_of_new))
    source, target = new_of_old[store.edge_index]
    edge_order = torch.argsort(target * store.num_nodes + source)
    permuted = with_columns(
        store,
        degree=store.degree[old_of_new],
        neighbor=source[edge_order].to(store.neighbor.dtype),
        **{"x": store.x[old_of_new]} if store.x is not None else {},
        **{"edge_attr": store.edge_attr[edge_order]} if store.edge_attr is not None else {},
    )
    return permuted, old_of_new, edge_order


def _ranges(store: GraphStore) -> list[tuple[int, int]]:
    return list(zip(store.sizes["node"].tolist(), store.offsets["node"].tolist(), strict=False))


def assert_permutation_equivariant(
    predict: Callable[[GraphStore], Tensor], graphs: GraphStore, level: str = "node"
) -> None:
    """Relabelled graphs give relabelled predictions; graph-level ones do not change."""
    expected = predict(graphs)
    for seed in range(3):
        permuted, old_of_new, old_edge_of_new = permute(graphs, seed)
        order = {"node": old_of_new, "edge": old_edge_of_new, "graph": slice(None)}[level]
        torch.testing.assert_close(predict(permuted), expected[order], rtol=1e-9, atol=1e-10)


def assert_same_store(a: FlatStore, b: FlatStore) -> None:
    """The same settings, and bit by bit the same columns."""
    assert a.settings == b.settings
    assert a.columns.keys() == b.columns.keys()
    for axis in a.sizes:
        assert torch.equal(a.sizes[axis], b.sizes[axis]), axis
    for name, tensor in a.columns.items():
        assert torch.equal(tensor, b.columns[name]), name
        assert tensor.dtype == b.columns[name].dtype, name


def assert_matches_reference(
    op: Callable[..., Tensor], reference: Callable[..., Tensor], inputs: Sequence[Tensor]
) -> None:
    """Outputs and gradients agree with the reference in float64.

    The op runs in float64, where it must agree to rounding, and in float32, where its error may
    be 2e-5 of the largest value or, in long sums, four times that of the reference in float32.
    """

    def run(function: Callable[..., Tensor], dtype: torch.dtype) -> list[Tensor]:
        leaves = [t.detach().float().to(dtype).requires_grad_() for t in inputs]
        out = function(*leaves)
        weight = torch.linspace(-1, 1, out.numel(), dtype=dtype).reshape(out.shape)
        grads = torch.autograd.grad((out * weight).sum(), leaves)
        assert all(t.dtype == dtype for t in (out, *grads))
        return [t.detach().double() for t in (out, *grads)]

    def error(values: Tensor) -> float:
        return float(values.abs().max()) if values.numel() else 0.0

    exact = run(reference, torch.float64)
    results = zip(exact, run(op, torch.float64), run(op, torch.float32), strict=True)
    for (truth, double, single), plain in zip(results, run(reference, torch.float32), strict=True):
        assert double.shape == truth.shape
        scale = max(1.0, error(truth))
        assert error(double - truth) < 1e-11 * scale
        assert error(single - truth) < max(2e-5 * scale, 4 * error(plain - truth))
