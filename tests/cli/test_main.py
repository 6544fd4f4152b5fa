"""The command itself, whatever it runs."""

import logging
import os
import subprocess
import sys

import pytest

from i2gnn.cli.main import main


@pytest.mark.parametrize("options", [[], ["--quiet"], ["--seed", "-1"]])
def test_logging_is_left_as_it_was(options, capsys):
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    main(["count", "no-such-file.csv", *options])
    assert (root.level, list(root.handlers)) == before


def test_notices_are_shown_unless_quiet(tmp_path, capsys):
    file = tmp_path / "molecules.smi"
    file.write_text("CCO\nnot-a-molecule\nC1CC1\n")
    arguments = ["count", str(file), "--what", "cycle3"]
    for options, shown in ([], True), (["--quiet"], False):
        main([*arguments, *options])
        assert ("not-a-molecule" in capsys.readouterr().err) is shown


def test_unknown_arguments_show_the_usage_of_the_command(capsys):
    assert main(["count", "graphs.g6", "--wat", "cycle3"]) == 2
    error = capsys.readouterr().err
    assert "usage: i2gnn count" in error and "unknown arguments: --wat cycle3" in error


def run(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.replace("i2gnn", f"{sys.executable} -c '{RUN}'")],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


RUN = "from i2gnn.cli.main import run; run()"


def test_output_may_be_cut_off():
    done = run("i2gnn models | head -1")
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 1)


def test_output_without_the_signs_it_would_take():
    done = run("i2gnn models", PYTHONIOENCODING="ascii")
    assert done.returncode == 0 and "i2gnn" in done.stdout


def test_numbers_are_asked_for(capsys):
    assert main(["models", "--seed", "one"]) == 2
    assert "'one'; expected a whole number from 0" in capsys.readouterr().err
    assert main(["reproduce", "brec", "--pairs", "5"]) == 2
    assert "'5' holds no pairs; expected such as 0:100" in capsys.readouterr().err
