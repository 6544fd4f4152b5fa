"""A quick run through the command: what it writes, and what it prints."""

import contextlib
import io
import json
import statistics

import pytest
import torch

from i2gnn.cli.main import main
from i2gnn.models import REGISTRY
from i2gnn.models.registry import count_parameters, count_published
from i2gnn.paper import ComplexitySettings, complexity
from i2gnn.paper.complexity import PUBLISHED

COMMAND = ["reproduce", "complexity", "--quick", "--device", "cpu", "--quiet", "--seed", "3"]
TITLES = ["MPNN", "ID-GNN", "NGNN", "GNNAK+", "I²-GNN", "PPGN"]


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """The record and the tables of one run on generated graphs."""
    folder = tmp_path_factory.mktemp("complexity")
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("COLUMNS", "80")
        assert main([*COMMAND, "--data-root", str(folder), "--out", str(folder)]) == 0
    (path,) = folder.rglob("*.json")
    assert path == folder / "complexity" / "quick-cpu.json"
    return json.loads(path.read_text()), printed.getvalue()


def test_the_record_says_what_was_measured_on_what(output):
    record, _ = output
    assert (record["table"], record["preset"], record["seed"]) == ("complexity", "quick", 3)
    assert record["dataset"] == "generated" and record["sizes"]["graphs"] == 16
    assert record["settings"]["precision"] == "float32"
    assert record["hardware"]["cpu"] and record["versions"]["torch"]
    assert any("generated" in deviation for deviation in record["deviations"])


def test_all_six_models_are_measured(output):
    record, _ = output
    assert [model["title"] for model in record["models"]] == TITLES
    for model in record["models"]:
        assert model["time_ms"] == pytest.approx(statistics.median(model["samples_ms"]), abs=1e-3)
        assert model["time_ms"] > 0 and model["memory_mb"] > 0
    # Kernels of gated layers need not hold any states; PPGN's products are plain PyTorch and must.
    assert 1 < record["models"][-1]["memory_over_states"] < 20


def test_parameters_are_counted_as_in_the_paper(output):
    record, _ = output
    for model in record["models"]:
        built = REGISTRY[model["name"]].build()
        assert model["parameters"] == count_parameters(built)
        assert model["parameters_counted"] == count_published(built)
        published = 1000 * int(model["published"]["parameters"].removesuffix("k"))
        assert abs(model["parameters_counted"] - published) < 1000


def test_theory_is_that_of_the_batch(output):
    record, _ = output
    models = {model["name"]: model for model in record["models"]}
    nodes, edges = record["sizes"]["nodes"], record["sizes"]["edges"]
    assert (models["mpnn"]["rows"], models["mpnn"]["messages"]) == (nodes, edges)
    assert models["subgraph_mpnn"]["rows"] == models["gnnak_plain"]["rows"] > 5 * nodes
    degree = edges / nodes
    branches = models["i2gnn"]["rows"] / models["subgraph_mpnn"]["rows"]
    assert branches == pytest.approx(degree, rel=0.2)  # degree and size of ego-nets go together
    ngnn, base = models["subgraph_mpnn"], models["mpnn"]
    assert ngnn["times_base"] == {
        "theory": ngnn["multiplications"] / base["multiplications"],
        "ours": ngnn["time_ms"] / base["time_ms"],
        "paper": 6.03 / 2.10,
    }
    assert ngnn["ours_over_theory"] == pytest.approx(
        ngnn["times_base"]["ours"] / ngnn["times_base"]["theory"]
    )
    assert ngnn["time_per_row_times_base"] == pytest.approx(
        (ngnn["time_ms"] / ngnn["rows"]) / (base["time_ms"] / base["rows"])
    )


def test_the_tables_show_the_paper_beside_ours(output):
    record, printed = output
    assert max(map(len, printed.splitlines())) <= 80
    for model in record["models"]:
        rows = [
            line.split() for line in printed.splitlines() if line.split()[:1] == [model["title"]]
        ]
        measured, theory = (cells for _, *cells in rows if cells[0][0].isdigit())
        published, times = model["published"], model["times_base"]
        assert measured == [
            published["parameters"],
            f"{model['parameters_counted']:,}",
            f"{model['parameters']:,}",
            f"{published['memory_gb']:.2f}",
            f"{model['memory_mb']:,.1f}",
            f"{published['time_ms']:.2f}",
            f"{model['time_ms']:,.2f}",
        ]
        assert theory[:2] == [f"{model['rows']:,}", f"{model['messages']:,}"]
        assert theory[2:5] == [f"{times[whose]:,.1f}" for whose in ("theory", "ours", "paper")]
    words = " ".join(printed.split())
    assert "on a GPU that it does not name" in words and "3.4 in the paper" in words
    assert all(deviation in words for deviation in record["deviations"])


def test_json_is_one_document(output, monkeypatch, capsys):
    record, _ = output
    given = {}

    def measured(settings, progress):
        given.update(settings=settings, progress=progress)
        return record

    monkeypatch.setattr("i2gnn.paper.measure_complexity", measured)
    assert main(["reproduce", "complexity", "--json", "--device", "cpu"]) == 0
    assert json.loads(capsys.readouterr().out) == record
    assert given == {"settings": ComplexitySettings(device="cpu", graphs=256), "progress": True}


def test_each_model_has_a_process_of_its_own_unless_quick(tmp_path, monkeypatch):
    asked = []

    def here(function, names, settings, environment):
        asked.append(tuple(names))
        assert settings.graphs == 2 and "MALLOC_MMAP_THRESHOLD_" in environment
        return dict.fromkeys(names, 10**6)

    monkeypatch.setattr(complexity, "in_new_process", here)
    settings = ComplexitySettings(device="cpu", graphs=2, rounds=1, data_root=str(tmp_path))
    record = complexity.measure_complexity(settings)
    assert asked == [(name,) for name in PUBLISHED]
    assert record["preset"] == "paper" and record["models"][0]["memory_mb"] == 1


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_memory_of_a_gpu_is_that_of_its_allocator(tmp_path):
    settings = ComplexitySettings(device="cuda", graphs=16, rounds=1, data_root=str(tmp_path))
    record = complexity.measure_complexity(settings)
    assert record["hardware"]["gpu"] and "TF32 matrix products" in record["deviations"]
    for model in record["models"]:
        assert model["memory_mb"] > 0 and model["time_ms"] > 0
    assert 1 < record["models"][-1]["memory_over_states"] < 20


def test_an_unknown_table_is_wrong_use(capsys):
    assert main(["reproduce", "table99"]) == 2
    assert "complexity" in capsys.readouterr().err
