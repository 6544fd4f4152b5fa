"""One node of each kind, run in place of all."""

import dataclasses
from typing import Any

import pytest
import torch

from i2gnn import GraphStore, extract_subgraphs
from i2gnn.errors import InputError
from i2gnn.models import I2GNN, I3GNN, IDGNN, MPNN, SubgraphMPNN
from i2gnn.nn import GIN
from i2gnn.subgraphs import Subgraphs
from i2gnn.training import TrainingConfig, evaluate, fit
from i2gnn.training.distinct import Distinct, with_kinds
from i2gnn.training.targets import compute_loss
from tests.helpers import random_graphs
from tests.named_graphs import awkward
from tests.training.toy import split


def config(**changes: Any) -> TrainingConfig:
    quick = {"epochs": 3, "batch_size": 8, "precision": "float64", "distinct": True}
    return TrainingConfig.from_dict(quick | {"tensorboard": False, "device": "cpu"} | changes)


def make_model(seed: int = 1, **changes: Any) -> I2GNN:
    torch.manual_seed(seed)
    return I2GNN(**{"hidden_channels": 8, "num_layers": 2, "hops": 2} | changes).double()


def small_graphs(count: int = 40) -> GraphStore:
    """Trees and small cycles with branches, of which many nodes are alike; counts of neighbours."""
    graphs = random_graphs(count, nodes=(2, 6), seed=3)
    return graphs.with_targets(graphs.degree.double().square(), "node")


def nodes_of(data: GraphStore, graphs: torch.Tensor) -> torch.Tensor:
    of_graph = data.node_to_graph
    return torch.cat([(of_graph == graph).nonzero().squeeze(1) for graph in graphs])


@pytest.mark.parametrize("kind", [IDGNN, SubgraphMPNN, I2GNN, I3GNN])
@pytest.mark.parametrize("readout", ["nodes", "center"])
def test_nodes_of_one_kind_have_equal_outputs_and_others_do_not(kind: Any, readout: str) -> None:
    torch.manual_seed(0)
    graphs = random_graphs(30, nodes=(1, 7))
    model = kind(hidden_channels=16, num_layers=4, hops=2, readout=readout, out_channels=8)
    data = with_kinds(model.extract(graphs))
    outputs = model.double()(data).detach()
    assert data.kind is not None and 2 < len(data.kind.unique()) < data.num_nodes / 2
    count = len(data.kind.unique())
    total = torch.zeros(count, 8, dtype=torch.float64).index_add(0, data.kind, outputs)
    mean = total / torch.bincount(data.kind).unsqueeze(1)
    torch.testing.assert_close(mean[data.kind], outputs, rtol=1e-9, atol=1e-9)
    if kind is I2GNN and readout == "nodes":  # the others see less than there is
        apart = torch.cdist(mean, mean)[*torch.triu_indices(count, count, 1)]
        assert apart.min() > 1e-6


def test_the_root_is_marked_even_without_labels() -> None:
    """ID-GNN tells a prism from K3,3, which without any mark are all alike."""
    prism = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5)]
    utility = [(a, b) for a in range(3) for b in range(3, 6)]
    graphs = GraphStore.from_edge_lists([prism, utility], symmetrize=True)
    data = with_kinds(IDGNN(hops=2).extract(graphs))
    assert data.labels is None and data.kind.tolist() == [0] * 6 + [1] * 6


def test_kinds_know_features() -> None:
    path = GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)
    kinds = with_kinds(extract_subgraphs(path, hops=1)).kind
    marked = dataclasses.replace(path, x=torch.tensor([[0.0], [0.0], [1.0]]))
    assert kinds.tolist() == [0, 1, 0]
    assert len(with_kinds(extract_subgraphs(marked, hops=1)).kind.unique()) == 3


def test_one_node_of_each_kind_and_target_is_left() -> None:
    graphs, splits = small_graphs(), split()
    y = graphs.y.clone()
    y[:5] += 1  # so that some nodes of a kind differ in their targets
    data = with_kinds(make_model().extract(graphs.with_targets(y, "node")))
    distinct = Distinct(data, splits)
    run, of_graph = distinct.data.pair_count > 0, data.node_to_graph
    here = torch.isin(of_graph, splits.train)
    pairs = torch.stack([data.kind.double(), data.y[:, 0]], 1)
    assert int((run & here).sum()) == len(pairs[here].unique(dim=0))
    assert len(pairs[run & here].unique(dim=0)) == len(pairs[here].unique(dim=0))
    assert set(distinct.splits.train.tolist()) == set(of_graph[run & here].tolist())
    for name in ("val", "test"):
        left, judged = getattr(distinct.splits, name), distinct.judged[name]
        nodes = nodes_of(data, getattr(splits, name))
        stands = nodes_of(data, left)[judged.place]
        assert torch.equal(data.kind[stands], data.kind[nodes]) and run[stands].all()
        assert int(run[nodes].sum()) == len(data.kind[nodes].unique())
        assert torch.equal(judged.target, data.y[nodes])
        assert len(left) < len(getattr(splits, name)) or name == "val"
        assert set(left.tolist()) == set(of_graph[nodes][run[nodes]].tolist())
    assert distinct.data.kind is None
    known = distinct.data.y[:, 0].isfinite()
    assert torch.equal(known, run | ~here) and torch.equal(distinct.data.y[known], data.y[known])


