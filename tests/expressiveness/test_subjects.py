"""Models under test: ours and others', what they are given and what is expected of them."""

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.nn import GINConv, global_add_pool

from i2gnn import I2GNN, BranchedEgoNets, InputError
from i2gnn.expressiveness.pairs import join, two_cycles, two_wheels
from i2gnn.expressiveness.subjects import Subject, embed, load_subject, outputs, to_pyg
from i2gnn.models import REGISTRY
from tests.helpers import random_graphs, random_molecules


class PygModel(nn.Module):
    """A model as PyG's users write it, which also shows what it was given."""

    def __init__(self, in_channels: int, out_channels: int, level: str = "graph") -> None:
        super().__init__()
        self.level = level
        self.conv = GINConv(nn.Linear(in_channels, out_channels))
        self.seen: list[Batch] = []

    def forward(self, batch: Batch) -> Tensor:
        self.seen.append(batch)
        h = self.conv(batch.x, batch.edge_index) + torch.ones(1)  # float32 by default
        return h if self.level == "node" else global_add_pool(h, batch.batch)


def graphs_with_types():
    """Every atom type occurs, so that the number of types is 28."""
    return random_molecules(12)


@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("level", ["node", "graph"])
def test_every_model_of_the_registry_can_be_tested(name, level):
    options = {"hidden_channels": 8, "num_layers": 2}
    for graphs in (join(two_cycles(3), two_wheels(3)), graphs_with_types().batch(range(3))):
        subject = load_subject(name, options)
        model = subject.build(0, graphs, level=level, out_channels=4)
        batches = subject.prepare(model, graphs, block=2)
        assert len(batches) == 2
        rows = len(graphs) if level == "graph" else graphs.num_nodes
        y = embed(model, batches, level)
        assert y.shape == (rows, 4) and y.dtype == torch.float64 and y.isfinite().all()


