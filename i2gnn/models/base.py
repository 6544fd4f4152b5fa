"""What every model has in common: where its inputs come from and where its outputs live."""

import os
from typing import Any

import torch
from torch import Tensor, nn

from i2gnn import ops
from i2gnn.graphs.raw import Level
from i2gnn.graphs.store import GraphStore
from i2gnn.nn import FeatureEncoder, mlp
from i2gnn.ops import Reduce
from i2gnn.subgraphs import as_subgraphs

__all__ = ["Network", "NodeNetwork", "as_graphs", "check_choice", "check_number"]


class Network(nn.Module):
    """Base of all models: `network(network.extract(graphs))` are its predictions.

    Attributes:
        level: Where the outputs live: "node", "edge" or "graph".
    """

    level: Level

    def static_shapes(self, batch: GraphStore) -> bool:
        """Whether training steps can be recorded as CUDA graphs and replayed on other batches.

        The forward and backward pass must then never wait for the device, and must take batches
        of fixed shape (`i2gnn.graphs.assemble`), whose spare items may not change what others get:
        no statistics over all rows, as in batch normalisation.

        Args:
            batch: Some of the graphs, on the device of the model.
        """
        return False

    def extract(
        self,
        graphs: GraphStore,
        *,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> GraphStore:
        """The store whose batches this model takes.

        Args:
            graphs: Where the features and the targets are.
            cache_dir: Keeps what is expensive to compute there.
            progress: Shows a progress bar on standard error.
        """
        raise NotImplementedError

    @classmethod
    def arguments_for(cls, graphs: GraphStore) -> dict[str, Any]:
        """The arguments that follow from the graphs: widths of features and targets, level."""
        return {
            "in_channels": 0 if graphs.x is None else graphs.x.shape[1],
            "edge_channels": 0 if graphs.edge_attr is None else graphs.edge_attr.shape[1],
            "out_channels": 1 if graphs.y is None else graphs.y.shape[1],
            "level": graphs.level or "node",
        }

    @property
    def reads_edges(self) -> bool:
        """Whether the model was built to read features of edges."""
        found = (module for module in self.modules() if isinstance(module, FeatureEncoder))
        return any(encoder.what == "edge" for encoder in found)

    @property
    def dtype(self) -> torch.dtype:
        """Floating-point type of the parameters."""
        return next(self.parameters()).dtype


class NodeNetwork(Network):
    """Base of the networks that end in one state per node and read levels off it.

        nodes     head(h[i])
        edges     head([h[i], h[j]])
        graphs    head(sum or mean of h[i] over i in V)

    `head` is an MLP of widths D (2 D for edges), D / 2, D / 4, out_channels.

    Args:
        in_channels: Columns of numbers among the node features; they follow those of types.
        node_types: For each column of types among the node features, how many types there are.
        hidden_channels: Width D of all states.
        num_layers: Number of layers, checked here and built by the subclass.
        out_channels: Number of outputs per node, edge or graph.
        pool: "sum" or "mean", in all readouts.
        level: Where the outputs live.
    """

    def __init__(
        self,
        *,
        in_channels: int,
        node_types: tuple[int, ...],
        hidden_channels: int,
        num_layers: int,
        out_channels: int,
        pool: Reduce,
        level: Level,
    ) -> None:
        super().__init__()
        check_choice("pool", pool, ("sum", "mean"))
        check_choice("level", level, ("node", "edge", "graph"))
        if num_layers < 1:
            raise ValueError(f"num_layers must be at least 1, got {num_layers}")
        width = hidden_channels
        self.hidden_channels = width
        self.pool: Reduce = pool
        self.level = level
        self.encode_nodes: FeatureEncoder | None = None
        if in_channels or node_types:
            self.encode_nodes = FeatureEncoder(node_types, in_channels, width)
        ends = 2 * width if level == "edge" else width
        self.head = mlp([ends, max(width // 2, 1), max(width // 4, 1), out_channels], nn.ELU)

    def encode(self, graphs: GraphStore) -> Tensor:
        """First states of the nodes, [N, D]: their features, or ones if there are none."""
        if self.encode_nodes is None:
            shape = (graphs.num_nodes, self.hidden_channels)
            return torch.ones(shape, dtype=self.dtype, device=graphs.device)
        result: Tensor = self.encode_nodes(graphs.x)
        return result

    def read(self, h: Tensor, graphs: GraphStore) -> Tensor:
        """Predictions from the states of the nodes: [N, D] to [N | E | G, out_channels]."""
        if self.level == "edge":
            h = torch.cat([h[graphs.edge_to_node], h[graphs.neighbor]], dim=1)
        elif self.level == "graph":
            h = ops.pool_graphs(h, graphs, self.pool)
        result: Tensor = self.head(h)
        return result


def as_graphs(batch: Any) -> GraphStore:
    """The store behind a batch: itself, or what PyG collated from `BranchedEgoNets`."""
    return batch if isinstance(batch, GraphStore) else as_subgraphs(batch)


def check_number(name: str, value: int, least: int) -> None:
    """Raises a ValueError unless an option is a whole number, and not too small."""
    if not isinstance(value, int):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raises unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
