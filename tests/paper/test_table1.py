"""Table 1: records and the printed table of a quick run."""

import json

import pytest

from i2gnn.cli.main import main
from i2gnn.models import REGISTRY
from i2gnn.paper.table1 import PUBLISHED, reproduce_table1
from tests.expressiveness.datasets import load
from tests.helpers import data_root

REQUIRED = {
    *("table", "preset", "dataset", "level", "model", "target", "seed", "metric", "test"),
    *("validation", "best_epoch", "epochs", "parameters", "seconds", "hardware", "versions"),
    *("settings", "deviations"),
}


def test_the_rows_are_those_of_the_paper():
    assert all(1 in REGISTRY[name].tables for name in PUBLISHED)
    assert [row.title for row in PUBLISHED.values()] == [
        "Base GNN",
        "ID-GNN",
        "NGNN",
        "GNNAK+",
        "PPGN",
        "I²-GNN",
    ]


def test_a_quick_run_agrees_with_the_paper(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("exp", "sr25"):
        load(name)  # skips where it is not at hand
    command = ["reproduce", "table1", "--quick", "--quiet", "--data-root", str(data_root())]
    assert main([*command, "--out", str(tmp_path)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["I²-GNN", "100", "%", "100", "%", "100", "%", "100", "%", "0"] in [
        line[:10] for line in lines
    ]
    records = [json.loads(path.read_text()) for path in (tmp_path / "table1").glob("*.json")]
    assert len(records) == 12
    for record in records:
        assert record.keys() >= REQUIRED and record["preset"] == "quick"
        assert record["test"] == record["published"], (record["model"], record["dataset"])
        assert record["verdicts"]["unclear"] == 0 and record["verdicts"]["pairs"] == 2
    assert (tmp_path / "table1" / "quick-exp-i2gnn-pairs-0.json").is_file()


@pytest.mark.slow
def test_table1():
    load("exp")
    for record in reproduce_table1(data_root()):
        assert record["test"] == record["published"], (record["model"], record["dataset"])
        assert record["verdicts"]["unclear"] == 0
