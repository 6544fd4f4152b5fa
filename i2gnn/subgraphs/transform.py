"""The PyG way in: a transform whose result collates in PyG's own `DataLoader`."""

import json
from typing import Any

import torch
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from i2gnn.graphs.raw import Level
from i2gnn.graphs.store import GraphStore
from i2gnn.subgraphs.collated import INTO
from i2gnn.subgraphs.extract import extract_subgraphs
from i2gnn.subgraphs.structure import AXES

__all__ = ["BranchedEgoNets", "EgoNetData"]

SHARED = {"x", "edge_attr", "y"}
"""Columns that are the graph's own."""


class EgoNetData(Data):
    """A graph with its ego-nets: every column of `Subgraphs` is an attribute.

    Collation shifts a column by the length of the axis it points into. `edge_index` is in the
    order of the store, sorted by (target, source), so that `link_to_edge` fits it.
    """

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Length of the axis that a column points into."""
        into = INTO.get(key)
        if into is not None:
            return int(self.axis_sizes[0, AXES.index(into)])
        return 0 if key in INTO else super().__inc__(key, value, *args, **kwargs)

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Columns are concatenated along their axis."""
        return 0 if key in INTO else super().__cat_dim__(key, value, *args, **kwargs)


class BranchedEgoNets(BaseTransform):
    """Adds the ego-net of every node, with its branches and labels, to a PyG `Data`.

    Args:
        hops: Radius K.
        identifiers: 0, 1, 2 or 3.
        labels: As in `extract_subgraphs`.
        level: What a row of `y` belongs to; by default inferred from its length.

    Example:
        >>> from torch_geometric.loader import DataLoader
        >>> from i2gnn.subgraphs import as_subgraphs
        >>> edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> data = BranchedEgoNets(hops=2)(Data(edge_index=edge_index, num_nodes=3))
        >>> batch = next(iter(DataLoader([data, data], batch_size=2)))
        >>> as_subgraphs(batch)
        Subgraphs(graphs=2, nodes=6, edges=8, branches=8, pairs=18, links=24, rows=24)
    """

    def __init__(
        self, hops: int = 3, identifiers: int = 2, labels: str = "spd", level: Level | None = None
    ) -> None:
        self.hops = hops
        self.identifiers = identifiers
        self.labels = labels
        self.level = level

    def forward(self, data: Data) -> EgoNetData:
        """Returns the graph with its ego-nets; other attributes are kept, sorted with the edges."""
        graphs = GraphStore.from_pyg(data, level=self.level)
        subgraphs = extract_subgraphs(
            graphs, hops=self.hops, identifiers=self.identifiers, labels=self.labels
        )
        kept = _reordered(data, graphs)
        taken = sorted(set(kept) & (set(INTO) | {"axis_sizes", "settings"}) - SHARED)
        if taken:
            raise ValueError(f"the graph already has {', '.join(taken)}; rename what is yours")
        result: EgoNetData = EgoNetData.from_dict(kept)
        result.num_nodes = graphs.num_nodes
        result.edge_index = graphs.edge_index
        for name, tensor in subgraphs.columns.items():
            if name != "y" or subgraphs.level == "edge":  # others stay as they were
                result[name] = tensor
        result.axis_sizes = torch.stack([subgraphs.sizes[axis] for axis in AXES], dim=1)
        result.settings = json.dumps(subgraphs.settings)
        return result


def _reordered(data: Data, graphs: GraphStore) -> dict[str, Any]:
    """The attributes of the graph, those of edges in the order of the store."""
    if data.edge_index is None:
        return dict(data.to_dict())
    source, target = data.edge_index.long()
    order = torch.argsort(target * graphs.num_nodes + source)
    # What belongs to edges PyG can only tell by its length; `y` has a level.
    kept: dict[str, Any] = dict(data.to_dict())
    moved = {key for key in kept if data.is_edge_attr(key)} - {"edge_index", "y"}
    return kept | {key: _permuted(kept[key], order) for key in moved}


def _permuted(values: Any, order: torch.Tensor) -> Any:
    """Values, of which there may be a list, in another order."""
    return [values[k] for k in order.tolist()] if isinstance(values, list) else values[order]
