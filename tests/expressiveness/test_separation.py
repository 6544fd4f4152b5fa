"""Random weights: what counts as a separation, and what must never count as one."""

import json
import math

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.utils import to_dense_adj

from i2gnn.expressiveness import (
    distinguish_pairs,
    load_pairs,
    load_subject,
    separate,
    strong_options,
)
from i2gnn.expressiveness.separation import judge, measure_gaps
from tests.expressiveness.datasets import load


class Triangles(nn.Module):
    """1 + scale * (closed walks of three steps): 12 apart for 2 C3 and C6."""

    def __init__(self, scale: float, order: bool = False) -> None:
        super().__init__()
        self.scale, self.order = scale, order

    def forward(self, batch: Batch) -> Tensor:
        adjacency = to_dense_adj(batch.edge_index, batch.batch)  # [G, n, n]
        walks = torch.linalg.matrix_power(adjacency.double(), 3).diagonal(dim1=1, dim2=2)
        if self.order:
            walks = walks * torch.arange(walks.shape[1])
        return 1 + self.scale * walks.sum(1, keepdim=True)


def verdict(**options) -> str:
    pairs = load_pairs("paper").take([0])
    return separate(load_subject(Triangles, options), pairs).verdict[0]


@pytest.mark.parametrize(
    ("scale", "expected"),
    [(1.0, "separated"), (1e-10, "separated"), (1e-13, "unclear"), (1e-15, "tied"), (0.0, "tied")],
)
def test_a_gap_must_be_far_above_the_noise(scale, expected):
    assert verdict(scale=scale) == expected


def test_a_model_that_depends_on_the_order_of_nodes_separates_nothing():
    """Its outputs differ, but those of relabelled copies differ as much."""
    pairs = load_pairs("paper").take(range(6, 10))  # wheels, whose nodes are not all alike
    order = separate(load_subject(Triangles, {"scale": 1.0, "order": True}), pairs)
    assert order.count("separated") == 0
    assert separate(load_subject(Triangles, {"scale": 1.0}), pairs).count("separated") > 0


def test_numbers_that_are_not_finite_are_unclear():
    assert verdict(scale=math.inf) == verdict(scale=math.nan) == "unclear"
    found = separate(load_subject(Triangles, {"scale": math.nan}), load_pairs("paper").take([0]))
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["unclear"] == 1


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [(29, "tied"), (31, "unclear"), (9999, "unclear"), (1e5, "separated"), (math.nan, "unclear")],
)
def test_thresholds(ratio, expected):
    assert judge(ratio) == expected


def test_one_draw_is_enough_to_separate_and_all_are_needed_to_tie():
    class Sometimes(nn.Module):
        """Sees triangles only if its weight is large."""

        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1, 1))

        def forward(self, batch: Batch) -> Tensor:
            return Triangles(float(self.weight > 2.5))(batch)

    subject, pairs = load_subject(Sometimes), load_pairs("paper").take([0])
    assert separate(subject, pairs, gains=(1, 2)).verdict == ["tied"]
    for gains in ((1, 3), (3, 1)):
        assert separate(subject, pairs, gains=gains).verdict == ["separated"]


def test_blocks_make_no_difference():
    subject = load_subject("i2gnn", strong_options("i2gnn"))
    pairs = load_pairs("paper").take([0, 5, 6, 10])
    gaps = [
        measure_gaps(subject, pairs.graphs, pairs.first, pairs.second, edges=edges)
        for edges in (1, 30, 10**6)
    ]
    for other in gaps[1:]:
        assert [judge(r) for r in gaps[0].tolist()] == [judge(r) for r in other.tolist()]


def test_threads_make_no_difference():
    """Not to verdicts, and not to the type of numbers that the program works with afterwards."""
    subject, pairs = load_subject(Triangles, {"scale": 1.0}), load_pairs("csl")
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(separate(subject, pairs, edges=200).ratio)
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]
    assert torch.get_default_dtype() == torch.float32


def test_margins_are_reported():
    found = separate(load_subject("subgraph_mpnn", {"conv": "gin"}), load_pairs("paper"))
    tie, separation = found.margin()
    assert tie is not None and separation is not None and tie < 30 < 1e4 < separation
    assert found.to_dict()["smallest_separation_over_noise"] == separation


def test_circulant_graphs():
    """One identifier in ego-nets of radius 3 separates what its exact test does, and no more."""
    pairs = load("csl")
    for name, identifiers, separated in (("mpnn", 0, 0), ("subgraph_mpnn", 1, 44)):
        found = separate(load_subject(name, strong_options(name)), pairs)
        assert found.count("separated") == separated
        exact = distinguish_pairs(pairs, identifiers=identifiers, hops=3)
        assert list(found.verdict) == list(exact.verdict)
