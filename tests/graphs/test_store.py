from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from i2gnn import GraphStore, InputError, Subgraphs, count, extract_subgraphs
from i2gnn.files import save_tensors
from i2gnn.graphs.convert import ATOM_FEATURES, BOND_FEATURES
from tests.helpers import random_graphs
from tests.named_graphs import awkward, complete, petersen


def test_edges_are_sorted_by_receiver_and_hold_both_directions():
    store = GraphStore.from_edge_lists([[(2, 0), (0, 1)]], symmetrize=True)
    assert store.edge_index.tolist() == [[1, 2, 0, 0], [0, 0, 1, 2]]
    assert store.degree.tolist() == [2, 1, 1]
    assert store.reverse_edge.tolist() == [2, 3, 0, 1]


def test_reverse_edge_is_an_involution_on_random_graphs():
    store = random_graphs(30)
    source, target = store.edge_index
    assert torch.equal(store.edge_index[:, store.reverse_edge], torch.stack([target, source]))


def test_batch_equals_building_the_chosen_graphs():
    rng = np.random.default_rng(0)
    lists = [np.argwhere(np.triu(rng.random((n, n)) < 0.4, 1)) for n in (5, 1, 8, 3)]
    sizes = [5, 1, 8, 3]
    store = GraphStore.from_edge_lists(lists, sizes, symmetrize=True)
    for chosen in ([2, 0], [3, 3, 1], [], [0, 1, 2, 3]):
        batch = store.batch(chosen)
        built = GraphStore.from_edge_lists(
            [lists[g] for g in chosen], [sizes[g] for g in chosen], symmetrize=True
        )
        assert torch.equal(batch.edge_index, built.edge_index)
        assert torch.equal(batch.degree, built.degree)
        assert torch.equal(batch.node_to_graph, built.node_to_graph)
        assert torch.equal(batch.edge_to_graph, built.edge_to_graph)


def test_batch_takes_features_and_targets_along():
    store = random_graphs(6, x=2, edge_attr=1)
    for level, length in (("node", store.num_nodes), ("edge", store.num_edges), ("graph", 6)):
        labelled = store.with_targets(torch.arange(length), level)
        batch = labelled.batch([4, 1])
        ranges = labelled.offsets[level].tolist() if level != "graph" else list(range(7))
        expected = [*range(ranges[4], ranges[5]), *range(ranges[1], ranges[2])]
        assert batch.y.flatten().tolist() == expected
        assert len(batch.x) == batch.num_nodes and len(batch.edge_attr) == batch.num_edges


def test_batch_refuses_indices_out_of_range():
    with pytest.raises(IndexError, match=r"0\.\.2, got -1\.\.3"):
        random_graphs(3).batch([3, -1])


def test_with_targets_checks_the_length():
    with pytest.raises(ValueError, match="expected 4, one per node"):
        GraphStore.from_edge_lists([complete(4)], symmetrize=True).with_targets(
            torch.ones(3), "node"
        )


def test_save_and_load(tmp_path):
    store = random_graphs(5, x=2).with_targets(torch.randn(5, 3), "graph")
    store.save(tmp_path / "new" / "graphs.safetensors")
    loaded = GraphStore.load(tmp_path / "new" / "graphs.safetensors")
    assert loaded.settings == store.settings
    assert loaded.columns.keys() == store.columns.keys()
    for name, tensor in store.columns.items():
        assert torch.equal(tensor, loaded.columns[name])
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["graphs.safetensors"]


def test_load_says_what_is_wrong_with_a_file(tmp_path):
    from safetensors.torch import save_file

    with pytest.raises(InputError, match="no such file"):
        GraphStore.load(tmp_path / "absent")
    (tmp_path / "text").write_text("not tensors")
    with pytest.raises(InputError, match="not a saved GraphStore"):
        GraphStore.load(tmp_path / "text")
    save_file({"a": torch.ones(1)}, tmp_path / "other")
    with pytest.raises(InputError, match="no known kind"):
        GraphStore.load(tmp_path / "other")
    save_tensors(tmp_path / "newer", "GraphStore", 99, {"a": torch.ones(1)}, {})
    with pytest.raises(InputError, match="in format 99; expected GraphStore in format 1"):
        GraphStore.load(tmp_path / "newer")
    save_tensors(tmp_path / "empty", "GraphStore", 1, {"a": torch.ones(1)}, {})
    with pytest.raises(InputError, match="not a complete GraphStore"):
        GraphStore.load(tmp_path / "empty")
    store = random_graphs(3)
    tensors = store.columns | {f"sizes.{axis}": s for axis, s in store.sizes.items()}
    tensors["neighbor"] = tensors["neighbor"][:-1]
    save_tensors(tmp_path / "short", "GraphStore", 1, tensors, {})
    with pytest.raises(InputError, match="neighbor has .* rows, expected"):
        GraphStore.load(tmp_path / "short")


