"""Time, memory and precision of the engine beside other formulations, on the same graphs.

Follow one run: `settings` -> `cases` (graphs and model) -> `formulations` (ours, ours with
reference ops, copied) -> `timing`, `memory`, `agreement`, `preprocessing`, `roofline`, `end_to_end`
(one kind of number each) -> `run` (all of them, as records) -> `ratios` -> `table` and `bars`.
"""

from i2gnn.benchmark.run import run_benchmark
from i2gnn.benchmark.settings import BenchmarkSettings

__all__ = ["BenchmarkSettings", "run_benchmark"]
