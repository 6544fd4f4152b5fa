import pytest
import torch

from i2gnn import extract_subgraphs
from i2gnn.nn import EdgeReadout, GraphReadout, NodeReadout, read_edges
from tests.named_graphs import awkward


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_readouts_of_ones_give_sizes_or_ones(reduce):
    s = extract_subgraphs(awkward(), hops=2)
    h = torch.ones(s.num_rows, 2)
    branches = EdgeReadout(2, reduce, with_mlp=False)(h, s)
    sizes = s.pair_count[s.branch_to_root].float()
    expected = torch.ones(s.num_branches) if reduce == "mean" else sizes
    assert torch.equal(branches[:, 0], expected)
    nodes = NodeReadout(2, reduce, with_mlp=False)(torch.ones(s.num_branches, 2), s)
    assert torch.equal(
        nodes[:, 1], torch.ones(s.num_nodes) if reduce == "mean" else s.branch_count.float()
    )
    graphs = GraphReadout(reduce)(torch.ones(s.num_nodes, 2), s)
    assert graphs[:, 0].tolist() == (
        [1, 1, 1, 1, 0, 1, 1] if reduce == "mean" else [1, 3, 5, 8, 0, 4, 12]
    )


def test_edges_are_the_branches_of_roots_that_have_neighbours():
    s = extract_subgraphs(awkward(), hops=2)
    branch = torch.stack([s.branch_to_node, s.branch_to_root], dim=1)
    assert torch.equal(read_edges(branch, s).t(), s.edge_index)
    with pytest.raises(ValueError, match="only with 2 identifiers, not 1"):
        read_edges(branch, extract_subgraphs(awkward(), hops=2, identifiers=1))
