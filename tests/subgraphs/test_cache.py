import torch

from i2gnn import extract_subgraphs
from i2gnn.subgraphs import extract
from tests.helpers import assert_same_store, random_graphs


def test_the_second_extraction_reads_the_file_and_takes_the_new_features(tmp_path, monkeypatch):
    graphs = random_graphs(5)
    first = extract_subgraphs(graphs, hops=2, cache_dir=tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(extract, "_extract", None)  # would fail if called
    assert_same_store(extract_subgraphs(graphs, hops=2, cache_dir=tmp_path), first)
    labelled = graphs.with_targets(torch.arange(graphs.num_nodes), "node")
    again = extract_subgraphs(labelled, hops=2, cache_dir=tmp_path)
    assert torch.equal(again.y, labelled.y) and again.level == "node"


def test_other_settings_other_graphs_and_other_formats_have_other_files(tmp_path, monkeypatch):
    graphs = random_graphs(5)
    extract_subgraphs(graphs, hops=2, cache_dir=tmp_path)
    extract_subgraphs(graphs, hops=1, cache_dir=tmp_path)
    extract_subgraphs(graphs, hops=2, identifiers=1, cache_dir=tmp_path)
    extract_subgraphs(graphs, hops=2, labels="identity", cache_dir=tmp_path)
    extract_subgraphs(random_graphs(5, seed=1), hops=2, cache_dir=tmp_path)
    monkeypatch.setattr("i2gnn.subgraphs.structure.Subgraphs.FORMAT_VERSION", 2)
    extract_subgraphs(graphs, hops=2, cache_dir=tmp_path)
    assert len(list(tmp_path.iterdir())) == 6


def test_a_damaged_file_is_replaced(tmp_path, caplog):
    graphs = random_graphs(5)
    first = extract_subgraphs(graphs, hops=2, cache_dir=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert_same_store(extract_subgraphs(graphs, hops=2, cache_dir=tmp_path), first)
    assert "damaged cache file" in caplog.text
    caplog.clear()
    assert_same_store(extract_subgraphs(graphs, hops=2, cache_dir=tmp_path), first)
    assert not caplog.text
