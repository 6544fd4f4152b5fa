from pathlib import Path

import pytest
import torch

from i2gnn.counting import count
from i2gnn.data import Splits, read_chembl
from i2gnn.data.chembl import FILE, FRACTIONS
from i2gnn.errors import InputError
from tests.helpers import data_root

ROOT = data_root()
needs_data = pytest.mark.skipif(
    ROOT is None or not (ROOT / FILE.path).is_file(), reason=f"no {FILE.path}; set I2GNN_DATA"
)


@needs_data
def test_some_molecules_are_split_as_all_are() -> None:
    data = read_chembl(ROOT, limit=50)
    assert (data.name, len(data.graphs)) == ("chembl", 50)
    assert [len(part) for part in vars(data.splits).values()] == [30, 10, 10]
    assert data.graphs.x is None and data.graphs.edge_attr is None
    assert ROOT is not None
    smiles = (ROOT / FILE.path).read_text().split()
    whole = Splits.random(len(smiles), FRACTIONS, seed=0)
    first = count(smiles[int(whole.test[0])], ["cycle5", "cycle6"]).values
    node = int(data.graphs.offsets["node"][int(data.splits.test[0])])
    here = count(data.graphs, ["cycle5", "cycle6"]).values[node : node + len(first)]
    assert torch.equal(here, first)


@needs_data
@pytest.mark.slow
def test_all_molecules_have_the_published_averages() -> None:
    data = read_chembl(ROOT)
    assert [len(part) for part in vars(data.splits).values()] == [9720, 3240, 3240]
    data.splits.check(16200)
    counts = count(data.graphs, ["cycle3..cycle6"], level="graph").values.double().mean(dim=0)
    assert counts.tolist() == pytest.approx([0.06, 0.03, 0.69, 1.72], abs=0.005)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"chembl_16200.smi is not in .*--data-root"):
        read_chembl(tmp_path)
