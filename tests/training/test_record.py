import numpy as np
import pytest

from i2gnn.training.record import bin_errors


def test_errors_by_hand():
    target = np.array([0.0, 0, 3, 3, 3])
    prediction = np.array([0.0, 1, 3, 6, 0])
    bins = bin_errors(target, prediction)
    assert bins == {
        "width": 1,
        "count": [0, 3],
        "number": [2, 3],
        "mae": [0.5, 2],
        "spread": [0.5, pytest.approx(6**0.5, abs=1e-4)],
    }


def test_many_counts_share_bins():
    target = np.arange(200.0)
    bins = bin_errors(target, target + 1)
    assert bins["width"] == 4 and len(bins["count"]) == 50 <= 64
    assert sum(bins["number"]) == 200 and set(bins["mae"]) == {1} and set(bins["spread"]) == {0}
