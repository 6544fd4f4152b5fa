"""Whole networks: the fast ways to run their layers, and what users put into them."""

import pytest
import torch

from i2gnn import ops
from i2gnn.models import MODELS
from i2gnn.ops.cpu import stack
from tests.helpers import random_graphs
from tests.named_graphs import awkward, cycle, path, store


@pytest.mark.parametrize("labels", ["identity", "spd", "spd_pred"])
@pytest.mark.parametrize("name", ["i2gnn", "subgraph_mpnn"])
def test_first_layer_by_type_matches_the_reference(name, labels, monkeypatch):
    """Many rows of few types: the first layer runs on the types."""
    called, first_layer = [], stack._first_layer
    monkeypatch.setattr(stack, "_first_layer", lambda *a: called.append(a) or first_layer(*a))
    model = MODELS[name](hops=2, num_layers=3, hidden_channels=8, labels=labels)
    subgraphs = model.extract(store(*[path(5), cycle(6)] * 40))
    results = []
    for backend in ("auto", "reference"):
        with ops.backend(backend):
            out = model(subgraphs)
            grads = torch.autograd.grad(out.square().mean(), list(model.parameters()))
        results.append([out, *grads])
    assert called
    for ours, reference in zip(*results, strict=True):
        torch.testing.assert_close(ours, reference, rtol=1e-4, atol=1e-5)


def test_layers_of_another_kind_are_not_left_out():
    """Anything put in the place of a layer is called, or fails."""
    model = MODELS["i2gnn"](hops=2, num_layers=3, hidden_channels=8, label_injection="input")
    subgraphs = model.extract(awkward())
    model.layers[1] = torch.nn.Sequential(model.layers[1])
    with pytest.raises((AttributeError, TypeError)):
        model(subgraphs)


def test_row_types_are_labels_and_neighbours_labels():
    subgraphs = MODELS["i2gnn"](hops=2).extract(random_graphs(10, nodes=(3, 12)))
    types, code = subgraphs.row_types, subgraphs.label_code
    sent_from, sent_to, _ = subgraphs.message_rows
    seen = [[] for _ in range(subgraphs.num_rows)]
    for sender, receiver in zip(sent_from.tolist(), sent_to.tolist(), strict=True):
        seen[receiver].append(int(code[sender]))
    key = [(int(code[r]), *sorted(seen[r])) for r in range(subgraphs.num_rows)]
    assert len(types.label) == len(set(key))
    for row, (own, *neighbors) in enumerate(key):
        kind = types.of_row[row]
        assert types.label[kind] == own
        counted = torch.repeat_interleave(
            torch.arange(types.neighbors.shape[1]), types.neighbors[kind]
        )
        assert counted.tolist() == neighbors
