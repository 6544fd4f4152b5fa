"""SUN: its formula, and what it can tell apart."""

import pytest
import torch

from i2gnn.models import SUN
from i2gnn.models.registry import REGISTRY, count_parameters
from i2gnn.subgraphs import extract_subgraphs
from tests.helpers import random_graphs
from tests.named_graphs import cycle, rook, shrikhande, store


@pytest.mark.parametrize("features", [0, 2])
@pytest.mark.parametrize("pool", ["sum", "mean"])
@torch.no_grad()
def test_a_layer_is_its_formula(pool, features):
    graphs = random_graphs(2, seed=1, nodes=(5, 7), edge_attr=2).to(dtype=torch.float64)
    model = SUN(
        hidden_channels=4, num_layers=1, hops=2, norm="none", pool=pool, edge_channels=features
    ).double()
    layer, subgraphs = model.layers[0], model.extract(graphs)
    h = torch.randn(subgraphs.num_rows, 4, dtype=torch.float64)
    found = layer(h, subgraphs, extract_subgraphs(graphs, identifiers=0))
    row = {
        (int(i), int(k)): r
        for r, (i, k) in enumerate(zip(subgraphs.pair_to_root, subgraphs.pair_to_node, strict=True))
    }
    edge = {}
    for e, (b, k) in enumerate(graphs.edge_index.t().tolist()):
        edge[k, b] = layer.encode_edges(graphs.edge_attr[e : e + 1])[0] if features else None

    def message(value, k, b):
        return value if edge[k, b] is None else torch.relu(value + edge[k, b])

    def gin(name, value, sums):
        conv = layer.gins[name]
        return conv.mlp((1 + conv.eps) * value + sum(sums, torch.zeros(4, dtype=torch.float64)))

    mean = torch.stack(
        [
            torch.stack([h[r] for (_, b), r in row.items() if b == k]).mean(0)
            for k in range(graphs.num_nodes)
        ]
    )
    for (i, k), r in row.items():
        members = torch.stack([h[s] for (a, _), s in row.items() if a == i])
        pooled = members.sum(0) if pool == "sum" else members.mean(0)
        inside = [message(h[row[i, b]], k, b) for (a, b) in edge if a == k and (i, b) in row]
        across = [message(mean[b], k, b) for (a, b) in edge if a == k]
        if i == k:
            expected = layer.root_own(h[r]) + layer.root_subgraph(pooled)
            expected = expected + gin("root_inside", h[r], inside)
            expected = expected + gin("root_across", mean[k], across)
        else:
            expected = layer.own(h[r]) + layer.node(h[row[k, k]]) + layer.root(h[row[i, i]])
            expected = expected + layer.subgraph(pooled)
            expected = expected + gin("inside", h[r], inside) + gin("across", mean[k], across)
        torch.testing.assert_close(found[r], torch.relu(expected), rtol=1e-10, atol=1e-10)


def embeddings(graphs, labels) -> torch.Tensor:
    torch.manual_seed(1)
    model = SUN(hidden_channels=16, level="graph", out_channels=4, labels=labels, norm="none")
    model = model.double().eval()
    with torch.no_grad():
        return model(model.extract(graphs))


@pytest.mark.parametrize("labels", ["identity", "spd"])
def test_more_than_message_passing_and_no_more_than_three_wl(labels):
    a, b = embeddings(store(cycle(6), cycle(3) + cycle(3, first=3)), labels)
    assert (a - b).abs().max() > 1e-6
    tied = embeddings(store(rook(), shrikhande()), labels)
    scale = tied.abs().max()
    torch.testing.assert_close(tied[0] / scale, tied[1] / scale, rtol=0, atol=1e-10)


def test_number_of_weights():
    """Per layer six MLPs and four GINs, each of two linear layers and one or two norms."""
    perceptron = 2 * (64 * 64 + 64) + 2 * 64
    layers = 4 * (6 * perceptron + 4 * (1 + perceptron + 2 * 64))
    head = 64 * 32 + 32 + 32 * 16 + 16 + 16 + 1
    assert count_parameters(REGISTRY["sun"].build()) == layers + 2 * 64 + head


def test_a_root_must_be_marked():
    with pytest.raises(ValueError, match="SUN needs labels, got 'none'"):
        SUN(labels="none")
