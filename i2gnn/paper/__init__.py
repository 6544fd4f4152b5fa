"""The paper's tables: what it prints, the same measured or trained again, both side by side.

One file per group of tables has the published numbers, others the settings and the runs, which end
in records of plain values; tables for people are made from records alone.
"""

from i2gnn.paper.complexity import ComplexitySettings, measure_complexity
from i2gnn.paper.counting import TABLES
from i2gnn.paper.plan import choose_experiments
from i2gnn.paper.runner import RunSettings
from i2gnn.paper.workers import run_experiments

__all__ = [
    "TABLES",
    "ComplexitySettings",
    "RunSettings",
    "choose_experiments",
    "measure_complexity",
    "run_experiments",
]
