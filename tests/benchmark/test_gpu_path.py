"""What a run on a GPU measures beside that on a CPU; here its steps are run, not recorded."""

import pytest
from rich.console import Console

from i2gnn.benchmark import BenchmarkSettings, run, run_benchmark
from i2gnn.benchmark.bars import check
from i2gnn.benchmark.ratios import find, summarize
from i2gnn.benchmark.roofline import Ceilings
from i2gnn.benchmark.table import tables


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """A run that takes the CPU for a GPU; copies cannot be captured in it."""

    def in_new_process(function, name, settings, which):
        if name == "zinc":
            raise RuntimeError("measure_captured: cannot be captured")
        return function(name, settings, which)

    settings = BenchmarkSettings(
        device="cpu",
        graphs=2,
        epoch_graphs=5,
        layers=2,
        width=8,
        rounds=1,
        data_root=str(tmp_path_factory.mktemp("empty")),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BenchmarkSettings, "on_gpu", property(lambda self: True))
        patch.setattr(BenchmarkSettings, "calls", property(lambda self: 1))
        patch.setattr(run, "in_new_process", in_new_process)
        found = run_benchmark(settings, ceilings=Ceilings(1e10, 1e11))
    return [record | {"device": "cuda"} for record in found]


def test_ours_and_copied_are_captured(records):
    found = {(r["case"], r["formulation"]) for r in summarize(records) if r["mode"] == "captured"}
    assert found == {(c, f) for c in ("counting", "zinc") for f in ("ours", "copied")}
    about = {"case": "counting", "formulation": "ours", "mode": "captured"}
    for quantity in ("step", "forward", "epoch"):
        assert find(records, quantity=quantity, **about)["value"] > 0


def test_what_cannot_be_captured_says_why(records):
    for quantity in ("step", "forward", "memory"):
        about = {"case": "zinc", "formulation": "copied", "mode": "captured"}
        failed = find(records, quantity=quantity, **about)
        assert failed["value"] is None and "cannot be captured" in failed["reason"]
    # Batch normalisation takes no batches of fixed shape: one batch is captured, an epoch is not.
    about = {"case": "zinc", "formulation": "ours", "mode": "captured"}
    assert find(records, quantity="step", **about)["value"] > 0
    assert find(records, quantity="epoch", **about) is None


def test_the_table_and_the_verdicts_name_the_modes(records):
    console = Console(width=150)
    with console.capture() as shown:
        console.print(tables(records))
    text = shown.get()
    assert "ours, captured*" in text and "ours, eager*" in text  # counting; ZINC
    assert "copied, captured: measure_captured: cannot be captured" in text
    numbers = {verdict.what: verdict.numbers for verdict in check(records)}
    assert "captured against captured" in numbers["counting, step: 10 x faster than copied"]
    assert "(eager:" in numbers["zinc, step: 10 x faster than copied"]
