"""The command itself, whatever it runs."""

import logging

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
