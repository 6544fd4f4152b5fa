"""What the networks on nodes that look at ego-nets have in common."""

import os
from typing import Any

from i2gnn.graphs.raw import Level
from i2gnn.graphs.store import GraphStore
from i2gnn.models.base import NodeNetwork
from i2gnn.nn import LabelEncoder
from i2gnn.ops import Reduce
from i2gnn.subgraphs import Subgraphs, as_subgraphs, extract_subgraphs
from i2gnn.subgraphs.labels import parse_labels

__all__ = ["EgoNetNetwork"]


class EgoNetNetwork(NodeNetwork):
    """Base of the networks on nodes that look at ego-nets with one identifier.

    Takes the arguments of `NodeNetwork`, and:

    Args:
        hops: Radius K of the ego-nets.
        labels: Label kinds joined by "+".
        shared_labels: Whether a distance and its second column have one table of embeddings.
    """

    def __init__(
        self,
        *,
        in_channels: int,
        node_types: tuple[int, ...],
        hidden_channels: int,
        num_layers: int,
        out_channels: int,
        hops: int,
        labels: str,
        pool: Reduce,
        level: Level,
        shared_labels: bool = False,
    ) -> None:
        super().__init__(
            in_channels=in_channels,
            node_types=node_types,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            out_channels=out_channels,
            pool=pool,
            level=level,
        )
        self.hops = hops
        self.labels = labels
        self.shared_labels = shared_labels
        self.kinds = parse_labels(labels, identifiers=1)
        if not self.kinds:
            raise ValueError(f"{type(self).__name__} needs labels, got {labels!r}")

    def label_encoder(self, channels: int) -> LabelEncoder:
        """A fresh embedding of the labels."""
        return LabelEncoder(self.kinds, self.hops, 1, channels, shared=self.shared_labels)

    def ego_nets(self, batch: Any) -> Subgraphs:
        """The ego-nets of a batch; an error if they are of another kind."""
        subgraphs = as_subgraphs(batch)
        if (subgraphs.identifiers, subgraphs.hops) != (1, self.hops):
            raise ValueError(
                f"{type(self).__name__} needs subgraphs with 1 identifier and {self.hops} hops, "
                f"got {subgraphs.identifiers} and {subgraphs.hops}; "
                "extract them with the model's own settings (model.extract)"
            )
        return subgraphs

    def extract(
        self,
        graphs: GraphStore,
        *,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> Subgraphs:
        """The ego-nets of all nodes, with the labels that this model expects."""
        return extract_subgraphs(
            graphs,
            hops=self.hops,
            identifiers=1,
            labels=self.labels,
            cache_dir=cache_dir,
            progress=progress,
        )
