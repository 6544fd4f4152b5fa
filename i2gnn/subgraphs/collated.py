"""`Subgraphs` behind what PyG's `DataLoader` has collated; PyG itself is not needed for that."""

import dataclasses
import json
from typing import Any

from torch import Tensor

from i2gnn.subgraphs.structure import AXES, Subgraphs

__all__ = ["INTO", "as_subgraphs"]

INTO = {f.name: f.metadata["into"] for f in dataclasses.fields(Subgraphs) if "into" in f.metadata}
"""For every column of `Subgraphs`, the axis its values index."""


def as_subgraphs(batch: Any) -> Subgraphs:
    """The `Subgraphs` behind a collated batch of `EgoNetData`, or behind a single one."""
    if isinstance(batch, Subgraphs):
        return batch
    if not hasattr(batch, "axis_sizes"):
        raise TypeError(
            f"expected Subgraphs, as model.extract(graphs) makes them, or a batch of graphs from "
            f"BranchedEgoNets; got {type(batch).__name__}"
        )
    sizes = batch.axis_sizes.cpu()
    columns: dict[str, Tensor] = {name: batch[name] for name in INTO if name in batch}
    settings = {batch.settings} if isinstance(batch.settings, str) else set(batch.settings)
    if len(settings) > 1:
        raise ValueError(f"the batch mixes ego-nets of different settings: {sorted(settings)}")
    by_axis = {axis: sizes[:, n] for n, axis in enumerate(AXES)}
    plain = json.loads(settings.pop())
    if "y" in columns:  # as the user's data sets have it, of one axis or two
        rows = len(sizes) if plain["level"] == "graph" else int(by_axis[plain["level"]].sum())
        columns["y"] = columns["y"].reshape(rows, -1)
    return Subgraphs.from_parts(by_axis, columns, plain)
