"""Ops on rows: one public function each, and one implementation per device.

`reference` holds the definitions in plain PyTorch; `cpu` holds compiled kernels. An op picks by
the device of its input, unless `backend("reference")` is in force.
"""

import contextlib
import math
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from typing import Literal

import torch
from torch import Tensor

from i2gnn.graphs.store import GraphStore
from i2gnn.ops import reference
from i2gnn.ops.lookup import MAX_TABLE, lookup_by_product
from i2gnn.ops.reference import GRUWeights, Projection, Reduce
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "GRUWeights",
    "Projection",
    "Reduce",
    "aggregate",
    "backend",
    "gated_label_layer",
    "gated_layer",
    "gru_update",
    "lookup",
    "pool_branches",
    "pool_context",
    "pool_graphs",
    "pool_nodes",
    "spread_nodes",
    "uses_reference",
]

Backend = Literal["auto", "reference"]
MAX_LABELS = 2048
"""Label combinations up to which row types are counted against all of them."""

_backend: ContextVar[Backend] = ContextVar("i2gnn.ops.backend", default="auto")


@contextlib.contextmanager
def backend(name: Backend) -> Iterator[None]:
    """Chooses the implementation inside a `with` block: "auto" or "reference"."""
    if name not in ("auto", "reference"):
        raise ValueError(f"backend must be 'auto' or 'reference', got {name!r}")
    token = _backend.set(name)
    try:
        yield
    finally:
        _backend.reset(token)


def uses_reference() -> bool:
    """Whether `backend("reference")` is in force."""
    return _backend.get() == "reference"


def aggregate(h: Tensor, subgraphs: Subgraphs, edge_attr: Tensor | None = None) -> Tensor:
    """Sums over the neighbours of each node, inside its ego-net (Eq. 6).

        out[i,j,k] = sum of h[i,j,l] over l in N_i(k)                      without edge features
        out[i,j,k] = sum of relu(h[i,j,l] + e[k,l]) over l in N_i(k)       with edge features

    Shapes:
        h: [R, D].
        edge_attr: [E, D], one row per edge k <- l of the graphs.
        returns: [R, D].
    """
    _check_length("h", h, subgraphs.num_rows)
    if edge_attr is not None:
        _check_length("edge_attr", edge_attr, subgraphs.num_edges)
        if edge_attr.shape[1] != h.shape[1]:
            raise ValueError(f"edge_attr is {edge_attr.shape[1]} wide; h is {h.shape[1]} wide")
    if _use_cpu(h, *(() if edge_attr is None else (edge_attr,))):
        from i2gnn.ops import cpu

        return cpu.aggregate(h, subgraphs, edge_attr)
    return reference.aggregate(h, subgraphs, edge_attr)


