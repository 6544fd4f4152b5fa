"""A whole training run, timed from the file of graphs to the test error."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from i2gnn.benchmark.processes import in_new_process
from i2gnn.benchmark.records import Log, Record
from i2gnn.benchmark.settings import BenchmarkSettings
from i2gnn.data.counting import FILE
from i2gnn.data.download import is_present
from i2gnn.training import DataConfig, ModelConfig, RunConfig, TrainingConfig, train

__all__ = ["record_training", "training_run"]


def record_training(
    settings: BenchmarkSettings,
    epochs: int,
    *,
    graphs: int = 5000,
    on_record: Callable[[Record], None] = lambda record: None,
    notify: Callable[[str], None] = lambda text: None,
) -> list[Record]:
    """Times a training run, and what compiling the kernels adds to the first one ever.

    Arguments: see `training_run` and `i2gnn.benchmark.run_benchmark`.
    """
    log = Log(settings, on_record)
    about: dict[str, Any] = {"case": "counting", "formulation": "ours"}
    for caches in ("cold", "warm"):  # those of Triton and numba: empty, and as they are here
        notify(f"training: one epoch in a new process, caches {caches}")
        seconds = _first_epoch_seconds(settings, caches == "cold", graphs)
        log.add("first_epoch", seconds, "s", **about, caches=caches)
    notify(f"training: {epochs} epochs")
    run = training_run(settings, epochs, graphs)
    log.add("training", run.pop("seconds"), "s", **about, **run)
    return log.records


def training_run(settings: BenchmarkSettings, epochs: int, graphs: int = 5000) -> dict[str, Any]:
    """Trains the counting model on 6-cycles; returns the seconds of all of it and the errors.

    All of it: reading the graphs and counting their 6-cycles, extraction, training on 1,500 graphs
    with validation on 1,000 after every epoch, and the test of the best weights on 2,500.

    Args:
        settings: Device, precision, model, seed and folder of data sets.
        epochs: How many.
        graphs: How many to generate where the paper's are not found.
    """
    data = DataConfig(name="synthetic", targets=("cycle6",), count=graphs)
    if is_present(FILE, settings.data_root):
        data = DataConfig(name="counting", targets=("cycle6",))
    config = RunConfig(
        data=data,
        model=ModelConfig(num_layers=settings.layers, hidden_channels=settings.width, hops=3),
        training=TrainingConfig(
            epochs=epochs,
            seed=settings.seed,
            device=str(settings.where),
            precision=settings.matmul,
            tensorboard=False,
        ),
    )
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        record = train(config, Path(folder) / "run", data_root=settings.data_root, progress=False)
        seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "epochs": record["epochs"],
        "training_seconds": record["seconds"],
        "validation": record["validation"],
        "test": record["test"],
        "dataset": record["dataset"],
    }


def _first_epoch_seconds(settings: BenchmarkSettings, cold: bool, graphs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        caches = {"TRITON_CACHE_DIR": f"{folder}/triton", "NUMBA_CACHE_DIR": f"{folder}/numba"}
        run = in_new_process(
            training_run, settings, 1, graphs, environment=caches if cold else None
        )
    return float(run["seconds"])
