"""The definition of every op in plain PyTorch; kernels are held to these.

Sizes: G graphs, N nodes, E edges, B branches, P pairs, R rows, Q links, D channels.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from i2gnn.graphs.store import GraphStore
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
    "embed_labels",
    "gated_layer",
    "gated_stack",
    "gine_layer",
    "gru_update",
    "lookup",
    "node_states",
    "pool_branches",
    "pool_context",
    "pool_graphs",
    "pool_nodes",
    "read_part",
    "read_parts",
    "read_subgraphs",
    "rows_read",
    "spread_nodes",
    "takes_mean",
    "tensors_of",
    "unstack",
]

Reduce = Literal["sum", "mean"]
Part = Literal["nodes", "center", "side"]
"""What is read of a subgraph (i, j): a pool of h[i,j,k] over k, the row h[i,j,i] or h[i,j,j]."""


class GRUWeights(NamedTuple):
    """Weights of a gated recurrent unit from C-wide messages and D-wide states.

    Shapes:
        message: [C, 3 D], reset, update and new gate side by side.
        state: [D, 3 D].
        message_bias, state_bias: [3 D].
    """

    message: Tensor
    state: Tensor
    message_bias: Tensor
    state_bias: Tensor


class Projection(NamedTuple):
    """What mixes labels into states: h' = h weight + table[label code].

    Shapes:
        weight: [D, D'].
        table: [C, D'], one row per label code.
    """

    weight: Tensor
    table: Tensor


class LabelEmbedding(NamedTuple):
    """Embedded labels: z[r] = table[label code of r] + resistance[r] weight.

    Shapes:
        table: [C, D], one row per label code; one row if labels are not discrete.
        weight: [J, D], for the first J columns of the resistances, or None for none of them.
    """

    table: Tensor
    weight: Tensor | None


class NormState(NamedTuple):
    """Batch normalisation over rows, as `torch.nn.functional.batch_norm` takes it.

    Fewer than two rows are normalised by the running statistics, which they leave alone.

    Shapes:
        weight, bias, running_mean, running_var: [D].
    """

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor
    momentum: float
    eps: float
    training: bool


class Perceptron(NamedTuple):
    """Two linear maps with a ReLU between them: relu(norm(x weight_in + bias_in)) weight_out + ...

    Shapes:
        weight_in, bias_in: [K, H] and [H].
        weight_out, bias_out: [H, D] and [D].
    """

    weight_in: Tensor
    bias_in: Tensor
    norm: NormState | None
    weight_out: Tensor
    bias_out: Tensor


class NodeMix(NamedTuple):
    """What lets a row see the state of its node; see `i2gnn.ops.gine_layer`.

    Shapes:
        weight_states: [4 D, M], weight_rows: [D, M], bias: [M].
        weight_out, bias_out: [M, D] and [D].
    """

    gate: LabelEmbedding | None
    weight_states: Tensor
    weight_rows: Tensor
    bias: Tensor
    weight_out: Tensor
    bias_out: Tensor


class GINELayer(NamedTuple):
    """A GIN or GINE layer and what follows it; see `i2gnn.ops.gine_layer`.

    Shapes:
        eps: [].
        edges: [T, K], one row per type of edge, or None.
    """

    eps: Tensor
    mlp: Perceptron
    labels: LabelEmbedding | None = None
    edges: Tensor | None = None
    mix: NodeMix | None = None
    norm: NormState | None = None
    activation: bool = False
    residual: bool = False


def tensors_of(layer: GINELayer) -> tuple[Tensor | None, ...]:
    """The tensors of a layer that may need gradients, in the order of the parts.

    Autograd functions take them beside the layer, so that they get gradients.
    """
    labels = layer.labels or LabelEmbedding(None, None)  # type: ignore[arg-type]
    mlp, mix = layer.mlp, layer.mix
    of_norms = [(None, None) if n is None else (n.weight, n.bias) for n in (mlp.norm, layer.norm)]
    of_mix: tuple[Tensor | None, ...] = (None,) * 7
    if mix is not None:
        gate = mix.gate or LabelEmbedding(None, None)  # type: ignore[arg-type]
        of_mix = (*gate, *mix[1:])
    first = (mlp.weight_in, mlp.bias_in, *of_norms[0], mlp.weight_out, mlp.bias_out)
    return layer.eps, *labels, layer.edges, *first, *of_mix, *of_norms[1]


def aggregate(
    h: Tensor,
    subgraphs: Subgraphs,
    edge_attr: Tensor | None = None,
    edge_type: Tensor | None = None,
) -> Tensor:
    """See `i2gnn.ops.aggregate`."""
    sent_from, sent_to, link = subgraphs.message_rows
    message = h.index_select(0, sent_from)  # [M, D]
    if edge_attr is not None:
        if edge_type is not None:
            edge_attr = lookup(edge_attr, edge_type)
        edge = subgraphs.link_to_edge.index_select(0, link)
        message = torch.relu(message + edge_attr.index_select(0, edge))
    return torch.zeros_like(h).index_add(0, sent_to, message)


def pool_nodes(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """See `i2gnn.ops.pool_nodes`."""
    return _pool(h, subgraphs.row_to_branch, subgraphs.num_branches, reduce)


def pool_branches(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """See `i2gnn.ops.pool_branches`."""
    pooled = _pool(h, subgraphs.branch_to_root, subgraphs.num_nodes, reduce)
    if subgraphs.branch_weight is None or reduce == "mean":
        return pooled
    return pooled * subgraphs.branch_weight.to(h.dtype).unsqueeze(1)


def pool_graphs(h: Tensor, graphs: GraphStore, reduce: Reduce = "sum") -> Tensor:
    """See `i2gnn.ops.pool_graphs`."""
    return _pool(h, graphs.node_to_graph, len(graphs), reduce)


def pool_context(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """See `i2gnn.ops.pool_context`."""
    return _pool(h, subgraphs.row_to_node, subgraphs.num_nodes, reduce)


def gated_pools(
    h: Tensor,
    subgraphs: Subgraphs,
    inside: LabelEmbedding,
    around: LabelEmbedding,
    reduce: Reduce = "sum",
) -> Tensor:
    """See `i2gnn.ops.gated_pools`."""
    own, context = (torch.sigmoid(embed_labels(gate, subgraphs)) * h for gate in (inside, around))
    center = h.index_select(0, subgraphs.row_of_root)
    pools = [pool_nodes(own, subgraphs, reduce), center, pool_context(context, subgraphs, reduce)]
    return torch.cat(pools, dim=1)


def read_parts(
    h: Tensor, subgraphs: Subgraphs, parts: Sequence[Part] = ("nodes",), reduce: Reduce = "sum"
) -> Tensor:
    """See `i2gnn.ops.read_parts`."""
    return torch.cat([read_part(h, subgraphs, part, reduce) for part in parts], dim=1)


def read_part(
    h: Tensor, subgraphs: Subgraphs, part: Part = "nodes", reduce: Reduce = "sum"
) -> Tensor:
    """One part of `read_parts`: [R, D] to [B, D]."""
    if part == "nodes":
        return pool_nodes(h, subgraphs, reduce)
    found = h.index_select(0, rows_read(subgraphs, part))
    if subgraphs.graph_ptr is None:
        return found
    branch = torch.arange(len(found), device=h.device)
    spare = branch >= subgraphs.branch_ptr[-1]
    return found.masked_fill(spare.unsqueeze(1), 0)


def rows_read(subgraphs: Subgraphs, part: Part) -> Tensor:
    """Which row of each branch is its center or side, [B]."""
    if part not in ("center", "side"):
        raise ValueError(f"part must be 'nodes', 'center' or 'side', got {part!r}")
    return subgraphs.row_of_root if part == "center" else subgraphs.row_of_branch


def read_subgraphs(h: Tensor, subgraphs: Subgraphs, gate: Tensor | None = None) -> Tensor:
    """See `i2gnn.ops.read_subgraphs`."""
    h = h if gate is None else gate * h
    found = read_parts(h, subgraphs, ("nodes", "center", "side"), "mean")
    return pool_branches(found, subgraphs, "mean")


def spread_nodes(x: Tensor, subgraphs: Subgraphs) -> Tensor:
    """See `i2gnn.ops.spread_nodes`."""
    return x.index_select(0, subgraphs.row_to_node)


def lookup(table: Tensor, code: Tensor) -> Tensor:
    """See `i2gnn.ops.lookup`."""
    return table.index_select(0, code)


def gru_update(
    message: Tensor,
    h: Tensor,
    weight_message: Tensor,
    weight_state: Tensor,
    bias_message: Tensor,
    bias_state: Tensor,
) -> Tensor:
    """See `i2gnn.ops.gru_update`."""
    from_message = torch.addmm(bias_message, message, weight_message)
    from_state = torch.addmm(bias_state, h, weight_state)
    reset_m, update_m, new_m = from_message.chunk(3, dim=1)
    reset_h, update_h, new_h = from_state.chunk(3, dim=1)
    reset = torch.sigmoid(reset_m + reset_h)
    update = torch.sigmoid(update_m + update_h)
    new = torch.tanh(new_m + reset * new_h)
    return new + update * (h - new)


def gated_layer(
    h: Tensor,
    subgraphs: Subgraphs,
    weights: GRUWeights,
    then: Projection | None = None,
    sent: Tensor | None = None,
) -> Tensor:
    """See `i2gnn.ops.gated_layer`."""
    h = gru_update(aggregate(h if sent is None else sent, subgraphs), h, *weights)
    if then is None:
        return h
    assert subgraphs.label_code is not None, "a projection needs rows with labels"
    return torch.addmm(lookup(then.table, subgraphs.label_code), h, then.weight)


def gine_layer(
    h: Tensor, subgraphs: Subgraphs, layer: GINELayer, edge_type: Tensor | None = None
) -> Tensor:
    """See `i2gnn.ops.gine_layer`."""
    x = h
    if layer.labels is not None:
        x = torch.cat([h, embed_labels(layer.labels, subgraphs)], dim=1)
    x = (1 + layer.eps) * x + aggregate(x, subgraphs, layer.edges, edge_type)
    mlp = layer.mlp
    hidden = normalize(torch.addmm(mlp.bias_in, x, mlp.weight_in), mlp.norm)
    out = torch.addmm(mlp.bias_out, torch.relu(hidden), mlp.weight_out)
    if layer.mix is not None:
        out = mix_nodes(out, subgraphs, layer.mix)
    out = normalize(out, layer.norm)
    if layer.activation:
        out = functional.elu(out)
    return out + h if layer.residual else out


def embed_labels(labels: LabelEmbedding, subgraphs: Subgraphs) -> Tensor:
    """See `i2gnn.ops.embed_labels`."""
    code = subgraphs.label_code
    if code is None:  # one row for all
        code = torch.zeros(subgraphs.num_rows, dtype=torch.int32, device=subgraphs.device)
    z = lookup(labels.table, code)
    if labels.weight is None:
        return z
    assert subgraphs.resistance is not None, "rows have no resistances"
    resistance = subgraphs.resistance[:, : len(labels.weight)]
    return z + resistance.to(labels.weight.dtype) @ labels.weight


def normalize(h: Tensor, norm: NormState | None) -> Tensor:
    """[R, D] to the same; updates the running statistics in training."""
    if norm is None:
        return h
    training = norm.training and len(h) > 1
    return functional.batch_norm(
        h, norm.running_mean, norm.running_var, norm.weight, norm.bias, training, norm.momentum,
        norm.eps
    )  # fmt: skip


def node_states(h: Tensor, subgraphs: Subgraphs, gate: LabelEmbedding | None = None) -> Tensor:
    """See `i2gnn.ops.node_states`."""
    opened = None if gate is None else torch.sigmoid(embed_labels(gate, subgraphs))
    states = [read_subgraphs(h, subgraphs, opened), pool_context(h, subgraphs, "mean")]
    return torch.cat(states, dim=1)


def mix_nodes(h: Tensor, subgraphs: Subgraphs, mix: NodeMix) -> Tensor:
    """[R, D] to the same."""
    states = node_states(h, subgraphs, mix.gate)
    of_nodes = torch.addmm(mix.bias, states, mix.weight_states)
    hidden = torch.relu(h @ mix.weight_rows + spread_nodes(of_nodes, subgraphs))
    return torch.addmm(mix.bias_out, hidden, mix.weight_out)


def takes_mean(reduce: Reduce) -> bool:
    """Whether a pool is a mean rather than a sum."""
    if reduce not in ("sum", "mean"):
        raise ValueError(f"reduce must be 'sum' or 'mean', got {reduce!r}")
    return reduce == "mean"


def gated_stack(
    table: Tensor,
    subgraphs: Subgraphs,
    layers: GRUWeights,
    then: Projection | None = None,
    reduce: Reduce = "sum",
    parts: Sequence[Part] = ("nodes",),
) -> Tensor:
    """See `i2gnn.ops.gated_stack`."""
    assert subgraphs.label_code is not None, "rows have no labels"
    h = lookup(table, subgraphs.label_code)
    for layer, projection in unstack(layers, then):
        h = gated_layer(h, subgraphs, layer, projection)
    return read_parts(h, subgraphs, parts, reduce)


def unstack(
    layers: GRUWeights, then: Projection | None
) -> Iterator[tuple[GRUWeights, Projection | None]]:
    """Cuts weights with a first axis of layers into single layers and what follows each."""
    last = len(layers.message) - 1
    for t in range(last + 1):
        projection = None if then is None or t == last else Projection(*(w[t] for w in then))
        yield GRUWeights(*(w[t] for w in layers)), projection


def _pool(h: Tensor, group: Tensor, groups: int, reduce: Reduce) -> Tensor:
    total = h.new_zeros(groups, h.shape[1]).index_add(0, group, h)
    if not takes_mean(reduce):
        return total
    size = torch.bincount(group, minlength=groups).clamp_(min=1)
    return total / size.unsqueeze(1)
