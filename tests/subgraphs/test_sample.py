import pytest
import torch

from i2gnn import extract_subgraphs, ops
from i2gnn.subgraphs.sample import draw_branches, select_branches
from tests.helpers import assert_same_store, random_graphs
from tests.named_graphs import awkward, complete, store

LABELS = "identity+spd+resistance"


@pytest.mark.parametrize("graphs", [awkward(), random_graphs(8, seed=1)])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_draw_has_so_many_branches_of_every_root(graphs, size):
    chosen = draw_branches(graphs, size, 3)
    kept = torch.bincount(graphs.edge_to_node[chosen], minlength=graphs.num_nodes)
    assert torch.equal(kept, graphs.degree.long().clamp(max=size))


def test_draws_depend_on_the_seeds_alone_and_are_uniform():
    graphs = store(complete(6))
    assert torch.equal(draw_branches(graphs, 2, 7, 1), draw_branches(graphs, 2, 7, 1))
    assert not torch.equal(draw_branches(graphs, 2, 7, 1), draw_branches(graphs, 2, 7, 2))
    draws = torch.stack([draw_branches(graphs, 2, 0, epoch) for epoch in range(2000)])
    # Each edge is kept with probability 2/5; 5 standard deviations of the mean of 2,000 draws.
    assert (draws.float().mean(0) - 0.4).abs().max() < 5 * (0.4 * 0.6 / 2000) ** 0.5


@pytest.mark.parametrize("graphs", [awkward(), random_graphs(8, seed=1), store()])
@pytest.mark.parametrize("labels", [LABELS, "none"])
def test_selecting_rows_equals_extracting_the_chosen_branches(graphs, labels):
    chosen = draw_branches(graphs, 2, 0)
    options = {"hops": 2, "labels": labels}
    selected = select_branches(extract_subgraphs(graphs, **options), chosen)
    assert_same_store(selected, extract_subgraphs(graphs, **options, branches=chosen))


def test_the_ego_net_stays_whole_and_other_branches_lose_their_rows():
    graphs = store(complete(6), [(0, 1)])
    whole = extract_subgraphs(graphs, hops=1)
    sampled = select_branches(whole, draw_branches(graphs, 2, 0))
    for name in ("pair_to_node", "link_to_pair", "link_to_edge", "pair_count"):
        assert torch.equal(getattr(sampled, name), getattr(whole, name))
    assert sampled.branch_count.tolist() == [2] * 6 + [1] * 2
    assert sampled.num_rows == 6 * 6 * 2 + 2 * 2
    assert sampled.branch_weight.tolist() == [2.5] * 6 + [1.0] * 2


def test_as_many_branches_as_neighbours_are_all():
    graphs = random_graphs(6, seed=4)
    whole = extract_subgraphs(graphs, hops=2, labels=LABELS)
    sampled = select_branches(whole, draw_branches(graphs, int(graphs.degree.max()), 0))
    assert sampled.branch_weight.tolist() == [1.0] * graphs.num_nodes
    for name, column in whole.columns.items():
        assert torch.equal(column, sampled.columns[name]), name


def test_the_batch_of_a_draw_is_the_draw_of_the_batch():
    graphs = random_graphs(9, seed=5)
    chosen, indices = draw_branches(graphs, 1, 0), torch.tensor([4, 0, 4, 8])
    whole = extract_subgraphs(graphs, hops=1)
    batch = select_branches(whole.batch(indices), chosen[graphs.items_of("edge", indices)])
    assert_same_store(batch, select_branches(whole, chosen).batch(indices))


def test_weighted_sums_over_draws_average_to_the_sum_over_all_branches():
    graphs = random_graphs(3, seed=6, nodes=(7, 9), p=0.6)
    whole = extract_subgraphs(graphs, hops=1)
    h = torch.randn(whole.num_branches, 3, dtype=torch.float64)
    place = (graphs.degree > 0)[whole.branch_to_root]
    total, draws = torch.zeros(graphs.num_nodes, 3, dtype=torch.float64), 1000
    square = torch.zeros_like(total)
    isolated = graphs.degree == 0
    for epoch in range(draws):
        chosen = draw_branches(graphs, 2, epoch)
        sampled = select_branches(whole, chosen)
        kept = torch.ones(whole.num_branches, dtype=torch.bool)
        kept[place] = chosen
        pooled = ops.pool_branches(h[kept], sampled, "sum")
        total += pooled
        square += pooled.square()
    expected = ops.pool_branches(h, whole, "sum")
    mean = total / draws
    deviation = (square / draws - mean.square()).clamp(min=0).sqrt()
    assert ((mean - expected).abs() <= 5 * deviation / draws**0.5 + 1e-6).all()
    assert torch.equal(mean[isolated], expected[isolated])
    assert deviation[graphs.degree > 2].min() > 0.01  # the draws do differ


def test_means_over_branches_are_not_weighted():
    graphs = store(complete(5))
    sampled = select_branches(extract_subgraphs(graphs, hops=1), draw_branches(graphs, 2, 0))
    h = torch.randn(sampled.num_branches, 4)
    torch.testing.assert_close(
        ops.pool_branches(h, sampled, "mean"), h.view(5, 2, 4).mean(1), rtol=1e-6, atol=1e-6
    )


def test_mistakes_are_named():
    graphs = store(complete(4))
    with pytest.raises(ValueError, match="at least 1, got 0"):
        draw_branches(graphs, 0, 0)
    chosen = draw_branches(graphs, 1, 0)
    with pytest.raises(ValueError, match="only with 2 identifiers, not 1"):
        select_branches(extract_subgraphs(graphs, hops=1, identifiers=1), chosen)
    with pytest.raises(ValueError, match="a sample already"):
        select_branches(select_branches(extract_subgraphs(graphs, hops=1), chosen), chosen)


def test_the_kernel_weights_sums_like_the_reference():
    pytest.importorskip("triton", reason="Triton is not installed")
    device = "cuda" if torch.cuda.is_available() else "cpu"  # interpreted
    graphs = random_graphs(3, seed=2, nodes=(5, 8), p=0.6)
    whole = extract_subgraphs(graphs, hops=1).to(device)
    sampled = select_branches(whole, draw_branches(graphs, 2, 0))
    h = torch.randn(sampled.num_branches, 5, device=device)
    for reduce in ("sum", "mean"):
        with ops.backend("triton"):
            found = ops.pool_branches(h, sampled, reduce)
        with ops.backend("reference"):
            expected = ops.pool_branches(h, sampled, reduce)
        torch.testing.assert_close(found, expected)
