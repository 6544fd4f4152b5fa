"""I³-GNN: what the third identifier buys, and what it costs."""

import pytest
import torch

from i2gnn import I2GNN, GraphStore
from i2gnn.models import I3GNN
from i2gnn.nn import PathReadout
from i2gnn.subgraphs import extract_subgraphs
from i2gnn.subgraphs.paths import extract_paths
from tests.helpers import random_graphs
from tests.named_graphs import awkward

# Pair 381 (from 0) of BREC, distance-regular graphs of 30 nodes and degree 7, in graph6. Exact
# colour refinement with two identifiers on the whole graphs does not tell them apart.
DISTANCE_REGULAR = (
    "]?????????????????F{?w]B_FcrKCorAF`_`f_Aii?IdS?Qsg?QjO?EXc?@de??JQo??ks_??",
    "]?????????????????F{?w]B_FcrKCorAF`_`f_Aii?IdS?Qsg?QjO?EXW?@dh??JRG??kr???",
)


@torch.no_grad()
def outputs(model, graphs, hops: int, conv: str) -> torch.Tensor:
    torch.manual_seed(1)
    network = model(
        hops=hops, num_layers=4, hidden_channels=16, conv=conv, level="graph", out_channels=4
    ).double()
    result: torch.Tensor = network(network.extract(graphs))
    return result


@pytest.mark.parametrize("conv", ["gated", "gin"])
def test_separates_a_pair_that_two_identifiers_cannot(conv):
    graphs = GraphStore.from_graph6(DISTANCE_REGULAR)
    for hops in (2, 3):  # three hops see the whole graph
        a, b = outputs(I2GNN, graphs, hops, conv)
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    a, b = outputs(I3GNN, graphs, 2, conv)
    assert (a - b).abs().max() > 1e-2 * a.abs().max()


def test_the_price_is_a_factor_of_the_degree_less_one():
    graphs = GraphStore.from_graph6(DISTANCE_REGULAR)
    two, three = extract_subgraphs(graphs, hops=2), extract_paths(graphs, hops=2)
    assert (two.num_rows, three.num_rows) == (9_240, 6 * 9_240)
    assert two.num_pairs == three.num_pairs and two.num_links == three.num_links


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_paths_are_pooled_by_their_first_step(reduce):
    subgraphs = extract_paths(awkward(), hops=2)
    h = torch.randn(subgraphs.num_branches, 3, dtype=torch.float64)
    pooled, steps = PathReadout(3, reduce, with_mlp=False)(h, subgraphs)
    for s in range(steps.num_branches):
        members = h[subgraphs.branch_to_pair == steps.branch_to_pair[s]]
        expected = members.sum(0) if reduce == "sum" else members.mean(0)
        torch.testing.assert_close(pooled[s], expected)


@pytest.mark.parametrize("readout", ["nodes+center+side", "nodes+context"])
@pytest.mark.parametrize("level", ["node", "edge", "graph"])
def test_other_readouts(readout, level):
    graphs = random_graphs(4, nodes=(1, 8))
    model = I3GNN(hops=2, num_layers=2, hidden_channels=6, readout=readout, level=level)
    assert model(model.extract(graphs)).shape == (graphs.length(level), 1)
