"""The main job: train networks with 0, 1 and 2 identifiers to count, and compare them."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml
from markupsafe import Markup

from i2gnn.counting import in_words
from i2gnn.data import CountingData, Splits, generate_counting
from i2gnn.files import write_atomically
from i2gnn.graphs import GraphStore
from i2gnn.machine import machine_name
from i2gnn.numerics import seeded
from i2gnn.report import figures
from i2gnn.report.page import write_page
from i2gnn.training import (
    ModelConfig,
    OptimizerConfig,
    Result,
    ScheduleConfig,
    TrainingConfig,
    build_model,
    fit,
)
from i2gnn.training.environment import resolve_device
from i2gnn.training.record import make_record
from i2gnn.training.run import network_of
from i2gnn.training.targets import first_target

__all__ = ["CONTENDERS", "Demo", "DemoSettings", "Run", "run_demo"]

CONTENDERS = {
    "mpnn": ("MPNN", "none"),
    "subgraph_mpnn": ("Subgraph MPNN", "root"),
    "i2gnn": ("I²-GNN", "root and branch"),
}
"""Title and identifiers of each network, weakest first."""

FRACTIONS = (0.5, 0.1, 0.4)


@dataclass(frozen=True)
class DemoSettings:
    """What the networks have in common.

    Attributes:
        target: Substructure to count at every node.
        count: Number of graphs; half of them train, a tenth validates, the rest tests.
        epochs: Passes over the training graphs.
        hidden_channels: Width.
        num_layers: Depth.
        hops: Radius of the ego-nets.
        batch_size: Graphs in a batch.
        lr: First learning rate; it falls to nearly zero along a cosine.
        seed: Of graphs, split, weights and order.
        device: "auto", "cpu" or "cuda".
    """

    target: str = "cycle5"
    count: int = 1000
    epochs: int = 40
    hidden_channels: int = 32
    num_layers: int = 4
    hops: int = 2
    batch_size: int = 32
    lr: float = 3e-3
    seed: int = 0
    device: str = "auto"

    @property
    def what(self) -> str:
        """The target in words."""
        return f"{in_words(self.target)}s"

    def training(self) -> TrainingConfig:
        """Settings of each run."""
        return TrainingConfig(
            epochs=self.epochs,
            batch_size=self.batch_size,
            optimizer=OptimizerConfig(lr=self.lr),
            schedule=ScheduleConfig(name="cosine", min_lr=1e-5),
            seed=self.seed,
            device=self.device,
        )


@dataclass(frozen=True)
class Run:
    """One network after training."""

    name: str
    title: str
    identifiers: str
    result: Result
    prediction: npt.NDArray[np.float64]
    record: dict[str, Any]

    @property
    def test(self) -> float:
        """Normalised test error."""
        assert self.result.test is not None
        return self.result.test


@dataclass(frozen=True)
class Demo:
    """All runs, in the order of `CONTENDERS`, and where the report is."""

    settings: DemoSettings
    runs: tuple[Run, ...]
    report: Path


def run_demo(
    folder: str | os.PathLike[str],
    settings: DemoSettings | None = None,
    *,
    command: str = "i2gnn demo",
    progress: bool = True,
) -> Demo:
    """Trains the contenders and writes `results.json` and `report.html` to the folder.

    A run that was stopped goes on where it was; finished ones are not repeated.
    """
    settings, folder = settings or DemoSettings(), Path(folder)
    data = generate_counting(
        settings.count, [settings.target], seed=settings.seed, progress=progress
    )
    splits = Splits.random(settings.count, FRACTIONS, settings.seed)
    data = CountingData(data.name, data.graphs, splits, data.targets)
    runs = tuple(_train(name, data, settings, folder / name, progress) for name in CONTENDERS)
    records = [run.record for run in runs]
    write_atomically(folder / "results.json", json.dumps(records, indent=2) + "\n")
    report = folder / "report.html"
    write_page(report, "demo.html", _page(data, runs, settings, command))
    return Demo(settings, runs, report)


def _train(
    name: str, data: CountingData, settings: DemoSettings, folder: Path, progress: bool
) -> Run:
    network = network_of(
        ModelConfig(
            name=name,
            hidden_channels=settings.hidden_channels,
            num_layers=settings.num_layers,
            hops=settings.hops,
        ),
        data.graphs,
    )
    with seeded(settings.seed):
        model = build_model(network)
    subgraphs = model.extract(data.graphs)
    training = settings.training()
    details = {"network": network, "data": {"count": settings.count, "target": settings.target}}
    title, identifiers = CONTENDERS[name]
    result = fit(
        model,
        subgraphs,
        data.splits,
        training,
        run_dir=folder,
        resume=True,
        settings=details,
        progress=progress,
        description=f"training {title}",
    )
    record = make_record(
        result,
        dataset=data.name,
        level="node",
        model=name,
        target=settings.target,
        seed=settings.seed,
        device=resolve_device(training.device),
        settings=details | {"training": training.to_dict()},
        table="demo",
        preset="demo",
        deviations=["smaller data, width and budget than the paper's", "one seed"],
    )
    assert result.prediction is not None
    return Run(name, title, identifiers, result, first_target(result.prediction), record)


def _page(
    data: CountingData, runs: tuple[Run, ...], settings: DemoSettings, command: str
) -> dict[str, Any]:
    """What the template needs."""
    lowest = min(run.test for run in runs)
    test = data.graphs.batch(data.splits.test)
    assert test.y is not None
    target = first_target(test.y)
    predictions = {run.title: run.prediction for run in runs}
    drawn, nodes = _typical_graph(test, target)
    deviation = float(runs[0].result.scaling.unit[0])
    hardware = runs[0].record["hardware"]
    from i2gnn import __version__

    return {
        "what": settings.what,
        "rows": [
            {
                "title": run.title,
                "identifiers": run.identifiers,
                "test": run.test,
                "ratio": run.test / lowest,
                "parameters": run.result.parameters,
                "seconds": run.result.seconds,
                "best": run.test == lowest,
                "color": color,
            }
            for run, color in zip(runs, figures.COLORS, strict=False)
        ],
        "count": len(data.graphs),
        "train_graphs": len(data.splits.train),
        "val_graphs": len(data.splits.val),
        "test_graphs": len(data.splits.test),
        "deviation": deviation,
        "mean_error": float(np.abs(target - float(runs[0].result.scaling.center[0])).mean())
        / deviation,
        "drawing": Markup(
            figures.draw_counts(
                drawn, target[nodes], {t: p[nodes] for t, p in predictions.items()}, settings.what
            )
        ),
        "scatter": Markup(figures.predicted_against_true(target, predictions, settings.what)),
        "by_count": Markup(figures.error_by_count(target, predictions, settings.what)),
        "curves": Markup(
            figures.learning_curves({r.title: r.result.history for r in runs}, "error")
        ),
        "seed": settings.seed,
        "hardware": machine_name(hardware),
        "command": command,
        "settings": yaml.safe_dump([run.record["settings"] for run in runs], sort_keys=False),
        "version": __version__,
    }


def _typical_graph(test: GraphStore, target: npt.NDArray[np.float64]) -> tuple[GraphStore, slice]:
    """A test graph small enough to draw, with a middling number of counts per node."""
    ends = test.offsets["node"].tolist()
    ranges = list(zip(ends[:-1], ends[1:], strict=True))
    readable = [r for r in ranges if 12 <= r[1] - r[0] <= 20] or ranges
    low, high = sorted(readable, key=lambda r: target[r[0] : r[1]].mean())[len(readable) // 2]
    return test.batch([ranges.index((low, high))]), slice(low, high)
