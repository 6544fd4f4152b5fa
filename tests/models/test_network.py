"""The first layer by row types gives what the plain layers give."""

import pytest
import torch

from i2gnn import ops
from i2gnn.models import MODELS
from tests.helpers import random_graphs
from tests.named_graphs import awkward


@pytest.mark.parametrize("graphs", [awkward, lambda: random_graphs(12, nodes=(2, 14))])
@pytest.mark.parametrize("labels", ["identity", "spd", "spd_pred"])
@pytest.mark.parametrize("conv", ["gated", "gin", "graph"])
@pytest.mark.parametrize("name", ["i2gnn", "subgraph_mpnn"])
def test_first_layer_by_type_matches_the_reference(name, conv, labels, graphs):
    model = MODELS[name](hops=2, num_layers=3, hidden_channels=8, conv=conv, labels=labels).double()
    subgraphs = model.extract(graphs())
    results = []
    for backend in ("auto", "reference"):
        with ops.backend(backend):
            out = model(subgraphs)
            grads = torch.autograd.grad(out.square().sum(), list(model.parameters()))
        results.append([out, *grads])
    for ours, reference in zip(*results, strict=True):
        torch.testing.assert_close(ours, reference, rtol=1e-10, atol=1e-10)


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
