"""Data for many runs: each set is read once, and its subgraphs are extracted once."""

import os
from collections.abc import Mapping
from typing import Any

from i2gnn.data import (
    CountingData,
    count_targets,
    draw_counting,
    read_chembl,
    read_counting,
)
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.models import Network
from i2gnn.training.config import DataConfig
from i2gnn.training.distinct import with_kinds

__all__ = ["Sources", "inputs_of"]

ARGUMENTS = "hops", "labels", "structures"
"""Those of networks on which their subgraphs depend."""


class Sources:
    """Where runs of one process get their graphs.

    What a run shares with the one before it is kept: the graphs of its data set, and the subgraphs
    of the last model, which do not depend on the targets.

    Args:
        data_root: Folder of data sets, for data that is not generated.
        cache_dir: Folder for extracted subgraphs, to be found again by later processes.
        progress: Shows bars with the time left.
    """

    def __init__(
        self,
        data_root: str | os.PathLike[str] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> None:
        self.data_root, self.cache_dir, self.progress = data_root, cache_dir, progress
        self._graphs: dict[Any, CountingData] = {}
        self._last: tuple[Any, GraphStore] | None = None

    def load(self, config: DataConfig) -> CountingData:
        """The graphs of a configuration with their exact counts as targets."""
        key = _key(config)
        if key not in self._graphs:
            self._graphs[key] = self._read(config)
        return count_targets(self._graphs[key], config.targets, config.level)

    def extract(
        self, model: Network, data: CountingData, config: DataConfig, kinds: bool = False
    ) -> GraphStore:
        """What the model takes of the data of that configuration, on demand with kinds of nodes."""
        key = inputs_of(config, type(model), {n: getattr(model, n, None) for n in ARGUMENTS})
        if self._last is None or self._last[0] != key:
            self._last = None  # frees the memory first
            store = model.extract(data.graphs, cache_dir=self.cache_dir, progress=self.progress)
            self._last = key, store
        if kinds:
            self._last = key, with_kinds(self._last[1])
        assert data.graphs.y is not None
        return self._last[1].with_targets(data.graphs.y, config.level)

    def _read(self, config: DataConfig) -> CountingData:
        if config.name == "counting":
            return read_counting(self.data_root, config.limit, config.more, config.seed)
        if config.more is not None or (config.name != "chembl" and config.limit is not None):
            raise InputError(
                f"data {config.name} takes no {'limit' if config.more is None else 'more'}; "
                "counting has both, chembl a limit, synthetic a count"
            )
        if config.name == "chembl":
            return read_chembl(self.data_root, config.limit)
        return draw_counting(config.count, config.seed, self.progress)


def inputs_of(
    config: DataConfig, network: type[Network], arguments: Mapping[str, Any]
) -> tuple[Any, ...]:
    """What the subgraphs of a network with these arguments depend on, targets aside."""
    own = network.extract, getattr(network, "identifiers", None)
    return (_key(config), *own, *(arguments.get(name) for name in ARGUMENTS))


def _key(config: DataConfig) -> tuple[Any, ...]:
    """What the graphs depend on, targets aside."""
    if config.name == "synthetic":
        return config.name, config.count, config.seed
    return config.name, config.limit, config.more, config.seed