def test_weights_depend_on_the_seed_alone():
    subject, graphs = load_subject("i2gnn", {"hidden_channels": 8, "hops": 2}), two_cycles(3)
    state = torch.random.get_rng_state()
    one, same, other = (subject.build(seed, graphs) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    batches = subject.prepare(one, graphs)
    assert torch.equal(embed(one, batches), embed(same, batches))
    assert not torch.equal(embed(one, batches), embed(other, batches))


def test_the_preset_holds_unless_options_say_otherwise():
    assert load_subject("i2gnn").options["num_layers"] == REGISTRY["i2gnn"].preset["num_layers"]
    assert load_subject("i2gnn", {"num_layers": 2}).options["num_layers"] == 2


# -- models of PyG -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_a_pyg_model_is_given(dtype):
    graphs = graphs_with_types().batch(range(5))
    subject = load_subject(PygModel)
    model = subject.build(0, graphs, out_channels=3, dtype=dtype)
    assert isinstance(model, PygModel) and model.conv.nn.in_features == 1 and not model.training
    y = embed(model, subject.prepare(model, graphs, block=2))
    assert y.shape == (5, 3) and y.dtype == dtype
    assert torch.get_default_dtype() == torch.float32
    assert [batch.num_graphs for batch in model.seen] == [2, 2, 1]
    first = model.seen[0]
    assert first.x.dtype == first.edge_attr.dtype == dtype
    expected = graphs.batch([0, 1])
    torch.testing.assert_close(first.edge_index, expected.edge_index)
    torch.testing.assert_close(first.batch, expected.node_to_graph)
    torch.testing.assert_close(first.x, expected.x.to(dtype))
    torch.testing.assert_close(first.edge_attr, expected.edge_attr.to(dtype))


def test_nodes_without_features_are_ones():
    (small, large) = to_pyg(two_wheels(3), torch.float64)
    assert small.x.dtype == torch.float64 and (large.x == 1).all() and large.x.shape == (7, 1)


def test_nodes_of_a_pyg_model():
    subject, graphs = load_subject(PygModel, {"in_channels": 1}), two_wheels(3)
    model = subject.build(0, graphs, level="node", out_channels=2)
    assert embed(model, subject.prepare(model, graphs), "node").shape == (14, 2)


def test_a_transform_of_the_model_is_applied_once_to_every_graph():
    """With `BranchedEgoNets` our own model runs the way of PyG, to the same result."""

    class Wrapped(nn.Module):
        pre_transform = BranchedEgoNets(hops=2)

        def __init__(self, out_channels: int) -> None:
            super().__init__()
            self.model = I2GNN(hops=2, hidden_channels=8, out_channels=out_channels, level="graph")

        def forward(self, batch: Batch) -> Tensor:
            result: Tensor = self.model(batch)
            return result

    graphs = join(two_cycles(4), two_wheels(3))
    wrapped = load_subject(Wrapped)
    ours = load_subject(I2GNN, {"hops": 2, "hidden_channels": 8})
    found = []
    for subject in (wrapped, ours):
        model = subject.build(3, graphs, out_channels=4)
        found.append(embed(model, subject.prepare(model, graphs, block=3)))
    torch.testing.assert_close(found[0], found[1])


def test_gradients_flow_through_outputs():
    subject, graphs = load_subject(PygModel), two_cycles(3)
    model = subject.build(0, graphs)
    (batch,) = subject.prepare(model, graphs)
    assert outputs(model, batch).requires_grad and not embed(model, [batch]).requires_grad


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda batch: batch.x, r"float64 of shape \[12, 1\] .* 2 graphs and 12 nodes; expected"),
        (lambda batch: batch.x.new_ones(2), r"of shape \[2\]"),
        (lambda batch: batch.ptr[:2].view(2, 1), "torch.int64 of shape"),
        (lambda batch: [batch.x], "returned list"),
    ],
)
def test_outputs_of_another_shape_are_named(returned, message):
    class Model(nn.Module):
        def forward(self, batch: Batch) -> Tensor:
            result: Tensor = returned(batch)
            return result

    subject, graphs = load_subject(Model), two_cycles(3)
    model = subject.build(0, graphs)
    with pytest.raises(InputError, match=message):
        embed(model, subject.prepare(model, graphs))


# -- names and paths ---------------------------------------------------------------------------

SOURCE = """
from torch import nn
def factory(width=3):
    return nn.Linear(width, 1)
def wrong():
    return 7
number = 7
"""


def test_factories_of_modules_and_files(tmp_path, monkeypatch):
    (tmp_path / "models_of_a_test.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    for path in ("models_of_a_test:factory", f"{tmp_path}/models_of_a_test.py:factory"):
        subject = load_subject(path, {"width": 5})
        assert subject.name == "factory" and subject.build(0, two_cycles(3)).in_features == 5
    with pytest.raises(InputError, match="returned int; expected a torch.nn.Module"):
        load_subject("models_of_a_test:wrong").build(0, two_cycles(3))
    with pytest.raises(InputError, match="models_of_a_test has no function or class 'number'"):
        load_subject("models_of_a_test:number")
    with pytest.raises(InputError, match="factory has no option depth; expected one of width"):
        load_subject("models_of_a_test:factory", {"depth": 1})


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gcn", "no model 'gcn'; expected one of mpnn, .*, or my.module:factory"),
        ("no_such_module:factory", "no_such_module cannot be imported"),
        ("no_such_file.py:factory", "no_such_file.py is not a file"),
        (nn.Linear(2, 2), "got a Linear that is built already; expected a factory"),
    ],
)
def test_what_cannot_be_found_is_named(model, message):
    with pytest.raises(InputError, match=message):
        load_subject(model)


def test_a_model_of_another_level_is_refused():
    subject = Subject("i2gnn", I2GNN, {"level": "edge"})
    with pytest.raises(InputError, match="predicts at level 'edge'; expected 'graph'"):
        subject.build(0, random_graphs(2))
