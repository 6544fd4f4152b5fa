"""What every model must do: equivariance, batch independence, separation, fitting."""

import pytest
import torch

from i2gnn import I2GNN, MPNN, SubgraphMPNN, count
from i2gnn.models import MODELS
from i2gnn.nn import CONVS
from tests.helpers import assert_permutation_equivariant, random_graphs
from tests.named_graphs import awkward, cycle, rook, shrikhande, store


def build(name: str, **options):
    options = {"hidden_channels": 12, "num_layers": 3, "hops": 2} | options
    return MODELS[name](**options).double()


@pytest.mark.parametrize("level", ["node", "edge", "graph"])
@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize("name", MODELS)
def test_permutation_equivariance(name, conv, level):
    graphs = random_graphs(5, nodes=(2, 9), x=3, edge_attr=2).to(dtype=torch.float64)
    model = build(name, in_channels=3, edge_channels=2, conv=conv, level=level, out_channels=2)
    assert_permutation_equivariant(lambda g: model(model.extract(g)), graphs, level)


@pytest.mark.parametrize("labels", ["identity", "spd", "spd_pred", "spd+resistance"])
@pytest.mark.parametrize("label_injection", ["layer", "input"])
@pytest.mark.parametrize("pool", ["sum", "mean"])
@pytest.mark.parametrize("name", ["i2gnn", "subgraph_mpnn"])
def test_permutation_equivariance_of_all_label_options(name, pool, label_injection, labels):
    model = build(name, labels=labels, label_injection=label_injection, pool=pool)
    graphs = random_graphs(4).to(dtype=torch.float64)
    assert_permutation_equivariant(
        lambda g: model(model.extract(g).to(dtype=torch.float64)), graphs
    )


@pytest.mark.parametrize("level", ["node", "edge", "graph"])
@pytest.mark.parametrize("pool", ["sum", "mean"])
@pytest.mark.parametrize("name", MODELS)
def test_a_graph_does_not_depend_on_its_batch_mates(name, pool, level):
    graphs = awkward()
    model = build(name, pool=pool, level=level)
    together = model(model.extract(graphs))
    alone = [model(model.extract(graphs.batch([g]))) for g in range(len(graphs))]
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("level", ["node", "edge", "graph"])
@pytest.mark.parametrize("name", MODELS)
def test_output_has_one_row_per_item(name, level):
    graphs = awkward()
    model = build(name, level=level, out_channels=3)
    out = model(model.extract(graphs))
    assert out.shape == (graphs.length(level), 3)
    assert out.isfinite().all()


def embeddings(model, graphs) -> torch.Tensor:
    """Graph-level outputs of random weights, [G, 4]."""
    torch.manual_seed(1)
    network = model(hidden_channels=24, num_layers=4, hops=3, level="graph", out_channels=4)
    network = network.double()
    with torch.no_grad():
        return network(network.extract(graphs))


def test_plain_message_passing_ties_a_hexagon_with_two_triangles():
    pair = store(cycle(6), cycle(3) + cycle(3, first=3))
    tied = embeddings(MPNN, pair)
    torch.testing.assert_close(tied[0], tied[1], rtol=1e-12, atol=1e-12)
    for model in (SubgraphMPNN, I2GNN):
        a, b = embeddings(model, pair)
        assert (a - b).abs().max() > 1e-4


def test_one_identifier_ties_rook_and_shrikhande_and_two_separate_them():
    pair = store(rook(), shrikhande())
    for model in (MPNN, SubgraphMPNN):
        tied = embeddings(model, pair)
        torch.testing.assert_close(tied[0], tied[1], rtol=1e-10, atol=1e-10)
    a, b = embeddings(I2GNN, pair)
    assert (a - b).abs().max() > 1e-4


@pytest.mark.parametrize("conv", ["gated", "gin"])
@pytest.mark.parametrize("level", ["node", "graph"])
def test_twenty_graphs_can_be_learnt_by_heart(level, conv):
    graphs = random_graphs(20, seed=3, nodes=(6, 10), p=0.4)
    target = count(graphs, ["cycle4"], level=level).values.float()
    target = (target - target.mean()) / target.std()
    model = I2GNN(hidden_channels=24, num_layers=3, hops=2, level=level, conv=conv, pool="mean")
    batch = model.extract(graphs)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(300):
        loss = (model(batch) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss < 0.01:
            return
    pytest.fail(f"loss is still {loss:.3f} of 1 after 300 steps")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool": "max"}, "pool must be one of sum, mean, got 'max'"),
        ({"level": "atom"}, "level must be one of node, edge, graph, got 'atom'"),
        ({"label_injection": "all"}, "label_injection must be one of layer, input"),
        ({"num_layers": 0}, "num_layers must be at least 1, got 0"),
        ({"conv": "gat"}, "unknown conv 'gat'"),
        ({"labels": "names"}, "unknown label 'names'"),
    ],
)
def test_wrong_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        I2GNN(**options)


def test_wrong_batches_are_named():
    graphs = awkward()
    model = I2GNN(hidden_channels=8, hops=2)
    with pytest.raises(ValueError, match="needs subgraphs with 2 identifiers, got 1"):
        model(SubgraphMPNN(hidden_channels=8, hops=2).extract(graphs))
    with pytest.raises(ValueError, match="extract them with the model's own settings"):
        model(I2GNN(hidden_channels=8, hops=1).extract(graphs))
    with pytest.raises(TypeError, match="got GraphStore"):
        model(graphs)
    with pytest.raises(ValueError, match="node features of width 5, the graphs have none"):
        wide = I2GNN(in_channels=5, hidden_channels=8, hops=2)
        wide(wide.extract(graphs))


def test_subgraphs_of_another_radius_are_refused():
    model = I2GNN(hops=1, labels="identity", hidden_channels=8)
    other = I2GNN(hops=2, labels="identity", hidden_channels=8)
    with pytest.raises(ValueError, match="expects 1 hops, the subgraphs have 2"):
        model(other.extract(awkward()))


@pytest.mark.parametrize("conv", CONVS)
def test_graphs_without_edges(conv):
    graphs = random_graphs(3, p=0.0, edge_attr=2).to(dtype=torch.float64)
    model = build("i2gnn", conv=conv, edge_channels=2)
    assert model(model.extract(graphs)).isfinite().all()
