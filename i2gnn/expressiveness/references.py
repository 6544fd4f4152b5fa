"""What exact tests and our own models do on the probe's questions: the scale of its answers.

Verdicts of exact tests are facts and are kept here; `tests/expressiveness/test_probe.py`
computes them again. Errors of our models in the study of counting are measurements.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from i2gnn.expressiveness.study import STRUCTURES, StudySettings

__all__ = ["BOUNDS", "TESTS", "YARDSTICKS", "bounds", "yardsticks"]

TESTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "1-WL": {"test": "1-wl"},
        "1 identifier": {"identifiers": 1},
        "2-FWL": {"test": "2-fwl"},
        "2 identifiers": {"identifiers": 2},
    }
)
"""Arguments of `distinguish_pairs` behind each name; on whole graphs, with all rounds.

1-WL bounds message passing, 2-FWL (which is 3-WL) PPGN, identifiers the models of that many."""

_CFI = "-1 +1 -1 +5 -1 +2 -1 +1 -2 +2 -1 +2 -1 +3 -3 +1 -1 +1 -1 +3 -1 +1 -1 +1 -1 +6 -1 +8 -1 +2"

BOUNDS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "paper": {
            "1-WL": "-11",
            "1 identifier": "+10 -1",
            "2-FWL": "+10 -1",
            "2 identifiers": "+11",
        },
        "exp": {"1-WL": "-600", "1 identifier": "+600", "2-FWL": "+600", "2 identifiers": "+600"},
        "csl": {"1-WL": "-45", "1 identifier": "+45", "2-FWL": "+45", "2 identifiers": "+45"},
        "sr25": {"1-WL": "-105", "1 identifier": "-105", "2-FWL": "-105", "2 identifiers": "+105"},
        "brec": {
            "1-WL": "-400",
            "1 identifier": f"+110 -50 +102 {_CFI} -81",
            "2-FWL": "+110 -50 +160 -80",
            "2 identifiers": f"+262 {_CFI} -41 +20 -20",
        },
    }
)
"""Of each data set and test, runs of pairs that are separated (+) or tied (-), in order."""


def bounds(dataset: str, chosen: Sequence[int]) -> dict[str, list[bool]]:
    """Which of the chosen pairs each test tells apart.

    Example:
        >>> bounds("paper", [0, 10])["1 identifier"]
        [True, False]
    """
    found = {}
    for test, runs in BOUNDS.get(dataset, {}).items():
        every = [
            sign == "+"
            for sign, length in re.findall(r"([+-])(\d+)", runs)
            for _ in range(int(length))
        ]
        found[test] = [every[p] for p in chosen]
    return found


YARDSTICKS: Mapping[str, Mapping[str, tuple[float, ...]]] = MappingProxyType(
    {
        "node": {
            "NGNN": (0.026, 0.035, 0.114, 0.101, 0.024, 0.036, 0.107, 0.291, 0.171, 0.611, 0.233),
            "I²-GNN": (0.029, 0.049, 0.089, 0.131, 0.04, 0.049, 0.114, 0.06, 0.048, 0.583, 0.081),
        },
    }
)
"""What our models leave of the mean's error in the usual study, by level and model, for each of
`study.STRUCTURES`: one seed."""


def yardsticks(level: str, settings: StudySettings) -> dict[str, dict[str, float]]:
    """What our models leave of the error in this study, where it was measured, by structure."""
    usual = StudySettings(seed=settings.seed, device=settings.device)
    if settings != usual:
        return {}
    known = YARDSTICKS.get(level, {})
    return {model: dict(zip(STRUCTURES, left, strict=True)) for model, left in known.items()}
