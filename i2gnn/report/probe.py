"""The probe's page: what a model tells apart and counts, where it fails, and how sure that is."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from markupsafe import Markup

from i2gnn.counting import in_words
from i2gnn.expressiveness.probe import Probe
from i2gnn.expressiveness.references import bounds, yardsticks
from i2gnn.expressiveness.separation import GAINS, SEPARATED, TIED
from i2gnn.expressiveness.study import BASE, COUNTS, PARTLY, Learnt
from i2gnn.expressiveness.verdicts import Verdicts
from i2gnn.files import write_atomically
from i2gnn.machine import machine_name
from i2gnn.report import probe_figures as figures
from i2gnn.report.page import write_page

__all__ = ["write_report"]

TITLES = {"paper": "the paper's", "exp": "EXP", "csl": "CSL", "sr25": "SR25", "brec": "BREC"}

DRAWN = 8
"""Pairs that the page draws at most."""

READABLE = 64
"""Nodes of a graph that can still be drawn."""


def write_report(probe: Probe, folder: str | os.PathLike[str], command: str = "") -> Path:
    """Writes `probe.json` and `report.html`, which needs nothing else, to a folder.

    Args:
        probe: What was found.
        folder: Where to.
        command: How it was called, for the page.

    Returns:
        The path of the page.
    """
    folder = Path(folder)
    record = probe.to_dict()
    write_atomically(folder / "probe.json", json.dumps(record, indent=1) + "\n")
    page = folder / "report.html"
    write_page(page, "probe.html", _page(probe, record, command))
    return page


def _page(probe: Probe, record: dict[str, Any], command: str) -> dict[str, Any]:
    """What the template needs."""
    from i2gnn import __version__

    learning = probe.settings.learning
    return {
        "name": probe.name,
        "quick": probe.settings.quick,
        "lead": probe.summary(),
        "tests": list(_tests(probe)),
        "rows": [_row(probe, name, found) for name, found in probe.separation.items()],
        "categories": _by_category(probe) if probe.separation else None,
        "failures": list(_failures(probe)),
        "failed": sum(len(found.pairs) - found.count("separated") for found in _found(probe)),
        "levels": [_level(probe, level, learnt) for level, learnt in probe.learnt.items()],
        "refused": probe.refused,
        "counts_below": COUNTS,
        "partly_below": PARTLY,
        "gaps": _gaps(probe) if probe.separation else None,
        "tied_below": TIED,
        "separated_above": SEPARATED,
        "draws": len(GAINS),
        "margins": [_margin(name, found) for name, found in probe.separation.items()],
        "graphs": learning.graphs,
        "epochs": learning.epochs,
        "seconds": probe.seconds,
        "seed": probe.settings.seed,
        "hardware": machine_name(record["hardware"]),
        "command": command,
        "settings": yaml.safe_dump(json.loads(json.dumps(record["settings"])), sort_keys=False),
        "version": __version__,
    }


def _row(probe: Probe, name: str, found: Verdicts) -> dict[str, Any]:
    """One data set: what the model separates, and what each exact test does."""
    exact = bounds(name, probe.chosen[name])
    return {
        "title": TITLES.get(name, name),
        "pairs": len(found.pairs),
        **{verdict: found.count(verdict) for verdict in ("separated", "tied", "unclear")},
        "bounds": [sum(verdicts) for verdicts in exact.values()],
    }


def _tests(probe: Probe) -> Iterable[str]:
    """Names of the exact tests, which all data sets share."""
    return next((bounds(name, []) for name in probe.separation), {})


def _by_category(probe: Probe) -> Markup:
    """The figure of all categories of all data sets."""
    sizes: dict[str, int] = {}
    mine: dict[str, int] = {}
    exact: dict[str, dict[str, int]] = {test: {} for test in _tests(probe)}
    for name, found in probe.separation.items():
        verdicts = bounds(name, probe.chosen[name])
        for category, counts in found.by_category().items():
            title = _category(name, category)
            sizes[title], mine[title] = counts["pairs"], counts["separated"]
            members = [p for p, c in enumerate(found.pairs.category) if c == category]
            for test in exact:
                exact[test][title] = sum(verdicts[test][p] for p in members)
    columns = {probe.name: mine, **exact}
    return Markup(figures.separated_by_category(sizes, columns, probe.name))


def _failures(probe: Probe) -> Iterable[dict[str, Any]]:
    """The smallest pair of each category that is not separated, drawn."""
    drawn = 0
    for name, found in probe.separation.items():
        pairs, exact = found.pairs, bounds(name, probe.chosen[name])
        failed = [p for p, verdict in enumerate(found.verdict) if verdict != "separated"]
        for category in pairs.categories:
            members = [p for p in failed if pairs.category[p] == category]
            members.sort(key=lambda p: int(pairs.graphs.sizes["edge"][pairs.first[p]]))
            if not members or drawn == DRAWN:
                continue
            pair = pairs.pair(members[0])
            nodes = int(pair.sizes["node"][0])
            if nodes > READABLE:
                continue
            drawn += 1
            able = [test for test, verdicts in exact.items() if verdicts[members[0]]]
            title = f"{_category(name, category)}: {pairs.title[members[0]]}"
            yield {
                "svg": Markup(figures.draw_pair(pair, title)),
                "verdict": found.verdict[members[0]],
                "others": len(members) - 1,
                "nodes": nodes,
                "able": ", ".join(able),
            }


def _level(probe: Probe, level: str, learnt: list[Learnt]) -> dict[str, Any]:
    """What was learnt at one level: the figure and the table."""
    known = {BASE.upper(): {one.structure: one.base_error / one.mean_error for one in learnt}}
    known |= yardsticks(level, probe.settings.learning)
    left = {probe.name: {one.structure: one.left for one in learnt}, **known}
    return {
        "level": level,
        "figure": Markup(figures.remaining_errors(left, COUNTS)),
        "models": list(known),
        "rows": [
            {
                "structure": f"{in_words(one.structure)}s",
                "error": one.error,
                "mean": one.mean_error,
                "left": one.left,
                "verdict": one.verdict,
                "others": [values.get(one.structure) for values in known.values()],
            }
            for one in learnt
        ],
    }


def _gaps(probe: Probe) -> Markup:
    ratios: dict[str, list[float]] = {}
    for name, found in probe.separation.items():
        assert found.ratio is not None
        for category, ratio in zip(found.pairs.category, found.ratio, strict=True):
            ratios.setdefault(_category(name, category), []).append(ratio)
    return Markup(figures.gaps_over_noise(ratios, TIED, SEPARATED))


def _margin(name: str, found: Verdicts) -> dict[str, Any]:
    tie, separation = found.margin()
    return {"title": TITLES.get(name, name), "tie": tie, "separation": separation}


def _found(probe: Probe) -> Iterable[Verdicts]:
    return probe.separation.values()


def _category(name: str, category: str) -> str:
    """A category with its data set, unless they are one."""
    title = TITLES.get(name, name)
    return title if category == title else f"{title} {category}"
