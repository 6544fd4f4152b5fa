"""The record of `measure_complexity` as tables for people."""

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table

from i2gnn.machine import machine_name

__all__ = ["tables"]

NOTES = """\
counted: those of linear layers and GRU cells, as the paper counts; all: every weight. memory: \
the most that a forward pass takes beside weights and batch ({memory}). time: of a forward pass \
over a batch that is ready, as is all that ops derive from it; median of {rounds} after warm-up.
theory: layers (messages D + rows D²) multiplications at width D, over those of MPNN; a row is a \
state (for PPGN a pair of nodes), a message a term of a sum (of a matrix product). Theory leaves \
out constants, and the time of calls, which counts most in the shortest pass, MPNN's.
over theory: ours over theory. per row: time over rows, over that of MPNN. states: memory over \
that of one layer's rows, below 1 where kernels hold no states of rows.
"""


def tables(record: dict[str, Any]) -> Group:
    """The paper's table beside ours, ours beside theory, and what the columns mean."""
    machine, sizes = record["hardware"], record["sizes"]
    title = (
        f"Cost of a forward pass: {sizes['graphs']:,} graphs ({record['dataset']}), "
        f"{sizes['nodes']:,} nodes, {sizes['edges']:,} directed edges\n"
        f"paper: on a GPU that it does not name; ours: on {machine_name(machine)}, "
        f"{record['settings']['precision']} products\n"
    )
    measured = "PyTorch's allocator" if machine["device"] == "cuda" else "resident set"
    notes = NOTES.format(memory=measured, rounds=record["settings"]["rounds"])
    deviations = "\n".join(f"- {deviation}" for deviation in record["deviations"])
    return Group(
        title,
        _measured(record["models"]),
        _theory(record["models"]),
        _branches(record["models"]),
        notes,
        f"Other than in the paper:\n{deviations}",
    )


def _measured(models: list[dict[str, Any]]) -> Table:
    table = _table(
        "weights\npaper",
        "\ncounted",
        "\nall",
        "memory\npaper, GB",
        "\nours, MB",
        "time\npaper, ms",
        "\nours, ms",
    )
    for model in models:
        published = model["published"]
        table.add_row(
            model["title"],
            published["parameters"],
            f"{model['parameters_counted']:,}",
            f"{model['parameters']:,}",
            f"{published['memory_gb']:.2f}",
            f"{model['memory_mb']:,.1f}",
            f"{published['time_ms']:.2f}",
            f"{model['time_ms']:,.2f}",
        )
    return table


def _theory(models: list[dict[str, Any]]) -> Table:
    table = _table(
        "rows",
        "messages",
        "times MPNN\ntheory",
        "\nours",
        "\npaper",
        "over\ntheory",
        "per\nrow",
        "states",
    )
    for model in models:
        times = model["times_base"]
        table.add_row(
            model["title"],
            f"{model['rows']:,}",
            f"{model['messages']:,}",
            *(f"{times[whose]:,.1f}" for whose in ("theory", "ours", "paper")),
            f"{model['ours_over_theory']:.2f}",
            f"{model['time_per_row_times_base']:.2f}",
            f"{model['memory_over_states']:,.1f}",
        )
    return table


def _branches(models: list[dict[str, Any]]) -> str:
    """What the second identifier costs."""
    by_name = {model["name"]: model["times_base"] for model in models}
    two, one = by_name["i2gnn"], by_name["subgraph_mpnn"]
    ratios = {whose: two[whose] / one[whose] for whose in two}
    return (
        f"I²-GNN over NGNN: {ratios['theory']:.1f} in theory, {ratios['ours']:.1f} here, "
        f"{ratios['paper']:.1f} in the paper.\n"
    )


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False)  # fits 80 characters
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table
