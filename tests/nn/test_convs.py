import pytest
import torch
from torch_geometric import nn as pyg

from i2gnn import I2GNN, extract_subgraphs, ops
from i2gnn.nn import CONVS, GIN, GINE, GatedGraph, GraphConv, NNConv, ProductConv, make_conv
from tests.helpers import assert_permutation_equivariant, random_graphs


@pytest.fixture
def graphs():
    return random_graphs(6, nodes=(2, 9), x=5, edge_attr=3).to(dtype=torch.float64)


@pytest.mark.parametrize("name", CONVS)
@pytest.mark.parametrize("identifiers", [0, 1, 2])
def test_every_layer_is_permutation_equivariant(graphs, name, identifiers):
    conv = make_conv(name, 5, 5, edge_channels=3).double()

    def predict(store):
        s = extract_subgraphs(store, hops=2, identifiers=identifiers, labels="spd")
        h = ops.spread_nodes(store.x, s)
        if s.labels is not None:
            h = h + s.labels.sum(1, keepdim=True)
        return ops.pool_context(conv(h, s, store.edge_attr), s)

    assert_permutation_equivariant(predict, graphs)


@pytest.mark.parametrize("name", CONVS)
def test_gradients_against_finite_differences(name):
    graphs = random_graphs(2, nodes=(3, 4), p=0.6, edge_attr=2).to(dtype=torch.float64)
    s = extract_subgraphs(graphs, hops=1)
    conv = make_conv(name, 3, 3, edge_channels=2).double()
    h = torch.randn(s.num_rows, 3, dtype=torch.float64, requires_grad=True)
    edge_attr = graphs.edge_attr.clone().requires_grad_(name == "gine")
    assert torch.autograd.gradcheck(lambda h, e: conv(h, s, e), (h, edge_attr))


def test_products_start_linear():
    s = extract_subgraphs(random_graphs(3, nodes=(4, 7), p=0.6), identifiers=0)
    conv = ProductConv(5, 3).double()
    one, two = torch.randn(2, s.num_rows, 5, dtype=torch.float64)
    torch.testing.assert_close(conv(one + two, s), conv(one, s) + conv(two, s) - conv(0 * one, s))
    conv(one, s).square().sum().backward()
    assert bool(conv.own.weight.grad[3:].any())  # and do not stay so


def test_products_by_hand():
    """With weights that pick out terms, the layer multiplies numbers of walks."""
    s = extract_subgraphs(random_graphs(3, nodes=(4, 7), p=0.6), identifiers=0)
    conv = ProductConv(1, 1).double()
    for parameter in conv.parameters():
        torch.nn.init.zeros_(parameter)
    conv.own.weight.data[1], conv.neighbors.weight.data[1] = 2.0, 3.0
    conv.own.bias.data[0], conv.neighbors.bias.data[1] = 5.0, -1.0
    h = torch.arange(s.num_rows, dtype=torch.float64).unsqueeze(1)
    m = ops.aggregate(h, s)
    torch.testing.assert_close(conv(h, s), 5 + 2 * h * (3 * m - 1))


@pytest.mark.parametrize("name", sorted(CONVS.keys() - {"product"}))
def test_zero_identifiers_agree_with_pygs_own_layer(graphs, name):
    """On the graph itself each layer is PyG's, given the same weights."""
    s = extract_subgraphs(graphs, identifiers=0)
    conv = make_conv(name, 5, 5, edge_channels=3).double()
    theirs = pyg_twin(conv)
    h = graphs.x
    edge_attr = (graphs.edge_attr,) if conv.needs_edge_attr else ()
    torch.testing.assert_close(
        conv(h, s, graphs.edge_attr), theirs(h, graphs.edge_index, *edge_attr)
    )


def pyg_twin(conv):
    if isinstance(conv, GIN):
        return pyg.GINConv(conv.mlp, train_eps=True).double()
    if isinstance(conv, GINE):
        twin = pyg.GINEConv(conv.mlp, train_eps=True, edge_dim=3).double()
        twin.lin.load_state_dict(conv.edge.linear.state_dict())
    elif isinstance(conv, GatedGraph):
        twin = pyg.GatedGraphConv(5, num_layers=1).double()
        twin.weight.data[0] = conv.weight.data
        twin.rnn.load_state_dict(conv.gru.state_dict())
    elif isinstance(conv, GraphConv):
        twin = pyg.GraphConv(5, 5).double()
        twin.lin_root.weight.data = conv.own.weight.data
        twin.lin_rel.bias.data = conv.own.bias.data
        twin.lin_rel.weight.data = conv.neighbors.weight.data
    else:
        assert isinstance(conv, NNConv)
        twin = pyg.NNConv(5, 5, conv.net).double()
        twin.lin.weight.data = conv.own.weight.data
        twin.bias.data = conv.own.bias.data
    return twin


