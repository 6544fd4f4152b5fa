"""The command `distinguish`: what it prints, what it takes, what it refuses."""

import json

import networkx
import pytest

from i2gnn.cli.distinguish import DATASETS, TESTS
from i2gnn.cli.main import main
from i2gnn.expressiveness.datasets import PAIR_SETS
from i2gnn.expressiveness.wl import Test

FACTORY = """
from torch import nn
from torch_geometric.nn import GINConv, global_add_pool

class Model(nn.Module):
    def __init__(self, in_channels, out_channels, width=8):
        super().__init__()
        self.conv = GINConv(nn.Linear(in_channels, width))
        self.out = nn.Linear(width, out_channels)
    def forward(self, batch):
        return self.out(global_add_pool(self.conv(batch.x, batch.edge_index), batch.batch))
"""


def run(capsys, *arguments: str) -> dict:
    assert main(["distinguish", *arguments, "--json", "--quiet"]) == 0
    found: dict = json.loads(capsys.readouterr().out)
    return found


def test_choices_are_those_of_the_library():
    assert set(DATASETS) == set(PAIR_SETS)
    assert set(TESTS) == set(Test.__args__)


def test_an_exact_test(capsys):
    found = run(capsys, "--test", "identifier-wl", "--identifiers", "1", "--dataset", "paper")
    assert (found["pairs"], found["separated"], found["tied"]) == (11, 10, 1)
    assert found["settings"] == {
        "test": "identifier-wl",
        "rounds": None,
        "identifiers": 1,
        "hops": None,
        "labels": "spd",
        "node_states": False,
    }
    assert found["not_separated"] == [
        {
            "pair": 10,
            "title": "rook / Shrikhande",
            "category": "rook / Shrikhande",
            "verdict": "tied",
        }
    ]


@pytest.mark.parametrize(
    ("options", "separated"),
    [
        (["--test", "1-wl"], 0),
        (["--test", "identifier-wl", "--identifiers", "0"], 0),
        (["--test", "identifier-wl", "--hops", "3", "--identifiers", "1"], 5),
        (["--test", "identifier-wl", "--hops", "1", "--rounds", "0", "--labels", "identity"], 0),
        (["--test", "identifier-wl", "--hops", "2", "--node-states"], 3),
    ],
)
def test_options_of_tests(capsys, options, separated):
    found = run(capsys, *options, "--dataset", "paper", "--category", "cycles")
    assert (found["pairs"], found["separated"]) == (6, separated)


def test_a_model_of_ours(capsys):
    options = ["--option", "num_layers=3", "--draws", "2", "--hops", "2"]
    found = run(capsys, "--model", "subgraph_mpnn", "--dataset", "paper", *options)
    assert (found["separated"], found["tied"], found["unclear"]) == (7, 4, 0)
    assert found["settings"]["options"]["num_layers"] == 3
    assert found["settings"]["options"]["hops"] == 2
    assert found["settings"]["gains"] == [1.0, 2.0]
    assert found["largest_tie_over_noise"] < 30
    assert found["smallest_separation_over_noise"] > 1e4


def test_a_model_of_anybody(capsys, tmp_path):
    (tmp_path / "own.py").write_text(FACTORY)
    options = ["--option", "width=4", "--dataset", "csl", "--seed", "3"]
    found = run(capsys, "--model", f"{tmp_path}/own.py:Model", *options)
    assert found["tied"] == 45 and found["settings"]["options"] == {"width": 4}


def test_two_files(capsys, tmp_path):
    small = networkx.disjoint_union(networkx.cycle_graph(3), networkx.cycle_graph(3))
    files = []
    for name, graph in (("a", small), ("b", networkx.cycle_graph(6))):
        files.append(tmp_path / f"{name}.g6")
        files[-1].write_bytes(networkx.to_graph6_bytes(graph, header=False) * 2)
    found = run(capsys, *map(str, files), "--test", "1-wl")
    assert (found["pairs"], found["tied"]) == (2, 2)
    assert run(capsys, *map(str, files), "--test", "2-fwl")["separated"] == 2
    files[1].write_bytes(networkx.to_graph6_bytes(small, header=False))
    assert main(["distinguish", *map(str, files), "--test", "1-wl"]) == 1
    assert "2 graphs and" in capsys.readouterr().err


def test_the_table_names_categories_and_failures(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command = ["distinguish", "--dataset", "paper", "--failures", "--quiet"]
    assert main([*command, "--test", "identifier-wl", "--identifiers", "1"]) == 0
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    assert "identifier-wl, 1 identifier, whole graph on paper" in printed
    assert ["cycles", "6", "6", "0"] in lines and ["all", "11", "10", "1"] in lines
    assert ["10", "rook", "/", "Shrikhande", "rook", "/", "Shrikhande", "16", "tied"] in lines
    assert main([*command, "--model", "mpnn", "--option", "conv=gin"]) == 0
    printed = capsys.readouterr().out
    assert "mpnn, random weights, on paper" in printed and "only --test proves" in printed
    assert ["all", "11", "0", "11", "0"] in [line.split() for line in printed.splitlines()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dataset", "csl"], "give either --test or --model"),
        (["--dataset", "csl", "--test", "1-wl", "--model", "mpnn"], "either --test or --model"),
        (["--test", "1-wl"], "give either --dataset or two files"),
        (["a.g6", "--test", "1-wl"], "give either --dataset or two files"),
        (
            ["--dataset", "csl", "--test", "2-wl", "--identifiers", "1"],
            "--identifiers is an option",
        ),
        (["--dataset", "csl", "--test", "2-wl", "--hops", "1"], "--hops is an option"),
        (["--dataset", "csl", "--model", "mpnn", "--rounds", "1"], "--rounds is an option of"),
        (["--dataset", "csl", "--test", "1-wl", "--option", "a=1"], "--option is for models"),
        (["--dataset", "csl", "--test", "1-wl", "--rounds", "-1"], "expected 0 or more, got -1"),
        (["--dataset", "grid", "--test", "1-wl"], "invalid choice: 'grid'"),
    ],
)
def test_wrong_use(capsys, options, message):
    assert main(["distinguish", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--test", "1-wl", "--category", "CFI"], "csl has no category 'CFI'; expected one of CSL"),
        (["--test", "identifier-wl", "--hops", "300"], "hops must lie in 1..253, got 300"),
        (["--model", "gcn"], "no model 'gcn'; expected one of mpnn"),
        (["--model", "mpnn", "--option", "depth=2"], "mpnn has no option depth; expected one of"),
        (["--model", "mpnn", "--option", "depth"], "expected KEY=VALUE"),
        (["--model", "mpnn", "--option", "num_layers=0"], "num_layers must be at least 1, got 0"),
        (["--model", "no_module:f"], "no_module cannot be imported"),
    ],
)
def test_failures_are_named(capsys, options, message):
    assert main(["distinguish", "--dataset", "csl", *options]) == 1
    assert message in capsys.readouterr().err
