"""Table 12, measured cost: parameters, memory and inference time on one batch of 256 graphs."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor

from i2gnn.benchmark.cases import counting_graphs
from i2gnn.benchmark.measure import time_works
from i2gnn.benchmark.memory import peak_growth
from i2gnn.benchmark.processes import in_new_process
from i2gnn.benchmark.settings import MeasurementSettings
from i2gnn.graphs import GraphStore
from i2gnn.models import REGISTRY
from i2gnn.models.registry import count_parameters, count_published
from i2gnn.numerics import matmul_precision, seeded
from i2gnn.paper.theory import Theory, count_theory
from i2gnn.progress import progress_bar
from i2gnn.training.record import make_record

__all__ = ["PUBLISHED", "ComplexitySettings", "Published", "measure_complexity"]


class Published(NamedTuple):
    """One column of the paper's table; its parameters are `ModelEntry.published`."""

    title: str
    memory_gb: float
    time_ms: float


PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "mpnn": Published("MPNN", 1.88, 2.10),
        "idgnn": Published("ID-GNN", 2.35, 5.73),
        "subgraph_mpnn": Published("NGNN", 2.34, 6.03),
        "gnnak_plain": Published("GNNAK+", 2.35, 16.07),
        "i2gnn": Published("I²-GNN", 3.59, 20.62),
        "ppgn": Published("PPGN", 2.30, 35.33),
    }
)
"""The paper's numbers by model, in its order. It measured them on a GPU that it does not name."""

BASE = "mpnn"
"""The model whose time is the unit of ratios."""

RETURN_FREED = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
"""Makes glibc give freed memory back at once: what is resident is in use, as counted on a GPU."""

DEVIATIONS = (
    "4 layers, which the paper's numbers of parameters fit; its appendix says 5",
    "3 hops, as for 6-cycles; the paper does not say how many",
    "time: median of passes over one batch that is ready on the device; "
    "the paper averages over the batches of 10 epochs",
    "memory: what the first pass over a batch takes beside weights and batch; "
    "the paper does not say what it includes",
    "PPGN computes each graph at its own size; the published code pads to the largest of the batch",
)


@dataclass(frozen=True, kw_only=True)
class ComplexitySettings(MeasurementSettings):
    """How the models are measured.

    Attributes:
        quick: A smoke test: on a CPU the memory of all models is measured in one new process
            instead of one each. Only with glibc can a model then not use, unseen, what another
            has freed.
    """

    quick: bool = False


def measure_complexity(settings: ComplexitySettings, progress: bool = False) -> dict[str, Any]:
    """Measures the models of Table 12 at their counting presets, on the same batch.

    Args:
        settings: Device, precision, size of the batch.
        progress: Shows a progress bar on standard error.

    Returns:
        A record of plain values: under "models" one entry per model with what the paper prints,
        what was measured and what theory says; beside it what all of this depends on.
    """
    graphs, source = counting_graphs(settings.graphs, settings.data_root)
    groups = [tuple(PUBLISHED)] if settings.quick else [(name,) for name in PUBLISHED]
    with (
        matmul_precision(settings.matmul),
        progress_bar("measuring", len(groups) + 1, enabled=progress) as advance,
    ):
        memory: dict[str, int] = {}
        for names in groups:
            advance(0, note=f"memory of {', '.join(names)}")
            memory |= (
                measure_memory(names, settings, graphs)
                if settings.on_gpu
                else in_new_process(measure_memory, names, settings, environment=RETURN_FREED)
            )
            advance()
        advance(0, note="inference time")
        passes = {name: Inference(name, settings, graphs) for name in PUBLISHED}
        times = time_works(passes, settings)
        advance()
    found = {
        "sizes": {"graphs": len(graphs), "nodes": graphs.num_nodes, "edges": graphs.num_edges},
        "models": _compare([_measured(passes[n], memory[n], times[n]) for n in PUBLISHED]),
    }
    return make_record(
        found,
        table="complexity",
        preset="quick" if settings.quick else "paper",
        dataset=source,
        level="node",
        seed=settings.seed,
        device=settings.where,
        settings={
            "graphs": settings.graphs,
            "precision": settings.matmul,
            "rounds": settings.repeats,
            "calls": settings.calls,
        },
        deviations=_deviations(settings, source),
    )


