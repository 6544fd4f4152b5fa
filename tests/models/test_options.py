"""Every option of the networks: it builds, runs, and keeps what every model must keep."""

import itertools

import pytest
import torch

from i2gnn import I2GNN, I3GNN, MPNN, GraphStore, SubgraphMPNN
from i2gnn.models.i2gnn import ZINC_OPTIONS
from i2gnn.models.registry import count_published
from i2gnn.models.subgraph_mpnn import IDGNN
from i2gnn.nn import CONVS
from tests.helpers import (
    assert_permutation_equivariant,
    random_graphs,
    random_molecules,
    with_columns,
)
from tests.named_graphs import awkward, cycle, rook, shrikhande, store

SMALL = {"hidden_channels": 8, "num_layers": 3, "hops": 2}
MODELS = {"mpnn": MPNN, "idgnn": IDGNN, "ngnn": SubgraphMPNN, "i2gnn": I2GNN}
LEVELS = ("node", "edge", "graph")
ZINC = ZINC_OPTIONS | {"hidden_channels": 16, "num_layers": 3}

# All that is on or off, and what "on" means.
SWITCHES = {
    "norm": "batch",
    "residual": True,
    "dropout": 0.3,
    "node_states": True,
    "gates": True,
    "virtual_node": True,
    "readout": "nodes+center+side+context",
    "pool": "mean",
}
COMBINATIONS = list(itertools.product([False, True], repeat=len(SWITCHES)))


def chosen(on: tuple[bool, ...]) -> dict:
    return {key: SWITCHES[key] for key, wanted in zip(SWITCHES, on, strict=True) if wanted}


@pytest.fixture(scope="module")
def graphs():
    return random_graphs(4, nodes=(2, 8), x=3, edge_attr=2).to(dtype=torch.float64)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("injection", ["layer", "input", "concat"])
def test_every_combination_of_options_runs_and_trains(graphs, injection, level):
    """All 256 combinations, each with one of the levels and ways that labels enter."""
    turn = 3 * LEVELS.index(level) + ("layer", "input", "concat").index(injection)
    subgraphs = I2GNN(hops=2).extract(graphs)
    for on in COMBINATIONS[turn::9]:
        options = chosen(on) | {"label_injection": injection, "level": level}
        torch.manual_seed(0)
        model = I2GNN(**SMALL, in_channels=3, edge_channels=2, conv="gine", **options).double()
        out = model(subgraphs)
        assert out.shape == (graphs.length(level), 1), options
        out.square().sum().backward()
        silent = [n for n, p in model.named_parameters() if p.grad is None]
        assert not silent, (options, silent)  # no weight that nothing depends on
        assert all(p.grad.isfinite().all() for p in model.parameters()), options


@pytest.mark.parametrize("node_states", [False, True])
@pytest.mark.parametrize("conv", CONVS)
@pytest.mark.parametrize("name", MODELS)
def test_every_conv_with_norm_residual_and_virtual_node(graphs, name, conv, node_states):
    options = {"norm": "batch", "residual": True, "virtual_node": True, "dropout": 0.1}
    options |= {"node_states": node_states}
    model = MODELS[name](**SMALL, in_channels=3, edge_channels=2, conv=conv, **options).double()
    out = model(model.extract(graphs))
    out.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    model.eval()
    assert_permutation_equivariant(lambda g: model(model.extract(g)), graphs)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["ngnn", "i2gnn"])
def test_zinc_model_is_equivariant_and_independent_of_batch_mates(name, level):
    graphs = random_molecules(5)
    readout = "nodes+center+side+context" if name == "i2gnn" else "nodes+center+context"
    model = MODELS[name](**ZINC | {"level": level, "readout": readout}).double()
    model(model.extract(graphs).to(dtype=torch.float64))  # running statistics
    model.eval()

    def predict(store):
        return model(model.extract(store).to(dtype=torch.float64))

    assert_permutation_equivariant(predict, graphs, level)
    alone = torch.cat([predict(graphs.batch([g])) for g in range(len(graphs))])
    torch.testing.assert_close(predict(graphs), alone, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_a_virtual_node_serves_its_own_graph(name):
    model = MODELS[name](**SMALL, virtual_node=True).double()
    torch.nn.init.normal_(model.virtual_node.first)
    graphs = awkward()
    together = model(model.extract(graphs))
    alone = [model(model.extract(graphs.batch([g]))) for g in range(len(graphs))]
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-10, atol=1e-10)


