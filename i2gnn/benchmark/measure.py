"""Memory and time of one formulation; also in a process of its own."""

from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from i2gnn.benchmark.cases import Case, CaseName, make_case
from i2gnn.benchmark.formulations import Captured, Formulation, FormulationName
from i2gnn.benchmark.memory import peak_growth
from i2gnn.benchmark.settings import BenchmarkSettings, MeasurementSettings
from i2gnn.benchmark.timing import alternate
from i2gnn.numerics import matmul_precision

__all__ = ["measure_captured", "measure_memory", "ready", "ready_captured", "time_works"]

Key = TypeVar("Key", bound=Hashable)


def ready(
    case: Case, name: FormulationName, settings: BenchmarkSettings
) -> tuple[Formulation, int]:
    """A formulation after its first step, and the peak memory of that step in bytes.

    The batch is new: what our ops derive from it counts. The copied one finds all its indices
    ready, and they do not count.
    """
    _compile(case, name, settings)
    formulation = Formulation(case, name, settings.where)
    return formulation, peak_growth(formulation.step, settings.where)


def ready_captured(
    case: Case, name: FormulationName, settings: BenchmarkSettings
) -> tuple[Captured, int]:
    """The same for a formulation whose steps are recorded; memory is that of the recording."""
    _compile(case, name, settings)
    formulation = Formulation(case, name, settings.where)
    made: list[Captured] = []
    peak = peak_growth(lambda: made.append(Captured(formulation)), settings.where)
    return made[0], peak


def measure_memory(name: CaseName, settings: BenchmarkSettings, which: FormulationName) -> int:
    """Peak memory of the first step in bytes; for a new process."""
    with matmul_precision(settings.matmul):
        return ready(make_case(name, settings, settings.graphs), which, settings)[1]


def measure_captured(
    name: CaseName, settings: BenchmarkSettings, which: FormulationName
) -> tuple[int, dict[str, list[float]]]:
    """Peak memory in bytes, seconds of steps and forward passes; for a new process."""
    with matmul_precision(settings.matmul):
        case = make_case(name, settings, settings.graphs)
        captured, peak = ready_captured(case, which, settings)
        times = {
            quantity: time_works({which: getattr(captured, quantity)}, settings)[which]
            for quantity in ("step", "forward")
        }
    return peak, times


def time_works(
    works: Mapping[Key, Callable[[], object]], settings: MeasurementSettings
) -> dict[Key, list[float]]:
    """Seconds per call of each, as often as the settings say."""
    warm_up = 3 if settings.on_gpu else 1
    return alternate(works, settings.where, settings.repeats, settings.calls, warm_up)


def _compile(case: Case, name: FormulationName, settings: BenchmarkSettings) -> None:
    """A step on two graphs: compiles kernels and loads libraries, which takes memory once."""
    Formulation(case, name, settings.where, graphs=min(2, case.batch_size)).step()
