"""Runs all measurements of a benchmark; one record each."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from itertools import count
from typing import Any

from i2gnn.benchmark.agreement import errors_of
from i2gnn.benchmark.cases import CASES, Case, CaseName, make_case
from i2gnn.benchmark.formulations import FORMULATIONS, Captured, Formulation, FormulationName, Mode
from i2gnn.benchmark.measure import (
    measure_captured,
    measure_memory,
    ready,
    ready_captured,
    time_works,
)
from i2gnn.benchmark.preprocessing import PUBLISHED_MS, ours_ms, rooted_ego_nets_ms
from i2gnn.benchmark.processes import in_new_process
from i2gnn.benchmark.records import Log, Record
from i2gnn.benchmark.roofline import Ceilings, batch_sizes, measure_ceilings, stages_of, work_of
from i2gnn.benchmark.settings import BenchmarkSettings
from i2gnn.benchmark.timing import alternate
from i2gnn.numerics import matmul_precision

__all__ = ["run_benchmark"]

Variant = tuple[FormulationName, Mode]
ROOTED_EGO_NETS_GRAPHS = 200  # it is slow


def run_benchmark(
    settings: BenchmarkSettings,
    *,
    cases: Sequence[CaseName] = CASES,
    ceilings: Ceilings | None = None,
    on_record: Callable[[Record], None] = lambda record: None,
    notify: Callable[[str], None] = lambda text: None,
) -> list[Record]:
    """Measures every case in every formulation on one device.

    Args:
        settings: Device, precision and sizes.
        cases: Which models.
        ceilings: Of the device, if known; else they are measured.
        on_record: Is told each record as it is made.
        notify: Is told what is being measured.
    """
    log = Log(settings, on_record)
    with matmul_precision(settings.matmul):
        if ceilings is None:
            notify("what the device does at most")
            ceilings = measure_ceilings(settings.where)
        log.add("copy", ceilings.bytes / 1e9, "GB/s", formulation="device")
        log.add("product", ceilings.flops / 1e12, "TFLOP/s", formulation="device")
        for name in cases:
            notify(f"{name}: extraction")
            case = make_case(name, settings)
            _CaseRun(case, settings, ceilings, log, notify).run()
    return log.records


class _CaseRun:
    """The measurements of one case."""

    def __init__(
        self,
        case: Case,
        settings: BenchmarkSettings,
        ceilings: Ceilings,
        log: Log,
        notify: Callable[[str], None],
    ) -> None:
        self.case, self.settings, self.ceilings, self.log = case, settings, ceilings, log
        self._notify = notify
        self.device = settings.where
        batch = case.data.batch(range(case.batch_size))
        self.sizes = batch_sizes(batch)
        model = deepcopy(case.model).to(self.device)
        recorded = settings.on_gpu and model.static_shapes(batch.to(self.device))
        self.trained: Mode = "captured" if recorded else "eager"  # by `i2gnn.training.fit`

    def add(self, quantity: str, value: float | None, unit: str, **more: Any) -> None:
        """A record of this case."""
        about = {
            "case": self.case.name,
            "source": self.case.source,
            "trained_mode": self.trained,
            "sizes": self.sizes,
        }
        self.log.add(quantity, value, unit, **about | more)

    def notify(self, text: str) -> None:
        """Tells what is being measured."""
        self._notify(f"{self.case.name}: {text}")

    def run(self) -> None:
        """Makes all measurements of the case."""
        self.preprocessing()
        self.roofline()
        self.agreement()
        variants = self.memory() if self.settings.on_gpu else self.memory_on_cpu()
        self.steps(variants)
        self.epochs(variants)
        if self.settings.on_gpu:
            variants.clear()
            self.captured_copies()

    def preprocessing(self) -> None:
        """Extraction per graph."""
        graphs, model = self.case.graphs, self.case.model
        few = graphs.batch(range(min(ROOTED_EGO_NETS_GRAPHS, len(graphs))))
        self.notify("extraction beside RootedEgoNets")
        found = {
            "ours": ours_ms(graphs, model.hops, model.labels),
            "PyG RootedEgoNets": rooted_ego_nets_ms(few, model.hops),
        }
        for name, value in found.items():
            self.add("preprocessing", value, "ms/graph", formulation=name)
        published = PUBLISHED_MS[self.case.name]
        self.add("preprocessing", published, "ms/graph", formulation="published", measured=False)

    def roofline(self) -> None:
        """The time that the least work takes, forward and in a training step."""
        stages = stages_of(self.case.model, self.sizes)
        for quantity, training in (("step", True), ("forward", False)):
            work = work_of(stages, training)
            self.add(
                quantity,
                1000 * self.ceilings.seconds(work),
                "ms",
                formulation="roofline",
                flops=work.flops,
                bytes=work.bytes,
                bound=self.ceilings.bound(work),
            )

    def agreement(self) -> None:
        """Errors of outputs and gradients."""
        self.notify("errors of outputs and gradients")
        graphs = min(self.settings.agreement_graphs, self.case.batch_size)
        for name, errors in errors_of(self.case, self.device, graphs).items():
            for quantity, error in zip(("output_error", "gradient_error"), errors, strict=True):
                self.add(quantity, error, "relative", formulation=name, mode="eager", graphs=graphs)

    def memory_on_cpu(self) -> dict[Variant, Formulation | Captured]:
        """Peak memory of a step, each in a new process; returns the formulations, ready."""
        for name in FORMULATIONS:
            self.notify(f"memory of {name}")
            peak = in_new_process(measure_memory, self.case.name, self.settings, name)
            self.add("memory", peak / 1e6, "MB", formulation=name, mode="eager")
        return {(name, "eager"): Formulation(self.case, name, self.device) for name in FORMULATIONS}

    def memory(self) -> dict[Variant, Formulation | Captured]:
        """Peak memory of a step on the GPU; returns the formulations, ready."""
        variants: dict[Variant, Formulation | Captured] = {}
        for name in FORMULATIONS:
            self.notify(f"memory of {name}")
            variants[name, "eager"], peak = ready(self.case, name, self.settings)
            self.add("memory", peak / 1e6, "MB", formulation=name, mode="eager")
        try:
            captured, peak = ready_captured(self.case, "ours", self.settings)
        except RuntimeError as error:
            self._no_capture("ours", str(error))
        else:
            variants["ours", "captured"] = captured
            self.add("memory", peak / 1e6, "MB", formulation="ours", mode="captured")
        return variants

    def steps(self, variants: dict[Variant, Formulation | Captured]) -> None:
        """Training steps and forward passes on a batch that is ready."""
        for quantity in ("step", "forward"):
            self.notify(f"time of a {quantity}")
            works = {variant: getattr(one, quantity) for variant, one in variants.items()}
            self._add_times(quantity, time_works(works, self.settings))

    def epochs(self, variants: dict[Variant, Formulation | Captured]) -> None:
        """All steps of an epoch, batches assembled on the way; each epoch in another order."""
        self.notify("time of an epoch")
        rounds, warm_up = (3, 1) if self.settings.on_gpu else (1, 0)
        works: dict[Variant, Callable[[], object]] = {}
        for variant, one in variants.items():
            if isinstance(one, Captured) and self.trained == "eager":
                continue  # cannot be recorded for batches of any graphs, only for one batch
            one.prepare_epochs()
            works[variant] = partial(_next_epoch, one, count(1))
        times = alternate(works, self.device, rounds, warm_up=warm_up)
        self._add_times("epoch", times, epoch_graphs=len(self.case.data))

    def captured_copies(self) -> None:
        """The copied formulation as a CUDA graph, where a failure does no harm."""
        self.notify("copied, captured")
        try:
            peak, found = in_new_process(measure_captured, self.case.name, self.settings, "copied")
        except RuntimeError as error:
            self._no_capture("copied", str(error))
            return
        self.add("memory", peak / 1e6, "MB", formulation="copied", mode="captured")
        for quantity, times in found.items():
            self._add_times(quantity, {("copied", "captured"): times})

    def _add_times(self, quantity: str, times: dict[Variant, list[float]], **more: Any) -> None:
        for (name, mode), seconds in times.items():
            samples = [round(1000 * s, 4) for s in seconds]
            value = 1000 * statistics.median(seconds)
            about = {"formulation": name, "mode": mode, "samples": samples}
            self.add(quantity, value, "ms", **about | more)

    def _no_capture(self, name: FormulationName, reason: str) -> None:
        for quantity, unit in (("memory", "MB"), ("step", "ms"), ("forward", "ms")):
            self.add(quantity, None, unit, formulation=name, mode="captured", reason=reason)


def _next_epoch(formulation: Formulation | Captured, numbers: Iterator[int]) -> None:
    formulation.epoch(next(numbers))
