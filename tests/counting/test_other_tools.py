"""Agreement with networkx, igraph and ORCA, and the paper's averages, on real data."""

import csv
import gzip
from collections import Counter
from pathlib import Path

import igraph
import networkx
import numpy as np
import orbit_count
import pytest
import torch

from i2gnn.counting import count, count_file
from i2gnn.graphs import GraphStore
from i2gnn.graphs.readers import read_blocks
from tests.helpers import data_root, random_graphs

MOLECULES = [
    "C1C2C3CC4C2C2C1C3[C@H](NCC13C5C6C7C5C1C7C63)C42",
    "OC12C3C4CC5C6C4C1C6C1(OCCCN21)C53",
    "c1ccc2c(c1)ccc1ccccc12",
    "C12C3C4C1C5C2C3C45",
    "CC(C)(C)c1ccc2occ(CC(=O)Nc3ccccc3F)c2c1",
]


def root() -> Path:
    found = data_root()
    if found is None:
        pytest.skip("no real data: set I2GNN_DATA to the folder that holds it")
    return found


def as_networkx(store: GraphStore) -> list[networkx.Graph]:
    graphs = []
    for g in range(len(store)):
        one = store.batch([g])
        graph = networkx.Graph()
        graph.add_nodes_from(range(one.num_nodes))
        graph.add_edges_from(one.edge_index.t().tolist())
        graphs.append(graph)
    return graphs


def some_graphs() -> GraphStore:
    found = data_root()
    if found is None:
        return GraphStore.from_smiles(MOLECULES)
    molecules = (found / "chembl" / "chembl_16200.smi").read_text().split()[:150]
    return GraphStore.from_smiles(molecules)


def test_cycles_agree_with_networkx() -> None:
    store = some_graphs()
    values = count(store, "cycle3..cycle8").values
    for graph, first in zip(as_networkx(store), store.offsets["node"].tolist(), strict=False):
        expected = np.zeros((len(graph), 6), dtype=np.int64)
        for found in networkx.simple_cycles(graph, length_bound=8):
            expected[list(found), len(found) - 3] += 1
        assert np.array_equal(values[first : first + len(graph)].numpy(), expected)


def test_cycles_and_paths_agree_with_igraph() -> None:
    store = some_graphs()
    counts = count(store, "cycle3..cycle8,path2..path6", "graph").values
    for graph, row in zip(as_networkx(store), counts.tolist(), strict=True):
        other = igraph.Graph(n=len(graph), edges=list(graph.edges))
        cycles = Counter(len(c) for c in other.simple_cycles(max=8, output="vpath"))
        assert row[:6] == [cycles[length] for length in range(3, 9)]
        starts = (p for v in range(len(graph)) for p in other.get_all_simple_paths(v, maxlen=6))
        paths = Counter(len(p) - 1 for p in starts)
        assert row[6:] == [paths[length] // 2 for length in range(2, 7)]


@pytest.mark.parametrize("p", [0.1, 0.35, 0.7])
def test_induced_orbits_agree_with_orca(p: float) -> None:
    store = random_graphs(30, seed=7, nodes=(5, 25), p=p)
    values = count(store, "orbit0..orbit14").values
    for graph, first in zip(as_networkx(store), store.offsets["node"].tolist(), strict=False):
        expected = orbit_count.node_orbit_counts(graph, graphlet_size=4)
        assert np.array_equal(values[first : first + len(graph)].numpy(), expected)


def test_synthetic_graphs_have_the_published_counts() -> None:
    path = root() / "counting" / "synthetic5000.npz"
    (block,) = read_blocks(path, pytest.fail)
    arrays = np.load(path)
    counts = count(block.store, "cycle3..cycle6", "graph").values
    assert np.array_equal(counts.numpy(), arrays["cycles3456"])
    what = "tailed_triangle,chordal_cycle,clique4,path4,triangle_rectangle"
    nodes = count(block.store, what).values.double()
    seen = np.isin(block.store.node_to_graph.numpy(), [*arrays["train"], *arrays["val"]])
    # The published 4-clique labels are doubled.
    mean = torch.tensor([1.8694, 0.3951, 0.0528 / 2, 58.17, 1.0464], dtype=torch.float64)
    std = torch.tensor([2.4642, 0.9723, 0.3447 / 2, 36.99, 2.2969], dtype=torch.float64)
    torch.testing.assert_close(nodes[seen].mean(0), mean, atol=0.005, rtol=1e-3)
    torch.testing.assert_close(nodes[seen].std(0), std, atol=0.005, rtol=1e-3)


def test_zinc_has_the_averages_of_the_paper(tmp_path: Path) -> None:
    # 2,000 published molecules (validation and test) stand for the 12,000 of the table.
    folder = root() / "zinc"
    total = np.zeros(4)
    for name in ("zinc12k_val.csv", "zinc12k_test.csv"):
        summary = count_file(folder / name, "cycle3..cycle6", "graph")
        assert summary.graphs == 1000
        total += list(summary.total.values())
    assert np.allclose(total / 2000, [0.06, 0.02, 0.85, 1.80], atol=0.03)


@pytest.mark.slow
def test_molhiv_has_the_averages_of_the_paper(tmp_path: Path) -> None:
    with (root() / "molhiv" / "HIV.csv").open(newline="") as file:
        smiles = [row["Smiles"] for row in csv.DictReader(file)]
    packed = tmp_path / "molhiv.smi.gz"
    with gzip.open(packed, "wt") as out:
        out.write("\n".join(smiles))
    summary = count_file(packed, "cycle3..cycle6", "graph")
    # Seven molecules parse only without sanitisation.
    assert (summary.graphs, summary.skipped) == (41120, 7)
    means = list(summary.mean_per_graph().values())
    assert np.allclose(means, [0.03, 0.04, 0.70, 2.28], atol=0.01)
