"""Ops on rows: one public function each, and one implementation per device.

`reference` holds the definitions in plain PyTorch, `cpu` and `triton` hold compiled kernels. An op
picks by the device and type of its input, unless `backend` says otherwise.
"""

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from typing import Literal, get_args

import torch
from torch import Tensor

from i2gnn.graphs.store import GraphStore
from i2gnn.ops import reference
from i2gnn.ops.reference import (
    GINELayer,
    GRUWeights,
    LabelEmbedding,
    NodeMix,
    NormState,
    Perceptron,
    Projection,
    Reduce,
)
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "GINELayer",
    "GRUWeights",
    "LabelEmbedding",
    "NodeMix",
    "NormState",
    "Perceptron",
    "Projection",
    "Reduce",
    "aggregate",
    "backend",
    "embed_labels",
    "fits_gine_layer",
    "gated_layer",
    "gated_stack",
    "gine_layer",
    "gine_layers",
    "gru_update",
    "lookup",
    "node_states",
    "pool_branches",
    "pool_context",
    "pool_graphs",
    "pool_nodes",
    "read_subgraphs",
    "spread_nodes",
    "uses_fused",
    "uses_kernels",
    "uses_reference",
]

Backend = Literal["auto", "reference", "triton"]
TRITON_TYPES = (torch.float32, torch.bfloat16, torch.float16)

_backend: ContextVar[Backend] = ContextVar("i2gnn.ops.backend", default="auto")


@contextlib.contextmanager
def backend(name: Backend) -> Iterator[None]:
    """Chooses the implementation inside a `with` block.

    Args:
        name: "auto" takes Triton's kernels on a GPU and numba's on a CPU where they fit;
            "reference" takes neither; "triton" takes Triton's or fails, and runs them on a CPU if
            TRITON_INTERPRET=1 was set before Triton was imported.
    """
    if name not in get_args(Backend):
        raise ValueError(f"backend must be one of {get_args(Backend)}, got {name!r}")
    token = _backend.set(name)
    try:
        yield
    finally:
        _backend.reset(token)


def uses_reference() -> bool:
    """Whether `backend("reference")` is in force."""
    return _backend.get() == "reference"


def uses_kernels(tensor: Tensor) -> bool:
    """Whether compiled kernels work on tensors like this one, which write out no messages."""
    return _use_triton(tensor) or _use_cpu(tensor)


def aggregate(
    h: Tensor,
    subgraphs: Subgraphs,
    edge_attr: Tensor | None = None,
    edge_type: Tensor | None = None,
) -> Tensor:
    """Sums over the neighbours of each node, inside its ego-net (Eq. 6).

        out[i,j,k] = sum of h[i,j,l] over l in N_i(k)                      without edge features
        out[i,j,k] = sum of relu(h[i,j,l] + e[k,l]) over l in N_i(k)       with edge features

    e is `edge_attr`, one row per edge, or where edges have few types `edge_attr[edge_type]`.

    Shapes:
        h: [R, D].
        edge_attr: [E, D], one row per edge k <- l of the graphs; [T, D] with `edge_type`.
        edge_type: [E], integers below T.
        returns: [R, D].
    """
    _check_length("h", h, subgraphs.num_rows)
    if edge_attr is not None:
        entries = subgraphs.num_edges if edge_type is None else len(edge_attr)
        _check_length("edge_attr", edge_attr, entries)
        if edge_attr.shape[1] != h.shape[1]:
            raise ValueError(f"edge_attr is {edge_attr.shape[1]} wide; h is {h.shape[1]} wide")
    if edge_type is not None:
        if edge_attr is None:
            raise ValueError("edge_type needs edge_attr, a table with one row per type; got None")
        _check_indices("edge_type", edge_type, subgraphs.num_edges)
    inputs = (h,) if edge_attr is None else (h, edge_attr)
    if _use_triton(*inputs):
        from i2gnn.ops import triton

        return triton.aggregate(h, subgraphs, edge_attr, edge_type)
    if _use_cpu(*inputs):
        from i2gnn.ops import cpu

        if edge_attr is not None and edge_type is not None:
            edge_attr = lookup(edge_attr, edge_type)
        return cpu.aggregate(h, subgraphs, edge_attr)
    return reference.aggregate(h, subgraphs, edge_attr, edge_type)