def test_a_virtual_node_joins_components():
    """Message passing alone cannot tell at a node what is in the other component."""
    pair = store(cycle(3) + cycle(4, first=3), cycle(3) + [(3, 4), (4, 5), (5, 6)])
    for virtual_node in (False, True):
        torch.manual_seed(0)
        model = MPNN(**SMALL, virtual_node=virtual_node).double()
        out = model(model.extract(pair))
        tied = torch.allclose(out[0], out[7], rtol=1e-12)  # on a triangle in either graph
        assert tied != virtual_node


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize(
    "options",
    [
        ZINC | {"hidden_channels": 4, "num_layers": 2, "hops": 1},
        {"hidden_channels": 4, "num_layers": 2, "hops": 1, "virtual_node": True, "norm": "batch"},
    ],
)
def test_gradients_against_finite_differences(options, mode):
    torch.manual_seed(2)
    graphs = random_molecules(2)
    model = I2GNN(**options).double()
    subgraphs = model.extract(graphs).to(dtype=torch.float64)
    model(subgraphs)
    model.train(mode == "train")
    weights = list(model.parameters())
    model(subgraphs).square().sum().backward()
    for _ in range(5):
        directions = [torch.randn_like(weight) for weight in weights]
        slope = sum((w.grad * d).sum() for w, d in zip(weights, directions, strict=True))
        sides = []
        with torch.no_grad():
            for step in (1e-6, -2e-6, 1e-6):
                for weight, direction in zip(weights, directions, strict=True):
                    weight += step * direction
                sides.append(model(subgraphs).square().sum())
        torch.testing.assert_close((sides[0] - sides[1]) / 2e-6, slope, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"virtual_node": True}])
def test_batch_norm_of_one_row_or_none(options):
    """They are normalised by the running statistics, in training as in evaluation."""
    model = I2GNN(**ZINC | options)
    model(model.extract(random_molecules(3)))
    atom = GraphStore.from_edge_lists([[]], [1], x=[[6]])
    atom = with_columns(atom, edge_attr=torch.zeros(0, 1, dtype=torch.int64))
    nothing = random_molecules(2).batch([])
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for graphs, outputs in ((atom, 1), (nothing, 0)):
        subgraphs = model.extract(graphs)
        out = model(subgraphs)
        assert out.shape == (outputs, 1)
        out.sum().backward()
        torch.testing.assert_close(out, model.eval()(subgraphs))
        model.train()
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_zinc_model_learns_a_few_molecules_by_heart():
    torch.manual_seed(0)
    graphs = random_molecules(8)
    target = torch.linspace(-1, 1, 8).unsqueeze(1)
    model = I2GNN(**ZINC)
    batch = model.extract(graphs)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(150):
        loss = (model(batch) - target).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss < 0.05:
            return
    pytest.fail(f"loss is still {loss:.3f} after 150 steps")


def embeddings(model, pair) -> torch.Tensor:
    torch.manual_seed(1)
    network = model(hidden_channels=16, num_layers=4, hops=3, level="graph").double()
    with torch.no_grad():
        return network(network.extract(pair))


def test_without_branch_labels_two_identifiers_are_one():
    pair = store(rook(), shrikhande())
    for labels in ("spd", "identity", "spd_pred+resistance"):
        for branch_labels in (False, True):
            torch.manual_seed(1)
            model = I2GNN(
                hidden_channels=16,
                num_layers=4,
                hops=3,
                level="graph",
                labels=labels,
                branch_labels=branch_labels,
            ).double()
            a, b = model(model.extract(pair).to(dtype=torch.float64)).detach()
            assert ((a - b).abs().max() > 1e-6) == branch_labels


