"""The command on two graphs: what it writes, and what it prints."""

import contextlib
import io
import json
import statistics
from functools import partial

import pytest

from i2gnn.benchmark import BenchmarkSettings, run
from i2gnn.benchmark.ratios import over_roofline, summarize, times_better, value_of
from i2gnn.benchmark.roofline import Ceilings
from i2gnn.cli import bench
from i2gnn.cli.main import main

CEILINGS = Ceilings(bytes=2e10, flops=1e11)
GRAPHS = 2


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """Records and table of one run of small models; memory is measured in this process."""
    folder = tmp_path_factory.mktemp("bench")
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(run, "in_new_process", lambda function, *arguments: function(*arguments))
        patch.setattr(run, "measure_ceilings", lambda device: CEILINGS)
        small = partial(BenchmarkSettings, layers=2, width=8)
        patch.setattr("i2gnn.benchmark.BenchmarkSettings", small)
        patch.setenv("COLUMNS", "150")
        command = f"bench --quick --graphs {GRAPHS} --device cpu --quiet --seed 3"
        files = ["--data-root", str(folder), "--out", str(folder / "records.jsonl")]
        assert main([*command.split(), *files]) == 0
    lines = (folder / "records.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines], printed.getvalue()


def test_every_record_says_what_was_measured_on_what(output):
    records, _ = output
    for record in records:
        assert record["value"] > 0 or record["quantity"] == "memory"
        assert record["device"] == "cpu" and record["precision"] == "float32"
        assert (record["layers"], record["width"], record["seed"]) == (2, 8, 3)
        assert record["hardware"]["threads"] and record["versions"]["torch"]
        if record["case"]:
            assert record["sizes"]["graphs"] == GRAPHS and record["sizes"]["rows"] > 100
            assert "generated" in record["source"]


def test_every_formulation_is_measured_in_every_quantity(output):
    records, _ = output
    for case in ("counting", "zinc"):
        for formulation in ("ours", "ours, reference ops", "copied"):
            about = {"case": case, "formulation": formulation, "mode": "eager"}
            for quantity in ("step", "forward", "memory", "epoch"):
                assert value_of(records, quantity=quantity, **about) is not None
            # In float32 all formulations are as far from float64 as its rounding, 6e-8, allows.
            assert 1e-9 < value_of(records, quantity="output_error", **about) < 1e-5
            assert 1e-9 < value_of(records, quantity="gradient_error", **about) < 1e-4
        about = {"case": case, "quantity": "preprocessing"}
        stated = [r for r in records if r["quantity"] == "preprocessing" and r["case"] == case]
        assert [r["formulation"] for r in stated if r.get("measured") is False] == ["published"]
        assert value_of(records, **about, formulation="PyG RootedEgoNets") > 0


def test_ratios_come_from_the_records(output):
    records, _ = output
    found = {(r["case"], r["formulation"], r["quantity"]): r for r in records}
    ours, copied = found["zinc", "ours", "step"], found["zinc", "copied", "step"]
    assert ours["value"] == pytest.approx(statistics.median(ours["samples"]), abs=1e-3)
    ratio = times_better(records, "zinc", "step", "ours", "eager")
    assert ratio == copied["value"] / ours["value"]
    floor = found["zinc", "roofline", "step"]
    least = 1000 * max(floor["bytes"] / CEILINGS.bytes, floor["flops"] / CEILINGS.flops)
    assert floor["value"] == pytest.approx(least)
    assert over_roofline(records, "zinc", "step", "ours", "eager") == ours["value"] / least
    row = next(r for r in summarize(records) if (r["case"], r["formulation"]) == ("zinc", "ours"))
    assert row["step"] == ours["value"] and row["step_ratio"] == ratio


def test_the_table_shows_the_ratios_and_explains_itself(output):
    records, printed = output
    for case, title in (("counting", "Counting model"), ("zinc", "ZINC model")):
        assert f"{title}: {GRAPHS} graphs (generated" in printed
        ratio = times_better(records, case, "step", "ours", "eager")
        assert f" {ratio:.1f} x " in printed
    assert "training step" in printed and "copied: once per neighbour" in printed
    assert "captured" not in printed  # there are no CUDA graphs on a CPU


def test_json_is_one_document(output, monkeypatch, capsys):
    records, _ = output
    monkeypatch.setattr("i2gnn.benchmark.run_benchmark", lambda settings, notify: records)
    assert main(["bench", "--json", "--quiet"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["records"] == records
    assert document["summary"] == summarize(records)


def test_wrong_sizes_are_named(capsys):
    assert main(["bench", "--graphs", "-1"]) == 1
    assert "graphs is -1; expected at least 1" in capsys.readouterr().err
    assert bench.HELP