def pool_nodes(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """Pools each subgraph over its nodes: [R, D] rows (i, k, j) to [B, D] branches (i, j)."""
    _check_length("h", h, subgraphs.num_rows)
    if _use_triton(h):
        from i2gnn.ops import triton

        return triton.pool_nodes(h, subgraphs, reduce)
    if _use_cpu(h):
        from i2gnn.ops import cpu

        return cpu.pool_nodes(h, subgraphs, reduce)
    return reference.pool_nodes(h, subgraphs, reduce)


def pool_branches(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """Pools each root over its branches: [B, D] to [N, D].

        out[i] = alpha_i * sum of h[i,j] over j, or the mean of h[i,j] over j

    where alpha_i is `subgraphs.branch_weight`, 1 unless branches were sampled.
    """
    _check_length("h", h, subgraphs.num_branches)
    if _use_triton(h):
        from i2gnn.ops import triton

        return triton.pool_branches(h, subgraphs, reduce)
    return reference.pool_branches(h, subgraphs, reduce)


def pool_graphs(h: Tensor, graphs: GraphStore, reduce: Reduce = "sum") -> Tensor:
    """Pools each graph over its nodes: [N, D] to [G, D]; an empty graph gets zeros."""
    _check_complete("pool_graphs", graphs)
    _check_length("h", h, graphs.num_nodes)
    if _use_triton(h):
        from i2gnn.ops import triton

        return triton.pool_graphs(h, graphs, reduce)
    return reference.pool_graphs(h, graphs, reduce)


def pool_context(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """Pools each node over all subgraphs that contain it: [R, D] rows (., k, .) to [N, D]."""
    _check_complete("pool_context", subgraphs)
    _check_length("h", h, subgraphs.num_rows)
    if _use_triton(h):
        from i2gnn.ops import triton

        return triton.pool_context(h, subgraphs, reduce)
    return reference.pool_context(h, subgraphs, reduce)


def read_subgraphs(h: Tensor, gate: Tensor | None, subgraphs: Subgraphs) -> Tensor:
    """Reads what the subgraphs of each root say of themselves and of their identified nodes.

        g[i,j,k] = gate[i,j,k] * h[i,j,k], or h[i,j,k] without a gate
        out[i]   = mean over j of [mean of g[i,j,k] over k, g[i,j,i], g[i,j,j]]

    Shapes:
        h: [R, D].
        gate: [R, D] or None.
        returns: [N, 3 D].
    """
    _check_length("h", h, subgraphs.num_rows)
    if gate is not None and gate.shape != h.shape:
        raise ValueError(f"gate has shape {list(gate.shape)}; h has {list(h.shape)}")
    if _use_triton(*((h,) if gate is None else (h, gate))):
        from i2gnn.ops import triton

        return triton.read_subgraphs(h, gate, subgraphs)
    return reference.read_subgraphs(h, gate, subgraphs)


def node_states(h: Tensor, gate: LabelEmbedding | None, subgraphs: Subgraphs) -> Tensor:
    """Reads all that subgraphs say of each node: `read_subgraphs`, and the context beside it.

        g[i,j,k] = sigmoid(embedded labels of (i,j,k)) * h[i,j,k], or h[i,j,k] without a gate
        out[i]   = [mean over j of (mean of g[i,j,k] over k, g[i,j,i], g[i,j,j]), mean of h[.,.,i]]

    Shapes:
        h: [R, D].
        returns: [N, 4 D].
    """
    _check_complete("node_states", subgraphs)
    _check_length("h", h, subgraphs.num_rows)
    if uses_fused(h):
        from i2gnn.ops import triton

        if triton.fits_node_states(h, gate, subgraphs):
            return triton.read_node_states(h, gate, subgraphs)
    if _use_whole_roots(h, subgraphs):
        from i2gnn.ops import cpu

        return cpu.node_states(h, gate, subgraphs)
    opened = None if gate is None else torch.sigmoid(embed_labels(gate, subgraphs))
    states = [read_subgraphs(h, opened, subgraphs), pool_context(h, subgraphs, "mean")]
    return torch.cat(states, dim=1)


def embed_labels(labels: LabelEmbedding, subgraphs: Subgraphs) -> Tensor:
    """Embeds the labels of rows: z[r] = table[label code of r] + resistance[r] weight, [R, D]."""
    table, weight = labels
    code = subgraphs.label_code
    if weight is None:
        assert code is not None, "rows have no labels"
        return lookup(table, code)
    assert subgraphs.resistance is not None, "rows have no resistances"
    resistance = subgraphs.resistance[:, : len(weight)].to(weight.dtype)
    start = table.squeeze(0) if code is None else lookup(table, code)
    return torch.addmm(start, resistance, weight)


def spread_nodes(x: Tensor, subgraphs: Subgraphs) -> Tensor:
    """Copies node features to rows: out[i,j,k] = x[k], [N, D] to [R, D]."""
    _check_length("x", x, subgraphs.num_nodes)
    if _use_triton(x):
        from i2gnn.ops import triton

        return triton.spread_nodes(x, subgraphs)
    return reference.spread_nodes(x, subgraphs)


def lookup(table: Tensor, code: Tensor) -> Tensor:
    """Reads a row of a small table per label: out[r] = table[code[r]], [C, D] to [R, D]."""
    _check_length("table", table, len(table))
    _check_indices("code", code, len(code))
    if _use_triton(table):
        from i2gnn.ops import triton

        return triton.lookup(table, code)
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
    if then is not None and subgraphs.label_code is None:
        raise ValueError("a projection adds a table's rows by label, but rows have no labels")
    if _use_cpu_layers(h, *weights, *(then or ())):
        from i2gnn.ops import cpu

        return cpu.gated_layer(h, subgraphs, weights, then)
    h = gru_update(aggregate(h, subgraphs), h, *weights)
    if then is None:
        return h
    assert subgraphs.label_code is not None, "a projection needs rows with labels"
    return torch.addmm(lookup(then.table, subgraphs.label_code), h, then.weight)


def gated_stack(
    table: Tensor,
    subgraphs: Subgraphs,
    layers: GRUWeights,
    then: Projection | None = None,
    reduce: Reduce = "sum",
) -> Tensor:
    """All layers of a gated network on labels, pooled over each subgraph.

        h = table[label of the row]
        h = gated_layer(h, layers[t], then[t])     for t = 0 .. T - 1, the last without a projection
        out = pool_nodes(h)

    On a GPU, where products may be of TF32's precision (`torch.set_float32_matmul_precision`),
    fused kernels run the stack with numbers of as many bits, in float16. On a CPU, the stack runs
    root by root. Neither keeps a state of a row.

    Shapes:
        table: [C, D], one row per label code.
        layers: As `GRUWeights`, with a first axis of T layers.
        then: As `Projection`, with a first axis of T - 1 projections.
        returns: [B, D].
    """
    depth = len(layers.message)
    if then is not None and len(then.weight) != depth - 1:
        raise ValueError(f"{depth} layers with {len(then.weight)} projections; expected one less")
    total = None
    if _use_fused(table, subgraphs):
        from i2gnn.ops import triton

        total = triton.gated_stack(table, subgraphs, layers, then)
    elif _use_cpu_layers(table, *layers, *(then or ())):
        from i2gnn.ops import cpu

        if cpu.fits_whole_roots(subgraphs):
            total = cpu.gated_stack(table, subgraphs, [*reference.unstack(layers, then)])
    if total is not None:
        if not reference.takes_mean(reduce):
            return total
        size = subgraphs.pair_count.index_select(0, subgraphs.branch_to_root).clamp(min=1)
        return total / size.unsqueeze(1)
    assert subgraphs.label_code is not None, "rows have no labels"
    h = lookup(table, subgraphs.label_code)
    for layer, projection in reference.unstack(layers, then):
        h = gated_layer(h, subgraphs, layer, projection)
    return pool_nodes(h, subgraphs, reduce)


def gine_layer(
    h: Tensor, subgraphs: Subgraphs, layer: GINELayer, edge_type: Tensor | None = None
) -> Tensor:
    """A GIN or GINE layer on [h, z], z the embedded labels, and what may follow it.

        x   = [h, z]
        a   = (1 + eps) x[i,j,k] + sum of relu(x[i,j,l] + edges[type of k <- l]) over l in N_i(k)
        out = relu(norm(a W_1 + b_1)) W_2 + b_2                                            `mlp`
        out = relu(out W_x + (p W_p + b)[k]) W_3 + b_3                                     `mix`
        out = elu(norm(out)) + h

    where p[i] = [mean over j of (mean of g over k, g[i,j,i], g[i,j,j]), mean of out[.,.,i]] are the
    states of nodes and g is out, times sigmoid(embedded labels) with a gate. Without edges, the
    neighbours are summed as they are (GIN); all that is not given is left out.

    On a GPU, where products may be of TF32's precision (`torch.set_float32_matmul_precision`) and
    the widths fit, fused kernels run the layer with numbers of as many bits, in float16: sums over
    neighbours beyond 65,504 overflow. On a CPU, the layer runs in slices of roots.

    Args:
        h: States.
        subgraphs: Where they live.
        layer: Weights and options.
        edge_type: The type of each edge, if the layer has edges.

    Shapes:
        h: [R, D].
        edge_type: [E], integers below T.
        returns: [R, D'].
    """
    return gine_layers(h, subgraphs, [layer], edge_type)


def gine_layers(
    h: Tensor, subgraphs: Subgraphs, layers: Sequence[GINELayer], edge_type: Tensor | None = None
) -> Tensor:
    """Several layers, one after the other; see `gine_layer`.

    On a GPU, gradients by the weights of a layer are computed beside those of the layer below.
    """
    _check_length("h", h, subgraphs.num_rows)
    for layer in layers:
        if (layer.edges is None) != (edge_type is None):
            raise ValueError("edges, a table with one row per type, and edge_type need each other")
        if layer.mix is not None:
            _check_complete("mix", subgraphs)
    if edge_type is not None:
        _check_indices("edge_type", edge_type, subgraphs.num_edges)
    widths = [h.shape[1], *(layer.mlp.weight_out.shape[1] for layer in layers)]
    fitting = [fits_gine_layer(h, subgraphs, *pair) for pair in zip(layers, widths, strict=False)]
    if all(fitting) and uses_fused(h):
        from i2gnn.ops import triton

        return triton.gine_layers(h, subgraphs, layers, edge_type)
    for layer, fits in zip(layers, fitting, strict=True):
        if not fits:
            h = reference.gine_layer(h, subgraphs, layer, edge_type)
        elif uses_fused(h):
            h = gine_layers(h, subgraphs, [layer], edge_type)
        else:
            from i2gnn.ops import cpu

            h = cpu.gine_layer(h, subgraphs, layer, edge_type)
    return h


def fits_gine_layer(
    h: Tensor, subgraphs: Subgraphs, layer: GINELayer, width: int | None = None
) -> bool:
    """Whether fused kernels would run `gine_layer`, rather than plain PyTorch.

    Args:
        h: States, or others like them, of which only `width` is different.
        subgraphs: Where they live.
        layer: Weights and options.
        width: Of the states.
    """
    if not uses_fused(h):
        return _use_whole_roots(h, subgraphs)
    from i2gnn.ops import triton

    return triton.fits_gine_layer(h.shape[1] if width is None else width, subgraphs, layer)


def uses_fused(h: Tensor) -> bool:
    """Whether fused kernels may work on tensors like this one.

    They have TF32's precision, so that must have been allowed.
    """
    if h.dtype != torch.float32 or not _use_triton(h):
        return False
    rough = torch.get_float32_matmul_precision() != "highest" or torch.is_autocast_enabled("cuda")
    return rough or _backend.get() == "triton"


def _use_fused(table: Tensor, subgraphs: Subgraphs) -> bool:
    """Whether the fused stack can run, and is as precise as was asked for."""
    if not uses_fused(table):
        return False
    from i2gnn.ops import triton

    return triton.fits_gated_stack(table, subgraphs)


def _use_cpu(*inputs: Tensor) -> bool:
    """Whether compiled kernels can take these: on the CPU, of one type that numba knows."""
    kinds = {tensor.dtype for tensor in inputs}
    fits = kinds in ({torch.float32}, {torch.float64})
    there = all(tensor.device.type == "cpu" for tensor in inputs)
    return fits and there and not uses_reference() and _have_numba()


def _use_cpu_layers(*inputs: Tensor) -> bool:
    """Whether the CPU's whole layers can take these; they know float32 alone."""
    return inputs[0].dtype == torch.float32 and _backend.get() == "auto" and _use_cpu(*inputs)


def _use_whole_roots(h: Tensor, subgraphs: Subgraphs) -> bool:
    """Whether the CPU's layers can go through these rows root by root; none of them is spare."""
    if not _use_cpu_layers(h) or subgraphs.graph_ptr is not None or subgraphs.num_rows == 0:
        return False
    from i2gnn.ops import cpu

    return cpu.fits_whole_roots(subgraphs)


def _use_triton(*inputs: Tensor) -> bool:
    """Whether Triton's kernels take these: tensors on a GPU, of one type that they know."""
    if uses_reference():
        return False
    kinds = {tensor.dtype for tensor in inputs}
    fits = len(kinds) == 1 and kinds.issubset(TRITON_TYPES)
    there = all(tensor.is_cuda for tensor in inputs)
    if _backend.get() == "auto":
        return fits and there and _have_triton()
    if not _have_triton():
        raise RuntimeError("backend 'triton' needs Triton, which is not installed")
    if not fits:
        raise ValueError(f"Triton's kernels take one of {TRITON_TYPES}, got {kinds}")
    if not there:
        from i2gnn.ops.triton import INTERPRETED

        if not INTERPRETED:
            raise RuntimeError(
                f"Triton's kernels run on a GPU, got tensors on {inputs[0].device}; to run them "
                "on a CPU, slowly, set TRITON_INTERPRET=1 before Triton is imported"
            )
    return True


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


def _check_indices(name: str, tensor: Tensor, length: int) -> None:
    kind = tensor.dtype
    if tensor.shape != (length,) or kind.is_floating_point or kind == torch.bool:
        raise ValueError(
            f"{name} has shape {list(tensor.shape)} and type {kind}; expected [{length}] integers"
        )


@cache
def _have_numba() -> bool:
    return find_spec("numba") is not None


@cache
def _have_triton() -> bool:
    return find_spec("triton") is not None
