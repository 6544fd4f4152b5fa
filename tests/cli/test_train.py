import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from i2gnn.cli.main import main
from i2gnn.training import Checkpoint, RunConfig
from tests.training.test_loop import assert_same_run

EPOCHS = 30
CONFIG = f"""
data: {{count: 40, targets: [cycle3]}}
model: {{name: i2gnn, hidden_channels: 8, num_layers: 2, hops: 1}}
training: {{epochs: {EPOCHS}, batch_size: 4, device: cpu, checkpoint_seconds: 0.05}}
"""


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(CONFIG)
    return path


def test_a_killed_run_goes_on_exactly(
    tmp_path: Path, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    start = "from i2gnn.cli.main import run; run()"
    command = [sys.executable, "-c", start, "train", "--quiet", "--config", str(config)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # sums depend on the number of threads
    with subprocess.Popen([*command, "--run-dir", str(killed)], env=environment) as process:
        log, deadline = killed / "log.csv", time.monotonic() + 120
        while not (log.exists() and log.read_bytes().count(b"\n") > EPOCHS // 4):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert 0 < Checkpoint.load(killed / "checkpoint.safetensors").epoch < EPOCHS
    assert not (killed / "result.json").exists()

    arguments = ["train", "--quiet", "--json", "--config", str(config), "--resume", "--run-dir"]
    records = []
    for folder in (killed, whole):
        assert main([*arguments, str(folder)]) == 0
        records.append(json.loads(capsys.readouterr().out))
    assert_same_run(killed, whole)
    assert records[0]["test"] == records[1]["test"]
    assert records[0]["epochs"] == EPOCHS


def test_result_table_and_second_run(
    tmp_path: Path,
    config: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    config.write_text(CONFIG.replace(f"epochs: {EPOCHS}", "epochs: 2"))
    assert main(["train", "--config", str(config), "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert "cycle3" in out and "normalised MAE" in out and "files in runs/small" in out
    written = RunConfig.from_yaml(tmp_path / "runs" / "small" / "config.yaml")
    assert written.training.seed == 3

    assert main(["train", "--config", str(config), "--seed", "3"]) == 1
    assert "already holds a run" in capsys.readouterr().err
    assert main(["train", "--config", str(config), "--resume"]) == 1
    assert "training.seed (was 3, is 0)" in capsys.readouterr().err


def test_print_config(capsys: pytest.CaptureFixture[str], config: Path) -> None:
    assert main(["train", "--print-config"]) == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    assert RunConfig.from_dict(printed) == RunConfig()
    assert main(["train", "--print-config", "--json"]) == 0
    assert RunConfig.from_dict(json.loads(capsys.readouterr().out)) == RunConfig()
    assert main(["train", "--print-config", "--config", str(config), "--device", "cpu"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["training"]["epochs"] == EPOCHS


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train"]) == 2
    assert "--config" in capsys.readouterr().err
    assert main(["train", "--config", str(tmp_path / "none.yaml")]) == 1
    assert "none.yaml: no such file" in capsys.readouterr().err
    path = tmp_path / "bad.yaml"
    path.write_text("training: {epoch: 3}")
    assert main(["train", "--config", str(path)]) == 1
    assert "bad.yaml: unknown key training.epoch; expected one of" in capsys.readouterr().err


def test_resume_needs_no_file_of_settings(tmp_path: Path, capsys, config: Path) -> None:
    folder = str(tmp_path / "run")
    assert main(["train", "--config", str(config), "--run-dir", folder, "--quiet"]) == 0
    first = capsys.readouterr().out
    assert main(["train", "--run-dir", folder, "--resume", "--quiet"]) == 0
    assert capsys.readouterr().out == first
    assert main(["train", "--run-dir", str(tmp_path / "none"), "--resume"]) == 2
