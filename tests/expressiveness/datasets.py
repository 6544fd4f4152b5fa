"""Data sets of pairs, if their files are at hand."""

import pytest

from i2gnn.expressiveness.datasets import FILES, PairSet, load_pairs
from tests.helpers import data_root


def load(name: str) -> PairSet:
    """The pairs; skips the test where the file is not in the data root."""
    root = data_root()
    if name in FILES and (root is None or not (root / FILES[name].path).is_file()):
        pytest.skip(f"{FILES[name].path} is not in the data root (I2GNN_DATA, or shared/data)")
    return load_pairs(name, root)
