"""The probe: what it finds, what it writes, and models it cannot teach."""

import importlib.util
import json
import re

import pytest

from i2gnn.cli.main import main
from i2gnn.errors import InputError
from i2gnn.expressiveness.datasets import load_pairs
from i2gnn.expressiveness.exact import distinguish_pairs
from i2gnn.expressiveness.probe import ProbeSettings, probe
from i2gnn.expressiveness.references import BOUNDS, TESTS, bounds, yardsticks
from i2gnn.expressiveness.study import STRUCTURES, StudySettings
from i2gnn.report.probe import write_report
from tests.expressiveness.others import OfGraphs
from tests.helpers import REPOSITORY, data_root

STUDY = StudySettings(structures=("cycle3", "path2"), graphs=20, epochs=1)
SETTINGS = ProbeSettings(datasets=("paper",), levels=("node", "graph"), study=STUDY, device="cpu")


@pytest.fixture(scope="module")
def found():
    return probe("subgraph_mpnn", options={"hidden_channels": 8}, settings=SETTINGS)


def test_verdicts_and_summary(found):
    separation = found.separation["paper"]
    assert [separation.pairs.title[p] for p in separation.where("tied")] == [
        "2 C8 / C16",  # beyond radius 3
        "rook / Shrikhande",
    ]
    assert found.summary().startswith("subgraph_mpnn tells 9 of 11 pairs of graphs apart. Per node")
    assert [one.structure for one in found.learnt["graph"]] == ["cycle3", "path2"]


def test_the_record_is_plain_and_complete(found):
    record = json.loads(json.dumps(found.to_dict()))
    assert record["separation"]["paper"]["separated"] == 9
    counted = record["counting"]["node"][0]
    assert counted["verdict"] in ("counts", "partly", "does not")
    assert counted["left"] == pytest.approx(counted["error"] / counted["mean_error"])
    assert record["settings"]["study"]["graphs"] == 20
    assert record["settings"]["options"]["separation"]["conv"] == "gin"
    assert record["hardware"]["cpu"]


def test_the_page_stands_alone_and_shows_failures(found, tmp_path):
    page = write_report(found, tmp_path, command="i2gnn probe --model <x>")
    text = page.read_text()
    assert json.loads((tmp_path / "probe.json").read_text())["model"] == "subgraph_mpnn"
    assert "rook / Shrikhande" in text and "Told apart by 2 identifiers." in text
    assert "i2gnn probe --model &lt;x&gt;" in text
    assert text.count("<svg") >= 6  # categories, two failures, two levels, gaps
    assert not re.search(r"(src|href)=.(?!#|data:)", text)


def test_a_model_of_graphs_is_not_taught_at_nodes(tmp_path):
    found = probe(OfGraphs, settings=SETTINGS)
    assert list(found.learnt) == ["graph"]
    assert "a row per node" in found.refused["node"]
    assert found.separation["paper"].count("separated") == 0
    assert "It was not taught to count per node" in write_report(found, tmp_path).read_text()


def test_parts_can_be_left_out(tmp_path):
    apart = probe("mpnn", settings=ProbeSettings(datasets=("paper",), levels=()))
    assert not apart.learnt
    assert "learns to count" not in write_report(apart, tmp_path).read_text()
    counting = probe(
        "mpnn",
        options={"hidden_channels": 8},
        settings=ProbeSettings(datasets=(), levels=("graph",), study=STUDY),
    )
    assert "told apart" not in write_report(counting, tmp_path).read_text()


def test_a_quick_probe_takes_small_pairs_of_every_category():
    quick = probe("mpnn", settings=ProbeSettings(datasets=("paper",), levels=(), quick=True))
    assert quick.chosen["paper"] == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="datasets has 'zinc'"):
        ProbeSettings(datasets=("zinc",))
    with pytest.raises(InputError, match="no model 'nobody'"):
        probe("nobody", settings=SETTINGS)


def test_the_command(tmp_path, capsys):
    command = ["probe", "--model", "mpnn", "--option", "hidden_channels=8", "--datasets", "paper"]
    command += ["--levels", "node", "--structures", "path2", "--graphs", "20", "--epochs", "1"]
    assert main([*command, "--out", str(tmp_path), "--quiet", "--device", "cpu"]) == 0
    printed = capsys.readouterr().out
    assert "Pairs that mpnn tells apart" in printed and "path2" in printed
    assert (tmp_path / "report.html").is_file()
    assert main([*command, "--out", str(tmp_path), "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["separation"]["paper"]["tied"] == 11


# -- what others reach ---------------------------------------------------------------------------


@pytest.mark.parametrize("dataset", ["paper", "csl"])
@pytest.mark.parametrize("test", list(TESTS))
def test_bounds_are_those_of_the_exact_tests(dataset, test):
    pairs = load_pairs(dataset)
    found = distinguish_pairs(pairs, **TESTS[test])
    expected = [verdict == "separated" for verdict in found.verdict]
    assert bounds(dataset, range(len(pairs)))[test] == expected


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["exp", "sr25", "brec"])
@pytest.mark.parametrize("test", list(TESTS))
def test_bounds_of_benchmarks(dataset, test):
    if data_root() is None:
        pytest.skip("no data root (I2GNN_DATA, or shared/data)")
    pairs = load_pairs(dataset, data_root())
    found = distinguish_pairs(pairs, **TESTS[test])
    expected = [verdict == "separated" for verdict in found.verdict]
    assert bounds(dataset, range(len(pairs)))[test] == expected


def test_bounds_know_all_data_sets_and_yardsticks_only_the_usual_study():
    assert all(set(runs) == set(TESTS) for runs in BOUNDS.values())
    assert yardsticks("node", STUDY) == {}
    for left in yardsticks("node", StudySettings()).values():
        assert tuple(left) == STRUCTURES


# -- the example ---------------------------------------------------------------------------------


def test_the_example_is_short_and_its_model_is_probed():
    path = REPOSITORY / "examples" / "probe_a_model.py"
    assert len(path.read_text().splitlines()) < 40
    spec = importlib.util.spec_from_file_location("probe_a_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = probe(module.WalkGNN, settings=SETTINGS)
    apart = found.separation["paper"]
    titles = [apart.pairs.title[p].split(" / ")[0] for p in apart.where("separated")]
    # Walks of up to five steps see that a cycle closes if it has no more.
    assert titles == [f"{hub}2 C{n}" for hub in ("", "hub and ") for n in (3, 4, 5)]
    assert not found.refused