@pytest.mark.parametrize("name", CONVS)
def test_messages_from_the_root_have_their_own_weight(name):
    """Against a layer of equal messages: what the root sends is W_root of what it would send."""
    graphs = random_graphs(3, nodes=(3, 7), p=0.5, edge_attr=2).to(dtype=torch.float64)
    s = extract_subgraphs(graphs, hops=2, identifiers=1)
    torch.manual_seed(0)
    conv = make_conv(name, 16, 16, edge_channels=2, root_messages=True).double()
    h = torch.randn(s.num_rows, 16, dtype=torch.float64)
    with_root = conv(h, s, graphs.edge_attr)
    # With the weight of all others the layer is an ordinary one.
    conv.root_weight.data = conv.weight.data if name == "gated" else torch.eye(16).double()
    same = conv(h, s, graphs.edge_attr)
    conv.root_weight = None
    torch.testing.assert_close(same, conv(h, s, graphs.edge_attr))
    # Only neighbours of the root hear a difference.
    near = torch.zeros(s.num_pairs, dtype=torch.bool)
    near[s.link_to_receiver[torch.isin(s.link_to_pair, s.pair_ptr[:-1])]] = True
    assert torch.equal((with_root - same).abs().amax(1) > 1e-12, near)


@pytest.mark.parametrize("name", ["gin", "gine", "graph", "nn"])
@pytest.mark.parametrize("root_messages", [False, True])
def test_labels_beside_the_states(graphs, name, root_messages):
    s = extract_subgraphs(graphs, hops=2)
    conv = make_conv(name, 9, 6, 3, expansion=2, norm="batch", root_messages=root_messages).double()
    h, z = torch.randn(s.num_rows, 5).double(), torch.randn(s.num_rows, 4).double()
    together = conv(torch.cat([h, z], dim=1), s, graphs.edge_attr)
    torch.testing.assert_close(conv(h, s, graphs.edge_attr, z), together)


@pytest.mark.parametrize("name", ["gine", "nn"])
def test_edge_types_are_one_hot_features(name):
    """An embedding of types is a linear map of their one-hot vectors."""
    graphs = random_graphs(4, nodes=(3, 8), edge_attr=2).to(dtype=torch.float64)
    s = extract_subgraphs(graphs, hops=2)
    typed = make_conv(name, 5, 5, edge_channels=0, edge_types=(3, 4)).double()
    plain = make_conv(name, 5, 5, edge_channels=7).double()
    weights = {k: v for k, v in typed.state_dict().items() if "tables" not in k}
    encoder, target = (c.edge if name == "gine" else c.net[0] for c in (typed, plain))
    plain.load_state_dict(weights, strict=False)
    target.linear.weight.data = torch.cat(list(encoder.tables)).t().contiguous()
    target.linear.bias.data.zero_()
    one_hot = [
        torch.nn.functional.one_hot(graphs.edge_attr[:, c].long(), size)
        for c, size in enumerate((3, 4))
    ]
    h = torch.randn(s.num_rows, 5, dtype=torch.float64)
    torch.testing.assert_close(
        typed(h, s, graphs.edge_attr), plain(h, s, torch.cat(one_hot, dim=1))
    )


class Halved(GIN):
    def update(self, h, message):
        return super().update(h, message / 2)


class Negative(GatedGraph):
    def forward(self, h, subgraphs, edge_attr=None, z=None, then=None):
        return -super().forward(h, subgraphs, edge_attr, z, then)


@pytest.mark.parametrize("conv", [Halved, Negative])
def test_what_a_subclass_computes_is_not_fused_away(conv):
    """In float32, where the kernels of its base would run."""
    model = I2GNN(hops=2, num_layers=2, hidden_channels=8, conv=conv)
    data = model.extract(random_graphs(4, seed=2))
    found = model(data)
    with ops.backend("reference"):
        torch.testing.assert_close(found, model(data), rtol=1e-4, atol=1e-5)
    plain = I2GNN(hops=2, num_layers=2, hidden_channels=8, conv=conv.__base__)
    plain.load_state_dict(model.state_dict())
    assert not torch.allclose(found, plain(data), atol=1e-3)
    assert not model.layers[0].conv.computes(conv.__base__)


def test_another_activation_is_not_fused_away():
    model = I2GNN(hops=2, num_layers=2, hidden_channels=8, conv="gin")
    data = model.extract(random_graphs(4, seed=2))
    before = model(data)
    for layer in model.layers:
        layer.conv.mlp[1] = torch.nn.Tanh()
    found = model(data)
    assert not torch.allclose(found, before, atol=1e-3)
    with ops.backend("reference"):
        torch.testing.assert_close(found, model(data), rtol=1e-4, atol=1e-5)


def test_wrong_use_is_named(graphs):
    with pytest.raises(ValueError, match="expected a key of CONVS or a subclass of Conv"):
        make_conv(pyg.GINConv, 4, 4)
    with pytest.raises(ValueError, match="unknown conv 'gat'; expected one of gin, gine"):
        make_conv("gat", 4, 4)
    with pytest.raises(ValueError, match="'gine' uses edge features; pass edge_channels"):
        make_conv("gine", 4, 4)
    with pytest.raises(ValueError, match="keeps its width, got 4 to 8"):
        make_conv("gated", 4, 8)
    s = extract_subgraphs(graphs, identifiers=0)
    with pytest.raises(ValueError, match="GINE needs edge features, the graphs have none"):
        GINE(5, 5, 3).double()(graphs.x, s)
    assert repr(GraphConv(4, 8)).startswith("GraphConv(\n  4, 8")
