import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from i2gnn import I2GNN, MPNN, BranchedEgoNets, GraphStore, SubgraphMPNN, extract_subgraphs
from i2gnn.subgraphs import as_subgraphs
from tests.helpers import assert_same_store, random_graphs


def pyg_graphs() -> list[Data]:
    """Random graphs as PyG's `Data`, with edges in random order."""
    store = random_graphs(7, nodes=(2, 10), x=3, edge_attr=2).to(dtype=torch.float32)
    store = store.with_targets(torch.randn(store.num_nodes), "node")
    result = []
    for g in range(len(store)):
        graph = store.batch([g])
        order = torch.randperm(graph.num_edges)
        result.append(
            Data(
                x=graph.x,
                edge_index=graph.edge_index[:, order],
                edge_attr=graph.edge_attr[order],
                y=graph.y,
            )
        )
    return result


@pytest.mark.parametrize("labels", ["spd", "identity", "spd_pred+resistance"])
@pytest.mark.parametrize(("model", "identifiers"), [(MPNN, 0), (SubgraphMPNN, 1), (I2GNN, 2)])
def test_both_routes_give_the_same_batch_and_the_same_output(model, identifiers, labels):
    graphs = pyg_graphs()
    transform = BranchedEgoNets(hops=2, identifiers=identifiers, labels=labels, level="node")
    loader = DataLoader([transform(graph) for graph in graphs], batch_size=len(graphs))
    collated = next(iter(loader))
    options = {"hops": 2, "identifiers": identifiers, "labels": labels}
    batch = extract_subgraphs(GraphStore.from_pyg(graphs, level="node"), **options).batch(
        torch.arange(len(graphs))
    )
    assert_same_store(as_subgraphs(collated), batch)
    network = model(
        in_channels=3, edge_channels=2, conv="gine", hops=2, hidden_channels=8, labels=labels
    )
    assert torch.equal(network(collated), network(batch))


def test_only_what_belongs_to_edges_is_sorted_with_them():
    """Of four directed edges there may be four targets of the graph; PyG tells them by length."""
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    names = ["0-1", "1-0", "1-2", "2-1"]
    data = Data(edge_index=edge_index, num_nodes=3, y=torch.arange(4.0)[None], names=names)
    found = BranchedEgoNets(hops=1, level="graph")(data)
    assert found.y.tolist() == [[0, 1, 2, 3]]
    assert found.names == [f"{i}-{k}" for i, k in found.edge_index.t().tolist()]
    flat = Data(edge_index=edge_index, num_nodes=3, y=torch.arange(4.0))
    assert BranchedEgoNets(hops=1, level="graph")(flat).y.tolist() == [0, 1, 2, 3]


def test_edge_attributes_of_a_large_graph_with_short_indices():
    nodes = torch.arange(50_000)
    pairs = torch.stack([nodes[:-1], nodes[1:]])
    edge_index = torch.cat([pairs, pairs.flip(0)], dim=1)
    weight = edge_index[0] * 3 + edge_index[1]
    data = Data(edge_index=edge_index.int(), num_nodes=len(nodes), edge_weight=weight)
    found = BranchedEgoNets(hops=1, identifiers=0, labels="none")(data)
    assert torch.equal(found.edge_weight, found.edge_index[0] * 3 + found.edge_index[1])


def test_forked_workers_can_transform():
    class Graphs(torch.utils.data.Dataset):
        def __init__(self):
            self.graphs = pyg_graphs()
            self.transform = BranchedEgoNets(hops=2, level="node")

        def __len__(self):
            return len(self.graphs)

        def __getitem__(self, index):
            return self.transform(self.graphs[index])

    data = Graphs()
    here = next(iter(DataLoader(data, batch_size=7)))
    there = next(iter(DataLoader(data, batch_size=7, num_workers=2)))
    assert_same_store(as_subgraphs(here), as_subgraphs(there))


def test_the_transform_keeps_the_graph_usable_for_pyg():
    data = pyg_graphs()[0]
    result = BranchedEgoNets(hops=2, level="node")(data)
    assert result.num_nodes == data.num_nodes
    assert torch.equal(result.x, data.x) and torch.equal(result.y, data.y)
    given = {
        tuple(e): f
        for e, f in zip(data.edge_index.t().tolist(), data.edge_attr.tolist(), strict=True)
    }
    kept = {
        tuple(e): f
        for e, f in zip(result.edge_index.t().tolist(), result.edge_attr.tolist(), strict=True)
    }
    assert given == kept


def test_mixed_settings_are_refused():
    data = pyg_graphs()[0]
    two = [BranchedEgoNets(hops=h, level="node")(data) for h in (1, 2)]
    batch = next(iter(DataLoader(two, batch_size=2)))
    with pytest.raises(ValueError, match="mixes ego-nets of different settings"):
        as_subgraphs(batch)
    with pytest.raises(TypeError, match="from BranchedEgoNets; got Data"):
        as_subgraphs(data)


def test_all_edge_attributes_follow_their_edges():
    data = pyg_graphs()[0]
    data.edge_weight = data.edge_index[0] * 100 + data.edge_index[1]
    result = BranchedEgoNets(hops=1, level="node")(data)
    assert torch.equal(result.edge_weight, result.edge_index[0] * 100 + result.edge_index[1])


def test_names_in_use_are_refused():
    data = pyg_graphs()[0]
    data.degree = torch.ones(data.num_nodes)
    with pytest.raises(ValueError, match="already has degree; rename"):
        BranchedEgoNets(hops=1, level="node")(data)


def test_targets_stay_as_they_were():
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    transform, model = BranchedEgoNets(hops=1), I2GNN(hops=1, num_layers=1, out_channels=3)
    for y, shape in (([1], (2, 1)), ([[1.0, 2.0, 3.0]], (2, 3)), ([4.0, 5.0, 6.0], (6, 1))):
        data = transform(Data(edge_index=edge_index, num_nodes=3, y=torch.tensor(y)))
        assert torch.equal(data.y, torch.tensor(y))
        batch = next(iter(DataLoader([data, data], batch_size=2)))
        assert torch.equal(batch.y, torch.cat([data.y, data.y]))
        assert as_subgraphs(batch).y.shape == shape
        assert model(batch).shape == (6, 3)


def test_targets_of_a_single_atom_are_the_molecules():
    alone = Data(
        edge_index=torch.empty(2, 0, dtype=torch.int64), num_nodes=1, y=torch.tensor([1.0])
    )
    assert as_subgraphs(BranchedEgoNets(hops=1)(alone)).level == "graph"