def pool_nodes(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """Pools each subgraph over its nodes: [R, D] rows (i, k, j) to [B, D] branches (i, j)."""
    _check_length("h", h, subgraphs.num_rows)
    if _use_cpu(h):
        from i2gnn.ops import cpu

        return cpu.pool_nodes(h, subgraphs, reduce)
    return reference.pool_nodes(h, subgraphs, reduce)


def pool_branches(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """Pools each root over its branches: [B, D] to [N, D].

        out[i] = alpha_i * sum of h[i,j] over j, or the mean of h[i,j] over j

    where alpha_i is `subgraphs.branch_weight`, 1 unless branches were sampled.
    """
    return reference.pool_branches(h, subgraphs, reduce)


def pool_graphs(h: Tensor, graphs: GraphStore, reduce: Reduce = "sum") -> Tensor:
    """Pools each graph over its nodes: [N, D] to [G, D]; an empty graph gets zeros."""
    _check_complete("pool_graphs", graphs)
    return reference.pool_graphs(h, graphs, reduce)


def pool_context(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """Pools each node over all subgraphs that contain it: [R, D] rows (., k, .) to [N, D]."""
    _check_complete("pool_context", subgraphs)
    return reference.pool_context(h, subgraphs, reduce)


def spread_nodes(x: Tensor, subgraphs: Subgraphs) -> Tensor:
    """Copies node features to rows: out[i,j,k] = x[k], [N, D] to [R, D]."""
    return reference.spread_nodes(x, subgraphs)


def lookup(table: Tensor, code: Tensor) -> Tensor:
    """Reads a row of a small table per label: out[r] = table[code[r]], [C, D] to [R, D]."""
    if table.is_cuda and not uses_reference() and len(table) <= MAX_TABLE:
        return lookup_by_product(table, code)
    return reference.lookup(table, code)


def gru_update(
    message: Tensor,
    h: Tensor,
    weight_message: Tensor,
    weight_state: Tensor,
    bias_message: Tensor,
    bias_state: Tensor,
) -> Tensor:
    """Updates states by a gated recurrent unit, as `torch.nn.GRUCell` with transposed weights.

        reset, update = sigmoid(message W_m + h W_h)        (first and second third of the columns)
        new           = tanh(message W_m + reset * (h W_h)) (last third)
        out           = (1 - update) * new + update * h

    Shapes:
        message: [R, C].
        h: [R, D].
        weight_message: [C, 3 D].
        weight_state: [D, 3 D].
        bias_message, bias_state: [3 D].
        returns: [R, D].
    """
    arguments = (message, h, weight_message, weight_state, bias_message, bias_state)
    if _use_cpu(*arguments):
        from i2gnn.ops import cpu

        return cpu.gru_update(*arguments)
    return reference.gru_update(*arguments)


def gated_layer(
    h: Tensor, subgraphs: Subgraphs, weights: GRUWeights, then: Projection | None = None
) -> Tensor:
    """One gated layer, and optionally the projection that prepares the next one.

        m[i,j,k]  = sum of h[i,j,l] over l in N_i(k)
        h'[i,j,k] = GRU(m[i,j,k], h[i,j,k])                               see `gru_update`
        out       = h' weight + table[label of the row], or h' if `then` is None

    The same as `aggregate`, `gru_update` and a product one after the other; a kernel passes over
    the rows once and keeps nothing but h for the backward pass.

    Shapes:
        h: [R, D].
        returns: [R, D'].
    """
    _check_length("h", h, subgraphs.num_rows)
    h = gru_update(aggregate(h, subgraphs), h, *weights)
    if then is None:
        return h
    assert subgraphs.label_code is not None, "a projection needs rows with labels"
    return torch.addmm(lookup(then.table, subgraphs.label_code), h, then.weight)


def gated_label_layer(
    table: Tensor, subgraphs: Subgraphs, weights: GRUWeights, then: Projection | None = None
) -> Tensor:
    """`gated_layer` of h = table[label of the row]: the first layer of a network without features.

    Rows with equal labels whose neighbours have equal labels get the same result, which is
    computed once for each such type.

    Shapes:
        table: [C, D], one row per label code.
        returns: [R, D'].
    """
    code = subgraphs.label_code
    assert code is not None, "rows have no labels"
    if uses_reference() or math.prod(subgraphs.label_sizes) > MAX_LABELS:
        return gated_layer(lookup(table, code), subgraphs, weights, then)
    types = subgraphs.row_types
    message = types.neighbors.to(table.dtype) @ table  # [U, D]
    h = gru_update(message, table[types.label], *weights)
    if then is not None:
        h = torch.addmm(then.table[types.label], h, then.weight)
    return lookup(h, types.of_row)


def _use_cpu(*inputs: Tensor) -> bool:
    """Whether compiled kernels can take these: on the CPU, of one type that numba knows."""
    kinds = {tensor.dtype for tensor in inputs}
    fits = kinds in ({torch.float32}, {torch.float64})
    there = all(tensor.device.type == "cpu" for tensor in inputs)
    return fits and there and not uses_reference() and _have_numba()


def _check_length(name: str, tensor: Tensor, length: int) -> None:
    """Kernels do not check bounds, so this must."""
    if tensor.dim() != 2 or len(tensor) != length:
        raise ValueError(f"{name} has shape {list(tensor.shape)}; expected [{length}, channels]")


def _check_complete(name: str, graphs: GraphStore) -> None:
    """Pools over different roots need all of them: a part of the roots gives wrong values."""
    if isinstance(graphs, Subgraphs) and not graphs.complete:
        raise ValueError(
            f"{name} joins the subgraphs of different roots, but these subgraphs have only some "
            "roots; a model that uses it cannot be streamed root by root"
        )


@cache
def _have_numba() -> bool:
    return find_spec("numba") is not None
