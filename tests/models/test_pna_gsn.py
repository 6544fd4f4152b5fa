"""PNA and GSN: their formulas, sizes and power."""

import pytest
import torch

from i2gnn.models import GSN, MPNN, PNA
from i2gnn.models.registry import REGISTRY, count_parameters
from i2gnn.training import ModelConfig
from i2gnn.training.run import build_model, network_of
from tests.helpers import random_graphs
from tests.named_graphs import awkward, cycle, rook, shrikhande, store


@torch.no_grad()
def test_a_pna_layer_is_its_formula():
    graphs = random_graphs(1, seed=2, nodes=(8, 8), x=3, edge_attr=2).to(dtype=torch.float64)
    degrees = PNA.arguments_for(graphs)["degrees"]
    assert sum(degrees) == 8 and sum(d * n for d, n in enumerate(degrees)) == graphs.num_edges
    model = PNA(
        in_channels=3,
        edge_channels=2,
        hidden_channels=4,
        num_layers=1,
        degrees=degrees,
        norm="none",
    ).double()
    conv, x, e = model.convs[0], model.encode(graphs), model.edges[0](graphs.edge_attr)
    delta = (graphs.degree + 1).double().log().mean()
    rows = []
    for k in range(8):
        edges = (graphs.edge_to_node == k).nonzero().squeeze(1)
        sender = graphs.neighbor[edges].long()
        parts = [x[k].expand(len(edges), 4), x[sender], conv.edge_encoder(e[edges])]
        m = conv.pre_nns[0](torch.cat(parts, dim=1))
        deviation = m.var(0, correction=0).clamp(min=1e-5).sqrt()
        deviation = torch.where(deviation > 1e-5**0.5, deviation, 0)
        a = torch.cat([m.mean(0), m.min(0).values, m.max(0).values, deviation])
        scale = torch.log(torch.tensor(len(edges) + 1.0)) / delta
        rows.append(conv.post_nns[0](torch.cat([x[k], a, a * scale, a / scale])))
    out = conv.lin(torch.stack(rows))
    expected = model.head(torch.relu(out) + x)
    assert (graphs.degree > 0).all()
    torch.testing.assert_close(model(graphs), expected, rtol=1e-6, atol=1e-6)


def test_number_of_weights():
    head = 64 * 32 + 32 + 32 * 16 + 16 + 16 + 1
    pna = 4 * ((128 * 64 + 64) + (13 * 64 * 64 + 64) + (64 * 64 + 64) + 2 * 64)
    assert count_parameters(REGISTRY["pna"].build()) == pna + head
    # GINE: eps, edge features to D, an MLP; the nodes' four counts to D.
    gsn = 4 * (1 + (4 * 64 + 64) + 2 * (64 * 64 + 64)) + (4 * 64 + 64)
    assert count_parameters(REGISTRY["gsn"].build()) == gsn + head


@torch.no_grad()
def outputs(model, graphs):
    torch.manual_seed(1)
    network = model(hidden_channels=16, num_layers=3, level="graph", out_channels=4)
    network = network.double().eval()
    return network(network.extract(graphs).to(dtype=torch.float64))


def test_counts_separate_what_message_passing_does_not():
    pair = store(cycle(6), cycle(3) + cycle(3, first=3))
    for model in (PNA, MPNN):
        tied = outputs(model, pair)
        torch.testing.assert_close(tied[0], tied[1], rtol=1e-10, atol=1e-10)
    a, b = outputs(GSN, pair)
    assert (a - b).abs().max() > 1e-4
    # Both have equal counts of cycles up to six at every node and edge.
    tied = outputs(GSN, store(rook(), shrikhande()))
    torch.testing.assert_close(tied[0], tied[1], rtol=1e-10, atol=1e-10)


def test_structures_can_be_chosen_by_configuration():
    graphs = random_graphs(4, x=2)
    config = ModelConfig(name="gsn", options={"structures": ["cycle3", "clique4"]})
    model = build_model(network_of(config, graphs))
    assert model.structures == ("cycle3", "clique4")
    counted = model.extract(graphs)
    assert counted.x.shape[1] == 4 and counted.edge_attr.shape[1] == 2
    assert model(counted).shape == (graphs.num_nodes, 1)


def test_degrees_reach_pna_by_configuration():
    graphs = random_graphs(4)
    network = network_of(ModelConfig(name="pna"), graphs)
    assert sum(network["arguments"]["degrees"]) == graphs.num_nodes
    model = build_model(network)
    delta = float((graphs.degree + 1).double().log().mean())
    assert float(model.convs[0].aggr_module.avg_deg_log) == pytest.approx(delta, rel=1e-6)


def test_graphs_without_edges():
    graphs = store([], [], num_nodes=[3, 1])
    model = build_model(network_of(ModelConfig(name="pna"), graphs)).eval()
    assert model(graphs).isfinite().all()


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match="towers must divide hidden_channels 64, got 5"):
        PNA(towers=5)
    with pytest.raises(ValueError, match="node features of width 4, the graphs have none"):
        GSN()(MPNN().extract(awkward()))
