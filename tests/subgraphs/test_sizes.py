import pytest
import torch

from i2gnn import extract_subgraphs
from i2gnn.subgraphs import count_subgraphs
from i2gnn.subgraphs.sample import draw_branches
from tests.helpers import random_graphs
from tests.named_graphs import awkward, path, store


@pytest.mark.parametrize("identifiers", [1, 2])
@pytest.mark.parametrize("labels", ["none", "spd", "identity+spd_pred+resistance"])
@pytest.mark.parametrize("graphs", [awkward(), random_graphs(6), store()])
def test_what_is_counted_is_what_is_extracted(graphs, labels, identifiers):
    options = {"hops": 2, "identifiers": identifiers, "labels": labels}
    sizes, subgraphs = count_subgraphs(graphs, **options), extract_subgraphs(graphs, **options)
    assert torch.equal(sizes.roots, torch.arange(graphs.num_nodes))
    assert torch.equal(sizes.branches, subgraphs.branch_count.long())
    assert torch.equal(sizes.pairs, subgraphs.pair_count.long())
    totals = {"rows": subgraphs.num_rows, "links": subgraphs.num_links}
    assert {name: int(getattr(sizes, name).sum()) for name in totals} == totals
    assert int(sizes.messages.sum()) == len(subgraphs.message_rows[0])
    assert sizes.nbytes == subgraphs.nbytes - graphs.nbytes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"identifiers": 3}, "counted with 1 or 2 identifiers, not with 3"),
        ({"hops": -1}, r"hops must lie in 1\.\.253, got -1"),
        ({"roots": torch.tensor([9])}, r"roots must lie in 0\.\.2, got 9\.\.9"),
    ],
)
def test_wrong_choices_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        count_subgraphs(store(path(3)), **options)


def test_sizes_of_chosen_roots_and_branches():
    graphs = random_graphs(6, nodes=(8, 12))
    chosen = draw_branches(graphs, 2, 0)
    whole = count_subgraphs(graphs, hops=2, branches=chosen)
    assert int(whole.branches.max()) == 2
    assert int(whole.rows.sum()) == extract_subgraphs(graphs, hops=2, branches=chosen).num_rows
    roots = torch.tensor([3, 4, 11])
    some = count_subgraphs(graphs, hops=2, roots=roots, branches=chosen)
    for name in ("branches", "pairs", "links"):
        assert torch.equal(getattr(some, name), getattr(whole, name)[roots])


def test_counting_takes_no_memory_for_rows():
    """The rows of the hub alone would take 18 MB, its sizes take 24 bytes."""
    leaves = 3000
    star = store([(0, leaf) for leaf in range(1, leaves + 1)])
    sizes = count_subgraphs(star, hops=1)
    assert sizes.rows[0] == leaves * (leaves + 1) and sizes.rows[1] == 2


def test_sizes_of_a_path_by_hand():
    sizes = count_subgraphs(store(path(4)), hops=1, identifiers=1)
    assert sizes.pairs.tolist() == [2, 3, 3, 2]
    assert sizes.links.tolist() == [2, 4, 4, 2]
    assert sizes.rows.tolist() == [2, 3, 3, 2]
