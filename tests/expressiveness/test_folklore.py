"""Rounds of k-FWL: coincidences of fingerprints are found, whatever they merge."""

import numpy as np
import pytest

from i2gnn.expressiveness import color, folklore
from i2gnn.expressiveness.folklore import name_folklore, same_signatures
from i2gnn.expressiveness.pairs import join, rook_shrikhande, two_cycles, two_wheels
from i2gnn.expressiveness.tuples import TupleRefinement
from tests.expressiveness.definitions import same_partition


@pytest.fixture
def coincidences(monkeypatch):
    """The first rounds find nothing new: all tuples of one colour have one fingerprint."""
    real, left = folklore._fingerprint, [0]

    def blind(color, length, sizes, factors, prints):
        left[0] -= 1
        if left[0] >= 0:
            prints[:] = color
        else:
            real(color, length, sizes, factors, prints)

    monkeypatch.setattr(folklore, "_fingerprint", blind)
    return left


@pytest.mark.parametrize("test", ["2-fwl", "3-fwl"])
@pytest.mark.parametrize("rounds", [None, 1, 2])
def test_coincidences_change_no_verdict(coincidences, test, rounds):
    graphs = join(two_cycles(3), two_wheels(3), two_cycles(4))
    expected = color(graphs, test, rounds=rounds)
    assert len(set(expected)) > 2
    coincidences[0] = 2
    assert same_partition(color(graphs, test, rounds=rounds), expected.tolist())
    assert coincidences[0] < 0


def test_names_that_would_merge_colours_are_taken_again(monkeypatch):
    real, seen = folklore._fingerprint, []

    def constant(color, length, sizes, factors, prints):
        seen.append(factors)
        if len(seen) == 1:
            prints[:] = 7
        else:
            real(color, length, sizes, factors, prints)

    monkeypatch.setattr(folklore, "_fingerprint", constant)
    tuples = TupleRefinement(two_cycles(3), 2, folklore=True)
    names, count = name_folklore(tuples.colors, 2, tuples.sizes, seed=0)
    assert len(seen) == 2 and not np.array_equal(*seen)
    assert count == len(np.unique(names)) > tuples.num_colors


@pytest.mark.parametrize("length", [2, 3])
def test_signatures_are_compared_entry_by_entry(length):
    """Any two names put together are noticed, and so are colours that are not stable."""
    tuples = TupleRefinement(join(two_cycles(3), rook_shrikhande()), length, folklore=True)
    names, count = name_folklore(tuples.colors, length, tuples.sizes, seed=0)
    assert same_signatures(names, tuples.colors, length, tuples.sizes)
    assert not same_signatures(tuples.colors, tuples.colors, length, tuples.sizes)
    rng = np.random.default_rng(0)
    for _ in range(10):
        one, other = rng.choice(count, 2, replace=False)
        merged = np.where(names == other, one, names)
        _, merged = np.unique(merged, return_inverse=True)
        assert not same_signatures(merged, tuples.colors, length, tuples.sizes)