def test_missing_targets_are_not_trained_on() -> None:
    graphs, splits = small_graphs(), split()
    y = graphs.y.clone()
    y[::2] = float("nan")
    data = with_kinds(make_model().extract(graphs.with_targets(y, "node")))
    here = torch.isin(data.node_to_graph, splits.train) & (
        Distinct(data, splits).data.pair_count > 0
    )
    assert here.any() and data.y[here].isfinite().all()
    assert int(here.sum()) == len(data.kind[here].unique())


def test_a_run_is_judged_by_all_nodes() -> None:
    data, model = make_model().extract(small_graphs()), make_model()
    result = fit(model, data, split(), config(), progress=False)
    metrics = ["normalized_mae", "mae"]
    for part, found in (("val", result.validation), ("test", result.test)):
        graphs = getattr(split(), part)
        judged = evaluate(model, data, graphs, metrics=metrics, scaling=result.scaling)
        assert judged["normalized_mae"] == [pytest.approx(found, rel=1e-9)]
    assert judged["mae"] == pytest.approx(result.test_metrics["mae"])
    plain = fit(make_model(), data, split(), config(distinct=False), progress=False)
    assert torch.equal(result.scaling.unit, plain.scaling.unit)
    assert result.prediction.shape == plain.prediction.shape


def test_each_kind_counts_once() -> None:
    """A step over all graphs has the gradient of the mean over kinds."""
    data, splits, model = with_kinds(make_model().extract(small_graphs())), split(), make_model()
    seen = {}
    for row in (here := torch.isin(data.node_to_graph, splits.train)).nonzero().squeeze(1).tolist():
        seen.setdefault(int(data.kind[row]), row)
    rows = torch.tensor(list(seen.values()))
    assert len(rows) < int(here.sum()) / 2
    result = fit(
        trained := make_model(),
        data,
        splits,
        config(epochs=1, batch_size=100, optimizer={"lr": 1e-3}, loss="mse"),
        progress=False,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss = compute_loss("mse", model(data)[rows], data.y[rows], result.scaling)
    loss.backward()
    optimizer.step()
    assert result.history[0]["train_loss"] == pytest.approx(loss.item(), rel=1e-9)
    for one, two in zip(model.parameters(), trained.parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-6, atol=1e-9)


def test_awkward_graphs_and_classes() -> None:
    graphs = awkward()
    data = make_model().extract(graphs.with_targets((graphs.degree > 1).long(), "node"))
    order = torch.arange(len(graphs))
    splits = dataclasses.replace(split(), train=order[:-1], val=order[-1:], test=order[:0])
    model = make_model(out_channels=2)
    result = fit(model, data, splits, config(loss="ce"), progress=False)
    assert result.test is None and 0 <= result.validation <= 1


class ByDegree(GIN):
    """A layer that looks past its subgraph, and says so."""

    joins_roots = True


@pytest.mark.parametrize(
    ("make", "level", "words"),
    [
        (lambda: MPNN(hidden_channels=8), "node", "has no subgraphs"),
        (lambda: make_model(level="graph"), "graph", "the level is graph"),
        (lambda: make_model(readout="nodes+context"), "node", "reads the context"),
        (lambda: make_model(conv="gin", node_states=True), "node", "joins the subgraphs"),
        (lambda: make_model(conv="gin", norm="batch"), "node", "normalises over the rows"),
        (lambda: make_model(conv=ByDegree), "node", "joins the subgraphs"),
        (lambda: make_model(labels="spd+resistance"), "node", "real numbers"),
        (lambda: make_model(labels="resistance"), "node", "real numbers"),
    ],
)
def test_what_cannot_be_run_by_kinds(make: Any, level: str, words: str) -> None:
    graphs, model = small_graphs(), make()
    if level == "graph":
        graphs = graphs.with_targets(torch.ones(len(graphs)), "graph")
    with pytest.raises(InputError, match=words):
        fit(model, model.extract(graphs), split(), config(), progress=False)


def test_kinds_need_all_subgraphs() -> None:
    with pytest.raises(InputError, match="among all subgraphs"):
        fit(make_model(), small_graphs(), split(), config(memory_budget="1GB"), progress=False)
    with pytest.raises(InputError, match="have all of their branches"):
        fit(make_model(), small_graphs(), split(), config(branches=1), progress=False)


def test_kinds_go_with_the_subgraphs() -> None:
    data = with_kinds(make_model().extract(small_graphs()))
    assert with_kinds(data) is data
    batch = data.batch([3, 1])
    assert isinstance(batch, Subgraphs) and batch.kind.shape == (batch.num_nodes,)


@pytest.mark.parametrize(("value", "left"), [(1.0, 1), (float("nan"), 1)])
def test_a_target_that_is_missing_is_a_target(value: float, left: int) -> None:
    triangle = [(0, 1), (1, 2), (2, 0)]
    graphs = GraphStore.from_edge_lists([triangle] * 40, symmetrize=True)
    y = torch.tensor([[1.0, value]]).repeat(graphs.num_nodes, 1)
    distinct = Distinct(make_model().extract(graphs.with_targets(y, "node")), split())
    here = torch.isin(distinct.data.node_to_graph, split().train)
    assert int((here & (distinct.data.pair_count > 0)).sum()) == left