@pytest.mark.parametrize("identifiers", [0, 1, 2])
def test_save_and_load_subgraphs(tmp_path, identifiers):
    subgraphs = extract_subgraphs(random_graphs(4), hops=2, identifiers=identifiers)
    subgraphs.save(tmp_path / "file")
    loaded = Subgraphs.load(tmp_path / "file")
    assert loaded.settings == subgraphs.settings
    assert all(torch.equal(t, loaded.columns[n]) for n, t in subgraphs.columns.items())
    with pytest.raises(InputError, match="holds Subgraphs in format 1; expected GraphStore"):
        GraphStore.load(tmp_path / "file")


def test_empty_graphs_are_legal():
    store = awkward()
    assert store.sizes["node"].tolist() == [1, 3, 5, 8, 0, 4, 12]
    assert GraphStore.from_edge_lists([]).num_graphs == 0
    assert len(store.batch([4])) == 1 and store.batch([4]).num_nodes == 0


def test_from_pyg_keeps_features_with_their_edges():
    data = Data(
        x=torch.tensor([[1.0], [2.0], [3.0]]),
        edge_index=torch.tensor([[2, 0, 0, 1], [0, 2, 1, 0]]),
        edge_attr=torch.tensor([20, 2, 1, 10]),
        y=torch.tensor([7.0]),
    )
    store = GraphStore.from_pyg([data, data])
    assert store.level == "graph" and store.y.flatten().tolist() == [7, 7]
    values = dict(
        zip(map(tuple, store.edge_index.t().tolist()), store.edge_attr[:, 0].tolist(), strict=True)
    )
    assert values[(2, 0)] == 20 and values[(0, 1)] == 1 and values[(3, 5)] == 2


def test_from_pyg_asks_for_the_level_when_it_is_ambiguous():
    square = torch.tensor([[0, 1], [1, 0]])
    data = Data(edge_index=square, num_nodes=2, y=torch.ones(2))
    with pytest.raises(InputError, match="fits node and edge; pass level"):
        GraphStore.from_pyg(data)
    assert GraphStore.from_pyg(data, level="node").level == "node"


def test_from_pyg_wants_features_for_all_or_none():
    edge_index = torch.tensor([[0, 1], [1, 0]])
    graphs = [
        Data(edge_index=edge_index, num_nodes=2),
        Data(edge_index=edge_index, x=torch.ones(2, 1)),
    ]
    with pytest.raises(InputError, match="graph 0 has no x, others have"):
        GraphStore.from_pyg(graphs)


def test_from_networkx_numbers_nodes_in_order():
    graph = networkx.Graph([("c", "a"), ("a", "b")])
    store = GraphStore.from_networkx(graph)
    assert store.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert GraphStore.from_networkx([networkx.petersen_graph()] * 2).num_edges == 60


def test_from_graph6_and_sparse6_agree_with_networkx():
    graph = networkx.Graph(petersen())
    six = networkx.to_graph6_bytes(graph, header=False).decode()
    sparse = networkx.to_sparse6_bytes(graph, header=False).decode()
    store = GraphStore.from_graph6([six, "", sparse])
    assert torch.equal(store.batch([0]).edge_index, store.batch([1]).edge_index)
    assert store.num_edges == 60
    with pytest.raises(InputError, match="line 2: '~~~' is not graph6"):
        GraphStore.from_graph6("Dhc\n~~~")


def test_from_smiles_builds_molecules():
    store = GraphStore.from_smiles(["c1ccccc1", "C", "O=C=O"], y=[1.0, 2.0, 3.0])
    assert store.sizes["node"].tolist() == [6, 1, 3]
    assert store.x.shape == (10, len(ATOM_FEATURES))
    assert store.edge_attr.shape == (16, len(BOND_FEATURES))
    assert store.x[:, 0].tolist() == [6] * 7 + [8, 6, 8]
    with_hydrogens = GraphStore.from_smiles("C", explicit_hydrogens=True)
    assert with_hydrogens.num_nodes == 5


def test_from_smiles_names_or_skips_bad_molecules(caplog):
    with pytest.raises(InputError, match="molecule 1: RDKit cannot read the SMILES 'c1cc'"):
        GraphStore.from_smiles(["C", "c1cc"])
    store = GraphStore.from_smiles(["C", "c1cc", "CC"], y=[1, 2, 3], on_error="skip")
    assert store.y.flatten().tolist() == [1, 3]
    assert "left out 1 of 3 SMILES" in caplog.text


def test_repr_gives_the_sizes():
    store = random_graphs(2, x=3).with_targets(torch.ones(2), "graph")
    assert repr(store).endswith("x=[19, 3], y=[2, 1]@graph)"), repr(store)


def test_batch_takes_masks_and_refuses_floats():
    store = random_graphs(3)
    expected = store.batch([0, 2])
    for mask in (torch.tensor([True, False, True]), np.array([True, False, True])):
        assert torch.equal(store.batch(mask).neighbor, expected.neighbor)
    with pytest.raises(IndexError, match=r"mask of shape \[2\]; expected \[3\]"):
        store.batch(torch.tensor([True, False]))
    with pytest.raises(TypeError, match="integers or a mask"):
        store.batch([0.9, 1.2])


