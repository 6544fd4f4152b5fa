"""A whole run from a configuration: data, model, training, files."""

import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from i2gnn.data import CountingData
from i2gnn.errors import InputError
from i2gnn.files import lock_folder, write_atomically
from i2gnn.graphs import GraphStore
from i2gnn.models import REGISTRY, Network
from i2gnn.numerics import seeded
from i2gnn.training.checks import check_run
from i2gnn.training.config import ModelConfig, RunConfig
from i2gnn.training.environment import resolve_device
from i2gnn.training.loop import CHECKPOINT, check_folder, fit
from i2gnn.training.record import make_record
from i2gnn.training.sources import Sources

__all__ = ["Prepared", "build_model", "network_of", "prepare", "train"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prepared:
    """A run that can start: nothing has been written yet, and what could be refused has been.

    Attributes:
        model: With fresh weights.
        data: The graphs, their split and targets.
        store: What the model takes of them, as `fit` wants it.
        settings: All settings by section; "network" has the model's name and arguments.
    """

    model: Network
    data: CountingData
    store: GraphStore
    settings: dict[str, Any]


def prepare(config: RunConfig, sources: Sources) -> Prepared:
    """Loads the data, builds the model, extracts, and checks that the run can start."""
    resolve_device(config.training.device)
    if config.training.loss == "ce":
        raise InputError("loss is ce, which learns classes; the targets are counts")
    data = sources.load(config.data)
    network = network_of(config.model, data.graphs.batch(data.splits.train))
    with seeded(config.training.seed):
        model = build_model(network)
    if config.training.memory_budget is None:
        store = sources.extract(model, data, config.data, kinds=config.training.distinct)
    else:
        store = data.graphs
        if sources.cache_dir is not None:
            log.warning("subgraphs are extracted while running; %s is not used", sources.cache_dir)
    check_run(model, store, data.splits, config.training)
    settings = config.to_dict() | {"network": network}
    settings["data"]["targets"] = list(data.targets)  # names, where settings may have ranges
    return Prepared(model, data, store, settings)


def train(
    config: RunConfig,
    run_dir: str | os.PathLike[str],
    *,
    data_root: str | os.PathLike[str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool = True,
) -> dict[str, Any]:
    """Trains as configured and returns the record that it also writes to `result.json`.

    The folder then holds `config.yaml`, `log.csv`, `checkpoint.safetensors` and `result.json`.
    A configuration that is refused leaves no folder.

    Args:
        config: Data, model and training.
        run_dir: Folder of the run; made if need be.
        data_root: Folder of data sets, for data that is not generated.
        cache_dir: Folder for extracted subgraphs, to be found again by later runs.
        resume: Goes on from the checkpoint in `run_dir`, if there is one.
        progress: Shows bars with the time left.
    """
    folder = Path(run_dir)
    check_folder(folder, resume)
    run = prepare(config, Sources(data_root, cache_dir, progress))
    if not (folder / CHECKPOINT).exists():
        if resume:
            log.warning("%s holds no checkpoint; training from the start", folder)
        with lock_folder(folder):  # where another run has begun, the settings are its own
            write_atomically(folder / "config.yaml", config.to_yaml())
    result = fit(
        run.model,
        run.store,
        run.data.splits,
        config.training,
        run_dir=folder,
        resume=resume,
        settings=run.settings,
        progress=progress,
    )
    record = make_record(
        result,
        dataset=run.data.name,
        level=config.data.level,
        model=config.model.name,
        target="+".join(run.data.targets),
        seed=config.training.seed,
        device=resolve_device(config.training.device),
        settings=run.settings,
    )
    write_atomically(folder / "config.yaml", config.to_yaml())
    write_atomically(folder / "result.json", json.dumps(record, indent=2) + "\n")
    return record


def network_of(config: ModelConfig, graphs: GraphStore) -> dict[str, Any]:
    """Name and arguments of the model for these graphs, as checkpoints keep them.

    Raises:
        InputError: A setting that the model does not take.
    """
    entry, usual = REGISTRY[config.name], ModelConfig().to_dict()
    derived = entry.model.arguments_for(graphs)
    taken = {*entry.arguments} - {*derived}
    settings = {key: value for key, value in config.to_dict().items() if value is not None}
    name, options = settings.pop("name"), settings.pop("options")
    given = {k: v for k, v in settings.items() if k in taken or v != usual[k]} | options
    for key in given:
        if key not in taken:
            expected = ", ".join(sorted(taken))
            raise InputError(f"model {name} takes no {key}; expected one of {expected}")
    # The first columns of the features may be types; the rest are numbers.
    for types, numbers in (("node_types", "in_channels"), ("edge_types", "edge_channels")):
        width, columns = derived[numbers], len(given.get(types, ()))
        if columns > width:
            raise InputError(
                f"{types} names {columns} columns; the graphs have features of {width}"
            )
        derived[numbers] = width - columns
    return {"name": name, "arguments": given | derived}


def build_model(network: dict[str, Any]) -> Network:
    """Builds the model that `network_of` or a checkpoint describes, with fresh weights."""
    name = network.get("name")
    entry = REGISTRY.get(str(name))
    if entry is None:
        raise InputError(f"model is {name!r}; expected one of {', '.join(REGISTRY)}")
    try:
        return entry.model(**network["arguments"])
    except (TypeError, ValueError) as error:
        raise InputError(f"model {name}: {error}") from error
