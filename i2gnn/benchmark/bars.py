"""What the engine promises, checked against the records of one run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from i2gnn.benchmark.ratios import find, times_better, value_of
from i2gnn.benchmark.records import Record

__all__ = ["TRAINING_EPOCHS", "Verdict", "check"]

TRAINING_EPOCHS = 2000
TRAINING_SECONDS = 60.0
EXTRACTION_RATIO = 30.0
RATIOS = {
    "cuda": {
        ("counting", "step"): 10.0,
        ("counting", "forward"): 10.0,
        ("counting", "memory"): 6.0,
        ("zinc", "step"): 10.0,
        ("zinc", "memory"): 6.0,
    },
    "cpu": {
        ("counting", "step"): 3.0,
        ("counting", "memory"): 3.0,
        ("zinc", "step"): 3.0,
        ("zinc", "memory"): 3.0,
    },
}
"""How many times less than the copied formulation a step takes at least, by device."""


@dataclass(frozen=True)
class Verdict:
    """One promise.

    Attributes:
        what: The promise.
        passed: None where the run does not tell.
        numbers: What was measured.
    """

    what: str
    passed: bool | None
    numbers: str

    def __str__(self) -> str:
        word = {True: "PASS", False: "FAIL", None: "NOT CHECKED"}[self.passed]
        return f"{word}  {self.what}: {self.numbers}"


def check(records: Sequence[Record]) -> list[Verdict]:
    """Compares a run with what is promised for its device.

    On a GPU steps are captured, as `i2gnn.training.fit` runs them, and compared with the copied
    formulation as published, that is, eager; the numbers also name it captured.
    """
    device = records[0]["device"]
    mode = "captured" if device == "cuda" else "eager"
    verdicts = [
        _ratio(records, case, quantity, mode, least)
        for (case, quantity), least in RATIOS[device].items()
    ]
    if device == "cuda":
        return [*verdicts, _training(records)]
    return [*verdicts, _extraction(records)]


def _ratio(records: Sequence[Record], case: str, quantity: str, mode: str, least: float) -> Verdict:
    sense = f"at most 1/{least:g} of" if quantity == "memory" else f"{least:g} x faster than"
    what = f"{case}, {quantity}: {sense} copied"
    about: dict[str, Any] = {"case": case, "quantity": quantity}
    ours = find(records, **about, formulation="ours", mode=mode)
    theirs = find(records, **about, formulation="copied", mode="eager")
    if ours is None or theirs is None:
        return Verdict(what, None, "not measured")
    ratio = times_better(records, case, quantity, "ours", mode)
    if ratio is None:
        reasons = [r["reason"] for r in (ours, theirs) if "reason" in r]
        return Verdict(what, False, "; ".join(reasons))
    unit = ours["unit"]
    numbers = f"{ratio:.1f} x ({ours['value']:.3g} against {theirs['value']:.3g} {unit})"
    captured = times_better(records, case, quantity, "ours", mode, copied_mode="captured")
    if captured is not None:
        numbers += f"; against copied, captured: {captured:.1f} x"
    return Verdict(what, ratio >= least, numbers)


def _training(records: Sequence[Record]) -> Verdict:
    what = f"6-cycles, {TRAINING_EPOCHS:,} epochs with extraction in {TRAINING_SECONDS:g} s"
    run = find(records, quantity="training")
    if run is None:
        return Verdict(what, None, "not measured")
    numbers = f"{run['value']:.1f} s for {run['epochs']:,} epochs, kernels compiled before"
    cold, warm = (value_of(records, quantity="first_epoch", caches=c) for c in ("cold", "warm"))
    if cold is not None and warm is not None:
        numbers += f"; compiling them takes {cold - warm:.1f} s more, once"
    if run["epochs"] < TRAINING_EPOCHS:
        return Verdict(what, None, numbers)
    return Verdict(what, run["value"] <= TRAINING_SECONDS, numbers)


def _extraction(records: Sequence[Record]) -> Verdict:
    what = f"extraction {EXTRACTION_RATIO:g} x faster than the published implementation"
    about: dict[str, Any] = {"case": "counting", "quantity": "preprocessing"}
    ours = value_of(records, **about, formulation="ours")
    theirs = value_of(records, **about, formulation="published")
    if ours is None or theirs is None:
        return Verdict(what, None, "not measured")
    numbers = f"{theirs / ours:.0f} x ({ours:.3f} against {theirs:g} ms per graph, as stated)"
    return Verdict(what, theirs / ours >= EXTRACTION_RATIO, numbers)
