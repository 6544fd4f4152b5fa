"""Ops that sum over rows, read them or write them: messages, pools, lookups."""

from collections.abc import Sequence

import torch
from torch import Tensor

from i2gnn.graphs.store import GraphStore
from i2gnn.ops import reference
from i2gnn.ops.checks import check_complete, check_indices, check_labels, check_length
from i2gnn.ops.choice import use_cpu, use_triton, use_whole_roots, uses_fused
from i2gnn.ops.reference import LabelEmbedding, Part, Reduce
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "aggregate",
    "embed_labels",
    "gated_pools",
    "label_gates",
    "lookup",
    "node_states",
    "pool_branches",
    "pool_context",
    "pool_graphs",
    "pool_nodes",
    "read_subgraphs",
    "spread_nodes",
]


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
    check_length("h", h, subgraphs.num_rows)
    if edge_attr is not None:
        entries = subgraphs.num_edges if edge_type is None else len(edge_attr)
        check_length("edge_attr", edge_attr, entries)
        if edge_attr.shape[1] != h.shape[1]:
            raise ValueError(f"edge_attr is {edge_attr.shape[1]} wide; h is {h.shape[1]} wide")
    if edge_type is not None:
        if edge_attr is None:
            raise ValueError("edge_type needs edge_attr, a table with one row per type; got None")
        check_indices("edge_type", edge_type, subgraphs.num_edges, edge_attr)
    inputs = (h,) if edge_attr is None else (h, edge_attr)
    if use_triton(*inputs):
        from i2gnn.ops import triton

        return triton.aggregate(h, subgraphs, edge_attr, edge_type)
    if use_cpu(*inputs):
        from i2gnn.ops import cpu

        if edge_attr is not None and edge_type is not None:
            edge_attr = lookup(edge_attr, edge_type)
        return cpu.aggregate(h, subgraphs, edge_attr)
    return reference.aggregate(h, subgraphs, edge_attr, edge_type)


