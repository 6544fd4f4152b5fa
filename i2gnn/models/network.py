"""One network for every number of identifiers."""

import os
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from i2gnn import ops
from i2gnn.graphs.raw import Level
from i2gnn.graphs.store import GraphStore
from i2gnn.nn import (
    EdgeReadout,
    GatedGraph,
    GraphReadout,
    InjectLabels,
    LabelEncoder,
    NodeReadout,
    make_conv,
    mlp,
    read_edges,
)
from i2gnn.ops import Reduce
from i2gnn.subgraphs import Subgraphs, as_subgraphs, extract_subgraphs
from i2gnn.subgraphs.labels import parse_labels

__all__ = ["IdentifierGNN"]


class IdentifierGNN(nn.Module):
    """Message passing on subgraphs with `identifiers` marked nodes, then pooling level by level.

        rows      h[i,j,k] = labels z[i,j,k] + node features x[k]          (start)
        layer t   h = conv(W [h, z])                                        (num_layers times)
        branches  h[i,j] = readout of h[i,j,k] over k
        nodes     h[i]   = readout of h[i,j] over j
        graphs    h[G]   = readout of h[i] over i                           (level="graph")
        output    head(h), an MLP of widths D, D / 2, D / 4, out_channels

    Subclasses choose `identifiers`; everything else is an argument.

    Args:
        in_channels: Width of the node features; 0 if there are none.
        edge_channels: Width of the edge features, for convs that use them.
        hidden_channels: Width D of all states.
        num_layers: Number T of message-passing layers.
        out_channels: Number of outputs per node, edge or graph.
        conv: Layer: "gated", "gin", "gine", "graph" or "nn".
        hops: Radius K of the ego-nets.
        labels: Label kinds joined by "+"; by default "spd", or "none" without identifiers.
        label_injection: "layer" mixes the labels in before every layer, "input" only at the start.
        pool: "sum" or "mean", in all readouts.
        level: Where the outputs live: "node", "edge" (directed, in the store's order) or "graph".

    Shapes:
        batch: `Subgraphs`, or a PyG batch of graphs from `BranchedEgoNets`.
        returns: [N | E | G, out_channels].
    """

    identifiers: ClassVar[int]

    def __init__(
        self,
        *,
        in_channels: int = 0,
        edge_channels: int = 0,
        hidden_channels: int = 64,
        num_layers: int = 5,
        out_channels: int = 1,
        conv: str = "gated",
        hops: int = 3,
        labels: str | None = None,
        label_injection: Literal["layer", "input"] = "layer",
        pool: Reduce = "sum",
        level: Level = "node",
    ) -> None:
        super().__init__()
        _check_choice("label_injection", label_injection, ("layer", "input"))
        _check_choice("pool", pool, ("sum", "mean"))
        _check_choice("level", level, ("node", "edge", "graph"))
        if num_layers < 1:
            raise ValueError(f"num_layers must be at least 1, got {num_layers}")
        width = hidden_channels
        self.hidden_channels = width
        self.hops = hops
        self.level = level
        self.labels = ("spd" if self.identifiers else "none") if labels is None else labels
        kinds = parse_labels(self.labels, self.identifiers)

        def label_encoder() -> LabelEncoder:
            return LabelEncoder(kinds, hops, self.identifiers, width)

        self.encode_labels = label_encoder() if kinds else None
        self.encode_nodes = nn.Linear(in_channels, width) if in_channels else None
        again = num_layers - 1 if kinds and label_injection == "layer" else 0
        self.injections = nn.ModuleList(InjectLabels(label_encoder(), width) for _ in range(again))
        self.convs = nn.ModuleList(
            make_conv(conv, width, width, edge_channels) for _ in range(num_layers)
        )
        # With fewer than two identifiers a root has one branch, and the two readouts are one pool.
        two = self.identifiers == 2
        self.edge_readout = EdgeReadout(width, pool, with_mlp=two)
        self.node_readout = NodeReadout(width, pool, with_mlp=two)
        self.graph_readout = GraphReadout(pool)
        ends = 2 * width if level == "edge" and not two else width
        self.head = mlp([ends, max(width // 2, 1), max(width // 4, 1), out_channels], nn.ELU)

    def forward(self, batch: Any) -> Tensor:
        """Predictions at the model's level, [N | E | G, out_channels]."""
        subgraphs = as_subgraphs(batch)
        if subgraphs.identifiers != self.identifiers:
            raise ValueError(
                f"{type(self).__name__} needs subgraphs with {self.identifiers} identifiers, "
                f"got {subgraphs.identifiers}"
            )
        if self.identifiers and subgraphs.hops != self.hops:
            raise ValueError(
                f"the model expects {self.hops} hops, the subgraphs have {subgraphs.hops}; "
                "extract them with the model's own settings (model.extract)"
            )
        return self.outputs(self.states(self.pooled(subgraphs)), subgraphs)

    def rows(self, subgraphs: Subgraphs) -> Tensor:
        """States after the last layer, [R, D]."""
        edge_attr = None if subgraphs.edge_attr is None else subgraphs.edge_attr.to(self.dtype)
        h = self._first_layer(subgraphs, edge_attr)
        for t in range(1, len(self.convs)):
            h = self._layer(t, h, subgraphs, edge_attr)
        return h

    @property
    def dtype(self) -> torch.dtype:
        """Floating-point type of the parameters."""
        return next(self.parameters()).dtype

    def extract(
        self,
        graphs: GraphStore,
        *,
        cache_dir: str | os.PathLike[str] | None = None,
        progress: bool = False,
    ) -> Subgraphs:
        """The subgraphs of the graphs, with the settings that this model expects."""
        return extract_subgraphs(
            graphs,
            hops=self.hops,
            identifiers=self.identifiers,
            labels=self.labels,
            cache_dir=cache_dir,
            progress=progress,
        )

    def _first_layer(self, subgraphs: Subgraphs, edge_attr: Tensor | None) -> Tensor:
        """States after the first layer, [R, D], ready for the second."""
        conv, labels = self.convs[0], self.encode_labels
        if (
            isinstance(conv, GatedGraph)
            and labels is not None
            and labels.resistance is None
            and self.encode_nodes is None
        ):
            labels.check(subgraphs)
            then = self._projection(0, subgraphs)
            return ops.gated_label_layer(labels.combinations(), subgraphs, conv.weights(), then)
        return self._layer(0, self._start(subgraphs), subgraphs, edge_attr)

    def _layer(self, t: int, h: Tensor, subgraphs: Subgraphs, edge_attr: Tensor | None) -> Tensor:
        """Layer t and, unless it is the last, what prepares its result for the next."""
        conv, last = self.convs[t], t == len(self.convs) - 1
        if isinstance(conv, GatedGraph) and (then := self._projection(t, subgraphs)):
            h = conv(h, subgraphs, then=then)
            return h
        h = conv(h, subgraphs, edge_attr)
        if not (last or conv.ends_in_activation):
            h = nn.functional.elu(h)
        if self.injections and not last:
            h = self.injections[t](h, subgraphs)
        return h

    def _projection(self, t: int, subgraphs: Subgraphs) -> ops.Projection | None:
        """How labels enter after layer t, if they do and are all discrete."""
        if t >= len(self.injections):
            return None
        inject = self.injections[t]
        assert isinstance(inject, InjectLabels)
        return inject.projection(subgraphs)

    def _start(self, subgraphs: Subgraphs) -> Tensor:
        parts: list[Tensor] = []
        if self.encode_labels is not None:
            parts.append(self.encode_labels(subgraphs))
        if self.encode_nodes is not None:
            if subgraphs.x is None:
                raise ValueError(
                    f"the model expects node features of width {self.encode_nodes.in_features}, "
                    "the graphs have none"
                )
            if subgraphs.x.shape[1] != self.encode_nodes.in_features:
                raise ValueError(
                    f"the model expects node features of width {self.encode_nodes.in_features}, "
                    f"the graphs have {subgraphs.x.shape[1]}"
                )
            x = self.encode_nodes(subgraphs.x.to(self.dtype))
            parts.append(ops.spread_nodes(x, subgraphs))
        if not parts:  # the paper's convention where there are no attributes
            shape = (subgraphs.num_rows, self.hidden_channels)
            return torch.ones(shape, dtype=self.dtype, device=subgraphs.device)
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    # -- readout, in three steps that can be taken root by root --------------------------------

    def pooled(self, subgraphs: Subgraphs) -> Tensor:
        """Rows pooled to roots, [N, D]; at edge level with two identifiers to edges, [E, D].

        A root's vector is the sum or mean of its branches' and depends on no other root.
        """
        branches = self.edge_readout(self.rows(subgraphs), subgraphs)  # [B, D]
        if self.level == "edge" and self.identifiers == 2:
            return read_edges(branches, subgraphs)
        return ops.pool_branches(branches, subgraphs, self.node_readout.reduce)

    def states(self, pooled: Tensor) -> Tensor:
        """What follows the pool, vector by vector: [N | E, D] to the same."""
        if self.level == "edge" and self.identifiers == 2:
            return pooled
        nodes: Tensor = self.node_readout.mlp(pooled)
        return nodes

    def outputs(self, states: Tensor, graphs: GraphStore) -> Tensor:
        """Predictions from the states of all nodes (or edges): [N | E | G, out_channels].

        At node level, and at edge level with two identifiers, each state gives its own.
        """
        if self.level == "edge" and self.identifiers != 2:
            states = torch.cat([states[graphs.edge_to_node], states[graphs.neighbor]], dim=1)
        elif self.level == "graph":
            states = self.graph_readout(states, graphs)
        result: Tensor = self.head(states)
        return result


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
