import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from i2gnn.counting import count
from i2gnn.data.counting import FILE, generate_counting, load_counting, read_counting
from i2gnn.data.synthetic import generate_graphs
from i2gnn.errors import InputError
from tests.helpers import data_root

ROOT = data_root()
needs_data = pytest.mark.skipif(
    ROOT is None or not (ROOT / FILE.path).is_file(), reason=f"no {FILE.path}; set I2GNN_DATA"
)


@needs_data
def test_original_graphs_have_the_published_counts() -> None:
    data = load_counting(["cycle3", "cycle4", "cycle5", "cycle6"], root=ROOT)
    graphs, splits = data.graphs, data.splits
    assert (len(graphs), graphs.num_nodes, graphs.num_edges) == (5000, 94000, 313390)
    assert [len(part) for part in (splits.train, splits.val, splits.test)] == [1500, 1000, 2500]
    splits.check(5000)
    assert graphs.y is not None and graphs.level == "node"
    assert ROOT is not None
    with np.load(ROOT / FILE.path) as file:
        published = torch.as_tensor(file["cycles3456"])
    per_graph = count(graphs, ["cycle3..cycle6"], level="graph").values
    assert torch.equal(per_graph, published)
    # every cycle of length L is counted at its L nodes
    sums = graphs.y.double().sum(dim=0) / torch.tensor([3, 4, 5, 6])
    assert torch.equal(sums, published.sum(dim=0).double())
    deviation = graphs.y.double().std(dim=0)
    assert torch.allclose(
        deviation, torch.tensor([1.184, 3.085, 7.620, 17.155]).double(), atol=1e-3
    )


@needs_data
def test_more_graphs_to_train_on() -> None:
    few, data = read_counting(ROOT), read_counting(ROOT, more=7, seed=3)
    assert data.splits.train.tolist() == [*few.splits.train.tolist(), *range(5000, 5007)]
    assert torch.equal(data.splits.val, few.splits.val)
    assert torch.equal(data.splits.test, few.splits.test)
    generated = generate_graphs(7, seed=3)
    for store, part in ((few.graphs, torch.arange(5000)), (generated, torch.arange(5000, 5007))):
        assert torch.equal(data.graphs.batch(part).edge_index, store.edge_index)
    with pytest.raises(InputError, match="limit is 20 and more is 7; expected one of them"):
        read_counting(ROOT, limit=20, more=7)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"counting/synthetic5000.npz is not in .*--data-root"):
        load_counting(root=tmp_path)


@needs_data
def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / FILE.path
    path.parent.mkdir()
    assert ROOT is not None
    shutil.copyfile(ROOT / FILE.path, path)
    path.chmod(0o644)
    with path.open("r+b") as file:
        file.seek(1000)
        file.write(b"\0\0\0\0")
    with pytest.raises(InputError, match=f"expected {FILE.sha256}"):
        load_counting(root=tmp_path)


def test_generated_data_is_split_and_labelled() -> None:
    data = generate_counting(20, ["cycle3", "cycle5"], level="graph", seed=1)
    assert data.targets == ("cycle3", "cycle5")
    assert [len(part) for part in (data.splits.train, data.splits.val, data.splits.test)] == [
        6,
        4,
        10,
    ]
    expected = count(data.graphs, ["cycle3", "cycle5"], level="graph").values.float()
    assert data.graphs.y is not None and torch.equal(data.graphs.y, expected)


def test_targets_must_be_named() -> None:
    with pytest.raises(InputError, match="no targets"):
        generate_counting(10, [])
