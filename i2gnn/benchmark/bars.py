"""What the engine promises, checked against the records of one run."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from i2gnn.benchmark.ratios import find, times_better, value_of
from i2gnn.benchmark.records import Record

__all__ = ["PROMISED_GRAPHS", "TRAINING_EPOCHS", "Verdict", "check"]

PROMISED_GRAPHS = 256
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

    Ours counts in the mode in which `i2gnn.training.fit` trains the model, the copied formulation
    as it is published, that is, eager; the numbers name the other modes too.
    """
    device = records[0]["device"]
    verdicts = [
        _ratio(records, case, quantity, least) for (case, quantity), least in RATIOS[device].items()
    ]
    return [*verdicts, _training(records) if device == "cuda" else _extraction(records)]


def _ratio(records: Sequence[Record], case: str, quantity: str, least: float) -> Verdict:
    sense = f"at most 1/{least:g} of" if quantity == "memory" else f"{least:g} x faster than"
    what = f"{case}, {quantity}: {sense} copied"
    about: dict[str, Any] = {"case": case, "quantity": quantity}
    theirs = find(records, **about, formulation="copied", mode="eager")
    if theirs is None:
        return Verdict(what, None, "not measured")
    mode = theirs["trained_mode"]
    ours = find(records, **about, formulation="ours", mode=mode)
    ratio = times_better(records, case, quantity, "ours", mode)
    if ours is None or ratio is None:
        reason = None if ours is None else ours.get("reason")
        return Verdict(what, None if reason is None else False, reason or "not measured")
    numbers = f"{ratio:.1f} x ({mode}: {ours['value']:.3g}; copied: {theirs['value']:.3g} "
    numbers += f"{ours['unit']})"
    other = "eager" if mode == "captured" else "captured"
    for ours_mode, copied_mode in ((other, "eager"), ("captured", "captured")):
        also = times_better(records, case, quantity, "ours", ours_mode, copied_mode)
        if also is not None:
            numbers += f"; {ours_mode} against {copied_mode} {also:.1f} x"
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
