import io
import json
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from i2gnn.cli.main import main
from i2gnn.cli.tables.cells import result_tables
from i2gnn.cli.tables.counting import parse_time
from i2gnn.cli.tables.progress import _View, show_progress
from i2gnn.errors import InputError
from i2gnn.paper.counting import TABLES
from i2gnn.paper.plan import choose_experiments
from i2gnn.paper.presets import Preset
from i2gnn.paper.runner import Event
from i2gnn.paper.summary import Cell

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def command(tmp_path):
    """A table's command with its files below a temporary folder."""

    def run(table, *options):
        folders = ["--out", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
        root = ["--data-root", str(tmp_path), "--device", "cpu"]
        return main(["reproduce", table, "--quick", *folders, *root, *options])

    return run


def test_quick_table_list_and_report(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    part = ["--only", "cycle5", "--models", "mpnn", "i2gnn"]
    assert command("table2", *part, "--list") == 0
    out = capsys.readouterr().out
    assert "table2/quick-paper-counting-mpnn-cycle5-0: waiting" in out
    assert out.endswith("0 of 2 runs are done\n")
    assert command("table2", *part) == 0
    out, err = capsys.readouterr()
    assert "Base GNN" in out and "I²-GNN" in out and "0.2088" in out and "missing" not in out
    assert "[2/2] table2/quick-paper-counting-i2gnn-cycle5-0: done at epoch 2" in err
    assert command("figure-error", *part, "--json", "--quiet") == 0  # the same runs
    out, err = capsys.readouterr()
    assert [record["model"] for record in json.loads(out)] == ["mpnn", "i2gnn"] and not err
    assert main(["reproduce", "report", "--out", str(tmp_path / "results"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["filled"] == 0  # smoke tests are no results
    assert (tmp_path / "results" / "reproducing.md").is_file()
    assert not (tmp_path / "docs").exists()  # the page of the records of this work
    assert main(["reproduce", "report", "--quiet"]) == 0
    assert (tmp_path / "docs" / "reproducing.md").is_file()


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ("table3", ["--only", "clique4", "--models", "idgnn"]),
        ("table6", ["--only", "cycle3", "--models", "ppgn", "gnnak_plain"]),
        ("ablation", ["--only", "cycle3", "--models", "i2gnn_single", "i2gnn_id"]),
        ("search", ["--only", "cycle3", "--preset", "best-slow-additive", "best-smallest-batches"]),
        ("table2", ["--only", "cycle7", "--preset", "best"]),
    ],
)
def test_each_kind_of_table_runs(command, capsys, table, part):
    assert command(table, *part, "--json", "--quiet") == 0
    records = json.loads(capsys.readouterr().out)
    assert len(records) == (1 if table == "table3" else 2)
    assert all(record["table"] == table and record["epochs"] == 2 for record in records)


def test_failures_are_told_at_the_end(command, capsys, tmp_path):
    root = tmp_path / "chembl"
    root.mkdir()
    (root / "chembl_16200.smi").write_text("C1CC1\n")
    part = ["--only", "cycle3", "--models", "mpnn"]
    assert command("table2", *part) == 1
    out, err = capsys.readouterr()
    assert "missing" in out
    assert "failed: table2/quick-paper-chembl-mpnn-cycle3-0: InputError:" in err
    assert "SHA-256" in err


def test_smoke_tests_of_other_settings_are_made_again(command, capsys, tmp_path):
    part = ["--only", "cycle3", "--models", "mpnn", "--datasets", "counting", "--json", "--quiet"]
    assert command("table2", *part) == 0
    path = tmp_path / "results" / "table2" / "quick-paper-counting-mpnn-cycle3-0.json"
    record = json.loads(path.read_text())
    record["settings"]["training"]["batch_size"] = 5
    path.write_text(json.dumps(record))
    capsys.readouterr()
    assert command("table2", *part, "--jobs", "7") == 0
    (again,) = json.loads(capsys.readouterr().out)
    assert again["settings"]["training"]["batch_size"] == 4
    assert again["hardware"]["runs_at_once"] == 1  # as there is one


@pytest.mark.parametrize(
    ("text", "seconds"), [("540", 540), ("9m", 540), ("1.5h", 5400), ("20s", 20)]
)
def test_times(text, seconds):
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "9 minutes", "-1m", "0", "inf", "nan"])
def test_wrong_times(text):
    with pytest.raises(InputError, match="expected such as 540, 9m or 2h"):
        parse_time(text)


def test_wrong_use(command, capsys):
    assert command("table2", "--only", "cycle99") == 1
    assert "table2 has no target 'cycle99'; expected cycle3, cycle4" in capsys.readouterr().err
    assert command("table2", "--jobs", "0") == 1
    assert "--jobs is 0; expected at least 1" in capsys.readouterr().err
    assert main(["reproduce", "report", "--out", "no/such/folder"]) == 1
    assert main(["reproduce", "table99"]) == 2
    assert main(["reproduce"]) == 2


@pytest.mark.parametrize(
    ("device", "words"), [("cuda:99", "this machine has"), ("banana", "expected auto, cpu")]
)
def test_devices_are_checked_where_all_is_done_on_the_cpu(capsys, device, words):
    assert main(["reproduce", "table1", "--quick", "--device", device]) != 0
    assert words in capsys.readouterr().err


def test_the_view_of_all_runs():
    chosen = ["mpnn", "i2gnn"]
    experiments = choose_experiments(TABLES["table2"], targets=["cycle5"], models=chosen)
    experiments = [e for e in experiments if e.task.dataset == "counting"]
    view = _View(experiments, [Event(e.name, "waiting") for e in experiments])
    first, second, third, *_ = (e.name for e in experiments)
    view.take(Event(first, "running", 3, "val 0.5"))
    view.take(Event(second, "done", 2000))
    view.take(Event(third, "failed", 0, "no memory"))
    screen = io.StringIO()
    Console(file=screen, width=120).print(view.render())
    shown = screen.getvalue()
    assert "5-cycle" in shown and "▶" in shown and "✗" in shown
    assert "1/3" in shown and "0/3" in shown
    assert "3/2000" in shown and "4003/12000" in shown and "val 0.5" in shown
    view.take(Event(first, "done", 2000))
    screen.truncate(0)
    Console(file=screen, width=120).print(view.render())
    assert "3/2000" not in screen.getvalue()


def test_a_search_marks_the_lowest():
    table = TABLES["search"]
    tasks = table.tasks(Preset("best"))[:2]
    cells = [
        Cell(task, Preset(preset), values=(value,))
        for preset, value in (("best-small-batches", 0.3), ("best-slow", 0.1))
        for task in tasks
    ]
    cells.append(Cell(tasks[0], Preset("best-slower"), values=()))
    screen = io.StringIO()
    for part in result_tables(table, cells, 100):
        Console(file=screen, width=100).print(part)
    shown = screen.getvalue()
    assert shown.count("0.1000 * (1)") == 2 and "best-slower" not in shown  # without a record
    assert "0.3000 (1)" in shown and "validation MAE" in shown and "goal" not in shown


@pytest.mark.slow  # each process imports everything anew
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_side_by_side_runs_stop_at_checkpoints(tmp_path, capsys, command, sent):
    """After Ctrl-C, and after the first process was killed."""
    part = ["--only", "cycle3", "--models", "mpnn", "i2gnn", "--epochs", "1000000"]
    folders = ["--out", str(tmp_path / "results"), "--runs", str(tmp_path / "runs")]
    # Python leaves a signal alone that was ignored where the tests were started.
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    start += "from i2gnn.cli.main import run; run()"
    arguments = ["reproduce", "table2", "--quick", "--jobs", "2", "--device", "cpu", "--quiet"]
    line = [sys.executable, "-c", start, *arguments, *folders, *part]
    deadline = time.monotonic() + 300
    process = subprocess.Popen([*line, "--data-root", str(tmp_path)])
    try:
        while len(logs := list((tmp_path / "runs").rglob("log.csv"))) < 2 or any(
            log.read_bytes().count(b"\n") < 5 for log in logs
        ):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(sent)
        assert process.wait(100) == (130 if sent == signal.SIGINT else -sent)
    finally:
        process.kill()
        process.wait()
    while len(list((tmp_path / "runs").rglob("checkpoint.safetensors"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert not list((tmp_path / "runs").rglob("*.error.txt"))
    assert command("table2", *part, "--list") == 0
    assert capsys.readouterr().out.count("stopped at epoch") == 2


def test_no_view_if_quiet(capsys):
    with show_progress([], [], enabled=False) as notify:
        notify(Event("x", "running"))
    assert capsys.readouterr().err == ""


def test_rows_of_models_stay_apart_where_the_paper_has_no_number():
    table = TABLES["table2"]
    tasks = [task for task in table.tasks(Preset("best")) if task.target in ("cycle6", "cycle7")]
    cells = [
        Cell(task, Preset("best-small-batches"), values=(0.5,), paper=table.published.get(task))
        for task in tasks
        if task.dataset == "counting"
    ]
    screen = io.StringIO()
    for part in result_tables(table, cells, 100):
        Console(file=screen, width=100).print(part)
    shown = screen.getvalue()
    assert (
        shown.count("I²-GNN") == shown.count("I³-GNN") == 1
        and shown.count("best-small-batches") == 2
    )
