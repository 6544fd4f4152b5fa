"""Ops that are whole layers: gated ones and stacks of them, GIN and GINE with all around them."""

from collections.abc import Sequence

import torch
from torch import Tensor

from i2gnn.ops import reference
from i2gnn.ops.checks import (
    check_complete,
    check_indices,
    check_labels,
    check_length,
    check_table,
)
from i2gnn.ops.choice import (
    use_cpu,
    use_cpu_layers,
    use_fused_layer,
    use_fused_stack,
    use_whole_roots,
    uses_fused,
)
from i2gnn.ops.reference import GINELayer, GRUWeights, Part, Projection, Reduce
from i2gnn.ops.rows import aggregate, lookup, read_parts
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "fits_gine_layer",
    "gated_layer",
    "gated_stack",
    "gine_layer",
    "gine_layers",
    "gru_update",
]


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
    check_length("message", message, len(h))
    arguments = (message, h, weight_message, weight_state, bias_message, bias_state)
    if use_cpu(*arguments):
        from i2gnn.ops import cpu

        return cpu.gru_update(*arguments)
    return reference.gru_update(*arguments)


def gated_layer(
    h: Tensor,
    subgraphs: Subgraphs,
    weights: GRUWeights,
    then: Projection | None = None,
    sent: Tensor | None = None,
) -> Tensor:
    """One gated layer, and optionally the projection that prepares the next one.

        m[i,j,k]  = sum of sent[i,j,l] over l in N_i(k), or of h[i,j,l] if `sent` is None
        h'[i,j,k] = GRU(m[i,j,k], h[i,j,k])                               see `gru_update`
        out       = h' weight + table[label of the row], or h' if `then` is None

    The same as `aggregate`, `gru_update` and a product one after the other; a kernel passes over
    the rows once and keeps nothing but h, and on a GPU m, for the backward pass. There, where
    products may be of TF32's precision (`torch.set_float32_matmul_precision`), fused kernels have
    numbers of as many bits, in float16: states and sums beyond 65,504 overflow.

    Shapes:
        h, sent: [R, D].
        returns: [R, D'].
    """
    check_length("h", h, subgraphs.num_rows)
    if sent is not None and sent.shape != h.shape:
        raise ValueError(f"sent has shape {list(sent.shape)}; h has {list(h.shape)}")
    if then is not None:
        check_table("then.table", then.table, subgraphs)
    if use_fused_layer(h, subgraphs, then):
        from i2gnn.ops import triton

        return triton.gated_layer(h, subgraphs, weights, then, sent)
    if sent is None and use_cpu_layers(h, *weights, *(then or ())):
        from i2gnn.ops import cpu

        return cpu.gated_layer(h, subgraphs, weights, then)
    h = gru_update(aggregate(h if sent is None else sent, subgraphs), h, *weights)
    if then is None:
        return h
    assert subgraphs.label_code is not None
    return torch.addmm(lookup(then.table, subgraphs.label_code), h, then.weight)


def gated_stack(
    table: Tensor,
    subgraphs: Subgraphs,
    layers: GRUWeights,
    then: Projection | None = None,
    reduce: Reduce = "sum",
    parts: Sequence[Part] = ("nodes",),
) -> Tensor:
    """All layers of a gated network on labels, and parts of what comes out, side by side.

        h = table[label of the row]
        h = gated_layer(h, layers[t], then[t])     for t = 0 .. T - 1, the last without a projection
        out = read_parts(h, parts, reduce)

    On a GPU, where products may be of TF32's precision (`torch.set_float32_matmul_precision`),
    fused kernels run the stack with numbers of as many bits, in float16. On a CPU, the stack runs
    root by root if it is pooled. Neither keeps a state of a row.

    Shapes:
        table: [C, D], one row per label code.
        layers: As `GRUWeights`, with a first axis of T layers.
        then: As `Projection`, with a first axis of T - 1 projections.
        returns: [B, parts D].
    """
    depth = len(layers.message)
    if then is not None and len(then.weight) != depth - 1:
        raise ValueError(f"{depth} layers with {len(then.weight)} projections; expected one less")
    check_table("table", table, subgraphs)
    if then is not None:
        check_table("then.table", then.table, subgraphs)
    total = None
    if use_fused_stack(table, subgraphs):
        from i2gnn.ops import triton

        total = triton.gated_stack(table, subgraphs, layers, then, parts)
    elif tuple(parts) == ("nodes",) and use_cpu_layers(table, *layers, *(then or ())):
        from i2gnn.ops import cpu

        if cpu.fits_whole_roots(subgraphs):
            total = cpu.gated_stack(table, subgraphs, [*reference.unstack(layers, then)])
    if total is not None:
        if "nodes" not in parts or not reference.takes_mean(reduce):
            return total
        size = subgraphs.pair_count.index_select(0, subgraphs.branch_to_root).clamp(min=1)
        found = dict(zip(parts, total.chunk(len(parts), dim=1), strict=True))
        found["nodes"] = found["nodes"] / size.unsqueeze(1)
        return torch.cat([*found.values()], dim=1)
    assert subgraphs.label_code is not None
    h = lookup(table, subgraphs.label_code)
    for layer, projection in reference.unstack(layers, then):
        h = gated_layer(h, subgraphs, layer, projection)
    return read_parts(h, subgraphs, parts, reduce)


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
    check_length("h", h, subgraphs.num_rows)
    for layer in layers:
        if (layer.edges is None) != (edge_type is None):
            raise ValueError("edges, a table with one row per type, and edge_type need each other")
        if layer.edges is not None and edge_type is not None:
            check_indices("edge_type", edge_type, subgraphs.num_edges, layer.edges)
        if layer.labels is not None:
            check_labels("labels", layer.labels, subgraphs)
        if layer.mix is not None:
            check_complete("mix", subgraphs)
            if layer.mix.gate is not None:
                check_labels("mix.gate", layer.mix.gate, subgraphs)
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
        return use_whole_roots(h, subgraphs)
    from i2gnn.ops import triton

    return triton.fits_gine_layer(h.shape[1] if width is None else width, subgraphs, layer)
