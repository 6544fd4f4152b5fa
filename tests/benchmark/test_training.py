"""The comparison of whole training runs, on a few graphs."""

import json
from pathlib import Path

import pytest

from benchmarks import bench_training


def test_both_paths_learn_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs.jsonl"
    arguments = ["--device", "cpu", "--epochs", "2", "--graphs", "20", "--out", str(out)]
    arguments += ["--data-root", str(tmp_path)]
    assert bench_training.main([*arguments, "--seeds", "0"]) == 0  # not judged
    assert bench_training.main([*arguments, "--seeds", "0", "1"]) == 0
    printed = capsys.readouterr()
    assert "PASS" in printed.out and printed.err.count("seed 0, ours") == 1  # not repeated
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(r["seed"], r["formulation"]) for r in records] == [
        (seed, path) for seed in (0, 1) for path in ("ours", "reference ops")
    ]
    ours, reference = records[:2]
    assert ours["value"] == pytest.approx(reference["value"], rel=1e-3)
