"""The command `i2gnn`: finds the subcommand, runs it, turns errors into exit codes."""

import argparse
import io
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from rich.console import Console
from rich.logging import RichHandler

import i2gnn
from i2gnn.errors import InputError

__all__ = ["main", "run"]

COMMANDS = ("demo", "train", "count", "distinguish", "probe", "models", "bench", "reproduce")
"""One module of `i2gnn.cli` each: HELP, `add_arguments(parser)` and `execute(arguments) -> int`."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0 when done, 1 on failure, 2 on wrong use, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(prog="i2gnn", description="Graph neural networks that count.")
    parser.add_argument("--version", action="version", version=f"i2gnn {i2gnn.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = {name: import_module(f"i2gnn.cli.{name}") for name in COMMANDS}
    for name, module in modules.items():
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        add_common_arguments(command)
        module.add_arguments(command)
    try:
        arguments, unknown = parser.parse_known_args(argv)
        if unknown:  # the command's own usage helps more than that of all
            commands.choices[arguments.command].error(f"unknown arguments: {' '.join(unknown)}")
    except SystemExit as stop:  # argparse has printed the help or the mistake
        return int(stop.code or 0)
    try:
        with _notices(arguments.quiet):
            code = int(modules[arguments.command].execute(arguments))
            sys.stdout.flush()
            return code
    except (BrokenPipeError, SystemExit):  # whoever reads, such as head, has enough; rich exits
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (InputError, OSError, MemoryError) as error:
        print(f"i2gnn {arguments.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"i2gnn {arguments.command}: interrupted", file=sys.stderr)
        return 130


@contextmanager
def _notices(quiet: bool) -> Iterator[None]:
    """Shows warnings on stderr while a command runs; afterwards logging is as it was."""
    handler = RichHandler(console=Console(stderr=True), show_time=False, show_path=False)
    handler.setFormatter(logging.Formatter("%(message)s"))
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR if quiet else logging.WARNING)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def add_common_arguments(parser: argparse.ArgumentParser, again: bool = False) -> None:
    """The options that every command takes.

    Args:
        parser: Of the command.
        again: The parser is that of a subcommand; what is not given there stays as it was given
            to the command.
    """

    def usual(value: object) -> object:
        return argparse.SUPPRESS if again else value

    parser.add_argument(
        "--json",
        action="store_true",
        default=usual(False),
        help="print one JSON document on stdout",
    )
    parser.add_argument(
        "--quiet", action="store_true", default=usual(False), help="no progress bars and no notices"
    )
    parser.add_argument(
        "--data-root",
        metavar="DIR",
        default=usual(None),
        help="folder with data sets (or I2GNN_DATA)",
    )
    parser.add_argument("--device", default=usual("auto"), help="cpu, cuda or auto (default)")
    parser.add_argument("--seed", type=_seed, default=usual(0), help="random seed (default 0)")


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number from 0")
    return int(text)


def run() -> None:
    """Entry point of the installed script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # I²-GNN is I?-GNN where there is no such sign
            stream.reconfigure(errors="replace")
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # while it started
        sys.exit(130)
