"""Names of signatures, held to a Python dictionary of them."""

import numpy as np
import pytest

from i2gnn.refinement import naming
from i2gnn.refinement.rounds import combine, name_multisets


def in_order(signatures: list) -> list[int]:
    """The number of each signature, in order of first appearance."""
    numbers: dict = {}
    return [numbers.setdefault(signature, len(numbers)) for signature in signatures]


def random_groups(rng: np.random.Generator, groups: int, most: int, items: int):
    ptr = np.concatenate([[0], np.cumsum(rng.integers(0, most + 1, groups))])
    return ptr, rng.integers(0, items, ptr[-1])


@pytest.mark.parametrize("most", [1, 4, 40])
def test_multisets(most):
    """Long signatures of few values, short ones of many; the pool of signatures must grow."""
    rng = np.random.default_rng(most)
    ptr, items = random_groups(rng, 3000, most, 50)
    own, values = rng.integers(-2, 2, 3000), rng.integers(0, 3, 50) * 2**61
    expected = in_order(
        [(own[s], *sorted(values[items[ptr[s] : ptr[s + 1]]])) for s in range(len(own))]
    )
    assert name_multisets(values, (ptr, items), own).tolist() == expected


def test_signatures_with_equal_hashes_are_told_apart(monkeypatch):
    """The verdict does not rest on hashes: one hash for all gives the same names."""
    for name in ("_slots", "_find", "_enter", "_with_room", "_larger", "_sort"):
        monkeypatch.setattr(naming, name, getattr(naming, name).py_func)
    monkeypatch.setattr(naming, "_hash", lambda signature, length: 7)
    rng = np.random.default_rng(1)
    ptr, items = random_groups(rng, 60, 4, 9)
    values, names = rng.integers(0, 4, 9), np.empty(60, np.int64)
    count = naming.name_segments.py_func(np.zeros(60, np.int64), values, ptr, items, names)
    expected = in_order([tuple(sorted(values[items[ptr[s] : ptr[s + 1]]])) for s in range(60)])
    assert names.tolist() == expected and count == max(expected) + 1


def test_lists_of_any_length_are_sorted():
    rng = np.random.default_rng(2)
    for length in (0, 1, 2, 3, 13, 14, 200):
        values = rng.integers(0, 50, length + 2)
        expected = np.concatenate([values[:1], np.sort(values[1:-1]), values[-1:]])
        naming._sort(values, 1, length + 1)
        np.testing.assert_array_equal(values, expected)


def test_combined_colours():
    rng = np.random.default_rng(3)
    columns = rng.integers(0, 3, (4, 200))
    names, count = combine(*columns)
    assert names.tolist() == in_order([tuple(column) for column in columns.T])
    assert count == len(np.unique(columns, axis=1).T)
