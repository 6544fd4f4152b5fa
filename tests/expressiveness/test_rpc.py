"""RPC: the statistic, verdicts that theory knows, and what must not change them."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.nn import global_add_pool

from i2gnn.errors import InputError
from i2gnn.expressiveness.datasets import load_pairs
from i2gnn.expressiveness.pairs import join, rook_shrikhande, two_cycles
from i2gnn.expressiveness.rpc import (
    RPCSettings,
    compare_copies,
    compare_pair,
    graphs_per_block,
)
from i2gnn.expressiveness.rpc_run import exact_verdict, read_lines, run_rpc, summarize
from i2gnn.expressiveness.subjects import load_subject

QUICK = RPCSettings(copies=8, epochs=2, out_channels=4, lr=1e-3, precision="float64")
SMALL = {"hops": 2, "num_layers": 3, "hidden_channels": 8, "conv": "graph"}


def test_t2_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 32, 5)) + np.array([0.5, 0])[:, None, None]
    difference = first - second
    mean, covariance = difference.mean(0), np.cov(difference.T)
    expected = mean @ np.linalg.pinv(covariance) @ mean
    found = compare_copies(torch.tensor(first), torch.tensor(second))
    assert found.t2 == pytest.approx(expected)
    assert not found.constant


def test_t2_does_not_depend_on_the_scale():
    first, second = torch.randn(2, 32, 6, dtype=torch.float64)
    shrunk = compare_copies(1e-9 * first, 1e-9 * second)
    assert shrunk.t2 == pytest.approx(compare_copies(first, second).t2, rel=1e-6)


def test_equal_bits_are_a_tie_and_constant_differences_are_told():
    a = torch.randn(1, 4).repeat(8, 1)
    assert compare_copies(a, a) == (0.0, False)
    assert compare_copies(a, a + 1) == (0.0, True)


def test_numbers_that_are_not_finite_are_an_error():
    with pytest.raises(InputError, match="not finite"):
        compare_copies(torch.full((4, 2), torch.nan), torch.zeros(4, 2))


@pytest.mark.parametrize(
    ("model", "pair", "expected"),
    [
        ("mpnn", two_cycles(3), False),
        ("subgraph_mpnn", two_cycles(3), True),
        ("subgraph_mpnn", rook_shrikhande(), False),
        ("i2gnn", rook_shrikhande(), True),
    ],
)
def test_verdicts_of_theory(model, pair, expected):
    result = compare_pair(load_subject(model, SMALL), pair, QUICK)
    assert result.distinguished == expected
    assert result.reliable
    assert (result.constant or result.t2 > 1e6) == expected
    assert result.by_formula == (expected and not result.constant)


def test_sums_of_two_terms_have_no_noise():
    """In cycles a sum is the same in any order: T2 alone would tie what differs in every copy."""
    result = compare_pair(load_subject("subgraph_mpnn", SMALL), two_cycles(3), QUICK)
    assert result.constant
    assert result.distinguished
    assert not result.by_formula


def test_the_same_graph_is_not_told_from_itself():
    graph = rook_shrikhande().batch([0, 0])
    result = compare_pair(load_subject("i2gnn", SMALL), graph, QUICK)
    assert not result.distinguished
    assert result.reliable


@pytest.mark.parametrize("norm", ["none", "batch"])
def test_blocks_change_rounding_only(norm):
    subject, pair = load_subject("i2gnn", SMALL | {"norm": norm}), rook_shrikhande()
    settings = dataclasses.replace(QUICK, loss_threshold=0.0)
    whole = compare_pair(subject, pair, settings)
    cut = compare_pair(subject, pair, dataclasses.replace(settings, memory_budget="1MB"))
    assert cut.loss == pytest.approx(whole.loss, rel=1e-9)
    assert cut.epochs == whole.epochs == 2


def test_blocks_follow_the_budget_in_pairs_of_copies():
    subject, pair = load_subject("i2gnn", SMALL), rook_shrikhande()
    model = subject.build(0, pair)
    sizes = [
        graphs_per_block(model, pair, dataclasses.replace(QUICK, memory_budget=budget))
        for budget in ("1KB", "10MB", "100GB")
    ]
    assert sizes[0] == 2
    assert sizes[2] == 16
    assert sizes == sorted(sizes)
    other = load_subject("ppgn").build(0, pair)
    tight = dataclasses.replace(QUICK, memory_budget="1KB")
    assert graphs_per_block(other, pair, tight) == 16


class Positional(nn.Module):
    """Not invariant: it weights nodes by their place, so copies of a graph differ."""

    def __init__(self, out_channels: int) -> None:
        super().__init__()
        self.lin = nn.Linear(1, out_channels)

    def forward(self, batch):
        place = torch.arange(batch.num_nodes, dtype=self.lin.weight.dtype) % 7
        degree = torch.bincount(batch.edge_index[0], minlength=batch.num_nodes) + place
        return global_add_pool(self.lin(degree.unsqueeze(1)), batch.batch, batch.num_graphs)


class Shifted(nn.Module):
    """Tells the graphs of a batch apart by their place: even ones from odd ones."""

    def __init__(self, out_channels: int) -> None:
        super().__init__()
        self.lin = nn.Linear(1, out_channels)

    def forward(self, batch):
        odd = torch.arange(batch.num_graphs, dtype=self.lin.weight.dtype).unsqueeze(1) % 2
        return self.lin(odd + 1e-9 * torch.rand_like(odd))


def test_models_of_others():
    noisy = compare_pair(load_subject(Positional), two_cycles(3), QUICK)
    assert not noisy.distinguished


def test_a_model_that_tells_a_graph_from_itself_is_unreliable():
    result = compare_pair(load_subject(Shifted), two_cycles(3), QUICK)
    assert not result.reliable


def test_a_loss_below_the_threshold_ends_training():
    subject, pair = load_subject("i2gnn", SMALL), rook_shrikhande()
    early = compare_pair(subject, pair, dataclasses.replace(QUICK, loss_threshold=1.1))
    assert early.epochs == 1


@pytest.mark.parametrize(("name", "value"), [("batch_size", 7), ("copies", 1)])
def test_settings_that_make_no_sense(name, value):
    with pytest.raises(InputError, match=name):
        RPCSettings(**{name: value})


def test_a_pair_has_two_graphs():
    with pytest.raises(InputError, match="got 4"):
        compare_pair(load_subject("mpnn"), join(two_cycles(3), two_cycles(4)), QUICK)


# -- many pairs ------------------------------------------------------------------------------


def test_a_run_in_two_ranges_and_taken_up(tmp_path):
    pairs, subject = load_pairs("paper").take([0, 1, 10]), load_subject("subgraph_mpnn", SMALL)
    lines = run_rpc(subject, pairs, QUICK, tmp_path, chosen=range(2, 3))
    assert [line["pair"] for line in lines] == [2]
    # A kill in the middle of a line, and a range that holds what another has done.
    path = tmp_path / "pairs-000-003.jsonl"
    path.write_text('\n{"pair": 1, "cat')
    before = (tmp_path / "pairs-002-003.jsonl").read_text()
    lines = run_rpc(subject, pairs, QUICK, tmp_path)
    assert [line["pair"] for line in lines] == [0, 1, 2]
    assert (tmp_path / "pairs-002-003.jsonl").read_text() == before
    assert [line["distinguished"] for line in lines] == [True, True, False]
    assert [line["exact"] for line in lines] == [True, True, False]
    assert json.loads(json.dumps(lines)) == read_lines(tmp_path)
    counts = summarize(lines)
    assert (counts["pairs"], counts["distinguished"], counts["exact"]) == (3, 2, 2)
    assert counts["unreliable"] == counts["beyond_exact"] == 0
    assert counts["categories"]["rook / Shrikhande"]["distinguished"] == 0


def test_a_time_limit_begins_no_further_pair(tmp_path):
    pairs, subject = load_pairs("paper"), load_subject("mpnn", {"hidden_channels": 8})
    assert run_rpc(subject, pairs, QUICK, tmp_path, time_limit=0) == []


def test_other_settings_are_refused(tmp_path):
    pairs, subject = load_pairs("paper").take([0]), load_subject("mpnn", {"hidden_channels": 8})
    run_rpc(subject, pairs, QUICK, tmp_path)
    other = dataclasses.replace(QUICK, lr=0.5)
    with pytest.raises(InputError, match=r"other settings \(rpc\)"):
        run_rpc(subject, pairs, other, tmp_path)
    with pytest.raises(InputError, match="0:1 at most"):
        run_rpc(subject, pairs, QUICK, tmp_path, chosen=range(0, 2))


def test_exact_verdicts_only_where_there_is_a_test():
    pair = rook_shrikhande()
    assert exact_verdict(load_subject("i2gnn", SMALL), pair)
    assert exact_verdict(load_subject("i2gnn", SMALL | {"node_states": True}), pair)
    assert not exact_verdict(load_subject("mpnn"), pair)
    assert exact_verdict(load_subject("ppgn"), pair) is None
    assert exact_verdict(load_subject(Positional), pair) is None
