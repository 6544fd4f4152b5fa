"""`i2gnn reproduce brec`: what it runs, writes, takes up and prints."""

import json

import pytest

from i2gnn.cli.main import main
from i2gnn.errors import InputError
from i2gnn.expressiveness.datasets import load_pairs
from i2gnn.expressiveness.separation import scale_weights
from i2gnn.paper.brec import PROTOCOL, BRECSettings
from tests.helpers import data_root

QUICK = ["reproduce", "brec", "--quick", "--width", "8", "--device", "cpu", "--quiet"]


def test_arguments_of_the_models():
    subject = BRECSettings(hops=9, layers=6, width=8, node_states=True).subject
    assert subject.options["hops"] == 9 and subject.options["num_layers"] == 6
    assert subject.options["node_states"] and "context" in subject.options["readout"]
    assert "hops" not in BRECSettings(model="ppgn").subject.options
    with pytest.raises(InputError, match="no model 'nobody'"):
        _ = BRECSettings(model="nobody").subject


@pytest.mark.parametrize("node_states", [False, True])
def test_states_stay_in_range(node_states):
    """Neither 8 layers nor large weights let numbers grow until float32 has none for them."""
    settings, pair = BRECSettings(node_states=node_states), load_pairs("csl").pair(0)
    model = settings.subject.build(0, pair, out_channels=16)
    scale_weights(model, settings.rpc.gain)
    assert float(model(model.extract(pair)).detach().abs().max()) < 1e6


def test_names_tell_runs_apart():
    plain, states = BRECSettings(), BRECSettings(node_states=True)
    assert plain.name == "rpc-brec-i2gnn-h12-l8-d16-0"
    assert len({plain.name, states.name, BRECSettings(hops=8).name}) == 3
    assert "/" not in BRECSettings(model="some/file.py:Mine").name
    assert PROTOCOL.copies == 32 and PROTOCOL.threshold == 72.34 and PROTOCOL.epochs == 20


def test_a_quick_run(tmp_path, capsys):
    root = data_root()
    if root is None or not (root / "brec").is_dir():
        pytest.skip("brec is not in the data root (I2GNN_DATA, or shared/data)")
    command = [*QUICK, "--data-root", str(root), "--out", str(tmp_path)]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "6 of 400 pairs so far" in printed and "exact bound" in printed
    path = tmp_path / "brec" / "quick-rpc-brec-i2gnn-h12-l8-d8-0.json"
    record = json.loads(path.read_text())
    assert record["test"] == record["summary"]["exact"] == 6
    assert record["summary"]["unreliable"] == record["summary"]["beyond_exact"] == 0
    assert not record["complete"]
    assert any("at most 2 of" in deviation for deviation in record["deviations"])
    lines = (tmp_path / "brec" / path.stem / "pairs-000-006.jsonl").read_text()
    assert main([*command, "--json"]) == 0  # nothing is run again
    assert json.loads(capsys.readouterr().out)[0]["pairs"] == record["pairs"]
    assert (tmp_path / "brec" / path.stem / "pairs-000-006.jsonl").read_text() == lines


def test_ranges_are_checked(capsys):
    assert main(["reproduce", "brec", "--pairs", "9:9"]) == 2
    assert "--pairs" in capsys.readouterr().err
