"""DS-GNN: what deleting a node tells."""

import pytest
import torch

from i2gnn.errors import InputError
from i2gnn.models import DSGNN, MPNN, StreamedModel
from i2gnn.models.registry import REGISTRY, count_parameters
from i2gnn.subgraphs import extract_subgraphs
from tests.helpers import random_graphs
from tests.named_graphs import awkward, cycle, rook, shrikhande, store


def test_a_subgraph_is_seen_as_plain_message_passing_sees_it():
    """Rows of the graph without i are those of an MPNN on that graph."""
    graphs = random_graphs(1, seed=8, nodes=(7, 7))
    model = DSGNN(hidden_channels=6, num_layers=3, labels="none").double()
    plain = MPNN(hidden_channels=6, num_layers=3, conv="gin").double()
    plain.layers.load_state_dict(model.layers.state_dict())
    rows = model.rows(model.extract(graphs)).view(7, 7, 6)
    edges = [(a, b) for a, b in graphs.edge_index.t().tolist() if a < b]
    for i in range(7):
        left = [k for k in range(7) if k != i]
        rest = store(
            [(left.index(a), left.index(b)) for a, b in edges if i not in (a, b)], num_nodes=[6]
        )
        torch.testing.assert_close(rows[i, 1:], plain.rows(plain.extract(rest)))


@torch.no_grad()
def outputs(graphs):
    torch.manual_seed(1)
    model = DSGNN(hidden_channels=16, num_layers=4, level="graph", out_channels=4).double()
    return model(model.extract(graphs))


def test_more_than_message_passing_and_no_more_than_one_identifier():
    a, b = outputs(store(cycle(6), cycle(3) + cycle(3, first=3)))
    assert (a - b).abs().max() > 1e-4
    tied = outputs(store(rook(), shrikhande()))
    torch.testing.assert_close(tied[0], tied[1], rtol=1e-10, atol=1e-10)


def test_number_of_weights():
    layers = 4 * (1 + 2 * (64 * 64 + 64))
    labels = 4 * 2 * 64 + 3 * (128 * 64 + 64)
    readout = 2 * (64 * 64 + 64)
    head = 64 * 32 + 32 + 32 * 16 + 16 + 16 + 1
    assert count_parameters(REGISTRY["ds_gnn"].build()) == layers + labels + readout + head


def test_roots_are_not_streamed():
    model = StreamedModel(DSGNN(hidden_channels=8), "1GB")
    with pytest.raises(InputError, match="takes whole graphs where streaming cuts out ego-nets"):
        model(awkward())


def test_other_subgraphs_are_refused():
    with pytest.raises(ValueError, match="expects 0 hops, the subgraphs have 2"):
        DSGNN()(extract_subgraphs(awkward(), hops=2, identifiers=1, labels="identity"))