class Inference:
    """A forward pass of one model at its preset, in evaluation mode; call it to run it.

    Args:
        name: In the registry.
        settings: Device and seed of the weights.
        graphs: The batch, which is extracted and moved to the device here.
    """

    def __init__(self, name: str, settings: MeasurementSettings, graphs: GraphStore) -> None:
        self.entry = REGISTRY[name]
        with seeded(settings.seed):
            model = self.entry.build()
        self.model = model.eval().to(settings.where)
        self.batch = model.extract(graphs).to(settings.where)

    @torch.no_grad()
    def __call__(self) -> Tensor:
        """Predictions for all nodes, [N, 1]."""
        result: Tensor = self.model(self.batch)
        return result

    @property
    def theory(self) -> Theory:
        """What theory says about this pass."""
        return count_theory(self.entry, self.batch)


def measure_memory(
    names: Sequence[str], settings: MeasurementSettings, graphs: GraphStore | None = None
) -> dict[str, int]:
    """Peak memory of a first forward pass in bytes, by model; on a CPU for a new process.

    The batch is new: what ops derive from it counts. A pass over two graphs goes before, since to
    compile kernels and to load libraries takes memory once.
    """
    if graphs is None:
        graphs, _ = counting_graphs(settings.graphs, settings.data_root)
    found = {}
    with matmul_precision(settings.matmul):
        for name in names:
            Inference(name, settings, graphs.batch(range(min(2, len(graphs)))))()
            forward = Inference(name, settings, graphs)
            found[name] = peak_growth(forward, settings.where)
    return found


def _measured(forward: Inference, memory: int, seconds: Sequence[float]) -> dict[str, Any]:
    """One model: the paper's numbers, ours, and the counts of theory."""
    entry, theory = forward.entry, forward.theory
    published = PUBLISHED[entry.name]
    return {
        "name": entry.name,
        "title": published.title,
        "published": {
            "parameters": entry.published,
            "memory_gb": published.memory_gb,
            "time_ms": published.time_ms,
        },
        "parameters": count_parameters(forward.model),
        "parameters_counted": count_published(forward.model),
        "memory_mb": memory / 1e6,
        "batch_mb": forward.batch.nbytes / 1e6,
        "time_ms": 1000 * statistics.median(seconds),
        "samples_ms": [round(1000 * s, 4) for s in seconds],
        "rows": theory.rows,
        "messages": theory.messages,
        "width": theory.width,
        "layers": theory.layers,
        "multiplications": theory.multiplications,
        "state_mb": theory.state_bytes / 1e6,
        "time_in_theory": entry.time,
        "memory_in_theory": entry.memory,
        "preset": dict(entry.preset),
    }


def _compare(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adds how many times the base model's each one's cost is: in theory, here, in the paper."""
    base = next(model for model in models if model["name"] == BASE)
    compared = []
    for model in models:
        theory = model["multiplications"] / base["multiplications"]
        ours = model["time_ms"] / base["time_ms"]
        paper = model["published"]["time_ms"] / base["published"]["time_ms"]
        compared.append(
            model
            | {
                "times_base": {"theory": theory, "ours": ours, "paper": paper},
                "ours_over_theory": ours / theory,
                "time_per_row_times_base": ours * base["rows"] / model["rows"],
                "memory_over_states": model["memory_mb"] / model["state_mb"],
            }
        )
    return compared


def _deviations(settings: ComplexitySettings, source: str) -> list[str]:
    found = list(DEVIATIONS)
    if source == "generated":
        found.append("generated graphs of the same kind as the paper's")
    if settings.matmul == "tf32":
        found.append("TF32 matrix products")
    if not settings.on_gpu:
        found.append("on a CPU, where memory is how far the resident set grows")
    if settings.quick:
        found.append("quick: a smoke test, not a measurement")
    return found