def test_idgnn_separates_what_one_identifier_can_and_no_more():
    a, b = embeddings(IDGNN, store(cycle(6), cycle(3) + cycle(3, first=3)))
    assert (a - b).abs().max() > 1e-5
    a, b = embeddings(IDGNN, store(rook(), shrikhande()))
    torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_a_learned_start_is_one_vector_for_all_rows(graphs):
    torch.manual_seed(0)
    model = IDGNN(**SMALL, learned_start=True).double()
    subgraphs = model.extract(graphs)
    model(subgraphs).sum().backward()
    assert model.learned_start.grad.abs().max() > 0
    usual = IDGNN(**SMALL).double()
    usual.load_state_dict(model.state_dict(), strict=False)
    assert not torch.allclose(usual(subgraphs), model(subgraphs))
    torch.nn.init.ones_(model.learned_start)
    torch.testing.assert_close(usual(subgraphs), model(subgraphs), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("mpnn", {"hidden_channels": 32, "head_channels": (32, 16)}, 26_945),
        ("idgnn", {}, 102_465),
        ("ngnn", {}, 127_233),
        ("i2gnn", {}, 143_873),
    ],
)
def test_parameters_as_the_paper_counts_them(name, options, expected):
    """27k, 102k, 127k and 143k of its table: 4 layers, 64 wide, the base GNN 32 wide.

    GRU cells have 24,960 each, the head 2,625; NGNN and I²-GNN mix labels in by three maps of
    8,256; I²-GNN has two readout MLPs of 8,320. Embeddings and message weights are not counted.
    """
    assert count_published(MODELS[name](num_layers=4, **options)) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": "layer"}, "norm must be one of none, batch, got 'layer'"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\), got 1.0"),
        ({"readout": "nodes+edges"}, "unknown readout 'edges'"),
        ({"readout": "context"}, "says nothing of a subgraph"),
        ({"learned_start": True}, r"start from labels \(spd\) or features"),
        ({"gates": True, "labels": "none"}, "gates need labels, got labels 'none'"),
        ({"label_injection": "concat"}, "got 128 to 64; .* need another conv, such as 'gin'"),
        ({"hops": 0}, "hops must be at least 1, got 0"),
        ({"hops": 2.0}, "hops must be a whole number, got 2.0"),
        ({"hidden_channels": 0}, "hidden_channels must be at least 1, got 0"),
        ({"conv": "gine"}, "pass edge_channels of at least 1, or edge_types"),
        ({"node_encoding": "one-hot"}, "node_encoding must be one of sum, concat"),
    ],
)
def test_wrong_settings_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        I2GNN(**options)


def test_three_identifiers_refuse_what_they_cannot_extract():
    with pytest.raises(ValueError, match="hops must be at least 2, got 1"):
        I3GNN(hops=1)
    with pytest.raises(ValueError, match="'resistance' is defined for at most 2 identifiers"):
        I3GNN(labels="resistance")


def test_readouts_that_need_more_identifiers_are_refused():
    with pytest.raises(ValueError, match="readout 'side' needs 2 identifiers, not 1"):
        SubgraphMPNN(readout="nodes+side")
    with pytest.raises(ValueError, match="readout 'center' needs 1 identifiers, not 0"):
        MPNN(readout="center")


def test_wrong_features_are_named():
    graphs = random_molecules(2)
    model = I2GNN(**ZINC)
    with pytest.raises(ValueError, match="node features of width 1, the graphs have none"):
        model(model.extract(awkward()))
    few = I2GNN(**ZINC | {"node_types": (20,)})
    with pytest.raises(ValueError, match=r"column 0 of the node features holds types .*; .* 0..19"):
        few(few.extract(graphs))
    few = I2GNN(**ZINC | {"edge_types": (2,)})
    with pytest.raises(
        ValueError, match=r"column 0 of the edge features holds types 0..3; .* 0..1"
    ):
        few(few.extract(graphs))
