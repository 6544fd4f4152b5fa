import json
import resource
from pathlib import Path

import pandas as pd
import pytest

from i2gnn.cli.count import FORMATS
from i2gnn.cli.main import main
from i2gnn.graphs import readers
from tests.helpers import data_root

MIXED = "C1CC1C\nC1CC\nc1ccccc1\nfoo\n"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    path = tmp_path / "mixed.smi"
    path.write_text(MIXED)
    return path


def test_bad_lines_are_reported_and_skipped(
    mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["count", str(mixed), "--what", "cycle3,cycle6", "--level", "graph"]) == 0
    out, err = capsys.readouterr()
    assert "cycle6" in out
    assert "skipped line 2: 'C1CC': not a valid SMILES" in err
    assert err.splitlines()[-1] == "2 graphs, 2 rows, 2 records skipped"


def test_strict_stops_and_writes_nothing(mixed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = mixed.parent / "out.csv"
    assert main(["count", str(mixed), "--strict", "--out", str(out)]) == 1
    assert "line 2" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_tables_keep_the_numbers_of_the_input(mixed: Path, ending: str) -> None:
    out = mixed.parent / f"out.{ending}"
    what = ["--what", "cycle3..cycle6", "--level", "edge"]
    assert main(["count", str(mixed), *what, "--out", str(out), "--quiet"]) == 0
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "json": pd.read_json}[ending]
    frame = read(out)
    columns = ["graph", "source", "target", "cycle3", "cycle4", "cycle5", "cycle6"]
    assert list(frame.columns) == columns
    assert frame["graph"].tolist() == [0] * 4 + [2] * 6
    assert frame["cycle3"].tolist() == [1, 1, 1, 0] + [0] * 6
    assert frame["cycle6"].tolist() == [0] * 4 + [1] * 6