TRIANGLE = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"y": [2, 4], "level": "node"}, r"graph 0: y has shape \(2,\); expected 3 rows"),
        ({"x": [2, 4]}, r"graph 0: x has shape \(2,\); expected 3 rows, one per node"),
        ({"edge_attr": [5, 7]}, "graph 0: edge_attr has shape .*; expected 6 rows, one per edge"),
        ({"edge_index": TRIANGLE.t()}, r"edge_index has shape \(6, 2\)"),
        ({"edge_index": TRIANGLE.float()}, "type float32; expected integers"),
    ],
)
def test_from_pyg_checks_every_graph_for_itself(wrong, message):
    level = wrong.pop("level", None)
    graphs = []
    for number in range(2):
        data = Data(edge_index=TRIANGLE, num_nodes=3)
        for key, value in wrong.items():
            data[key] = value if key == "edge_index" else torch.ones(value[number])
        graphs.append(data)
    with pytest.raises(InputError, match=message):
        GraphStore.from_pyg(graphs, level=level)


def test_from_pyg_takes_a_batch_apart():
    from torch_geometric.data import Batch

    data = Data(edge_index=TRIANGLE, num_nodes=3, y=torch.tensor([1.0]))
    assert len(GraphStore.from_pyg(Batch.from_data_list([data] * 3), level="graph")) == 3


def test_data_sets_of_pyg():
    """PyG's data sets in memory have an `edge_index` themselves, of all graphs."""

    class Graphs(InMemoryDataset):
        def __init__(self, graphs):
            super().__init__()
            self.data, self.slices = self.collate(graphs)

    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    graphs = [Data(edge_index=edge_index, num_nodes=n, y=torch.zeros(1)) for n in (3, 4)]
    for store in (GraphStore.from_pyg(Graphs(graphs)), GraphStore.from_any(Graphs(graphs))):
        assert store.sizes["node"].tolist() == [3, 4]
    assert count(Graphs(graphs)[1:], "path2", level="graph").values.tolist() == [[1]]


def test_counts_need_no_level():
    unclear = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2, y=torch.zeros(2))
    assert count(unclear, "path2", level="graph").values.tolist() == [[0]]


def test_from_smiles_wants_one_target_per_molecule():
    with pytest.raises(InputError, match="expected 2, one per SMILES"):
        GraphStore.from_smiles(["C", "CC"], y=[1.0, 2.0, 3.0])
    assert len(GraphStore.from_smiles(["C", None], on_error="skip")) == 1


def test_from_graph6_takes_bytes():
    assert GraphStore.from_graph6(b"Bw\nBw").num_edges == 12


def test_load_refuses_indices_out_of_range(tmp_path):
    store = random_graphs(3)
    tensors = store.columns | {f"sizes.{axis}": s for axis, s in store.sizes.items()}
    save_tensors(
        tmp_path / "file", "GraphStore", 1, tensors | {"neighbor": store.neighbor + 100}, {}
    )
    with pytest.raises(InputError, match="neighbor points to node .* out of range"):
        GraphStore.load(tmp_path / "file")
    short = tensors | {"sizes.edge": store.sizes["edge"][:2]}
    save_tensors(tmp_path / "file", "GraphStore", 1, short, {})
    with pytest.raises(InputError, match="expected|different numbers"):
        GraphStore.load(tmp_path / "file")


def test_repr_survives_saving(tmp_path):
    subgraphs = extract_subgraphs(random_graphs(2), hops=1)
    subgraphs.save(tmp_path / "file")
    assert repr(Subgraphs.load(tmp_path / "file")) == repr(subgraphs)


def test_stores_from_anything():
    pyg = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    for graphs in (pyg, [pyg], networkx.path_graph(2), [networkx.path_graph(2)], "CC", ["CC"]):
        assert (GraphStore.from_any(graphs).num_nodes, GraphStore.from_any(graphs).num_edges) == (
            2,
            2,
        )
    store = GraphStore.from_any(["CC", "C"])
    assert GraphStore.from_any(store) is store
    assert len(GraphStore.from_any([])) == 0
    directed = networkx.DiGraph([(0, 1)])
    assert GraphStore.from_any(directed, symmetrize=True).num_edges == 2
    for wrong in (Path("molecules.smi"), 3, ["CC", networkx.path_graph(2)], [b"CC"]):
        with pytest.raises(InputError, match="expected a GraphStore, PyG Data"):
            GraphStore.from_any(wrong)


def test_single_graphs_and_ranges():
    store = GraphStore.from_edge_lists([[(0, 1)], [], [(0, 1), (1, 2)]], [2, 1, 3], symmetrize=True)
    assert store[-1].num_nodes == 3 and torch.equal(
        store[2].edge_index, store.batch([2]).edge_index
    )
    assert [graph.num_nodes for graph in store] == [2, 1, 3]
    assert [len(store[1:]), store[1:].num_nodes] == [2, 4]
    with pytest.raises(IndexError):
        store[3]
