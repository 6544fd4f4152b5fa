"""Exact tests over data sets of pairs."""

import pytest
import torch

from i2gnn import InputError
from i2gnn.expressiveness import distinguish, distinguish_pairs, load_pairs
from i2gnn.expressiveness.pairs import two_cycles
from i2gnn.expressiveness.tuples import TupleRefinement
from tests.expressiveness.datasets import load


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 2])
def test_every_pair_gets_its_own_verdict(threads, count):
    threads(count)
    pairs = load_pairs("paper")
    for options in ({"test": "2-fwl"}, {"identifiers": 1, "hops": 3}):
        found = distinguish_pairs(pairs, **options)
        for p, verdict in enumerate(found.verdict):
            a, b = pairs.pair(p).batch([0]), pairs.pair(p).batch([1])
            assert (verdict == "separated") == distinguish(a, b, **options)


def test_errors_of_one_pair_reach_the_caller():
    with pytest.raises(InputError, match="hops must lie in 1..253, got 254"):
        distinguish_pairs(load_pairs("paper"), hops=254)


def test_verdicts_by_category():
    found = distinguish_pairs(load_pairs("paper"), identifiers=1, hops=3)
    assert found.by_category() == {
        "cycles": {"pairs": 6, "separated": 5, "tied": 1, "unclear": 0},
        "wheels": {"pairs": 4, "separated": 4, "tied": 0, "unclear": 0},
        "rook / Shrikhande": {"pairs": 1, "separated": 0, "tied": 1, "unclear": 0},
    }
    plain = found.to_dict()
    assert [failed["title"] for failed in plain["not_separated"]] == [
        "2 C8 / C16",
        "rook / Shrikhande",
    ]
    assert (plain["separated"], plain["tied"], plain["unclear"]) == (9, 2, 0)
    assert plain["largest_tie_over_noise"] is None


def test_what_does_not_fit_into_memory_is_refused(monkeypatch):
    monkeypatch.setattr("i2gnn.expressiveness.tuples.available_memory", lambda: 10**4)
    with pytest.raises(InputError, match=r"432 3-tuples of 12 nodes need about 27.6 KB"):
        TupleRefinement(two_cycles(3), 3, folklore=True)


KNOWN = [
    ("csl", {"test": "1-wl"}, False),
    ("csl", {"test": "2-fwl"}, True),
    ("sr25", {"test": "2-fwl"}, False),
    ("sr25", {"test": "3-wl"}, False),
    ("sr25", {"test": "3-fwl"}, True),
    ("sr25", {"identifiers": 1}, False),
    ("sr25", {"identifiers": 2, "hops": 1}, True),
    ("exp", {"test": "1-wl"}, False),
    ("exp", {"identifiers": 1, "hops": 3}, True),
]


@pytest.mark.parametrize(("name", "options", "separated"), KNOWN, ids=str)
def test_known_verdicts_of_some_pairs(name, options, separated):
    pairs = load(name)
    some = pairs.take(range(0, len(pairs), len(pairs) // 3))
    expected = len(some) if separated else 0
    assert distinguish_pairs(some, **options).count("separated") == expected


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options", "separated"), KNOWN, ids=str)
def test_known_verdicts_of_all_pairs(name, options, separated):
    pairs = load(name)
    expected = len(pairs) if separated else 0
    assert distinguish_pairs(pairs, **options).count("separated") == expected


ALL = {
    "basic": 60,
    "simple regular": 50,
    "strongly regular": 50,
    "extension": 100,
    "4-vertex condition": 20,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"test": "1-wl"}, {}),
        ({"test": "2-wl"}, {}),
        ({"test": "2-fwl"}, {"basic": 60, "simple regular": 50, "extension": 100, "CFI": 60}),
        ({"identifiers": 2, "hops": 3}, ALL),
        ({"identifiers": 2}, ALL | {"CFI": 41}),
        ({"identifiers": 2, "hops": 8, "rounds": 5}, ALL | {"CFI": 35}),
        ({"identifiers": 2, "node_states": True}, ALL | {"CFI": 49}),
        ({"identifiers": 3}, ALL | {"CFI": 43, "distance regular": 19}),
    ],
    ids=str,
)
def test_brec(options, expected):
    """All 400 pairs: 2-FWL 270 as published, two identifiers 280, 321, 315 and 329, three 342."""
    found = distinguish_pairs(load("brec"), **options)
    counts = {name: row["separated"] for name, row in found.by_category().items()}
    assert {name: count for name, count in counts.items() if count} == expected


@pytest.mark.slow
def test_3fwl_on_brec():
    """All but the CFI graphs, which take many minutes (80 of 100 are told apart)."""
    pairs = load("brec")
    some = pairs.take(p for p, category in enumerate(pairs.category) if category != "CFI")
    assert distinguish_pairs(some, "3-fwl").count("tied") == 0
