"""The paper's tables: what it prints, the same measured or trained again, both side by side.

One file per group of tables has the settings, the published numbers and the run, which ends in a
record of plain values; tables for people are made from records alone.
"""

from i2gnn.paper.complexity import ComplexitySettings, measure_complexity

__all__ = ["ComplexitySettings", "measure_complexity"]
