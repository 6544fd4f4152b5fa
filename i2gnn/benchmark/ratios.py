"""Numbers and ratios out of the records of one run."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from i2gnn.benchmark.cases import CASES
from i2gnn.benchmark.formulations import FORMULATIONS, MODES
from i2gnn.benchmark.records import Record

__all__ = ["find", "over_roofline", "summarize", "times_better", "value_of"]


def find(records: Sequence[Record], **fields: Any) -> Record | None:
    """The record with these fields, or None."""
    found = [record for record in records if fields.items() <= record.items()]
    assert len(found) < 2, f"{len(found)} records with {fields}"
    return found[0] if found else None


def value_of(records: Sequence[Record], **fields: Any) -> float | None:
    """The value of the record with these fields; None if there is none."""
    record = find(records, **fields)
    return None if record is None else record["value"]


def times_better(
    records: Sequence[Record],
    case: str,
    quantity: str,
    formulation: str,
    mode: str,
    copied_mode: str = "eager",
) -> float | None:
    """How many times less a formulation takes than the copied one; None if that is not known."""
    ours = value_of(records, case=case, quantity=quantity, formulation=formulation, mode=mode)
    theirs = value_of(records, case=case, quantity=quantity, formulation="copied", mode=copied_mode)
    # A tiny batch may fit into memory that the process already has: no growth, no ratio.
    return None if not ours or theirs is None else theirs / ours


def over_roofline(
    records: Sequence[Record], case: str, quantity: str, formulation: str, mode: str
) -> float | None:
    """How many times the least time a step or a forward pass takes."""
    floor = value_of(records, case=case, quantity=quantity, formulation="roofline")
    found = value_of(records, case=case, quantity=quantity, formulation=formulation, mode=mode)
    return None if floor is None or found is None else found / floor


def summarize(records: Sequence[Record]) -> list[dict[str, Any]]:
    """One row per case, formulation and mode, as tables show it."""
    rows = []
    found = {(r["case"], r["formulation"], r["mode"]) for r in records}
    for case, formulation, mode in (
        key for key in product(CASES, FORMULATIONS, MODES) if key in found
    ):
        row: dict[str, Any] = {"case": case, "formulation": formulation, "mode": mode}
        about = {"case": case, "formulation": formulation, "mode": mode}
        for quantity in ("step", "forward", "memory", "epoch"):
            row[quantity] = value_of(records, quantity=quantity, **about)
            row[f"{quantity}_ratio"] = times_better(records, quantity=quantity, **about)
        for quantity in ("step", "forward"):
            row[f"{quantity}_over_roofline"] = over_roofline(records, quantity=quantity, **about)
        for quantity in ("output_error", "gradient_error"):
            row[quantity] = value_of(records, quantity=quantity, **about)
        rows.append(row)
    return rows
