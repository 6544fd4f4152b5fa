import json

from i2gnn.cli.main import main
from i2gnn.models import REGISTRY


def test_models_are_listed_with_size_and_cost(capsys):
    assert main(["models"]) == 0
    shown = capsys.readouterr().out
    for name, entry in REGISTRY.items():
        assert name in shown and entry.time in shown and entry.summary.split()[0] in shown
    assert "143,873" in shown and "143k" in shown


def test_models_as_json(capsys):
    assert main(["models", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(REGISTRY)
    ppgn = next(row for row in rows if row["name"] == "ppgn")
    assert ppgn["parameters"] == 96_001 and ppgn["identifiers"] is None
