"""Every op against its plain reference, in outputs and gradients."""

import itertools

import pytest
import torch

from i2gnn import extract_subgraphs, ops
from i2gnn.ops import reference
from tests.helpers import assert_matches_reference, random_graphs
from tests.named_graphs import awkward, store
from tests.ops.helpers import star

WIDTHS = [1, 16, 63, 64]


GRAPHS = {
    "awkward": awkward,
    "random": lambda: random_graphs(9, nodes=(2, 12)),
    "high degree": lambda: store(star(33), star(1), [], num_nodes=[34, 2, 1]),
    "no edges": lambda: store([], num_nodes=[3]),
    "nothing": lambda: store([], num_nodes=[0]),
}


@pytest.fixture(params=GRAPHS)
def graphs(request):
    return GRAPHS[request.param]()


@pytest.fixture(params=[0, 1, 2])
def subgraphs(request, graphs):
    return extract_subgraphs(graphs, hops=2, identifiers=request.param)


@pytest.mark.parametrize("width", WIDTHS)
def test_aggregate(subgraphs, width):
    assert_matches_reference(
        lambda h: ops.aggregate(h, subgraphs),
        lambda h: reference.aggregate(h, subgraphs),
        [torch.randn(subgraphs.num_rows, width)],
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_aggregate_with_edge_features(subgraphs, width):
    assert_matches_reference(
        lambda h, e: ops.aggregate(h, subgraphs, e),
        lambda h, e: reference.aggregate(h, subgraphs, e),
        [torch.randn(subgraphs.num_rows, width), torch.randn(subgraphs.num_edges, width)],
    )


def test_aggregate_with_edge_types(subgraphs):
    edge_type = torch.randint(0, 3, (subgraphs.num_edges,))
    assert_matches_reference(
        lambda h, table: ops.aggregate(h, subgraphs, table, edge_type),
        lambda h, table: reference.aggregate(h, subgraphs, table[edge_type]),
        [torch.randn(subgraphs.num_rows, 16), torch.randn(3, 16)],
    )


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_pool_nodes(subgraphs, reduce):
    assert_matches_reference(
        lambda h: ops.pool_nodes(h, subgraphs, reduce),
        lambda h: reference.pool_nodes(h, subgraphs, reduce),
        [torch.randn(subgraphs.num_rows, 16)],
    )


@pytest.mark.parametrize("rows", [0, 1, 5, 4096, 10_000])
@pytest.mark.parametrize("width", WIDTHS)
def test_gru_update(rows, width):
    shapes = [(rows, width), (rows, width), (width, 3 * width), (width, 3 * width)]
    inputs = [torch.randn(shape) / width**0.5 for shape in [*shapes, (3 * width,), (3 * width,)]]
    assert_matches_reference(ops.gru_update, reference.gru_update, inputs)


def test_gru_update_is_pytorchs_cell():
    cell = torch.nn.GRUCell(8, 8)
    message, h = torch.randn(20, 8), torch.randn(20, 8)
    ours = ops.gru_update(
        message, h, cell.weight_ih.t(), cell.weight_hh.t(), cell.bias_ih, cell.bias_hh
    )
    torch.testing.assert_close(ours, cell(message, h))


def test_references_are_the_definitions():
    """The reference itself, against loops over (i, j, k, l)."""
    s = extract_subgraphs(random_graphs(3, nodes=(4, 6), p=0.5), hops=2)
    h = torch.randn(s.num_rows, 3, dtype=torch.float64)
    e = torch.randn(s.num_edges, 3, dtype=torch.float64)
    i, j = s.branch_to_root[s.row_to_branch].tolist(), s.branch_to_node[s.row_to_branch].tolist()
    k_of = s.row_to_node.tolist()
    row = {key: r for r, key in enumerate(zip(i, j, k_of, strict=True))}
    edge = {(t, u): n for n, (u, t) in enumerate(s.edge_index.t().tolist())}
    plain, gine = torch.zeros_like(h), torch.zeros_like(h)
    for (i, j, k), r in row.items():
        for (receiver, l), n in edge.items():  # noqa: E741
            if receiver == k and (i, j, l) in row:
                plain[r] += h[row[i, j, l]]
                gine[r] += torch.relu(h[row[i, j, l]] + e[n])
    torch.testing.assert_close(reference.aggregate(h, s), plain)
    torch.testing.assert_close(reference.aggregate(h, s, e), gine)

    branches = list(zip(s.branch_to_root.tolist(), s.branch_to_node.tolist(), strict=True))
    by_branch = torch.stack(
        [sum(h[r] for (i, j, _), r in row.items() if (i, j) == b) for b in branches]
    )
    torch.testing.assert_close(reference.pool_nodes(h, s), by_branch)
    context = torch.stack(
        [sum(h[r] for key, r in row.items() if key[2] == n) for n in range(s.num_nodes)]
    )
    torch.testing.assert_close(reference.pool_context(h, s), context)
    parts = [[n for n, (i, _) in enumerate(branches) if i == root] for root in range(s.num_nodes)]
    by_root = torch.stack([by_branch[part].sum(0) for part in parts])
    torch.testing.assert_close(reference.pool_branches(by_branch, s), by_root)
    means = torch.stack([by_branch[part].mean(0) for part in parts])
    torch.testing.assert_close(reference.pool_branches(by_branch, s, "mean"), means)
    ends = s.offsets["node"].tolist()
    by_graph = torch.stack([by_root[a:b].sum(0) for a, b in itertools.pairwise(ends)])
    torch.testing.assert_close(reference.pool_graphs(by_root, s), by_graph)
    assert torch.equal(reference.spread_nodes(by_root, s), torch.stack([by_root[n] for n in k_of]))
    assert s.label_code is not None
    table = torch.randn(s.num_codes, 3, dtype=torch.float64)
    looked_up = torch.stack([table[c] for c in s.label_code.tolist()])
    assert torch.equal(reference.lookup(table, s.label_code), looked_up)

    gate = torch.randn_like(h)
    g = gate * h
    by_root = []
    for root in range(s.num_nodes):
        read = [
            torch.cat(
                [
                    torch.stack([g[r] for (a, b, _), r in row.items() if (a, b) == (i, j)]).mean(0),
                    g[row[i, j, i]],
                    g[row[i, j, j]],
                ]
            )
            for i, j in branches
            if i == root
        ]
        by_root.append(torch.stack(read).mean(0))
    torch.testing.assert_close(reference.read_subgraphs(h, s, gate), torch.stack(by_root))
    torch.testing.assert_close(reference.read_subgraphs(g, s), reference.read_subgraphs(h, s, gate))


def test_backend_reference_is_used_and_left(monkeypatch):
    s = extract_subgraphs(awkward(), hops=1)
    h = torch.randn(s.num_rows, 4)
    called = []
    monkeypatch.setattr(reference, "aggregate", lambda *a: called.append(a) or h)
    with ops.backend("reference"):
        ops.aggregate(h, s)
    assert len(called) == 1
    ops.aggregate(h, s)
    assert len(called) == 1
    with pytest.raises(ValueError, match="got 'gpu'"), ops.backend("gpu"):
        pass


def test_unknown_reduction_is_named():
    s = extract_subgraphs(awkward(), hops=1)
    h = torch.randn(s.num_rows, 4)
    with pytest.raises(ValueError, match="'sum' or 'mean', got 'max'"):
        ops.pool_nodes(h, s, "max")
    with pytest.raises(ValueError, match="'sum' or 'mean', got 'max'"):
        ops.pool_context(h, s, "max")


def test_wrong_shapes_are_errors_not_wild_reads():
    s = extract_subgraphs(awkward(), hops=1)
    with pytest.raises(ValueError, match=r"h has shape \[2, 2\]; expected \[\d+, channels\]"):
        ops.pool_nodes(torch.ones(2, 2), s)
    with pytest.raises(ValueError, match="h has shape"):
        ops.aggregate(torch.ones(s.num_rows - 3, 2), s)
    h = torch.ones(s.num_rows, 2)
    with pytest.raises(ValueError, match="edge_attr is 1 wide; h is 2 wide"):
        ops.aggregate(h, s, torch.ones(s.num_edges, 1))
    with pytest.raises(
        ValueError, match=r"edge_type has shape \[2\] and type torch.int64; expected"
    ):
        ops.aggregate(h, s, torch.ones(3, 2), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"edge_type has .*torch.float32; expected .* integers"):
        ops.aggregate(h, s, torch.ones(3, 2), torch.zeros(s.num_edges))
    with pytest.raises(ValueError, match="edge_type needs edge_attr"):
        ops.aggregate(h, s, edge_type=torch.zeros(s.num_edges, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"gate has shape \[1, 2\]; h has"):
        ops.read_subgraphs(h, s, torch.ones(1, 2))
    for pool in (ops.pool_branches, ops.pool_graphs, ops.pool_context, ops.spread_nodes):
        with pytest.raises(ValueError, match=r"has shape \[2, 2\]; expected"):
            pool(torch.ones(2, 2), s)
    with pytest.raises(ValueError, match=r"message has shape \[3, 2\]; expected \[2, channels\]"):
        ops.gru_update(torch.ones(3, 2), torch.ones(2, 2), *torch.ones(2, 2, 6), *torch.ones(2, 6))


def test_wrong_indices_are_errors_not_wild_reads():
    """Tables with too few rows for the labels, or for the types of edges."""
    s = extract_subgraphs(awkward(), hops=2)
    h, codes = torch.ones(s.num_rows, 4), s.num_codes
    gates = ops.GRUWeights(*torch.ones(2, 4, 12), *torch.ones(2, 12))
    stacked = ops.GRUWeights(*(weight.expand(2, *weight.shape) for weight in gates))
    few, all_of_them = torch.ones(2, 4), torch.ones(codes, 4)
    message = rf"has 2 rows; these labels have {codes} codes"
    then = ops.Projection(torch.ones(4, 4), few)
    with pytest.raises(ValueError, match=message):
        ops.gated_layer(h, s, gates, then)
    with pytest.raises(ValueError, match=message):
        ops.gated_stack(few, s, stacked)
    with pytest.raises(ValueError, match=message):
        ops.gated_stack(all_of_them, s, stacked, ops.Projection(*(w[None] for w in then)))
    with pytest.raises(ValueError, match=message):
        ops.node_states(h, s, ops.LabelEmbedding(few, None))
    with pytest.raises(ValueError, match="rows have no resistances"):
        ops.embed_labels(ops.LabelEmbedding(all_of_them, torch.ones(2, 4)), s)
    mlp = ops.Perceptron(torch.ones(4, 4), torch.ones(4), None, torch.ones(4, 4), torch.ones(4))
    layer = ops.GINELayer(torch.tensor(0.0), mlp, edges=torch.ones(3, 4))
    types = torch.full((s.num_edges,), 3)
    with pytest.raises(ValueError, match=r"edge_type holds 3\.\.3; expected numbers below 3"):
        ops.gine_layer(h, s, layer, types)
    wide = ops.Perceptron(torch.ones(8, 4), torch.ones(4), None, torch.ones(4, 4), torch.ones(4))
    with pytest.raises(ValueError, match=message):
        ops.gine_layer(h, s, ops.GINELayer(layer.eps, wide, ops.LabelEmbedding(few, None)))
    bare = extract_subgraphs(awkward(), hops=2, labels="none")
    with pytest.raises(ValueError, match="table is read by label, but rows have no labels"):
        ops.gated_stack(all_of_them, bare, stacked)


def test_other_types_take_the_reference():
    s = extract_subgraphs(awkward(), hops=1)
    h, e = torch.randn(s.num_rows, 4), torch.randn(s.num_edges, 4)
    exact = reference.aggregate(h, s, e)
    for dtype in (torch.bfloat16, torch.float16):
        low = ops.aggregate(h.to(dtype), s, e.to(dtype))
        assert low.dtype == dtype
        torch.testing.assert_close(low.float(), exact, rtol=0.05, atol=0.1)


def test_nan_is_not_hidden():
    s = extract_subgraphs(store([(0, 1)]), hops=1)
    h = torch.full((s.num_rows, 2), float("nan"))
    assert ops.aggregate(h, s, torch.ones(s.num_edges, 2)).isnan().all()
