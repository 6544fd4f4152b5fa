"""The formulations train alike; captured steps, which a CPU runs plainly, too."""

import pytest
import torch
from torch_geometric.loader import DataLoader

from i2gnn.benchmark.cases import make_case
from i2gnn.benchmark.copied import copy_subgraphs
from i2gnn.benchmark.formulations import FORMULATIONS, Captured, Formulation
from i2gnn.benchmark.settings import BenchmarkSettings
from tests.helpers import data_root

CPU = torch.device("cpu")


@pytest.fixture(scope="module", params=["counting", "zinc"])
def case(request, tmp_path_factory):
    settings = BenchmarkSettings(
        device="cpu",
        graphs=3,
        epoch_graphs=7,
        layers=2,
        width=8,
        data_root=str(tmp_path_factory.mktemp("empty")),
    )
    return make_case(request.param, settings)


def test_all_formulations_predict_the_same(case):
    ours, *others = (Formulation(case, name, CPU).forward() for name in FORMULATIONS)
    for other in others:
        torch.testing.assert_close(ours, other, rtol=1e-4, atol=1e-5)


def test_an_epoch_changes_all_formulations_alike(case):
    """Same graphs in the same order: 3, 3 and 1."""
    after = []
    for name in FORMULATIONS:
        formulation = Formulation(case, name, CPU)
        before = formulation.forward()
        formulation.prepare_epochs()
        formulation.epoch(1)
        after.append(formulation.forward())
        assert (after[-1] - before).abs().max() > 1e-4
    for other in after[1:]:
        torch.testing.assert_close(after[0], other, rtol=1e-3, atol=2e-4)


def test_captured_steps_and_epochs_train_as_eager_ones(case):
    eager, captured = (Formulation(case, "ours", CPU) for _ in range(2))
    recording = Captured(captured)
    for _ in range(2):
        torch.testing.assert_close(recording.step(), eager.step())
    torch.testing.assert_close(recording.forward(), eager.forward())
    if not case.model.static_shapes(case.data):
        return
    recording.epoch(1)
    eager.epoch(1)
    torch.testing.assert_close(recording.forward(), eager.forward(), rtol=1e-3, atol=1e-4)


def test_the_loader_joins_copies_to_what_copying_the_batch_gives(case):
    chosen = [4, 0, 6]
    copies = [copy_subgraphs(case.data.batch([g])) for g in chosen]
    joined = next(iter(DataLoader(copies, batch_size=3)))
    expected = copy_subgraphs(case.data.batch(chosen))
    assert set(expected.keys()) <= set(joined.keys())
    assert joined.num_nodes == expected.num_nodes and joined.num_roots == expected.num_roots
    assert joined.num_subgraphs == expected.num_subgraphs
    for key, value in expected:
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(joined[key], value, msg=key)


@pytest.mark.skipif(data_root() is None, reason="needs the data sets (I2GNN_DATA)")
def test_graphs_of_the_data_sets():
    settings = BenchmarkSettings(device="cpu", graphs=2, data_root=str(data_root()))
    for name, source, nodes in (("counting", "synthetic", 30), ("zinc", "ZINC-12k", 54)):
        case = make_case(name, settings, graphs=2)
        assert source in case.source and len(case.data) == 2
        assert case.graphs.num_nodes == nodes or name == "counting"
    assert case.graphs.x[:7, 0].tolist() == [0, 0, 0, 0, 0, 0, 3]
