"""The records of a run as tables for people."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from i2gnn.benchmark.ratios import find, summarize, value_of
from i2gnn.benchmark.records import Record
from i2gnn.machine import machine_name

__all__ = ["tables"]

TITLES = {"counting": "Counting model", "zinc": "ZINC model"}

ROWS = (
    ("training step", "step", "step_ratio"),
    ("forward pass", "forward", "forward_ratio"),
    ("peak memory", "memory", "memory_ratio"),
    ("epoch of {epoch_graphs:,} graphs", "epoch", "epoch_ratio"),
)
"""Title, quantity, and the ratio to the copied formulation, shown below it."""

NOTES = """\
ours: each ego-net is stored once. copied: once per neighbour of its root, in plain PyG, as the \
published code does. Same graphs, weights, loss, optimizer and precision.
training step: gradients cleared, forward, loss, backward and Adam, on a batch that is ready. \
forward pass: without gradients. peak memory: the most that a step takes beside weights and batch. \
epoch: all steps, batches made on the way. times less: than copied, run plainly (eager).
step / roofline: how many times the least time in which this hardware can do the batch's work \
(i2gnn/benchmark/roofline.py).
errors: of outputs and gradients relative to float64, on {graphs} graphs; what the precision costs.
"""
CAPTURED = """\
captured: the step is recorded once as a CUDA graph and replayed, without Python; eager: run \
plainly. * marks how `i2gnn train` trains the model.
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
    copy = value_of(records, formulation="device", quantity="copy")
    product = value_of(records, formulation="device", quantity="product")
    return (
        f"{machine_name(first['hardware'])}; {first['precision']} products. "
        f"Measured ceilings: {copy:,.0f} GB/s (copy), "
        f"{product:,.2f} TFLOP/s (product)\n"
    )


def _case(records: Sequence[Record], case: str, rows: list[dict[str, Any]]) -> Table:
    about = find(records, case=case, quantity="step", formulation="roofline")
    assert about is not None, "every case has a roofline"
    sizes = about["sizes"]
    table = Table(
        title=f"{TITLES[case]}: {sizes['graphs']:,} graphs ({about['source']}), "
        f"{sizes['rows']:,} rows, {sizes['messages']:,} messages, "
        f"{about['layers']} layers, {about['width']} wide",
        title_justify="left",
    )
    table.add_column("")
    for row in rows:
        trained = row["formulation"] == "ours" and row["mode"] == about["trained_mode"]
        on_gpu = about["device"] == "cuda"
        mode = f", {row['mode']}" + ("*" if trained else "") if on_gpu else ""
        style = "bold" if trained else None
        table.add_column(row["formulation"] + mode, justify="right", style=style)
    epoch_graphs = next(
        r["epoch_graphs"] for r in records if "epoch_graphs" in r and r["case"] == case
    )
    for title, quantity, ratio in ROWS:
        shape = "{:,.0f} MB" if quantity == "memory" else "{:,.4g} ms"
        table.add_row(title.format(epoch_graphs=epoch_graphs), *_cells(rows, quantity, shape))
        table.add_row("  times less", *_cells(rows, ratio, "{:.1f} x"), style="dim")
    table.add_section()
    floor = f"step / roofline ({about['value']:,.3g} ms)"
    table.add_row(floor, *_cells(rows, "step_over_roofline", "{:.1f} x"))
    table.add_row("error of outputs", *_cells(rows, "output_error", "{:.1e}"))
    table.add_row("error of gradients", *_cells(rows, "gradient_error", "{:.1e}"))
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
    return notes + CAPTURED if records[0]["device"] == "cuda" else notes


def _cells(rows: list[dict[str, Any]], key: str, shape: str) -> Iterator[str]:
    return (_number(row[key], shape) for row in rows)


def _number(value: float | None, shape: str) -> str:
    return "-" if value is None else shape.format(value)