def pool_nodes(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """Pools each subgraph over its nodes: [R, D] rows (i, k, j) to [B, D] branches (i, j)."""
    check_length("h", h, subgraphs.num_rows)
    if use_triton(h):
        from i2gnn.ops import triton

        return triton.pool_nodes(h, subgraphs, reduce)
    if use_cpu(h):
        from i2gnn.ops import cpu

        return cpu.pool_nodes(h, subgraphs, reduce)
    return reference.pool_nodes(h, subgraphs, reduce)


def pool_branches(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """Pools each root over its branches: [B, D] to [N, D].

        out[i] = alpha_i * sum of h[i,j] over j, or the mean of h[i,j] over j

    where alpha_i is `subgraphs.branch_weight`, 1 unless branches were sampled.
    """
    check_length("h", h, subgraphs.num_branches)
    if use_triton(h):
        from i2gnn.ops import triton

        return triton.pool_branches(h, subgraphs, reduce)
    return reference.pool_branches(h, subgraphs, reduce)


def pool_graphs(h: Tensor, graphs: GraphStore, reduce: Reduce = "sum") -> Tensor:
    """Pools each graph over its nodes: [N, D] to [G, D]; an empty graph gets zeros."""
    check_complete("pool_graphs", graphs)
    check_length("h", h, graphs.num_nodes)
    if use_triton(h):
        from i2gnn.ops import triton

        return triton.pool_graphs(h, graphs, reduce)
    return reference.pool_graphs(h, graphs, reduce)


def pool_context(h: Tensor, subgraphs: Subgraphs, reduce: Reduce = "sum") -> Tensor:
    """Pools each node over all subgraphs that contain it: [R, D] rows (., k, .) to [N, D]."""
    check_complete("pool_context", subgraphs)
    check_length("h", h, subgraphs.num_rows)
    if use_triton(h):
        from i2gnn.ops import triton

        return triton.pool_context(h, subgraphs, reduce)
    return reference.pool_context(h, subgraphs, reduce)


def gated_pools(
    h: Tensor,
    subgraphs: Subgraphs,
    inside: LabelEmbedding,
    around: LabelEmbedding,
    reduce: Reduce = "sum",
) -> Tensor:
    """Pools each ego-net, and each node over all ego-nets that contain it, with gates by labels.

        g[i,k], c[i,k] = sigmoid(embedded labels of (i,k)), by `inside` and by `around`
        out[k] = [pool of g[k,l] * h[k,l] over l in V_k, h[k,k], pool of c[i,k] * h[i,k] over i]

    Shapes:
        h: [R, D], one row per (root, node): with one identifier.
        returns: [N, 3 D].
    """
    check_complete("gated_pools", subgraphs)
    check_length("h", h, subgraphs.num_rows)
    check_labels("inside", inside, subgraphs)
    check_labels("around", around, subgraphs)
    if reduce == "sum" and inside.weight is None and use_triton(h, inside.table, around.table):
        from i2gnn.ops import triton

        if triton.fits_gated_pools(inside.table):
            tables = (torch.sigmoid(gate.table) for gate in (inside, around))
            return triton.gated_pools(h, subgraphs, *tables)
    own, context = (label_gates(gate, subgraphs) * h for gate in (inside, around))
    center = h.index_select(0, subgraphs.row_of_root)
    pools = [pool_nodes(own, subgraphs, reduce), center, pool_context(context, subgraphs, reduce)]
    return torch.cat(pools, dim=1)


def read_parts(
    h: Tensor, subgraphs: Subgraphs, parts: Sequence[Part] = ("nodes",), reduce: Reduce = "sum"
) -> Tensor:
    """Reads parts of each subgraph: all its nodes, as `pool_nodes` does, or one row of it.

        out[i,j] = pool of h[i,j,k] over k ("nodes"), h[i,j,i] ("center"), h[i,j,j] ("side")

    Shapes:
        h: [R, D].
        returns: [B, parts D], side by side.
    """
    check_length("h", h, subgraphs.num_rows)
    found = [
        pool_nodes(h, subgraphs, reduce)
        if part == "nodes"
        else reference.read_part(h, subgraphs, part)
        for part in parts
    ]
    return found[0] if len(found) == 1 else torch.cat(found, dim=1)


def read_subgraphs(h: Tensor, subgraphs: Subgraphs, gate: Tensor | None = None) -> Tensor:
    """Reads what the subgraphs of each root say of themselves and of their identified nodes.

        g[i,j,k] = gate[i,j,k] * h[i,j,k], or h[i,j,k] without a gate
        out[i]   = mean over j of [mean of g[i,j,k] over k, g[i,j,i], g[i,j,j]]

    Shapes:
        h: [R, D].
        gate: [R, D] or None.
        returns: [N, 3 D].
    """
    check_length("h", h, subgraphs.num_rows)
    if gate is not None and gate.shape != h.shape:
        raise ValueError(f"gate has shape {list(gate.shape)}; h has {list(h.shape)}")
    if use_triton(*((h,) if gate is None else (h, gate))):
        from i2gnn.ops import triton

        return triton.read_subgraphs(h, subgraphs, gate)
    return reference.read_subgraphs(h, subgraphs, gate)


def node_states(h: Tensor, subgraphs: Subgraphs, gate: LabelEmbedding | None = None) -> Tensor:
    """Reads all that subgraphs say of each node: `read_subgraphs`, and the context beside it.

        g[i,j,k] = sigmoid(embedded labels of (i,j,k)) * h[i,j,k], or h[i,j,k] without a gate
        out[i]   = [mean over j of (mean of g[i,j,k] over k, g[i,j,i], g[i,j,j]), mean of h[.,.,i]]

    Shapes:
        h: [R, D].
        returns: [N, 4 D].
    """
    check_complete("node_states", subgraphs)
    check_length("h", h, subgraphs.num_rows)
    if gate is not None:
        check_labels("gate", gate, subgraphs)
    if uses_fused(h):
        from i2gnn.ops import triton

        if triton.fits_node_states(h, subgraphs, gate):
            return triton.read_node_states(h, subgraphs, gate)
    if use_whole_roots(h, subgraphs):
        from i2gnn.ops import cpu

        return cpu.node_states(h, subgraphs, gate)
    opened = None if gate is None else label_gates(gate, subgraphs)
    states = [read_subgraphs(h, subgraphs, opened), pool_context(h, subgraphs, "mean")]
    return torch.cat(states, dim=1)


def embed_labels(labels: LabelEmbedding, subgraphs: Subgraphs) -> Tensor:
    """Embeds the labels of rows: z[r] = table[label code of r] + resistance[r] weight, [R, D]."""
    check_labels("labels", labels, subgraphs)
    table, weight = labels
    code = subgraphs.label_code
    if weight is None:
        assert code is not None
        return lookup(table, code)
    assert subgraphs.resistance is not None
    resistance = subgraphs.resistance[:, : len(weight)].to(weight.dtype)
    start = table.squeeze(0) if code is None else lookup(table, code)
    return torch.addmm(start, resistance, weight)


def label_gates(gate: LabelEmbedding, subgraphs: Subgraphs) -> Tensor:
    """The sigmoid of embedded labels, [R, D]: of each label rather than of each row, if it can."""
    if gate.weight is not None:
        return torch.sigmoid(embed_labels(gate, subgraphs))
    return embed_labels(LabelEmbedding(torch.sigmoid(gate.table), None), subgraphs)


def spread_nodes(x: Tensor, subgraphs: Subgraphs) -> Tensor:
    """Copies node features to rows: out[i,j,k] = x[k], [N, D] to [R, D]."""
    check_length("x", x, subgraphs.num_nodes)
    if use_triton(x):
        from i2gnn.ops import triton

        return triton.spread_nodes(x, subgraphs)
    return reference.spread_nodes(x, subgraphs)


def lookup(table: Tensor, code: Tensor) -> Tensor:
    """Reads a row of a small table per label: out[r] = table[code[r]], [C, D] to [R, D]."""
    check_length("table", table, len(table))
    check_indices("code", code, len(code), table)
    if use_triton(table):
        from i2gnn.ops import triton

        return triton.lookup(table, code)
    return reference.lookup(table, code)
