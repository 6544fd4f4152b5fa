"""RPC over many pairs: a line of JSON per pair as it is done, in a folder that processes share.

A folder holds one run: `settings.json`, and one file of lines for every range of pairs that was
asked for. Whoever starts again, with the same or another range, goes on with what is not there.
"""

import dataclasses
import json
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from i2gnn.errors import InputError
from i2gnn.expressiveness.datasets import PairSet
from i2gnn.expressiveness.rpc import RPCSettings, compare_pair
from i2gnn.expressiveness.subjects import Subject
from i2gnn.expressiveness.wl import color_subgraphs
from i2gnn.files import write_atomically
from i2gnn.graphs.store import GraphStore
from i2gnn.models.network import IdentifierGNN
from i2gnn.progress import progress_bar

__all__ = ["exact_verdict", "read_lines", "run_rpc", "summarize"]

Line = dict[str, Any]


def run_rpc(
    subject: Subject,
    pairs: PairSet,
    settings: RPCSettings,
    folder: str | os.PathLike[str],
    *,
    chosen: range | None = None,
    device: torch.device | str = "cpu",
    time_limit: float | None = None,
    progress: bool = False,
) -> list[Line]:
    """Compares pairs by RPC and writes each verdict as it is known.

    Args:
        subject: What to train, anew for every pair.
        pairs: The data set.
        settings: Of training and test.
        folder: Of the run. Pairs that it has are not run again.
        chosen: Successive pairs to run; all by default. Processes with other ranges may work on
            the same folder at the same time.
        device: Where to train.
        time_limit: Seconds after which no further pair is begun.
        progress: Shows a progress bar on standard error.

    Returns:
        The lines of all pairs in the folder, those of other processes too, in order.

    Raises:
        InputError: The folder holds a run with other settings, or pairs are not in the data set.
    """
    chosen = range(len(pairs)) if chosen is None else chosen
    if chosen and not 0 <= chosen[0] <= chosen[-1] < len(pairs):
        raise InputError(
            f"pairs {chosen[0]}:{chosen[-1] + 1} of {pairs.name}; expected 0:{len(pairs)} at most"
        )
    folder, started = Path(folder), time.monotonic()
    _check_settings(folder / "settings.json", _describe(subject, pairs, settings))
    done = {line["pair"] for line in read_lines(folder)}
    left = [p for p in chosen if p not in done]
    path = folder / f"pairs-{chosen.start:03}-{chosen.stop:03}.jsonl"
    with progress_bar("pairs", len(left), progress) as advance:
        for p in left:
            if time_limit is not None and time.monotonic() - started >= time_limit:
                break
            pair = pairs.pair(p)
            result = compare_pair(subject, pair, settings, device=device)
            line = {"pair": p, "category": pairs.category[p], **dataclasses.asdict(result)}
            line["exact"] = exact_verdict(subject, pair)
            _append(path, line)
            advance(1, note=f"{pairs.category[p]}: {'+' if result.distinguished else '-'}")
    return read_lines(folder)


def exact_verdict(subject: Subject, pair: GraphStore) -> bool | None:
    """Whether colour refinement with the model's subgraphs and layers tells the pair apart.

    No weights can do more. None for models that have no such test: those without discrete labels
    on subgraphs, and those of others.
    """
    model = subject.build(0, pair)
    if not isinstance(model, IdentifierGNN):
        return None
    if "resistance" in model.labels or model.virtual_node is not None:
        return None
    colors = color_subgraphs(
        model.extract(pair),
        rounds=len(model.layers),
        node_states=any(layer.mix is not None for layer in model.layers),
        readout="+".join(model.parts),
    )
    return bool(colors[0] != colors[1])


def read_lines(folder: str | os.PathLike[str]) -> list[Line]:
    """The verdicts in a folder, by pair; a line that a kill cut off is none."""
    found: dict[int, Line] = {}
    for path in sorted(Path(folder).glob("pairs-*.jsonl")):
        for text in path.read_text().splitlines():
            try:
                line = json.loads(text)
            except json.JSONDecodeError:
                continue
            found[line["pair"]] = line
    return [found[p] for p in sorted(found)]


def summarize(lines: Iterable[Line]) -> dict[str, Any]:
    """Counts verdicts: in all, and by category in order of appearance.

    Attributes of each count: pairs, distinguished, by_formula, constant (differences of the same
    bits), unreliable, exact (what colour refinement tells apart), beyond_exact (distinguished,
    though no weights can: noise taken for a gap).
    """
    lines = list(lines)
    by_category: dict[str, list[Line]] = {}
    for line in lines:
        by_category.setdefault(line["category"], []).append(line)
    counted = {category: _count(some) for category, some in by_category.items()}
    return {**_count(lines), "seconds": _seconds(lines), "categories": counted}


def _count(lines: list[Line]) -> dict[str, int]:
    return {
        "pairs": len(lines),
        "distinguished": sum(line["distinguished"] for line in lines),
        "by_formula": sum(line["by_formula"] for line in lines),
        "constant": sum(line["constant"] for line in lines),
        "unreliable": sum(not line["reliable"] for line in lines),
        "exact": sum(bool(line["exact"]) for line in lines),
        "beyond_exact": sum(line["distinguished"] and line["exact"] is False for line in lines),
    }


def _seconds(lines: list[Line]) -> float:
    return round(float(sum(line["seconds"] for line in lines)), 1)


def _describe(subject: Subject, pairs: PairSet, settings: RPCSettings) -> dict[str, Any]:
    """What verdicts depend on, as JSON gives it back."""
    described = {
        "model": subject.name,
        "options": dict(subject.options),
        "dataset": pairs.name,
        "rpc": dataclasses.asdict(settings),
    }
    plain: dict[str, Any] = json.loads(json.dumps(described, default=str))
    del plain["rpc"]["memory_budget"]  # changes nothing but memory
    return plain


def _check_settings(path: Path, expected: Mapping[str, Any]) -> None:
    """Writes the settings of a new run; those of one that is taken up must be the same."""
    if not path.is_file():
        write_atomically(path, json.dumps(expected, indent=2) + "\n")
        return
    found = json.loads(path.read_text())
    if found != expected:
        different = sorted(k for k in {*found, *expected} if found.get(k) != expected.get(k))
        raise InputError(
            f"{path.parent} holds a run with other settings ({', '.join(different)}); "
            "choose another folder"
        )


def _append(path: Path, line: Line) -> None:
    with path.open("a") as file:
        file.write(f"\n{json.dumps(line)}\n")  # on a new line, whatever a kill left behind
        file.flush()
        os.fsync(file.fileno())
