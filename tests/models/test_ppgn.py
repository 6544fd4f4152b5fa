"""PPGN: its products, its blocks, and what it can tell apart."""

import pytest
import torch

from i2gnn.models import PPGN
from i2gnn.models.ppgn import PPGNBlock
from i2gnn.models.registry import REGISTRY, count_parameters
from i2gnn.ops.cells import cells_of, multiply_cells
from tests.helpers import assert_matches_reference, random_graphs
from tests.named_graphs import awkward, cycle, rook, shrikhande, store


def multiply_one_by_one(x, y, graphs):
    """The definition: one matrix per graph and channel."""
    cells, out = cells_of(graphs), torch.zeros_like(x)
    for graph in range(len(graphs)):
        nodes = (graphs.node_to_graph == graph).nonzero().squeeze(1)
        at = cells.at(nodes.repeat_interleave(len(nodes)), nodes.repeat(len(nodes)))
        size = (len(nodes), len(nodes), x.shape[1])
        product = torch.einsum("acd,cbd->abd", x[at].view(size), y[at].view(size))
        out = out.index_copy(0, at, product.flatten(0, 1))
    return out


@pytest.mark.parametrize("graphs", [awkward, lambda: random_graphs(9, seed=1)])
def test_products_are_those_of_each_graph_alone(graphs):
    graphs = graphs()
    cells = cells_of(graphs)
    assert len(cells.row) == int(graphs.sizes["node"].square().sum())
    inputs = [torch.randn(len(cells.row), 3) for _ in range(2)]
    assert_matches_reference(
        lambda x, y: multiply_cells(x, y, cells),
        lambda x, y: multiply_one_by_one(x, y, graphs),
        inputs,
    )


def test_no_graph_at_all():
    assert PPGN(level="graph")(store()).shape == (0, 1)


def test_cells_are_found_again():
    graphs = random_graphs(7, seed=4)
    cells = cells_of(graphs)
    assert torch.equal(cells.at(cells.row, cells.column), torch.arange(len(cells.row)))
    assert torch.equal(graphs.node_to_graph[cells.row], graphs.node_to_graph[cells.column])


def test_a_block_is_a_linear_map_of_states_and_products_side_by_side():
    cells = cells_of(random_graphs(4, seed=2))
    block = PPGNBlock(5, 8, mlp_depth=2).double()
    z = torch.randn(len(cells.row), 5, dtype=torch.float64)
    multiplied = multiply_cells(block.left(z), block.right(z), cells)
    expected = block.skip(torch.cat([z, multiplied], dim=1))
    torch.testing.assert_close(block(z, cells), expected)


def test_all_weights_are_counted_in_the_paper():
    """96k in Table 12: four blocks of width 64, two input channels, head 128-64-1."""
    assert count_parameters(REGISTRY["ppgn"].build()) == 96_001


def embeddings(graphs) -> torch.Tensor:
    torch.manual_seed(1)
    model = PPGN(hidden_channels=16, num_layers=4, level="graph", out_channels=4).double()
    with torch.no_grad():
        return model(graphs)


def test_separates_what_one_identifier_does_and_ties_strongly_regular_graphs():
    a, b = embeddings(store(cycle(6), cycle(3) + cycle(3, first=3)))
    assert (a - b).abs().max() > 1e-6
    tied = embeddings(store(rook(), shrikhande()))
    scale = tied.abs().max()
    torch.testing.assert_close(tied[0] / scale, tied[1] / scale, rtol=0, atol=1e-10)


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match="mlp_depth must be at least 1, got 0"):
        PPGN(mlp_depth=0)
    with pytest.raises(ValueError, match="edge features of width 2, the graphs have none"):
        PPGN(edge_channels=2)(awkward())