def test_json_is_one_document(mixed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", str(mixed), "--what", "cycle3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["graphs"] == 2
    assert document["skipped"] == 2
    assert document["problems"][0]["line"] == 2
    assert document["mean_per_graph"] == {"cycle3": 0.5}
    assert document["table"][0] == {"graph": 0, "node": 0, "cycle3": 1}
    assert len(document["table"]) == 10


def test_own_patterns(mixed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tail = "tail=0-1,1-2,2-0,0-3@3"
    own = ["--what", "cycle3", "--pattern", tail, "--induced-pattern", "wedge=0-1,1-2@1"]
    assert main(["count", str(mixed), *own, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["what"] == ["cycle3", "tail", "wedge"]
    assert document["total"] == {"cycle3": 1, "tail": 1, "wedge": 8}


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_drawing(mixed: Path, ending: str) -> None:
    out = mixed.parent / f"out.{ending}"
    what = ["--what", "cycle3,cycle6", "--draw", str(out), "--quiet"]
    assert main(["count", str(mixed), *what]) == 0
    text = out.read_text()
    assert text.count("<svg") == 4 + (ending == "svg")
    assert text.count("cycle6") == 2


def test_drawing_needs_molecules_and_nodes(mixed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", str(mixed), "--draw", "a.svg", "--level", "edge"]) == 1
    edges = mixed.parent / "edges.txt"
    edges.write_text("0 1\n")
    assert main(["count", str(edges), "--draw", str(mixed.parent / "a.svg")]) == 1
    assert "only molecules can be drawn" in capsys.readouterr().err
    assert not (mixed.parent / "a.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([".", "--what", "cycle3"], 1, "is a directory"),
        (["missing.smi"], 1, "no such file"),
        (["missing.smi", "--what", "cycle99"], 1, "unknown substructure 'cycle99'"),
        (["missing.smi", "--pattern", "x"], 1, "expected for example"),
        (["missing.smi", "--level", "atom"], 2, "invalid choice"),
        ([], 2, "required: input"),
    ],
)
def test_mistakes_end_in_one_sentence(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["count", *arguments]) == code
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    if code == 1:
        assert len(err.strip().splitlines()) == 1


def test_a_file_without_any_graph_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.smi"
    path.write_text("foo\nbar(\n")
    out = tmp_path / "out.csv"
    assert main(["count", str(path), "--out", str(out), "--quiet"]) == 1
    assert "no graph could be read; 2 skipped" in capsys.readouterr().err
    assert not out.exists()


def test_chembl_prints_the_averages_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    root = data_root()
    if root is None:
        pytest.skip("no real data: set I2GNN_DATA to the folder that holds it")
    path = str(root / "chembl" / "chembl_16200.smi")
    assert main(["count", path, "--what", "cycle3..cycle6", "--level", "graph"]) == 0
    out = capsys.readouterr().out
    for mean in ("0.0602", "0.0281", "0.6908", "1.7186"):
        assert mean in out


@pytest.mark.slow
def test_a_long_file_runs_in_constant_memory(tmp_path: Path) -> None:
    short, path, out = (tmp_path / name for name in ("short.smi", "long.smi", "out.csv"))
    short.write_text("CC1CCC(=O)c2ccccc12\n" * 20_000)
    path.write_text("CC1CCC(=O)c2ccccc12\n" * 60_000)
    arguments = ["--what", "cycle6", "--level", "graph", "--out", str(out), "--quiet"]
    assert main(["count", str(short), *arguments]) == 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert main(["count", str(path), *arguments]) == 0
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 30_000  # kilobytes, for three times the input
    assert len(out.read_text().splitlines()) == 60_001


def test_formats_are_those_that_can_be_read() -> None:
    assert tuple(readers.FORMATS) == FORMATS


def test_numbers_are_never_cut(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    path = tmp_path / "one.smi"
    path.write_text("C" * 40)
    assert main(["count", str(path), "--what", "orbit0..orbit14,path2", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert not err and out.count("orbit14") == 2  # in the table, and among the means
    assert all(len(line) <= 60 for line in out.splitlines())
    assert "┃ orbit10 ┃" in out


def test_a_file_of_another_kind_does_not_flood(tmp_path: Path, capsys) -> None:
    path = tmp_path / "names.txt"
    path.write_text("0 1\n" + "a b\n" * 1000)
    assert main(["count", str(path), "--what", "cycle3"]) == 0
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 12 and err[-2].startswith("... and more; is it another --format")
    assert "1000 records skipped" in err[-1]


def test_headers_may_be_written_otherwise(tmp_path: Path, capsys) -> None:
    edges, molecules = tmp_path / "edges.csv", tmp_path / "molecules.csv"
    edges.write_text("Source, Target,Weight\n0,1,3\n1,2,1\n2,0,1\n")
    molecules.write_text("name,SMILES\na,C1CC1\n")
    for path in (edges, molecules):
        options = ["--what", "cycle3", "--level", "graph", "--json"]
        column = ["--column", "smiles"] if path is molecules else []
        assert main(["count", str(path), *options, *column]) == 0
        assert json.loads(capsys.readouterr().out)["total"] == {"cycle3": 1}


def test_nodes_may_have_names(tmp_path: Path, capsys) -> None:
    path, out = tmp_path / "friends.txt", tmp_path / "out.csv"
    path.write_text(
        "# who knows whom\nanna bert\nbert Zoë\nZoë anna\nZoë 999999999999\nanna bert\n"
    )
    what = ["--what", "cycle3,path2", "--format", "names", "--out", str(out), "--quiet"]
    assert main(["count", str(path), *what]) == 0
    table = pd.read_csv(out, dtype={"node": str}).set_index("node")
    assert table.loc["999999999999", ["cycle3", "path2"]].tolist() == [0, 2]
    assert table["cycle3"].to_dict() == {"anna": 1, "bert": 1, "Zoë": 1, "999999999999": 0}
    assert main(["count", str(path), *what, "--level", "edge"]) == 0
    ends = pd.read_csv(out)[["source", "target"]].astype(str)
    assert {"Zoë", "anna"} in [set(pair) for pair in ends.to_numpy().tolist()]
    capsys.readouterr()
    assert main(["count", str(path), "--what", "cycle3"]) == 1
    assert "expected two node numbers" in capsys.readouterr().err
    path.write_text("anna,bert\nanna,\nbert\n")
    assert main(["count", str(path), "--what", "path2", "--format", "names", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [p["line"] for p in found["problems"]] == [2, 3] and found["rows"] == 2
    for nothing in ("", "# nothing\n", "anna\nbert\n"):
        path.write_text(nothing)
        assert main(["count", str(path), "--what", "cycle3", "--format", "names"]) == 1
        assert "no edges" in (err := capsys.readouterr().err) or "empty" in err
