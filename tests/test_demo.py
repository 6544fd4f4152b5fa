"""The main job, on a few small graphs."""

import html.parser
import json

import pytest

from i2gnn.cli.main import main


class Page(html.parser.HTMLParser):
    """Collects what a page would load, and its text."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.loads += [v for k, v in attrs if k in ("src", "href", "xlink:href")]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    arguments = ["demo", "--run-dir", str(folder), "--graphs", "40", "--epochs", "2", "--quiet"]
    assert main([*arguments, "--device", "cpu"]) == 0
    return folder, arguments


def test_demo_leaves_a_record_of_each_network(finished):
    folder, _ = finished
    records = json.loads((folder / "results.json").read_text())
    assert [r["model"] for r in records] == ["mpnn", "subgraph_mpnn", "i2gnn"]
    for record in records:
        assert record["test"] > 0 and record["parameters"] > 0 and record["seconds"] > 0
        assert record["settings"]["training"]["epochs"] == 2


def test_demo_writes_one_page_that_needs_nothing_else(finished):
    folder, _ = finished
    page = Page((folder / "report.html").read_text())
    assert all(link.startswith(("#", "data:")) for link in page.loads)
    for text in ("I²-GNN", "Subgraph MPNN", "MPNN", "5-cycles", "Learning curves", "20 graphs",
                 "i2gnn demo --target cycle5 --graphs 40 --epochs 2 --seed 0"):  # fmt: skip
        assert text in page.text, text


def test_demo_again_does_not_train_again(finished, capsys, monkeypatch):
    folder, arguments = finished
    before = json.loads((folder / "results.json").read_text())
    monkeypatch.setattr("i2gnn.training.epochs.Epochs.train", None)  # would fail if called
    assert main([*arguments, "--device", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == before


def test_demo_with_other_settings_does_not_overwrite(finished, capsys):
    folder, _ = finished
    before = (folder / "report.html").read_bytes()
    assert main(["demo", "--run-dir", str(folder), "--graphs", "50", "--epochs", "2"]) == 1
    assert "count" in capsys.readouterr().err
    assert (folder / "report.html").read_bytes() == before


def test_demo_prints_a_table(finished, capsys):
    _, arguments = finished
    assert main([a for a in arguments if a != "--quiet"] + ["--device", "cpu"]) == 0
    printed = capsys.readouterr().out
    assert "normalised MAE" in printed and "I²-GNN" in printed and "report.html" in printed


@pytest.mark.parametrize("wrong", [["--target", "cycle9"], ["--graphs", "many"]])
def test_wrong_use_is_exit_code_2(wrong, capsys):
    assert main(["demo", *wrong]) == 2
    assert "usage: i2gnn demo" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--graphs", "2"], ["--epochs", "0"], ["--device", "tpu"]])
def test_values_out_of_range_are_one_sentence_and_exit_code_1(wrong, capsys, tmp_path):
    assert main(["demo", "--run-dir", str(tmp_path / "run"), "--quiet", *wrong]) == 1
    error = capsys.readouterr().err
    assert error.startswith("i2gnn demo: ") and "Traceback" not in error
    assert not (tmp_path / "run" / "report.html").exists()
