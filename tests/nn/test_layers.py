"""Layers against what their docstrings define, written with concatenations."""

import pytest
import torch
from torch.nn import functional

from i2gnn import extract_subgraphs
from i2gnn.nn import (
    GIN,
    GatedGraph,
    LabelEncoder,
    Layer,
    MixNodeStates,
    VirtualNode,
    make_conv,
    read_nodes,
)
from tests.helpers import random_graphs
from tests.named_graphs import awkward

PARTS = ("nodes", "center", "side", "context")


@pytest.fixture
def subgraphs():
    return extract_subgraphs(awkward(), hops=2, labels="spd+resistance").to(dtype=torch.float64)


def labels(subgraphs, channels=5):
    return LabelEncoder(subgraphs.label_kinds, 2, 2, channels).double()


def rows_of(subgraphs):
    """(root, node, branch) of each row."""
    s = subgraphs
    root = s.pair_to_root[s.row_to_pair]
    return zip(
        root.tolist(),
        s.row_to_node.tolist(),
        s.branch_to_node[s.row_to_branch].tolist(),
        strict=True,
    )


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_parts_of_nodes_one_by_one(subgraphs, reduce):
    """Each part as the table of `readouts` says, in Python."""
    s = subgraphs
    h = torch.randn(s.num_rows, 3, dtype=torch.float64)
    gate = torch.rand(s.num_rows, 3, dtype=torch.float64)
    at = {ikj: r for r, ikj in enumerate(rows_of(s))}

    def pool(values):
        total = torch.stack(values).sum(0)
        return total / len(values) if reduce == "mean" else total

    expected = []
    for i in range(s.num_nodes):
        branches = sorted({j for (root, _, j) in at if root == i})
        nodes = sorted({k for (root, k, _) in at if root == i})
        own = {ikj: gate[r] * h[r] for ikj, r in at.items() if ikj[0] == i}
        parts = [
            pool([pool([own[i, k, j] for k in nodes]) for j in branches]),
            pool([own[i, i, j] for j in branches]),
            pool([own[i, j, j] for j in branches]),
            pool([h[r] for (_, k, _), r in at.items() if k == i]),
        ]
        expected.append(torch.cat(parts))
    torch.testing.assert_close(read_nodes(h, s, PARTS, reduce, gate), torch.stack(expected))


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("parts", [("nodes",), ("nodes", "context"), PARTS])
def test_node_states_beside_rows(subgraphs, parts, gated):
    s, encoder = subgraphs, labels(subgraphs)
    mix = MixNodeStates(6, parts, "mean", label_channels=5 if gated else 0).double()
    h = torch.randn(s.num_rows, 6, dtype=torch.float64)
    gate = torch.sigmoid(mix.gate.linear(encoder(s))) if gated else None
    states = read_nodes(h, s, parts, "mean", gate)
    expected = mix.mlp(torch.cat([h, states[s.row_to_node]], dim=1))
    torch.testing.assert_close(mix(h, s, encoder), expected)


def test_a_layer_with_everything(subgraphs):
    s, encoder = subgraphs, labels(subgraphs, 6)
    layer = Layer(
        GIN(12, 6, expansion=2, norm="batch"),
        labels=encoder,
        concat=True,
        mix=MixNodeStates(6, PARTS, "mean", 6),
        norm="batch",
        dropout=0.5,
        residual=True,
    ).double()
    h = torch.randn(s.num_rows, 6, dtype=torch.float64)
    torch.manual_seed(0)
    out = layer(h, s)
    twin = layer.conv(torch.cat([h, encoder(s)], dim=1), s)
    twin = functional.elu(layer.norm(layer.mix(twin, s, encoder)))
    torch.manual_seed(0)
    torch.testing.assert_close(out, functional.dropout(twin, 0.5) + h)
    layer.eval()
    torch.testing.assert_close(layer(h, s), layer(h, s), rtol=0, atol=0)


def test_a_residual_needs_equal_widths(subgraphs):
    h = torch.randn(subgraphs.num_rows, 4, dtype=torch.float64)
    layer = Layer(GIN(4, 6), residual=True).double()
    torch.testing.assert_close(layer(h, subgraphs), functional.elu(layer.conv(h, subgraphs)))


def test_only_a_bare_gated_conv_is_fused():
    assert Layer(GatedGraph(4, 4)).gated is not None
    for options in ({"norm": "batch"}, {"dropout": 0.1}, {"residual": True}):
        assert Layer(GatedGraph(4, 4), **options).gated is None
    assert Layer(GIN(4, 4), activation=False).gated is None
    assert Layer(make_conv("gated", 4, 4, root_messages=True)).gated is None


def test_node_states_of_some_roots_are_refused(subgraphs):
    import dataclasses

    part = dataclasses.replace(subgraphs, complete=False)
    mix = MixNodeStates(4, ("nodes",), "mean").double()
    with pytest.raises(ValueError, match="node states need every node as a root"):
        mix(torch.zeros(part.num_rows, 4, dtype=torch.float64), part, None)


def test_virtual_node_hears_every_node_once():
    graphs = random_graphs(3, nodes=(3, 6))
    s = extract_subgraphs(graphs, hops=2).to(dtype=torch.float64)
    virtual = VirtualNode([4, 4], residual=True).double()
    h = torch.ones(s.num_rows, 4, dtype=torch.float64)
    v = torch.randn(len(s), 4, dtype=torch.float64)
    sizes = s.sizes["node"].double().unsqueeze(1)
    torch.testing.assert_close(virtual.update(0, h, v, s), virtual.updates[0](v + sizes) + v)
    told = virtual.tell(h, v, s)
    assert torch.equal(told, h + v[s.node_to_graph][s.row_to_node])
    assert torch.equal(virtual.start(s), torch.zeros(3, 4, dtype=torch.float64))
