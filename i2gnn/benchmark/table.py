"""The records of a run as tables for people."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from i2gnn.benchmark.ratios import find, summarize, value_of
from i2gnn.benchmark.records import Record

__all__ = ["tables"]

TITLES = {"counting": "Counting model", "zinc": "ZINC model"}

NOTES = """\
ours: each ego-net is stored once; copied: once per neighbour of its root, in plain PyG, as the \
published code does. Same graphs, weights, loss, optimizer and precision.
step: gradients cleared, forward, loss, backward and Adam on a batch that is ready; forward: \
without gradients; memory: the most that a step takes beside weights and batch; epoch: all steps, \
batches made on the way. In brackets: how many times less than copied, run plainly.
roofline: how many times the least time that the hardware needs for the batch's bytes and \
operations a step takes (i2gnn/benchmark/roofline.py).
errors: of outputs and gradients, relative to float64, on {graphs} graphs: what the precision \
costs.\
"""
CAPTURED = """\
captured: the step is recorded once as a CUDA graph and replayed, without Python; this is how \
`i2gnn train` trains.\
"""


def tables(records: Sequence[Record]) -> Group:
    """One table per case, pre-processing, and what the columns mean."""
    rows = summarize(records)
    shown: list[RenderableType] = [_device(records)]
    for case in dict.fromkeys(row["case"] for row in rows):
        shown += [_case(records, case, [row for row in rows if row["case"] == case]), ""]
    shown += [_preprocessing(records), "", _notes(records)]
    failed = {f"{r['formulation']}, captured: {r['reason']}" for r in records if "reason" in r}
    return Group(*shown, *(f"not measured: {reason}" for reason in sorted(failed)))


def _device(records: Sequence[Record]) -> str:
    first = records[0]
    machine = first["hardware"]
    name = machine.get("gpu") or f"{machine['cpu']}, {machine['threads']} threads"
    copy = value_of(records, formulation="device", quantity="copy")
    product = value_of(records, formulation="device", quantity="product")
    return (
        f"{name}; {first['precision']} products. Measured ceilings: {copy:,.0f} GB/s (copy), "
        f"{product:,.2f} TFLOP/s (product)\n"
    )


def _case(records: Sequence[Record], case: str, rows: list[dict[str, Any]]) -> Table:
    step = find(records, case=case, quantity="step", formulation="roofline")
    assert step is not None, "every case has a roofline"
    sizes = step["sizes"]
    table = Table(
        title=f"{TITLES[case]}: {sizes['graphs']:,} graphs ({step['source']}), "
        f"{sizes['rows']:,} rows, {sizes['messages']:,} messages, "
        f"{step['layers']} layers, {step['width']} wide",
        title_justify="left",
    )
    table.add_column("formulation")
    for name in (
        "step",
        "forward",
        "memory",
        "epoch",
        "roofline",
        "output error",
        "gradient error",
    ):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row["formulation"] + (", captured" if row["mode"] == "captured" else ""),
            _time(row, "step"),
            _time(row, "forward"),
            _cell(row, "memory", f"{row['memory'] or 0:,.0f} MB"),
            _time(row, "epoch"),
            _number(row["step_over_roofline"], "{:.1f} x"),
            _number(row["output_error"], "{:.1e}"),
            _number(row["gradient_error"], "{:.1e}"),
            style="bold" if row["formulation"] == "ours" else None,
        )
    return table


def _preprocessing(records: Sequence[Record]) -> Table:
    table = Table(title="Extraction, milliseconds per graph", title_justify="left")
    found = [r for r in records if r["quantity"] == "preprocessing"]
    cases = list(dict.fromkeys(r["case"] for r in found))
    table.add_column("")
    for case in cases:
        table.add_column(TITLES[case], justify="right")
    notes = {
        "ours": "ours: two identifiers, labels",
        "PyG RootedEgoNets": "PyG RootedEgoNets: one identifier, no labels",
        "published": "published code: as stated, not measured here",
    }
    for name, note in notes.items():
        values = (
            value_of(records, quantity="preprocessing", formulation=name, case=case)
            for case in cases
        )
        table.add_row(note, *(_number(value, "{:.3f}") for value in values))
    return table


def _notes(records: Sequence[Record]) -> str:
    compared = next((r["graphs"] for r in records if r["quantity"] == "output_error"), 0)
    notes = NOTES.format(graphs=compared)
    return f"{notes}\n{CAPTURED}" if records[0]["device"] == "cuda" else notes


def _time(row: dict[str, Any], quantity: str) -> str:
    milliseconds = row[quantity] or 0.0
    text = f"{milliseconds:.2f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.2f} s"
    return _cell(row, quantity, text)


def _cell(row: dict[str, Any], quantity: str, text: str) -> str:
    if row[quantity] is None:
        return "-"
    return f"{text} ({_number(row[f'{quantity}_ratio'], '{:.1f}')})"


def _number(value: float | None, shape: str) -> str:
    return "-" if value is None else shape.format(value)
