"""One network for every number of identifiers."""

import os
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from i2gnn import ops
from i2gnn.graphs.raw import Level
from i2gnn.graphs.store import GraphStore
from i2gnn.models.base import Network, check_choice, check_number
from i2gnn.models.fusing import (
    has_static_shapes,
    pool_labels,
    read_at_once,
    run_fused,
    run_layer,
    sees_labels_alone,
)
from i2gnn.nn import (
    ConcatEncoder,
    Conv,
    EdgeReadout,
    FeatureEncoder,
    GraphReadout,
    InjectLabels,
    LabelEncoder,
    LabelGate,
    Layer,
    MixNodeStates,
    NodeReadout,
    Norm,
    PathReadout,
    VirtualNode,
    make_conv,
    mlp,
    parse_readout,
    read_edges,
)
from i2gnn.ops import Reduce
from i2gnn.subgraphs import Subgraphs, as_subgraphs, extract_subgraphs
from i2gnn.subgraphs.labels import parse_labels

__all__ = ["IdentifierGNN"]

LabelInjection = Literal["layer", "input", "concat"]
NodeEncoding = Literal["sum", "concat"]


class IdentifierGNN(Network):
    """Message passing on subgraphs with `identifiers` marked nodes, then pooling level by level.

        rows      h[i,j,k] = labels z[i,j,k] + node features x[k]          (start)
        layer t   h = conv(W [h, z])                                        (num_layers times)
        branches  h[i,j] = readout of h[i,j,k] over k
        nodes     h[i]   = readout of h[i,j] over j
        graphs    h[G]   = readout of h[i] over i                           (level="graph")
        output    head(h), an MLP of widths D, D / 2, D / 4, out_channels

    Subclasses choose `identifiers`, and ID-GNN messages of two kinds; the rest are arguments.

    Args:
        in_channels: Columns of numbers among the node features; they follow those of types.
        node_types: For each column of types among the node features, how many types there are.
        edge_channels: Columns of numbers among the edge features, for convs that use them.
        edge_types: As `node_types`, for the edge features.
        node_encoding: "sum": embeddings of the types and a linear map of the numbers, added up;
            "concat": 8-wide embeddings and all columns as numbers, side by side.
        hidden_channels: Width D of all states.
        num_layers: Number T of message-passing layers.
        out_channels: Number of outputs per node, edge or graph.
        conv: Layer: "gated", "gin", "gine", "graph", "product" or "nn", or a subclass of `Conv`.
        expansion: Hidden width of the MLPs in "gin" and "gine", in widths of their input.
        hops: Radius K of the ego-nets.
        labels: Label kinds joined by "+"; by default "spd", or "none" for MPNN and ID-GNN.
        branch_labels: Whether labels tell where the branch is; without them the subgraphs of a
            root differ in nothing (the paper's ablation "single").
        shared_labels: Whether a distance and its second column, of "spd_pred", have one table of
            embeddings, as in the published code.
        learned_start: Whether rows that have neither labels nor features start from one learnt
            vector instead of ones, as in the published ID-GNN.
        label_injection: "layer" mixes the labels in before every layer, "input" adds them at the
            start only, "concat" puts them beside the states: every conv works on [h, z].
        norm: "batch" normalises over the rows after every layer and inside the MLPs of convs.
        residual: Whether each layer adds its input, where the widths agree.
        dropout: Probability of a zero after each layer.
        node_states: Whether every row sees the pooled state of its node after each conv; see
            `MixNodeStates`.
        readout: What is read of subgraphs and nodes: "nodes", "center", "side" and "context"
            joined by "+"; see `i2gnn.nn.readouts`.
        gates: Whether readouts are gated by the labels.
        readout_mlp: Whether MLPs follow the edge and node readouts; by default with two
            or more identifiers. "edge": behind the edge readout alone, so that with an empty
            `head_channels` predictions are sums over branches, as counts are.
        virtual_node: Whether each graph has a virtual node.
        head_channels: Hidden widths of the head; by default D / 2 and D / 4.
        pool: "sum" or "mean", in all readouts.
        level: Where the outputs live: "node", "edge" (directed, in the store's order) or "graph".

    Shapes:
        batch: `Subgraphs`, or a PyG batch of graphs from `BranchedEgoNets`.
        returns: [N | E | G, out_channels].
    """

    identifiers: ClassVar[int]
    least_hops: ClassVar[int] = 1
    root_messages: ClassVar[bool] = False
    usual_labels: ClassVar[str] = "spd"

    def __init__(
        self,
        *,
        in_channels: int = 0,
        node_types: tuple[int, ...] = (),
        edge_channels: int = 0,
        edge_types: tuple[int, ...] = (),
        node_encoding: NodeEncoding = "sum",
        hidden_channels: int = 64,
        num_layers: int = 5,
        out_channels: int = 1,
        conv: str | type[Conv] = "gated",
        expansion: int = 1,
        hops: int = 3,
        labels: str | None = None,
        branch_labels: bool = True,
        shared_labels: bool = False,
        learned_start: bool = False,
        label_injection: LabelInjection = "layer",
        norm: Norm = "none",
        residual: bool = False,
        dropout: float = 0.0,
        node_states: bool = False,
        readout: str = "nodes",
        gates: bool = False,
        readout_mlp: bool | Literal["edge"] | None = None,
        virtual_node: bool = False,
        head_channels: tuple[int, ...] | None = None,
        pool: Reduce = "sum",
        level: Level = "node",
    ) -> None:
        super().__init__()
        check_choice("node_encoding", node_encoding, ("sum", "concat"))
        check_choice("label_injection", label_injection, ("layer", "input", "concat"))
        check_choice("norm", norm, ("none", "batch"))
        check_choice("pool", pool, ("sum", "mean"))
        check_choice("level", level, ("node", "edge", "graph"))
        if readout_mlp is not None and not isinstance(readout_mlp, bool):
            check_choice("readout_mlp", readout_mlp, ("edge",))
        for name, value in (("num_layers", num_layers), ("hidden_channels", hidden_channels)):
            check_number(name, value, 1)
        check_number("hops", hops, self.least_hops)
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must lie in [0, 1), got {dropout}")
        width = hidden_channels
        self.hidden_channels = width
        self.hops = hops
        self.level = level
        self.pool: Reduce = pool
        self.parts = parse_readout(readout, self.identifiers)
        self.labels = self.usual_labels if labels is None else labels
        kinds = parse_labels(self.labels, self.identifiers)
        if gates and not kinds:
            raise ValueError(f"gates need labels, got labels {self.labels!r}")

        def label_encoder(channels: int) -> LabelEncoder:
            root_only = not branch_labels
            return LabelEncoder(kinds, hops, self.identifiers, channels, root_only, shared_labels)

        self.encode_nodes: ConcatEncoder | FeatureEncoder | None = None
        if in_channels or node_types:
            self.encode_nodes = (
                FeatureEncoder(node_types, in_channels, width)
                if node_encoding == "sum"
                else ConcatEncoder(node_types, in_channels)
            )
        if learned_start and (kinds or self.encode_nodes is not None):
            raise ValueError(
                f"rows start from labels ({self.labels}) or features: learned_start has no use"
            )
        self.learned_start = nn.Parameter(torch.randn(width)) if learned_start else None
        start = width if self.encode_nodes is None else self.encode_nodes.channels
        concat = bool(kinds) and label_injection == "concat"
        self.encode_labels = label_encoder(start) if kinds and not concat else None
        widths = [start] + [width] * (num_layers - 1)  # what each layer takes
        gated = gates and node_states

        def layer(t: int) -> Layer:
            return Layer(
                make_conv(
                    conv,
                    (2 if concat else 1) * widths[t],
                    width,
                    edge_channels,
                    edge_types,
                    expansion,
                    norm,
                    root_messages=self.root_messages,
                ),
                labels=label_encoder(widths[t]) if concat or gated else None,
                concat=concat,
                mix=MixNodeStates(width, self.parts, pool, widths[t] if gated else 0)
                if node_states
                else None,
                norm=norm,
                activation=t < num_layers - 1,
                dropout=dropout,
                residual=residual,
            )

        self.layers = nn.ModuleList(layer(t) for t in range(num_layers))
        again = num_layers - 1 if kinds and label_injection == "layer" else 0
        self.injections = nn.ModuleList(
            InjectLabels(label_encoder(width), width) for _ in range(again)
        )
        self.virtual_node = VirtualNode(widths, norm, dropout, residual) if virtual_node else None
        self.gate_labels = label_encoder(width) if gates else None
        self.gate = LabelGate(width, width) if gates else None
        ends = self._make_readouts(readout_mlp)
        hidden = (width // 2, width // 4) if head_channels is None else head_channels
        self.head = mlp([ends, *(max(w, 1) for w in hidden), out_channels], nn.ELU)

    def _make_readouts(self, readout_mlp: bool | Literal["edge"] | None) -> int:
        """Builds the readouts; returns the width of what they hand to the head."""
        # With fewer than two identifiers a root has one branch, and the two readouts are one pool.
        branched, width = self.identifiers > 1, self.hidden_channels
        with_mlp = branched if readout_mlp is None else bool(readout_mlp)
        of_node = len(self.parts) * width
        of_context = width if "context" in self.parts else 0
        self.edge_readout = EdgeReadout(width, self.pool, with_mlp and branched, self.parts)
        self.path_readout = (
            PathReadout(of_node - of_context, self.pool, with_mlp)
            if self.identifiers == 3
            else None
        )
        by_branch = branched and self.level == "edge"
        mixes = with_mlp and not by_branch and readout_mlp != "edge"
        self.node_readout = NodeReadout(of_node, self.pool, mixes)
        self.graph_readout = GraphReadout(self.pool)
        if by_branch:  # the parts of the branch itself, and the context of both its ends
            return of_node + of_context
        return 2 * of_node if self.level == "edge" else of_node

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
        h = self._start(subgraphs)
        fused = run_fused(self, h, subgraphs)
        if fused is not None:
            return fused
        v = None if self.virtual_node is None else self.virtual_node.start(subgraphs)
        for t in range(len(self.layers)):
            if self.virtual_node is not None and v is not None:
                h = self.virtual_node.tell(h, v, subgraphs)
                if t < len(self.layers) - 1:
                    v = self.virtual_node.update(t, h, v, subgraphs)
            h = run_layer(self, t, h, subgraphs)
        return h

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

    def _start(self, subgraphs: Subgraphs) -> Tensor:
        """States before the first layer, [R, D]."""
        parts: list[Tensor] = []
        if self.encode_labels is not None:
            parts.append(self.encode_labels(subgraphs))
        if self.encode_nodes is not None:
            x = self.encode_nodes(subgraphs.x).to(self.dtype)
            parts.append(ops.spread_nodes(x, subgraphs))
        if self.learned_start is not None:
            return self.learned_start.repeat(subgraphs.num_rows, 1)
        if not parts:  # the paper's convention where there are no attributes
            shape = (subgraphs.num_rows, self.hidden_channels)
            return torch.ones(shape, dtype=self.dtype, device=subgraphs.device)
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def static_shapes(self, batch: GraphStore) -> bool:
        """Whether training steps can be recorded; see `i2gnn.models.fusing`."""
        return has_static_shapes(self, as_subgraphs(batch))

    # -- readout, in three steps that can be taken root by root --------------------------------

    def pooled(self, subgraphs: Subgraphs) -> Tensor:
        """Rows pooled to roots, [N, parts D]; at edge level with two or more identifiers to edges.

        The context aside, a root's vector is the sum or mean of its branches' and depends on no
        other root.
        """
        context = None
        if sees_labels_alone(self):
            branches = self.edge_readout.mlp(pool_labels(self, subgraphs))  # [B, D]
        else:
            h = self.rows(subgraphs)
            nodes = read_at_once(self, h, subgraphs)
            if nodes is not None:
                return nodes
            gate = None if self.gate is None else self.gate(self.gate_labels, subgraphs)
            branches = self.edge_readout(h, subgraphs, gate)  # [B, parts D]
            if "context" in self.parts:
                context = ops.pool_context(h, subgraphs, self.pool)  # [N, D]
        if self.path_readout is not None:
            branches, subgraphs = self.path_readout(branches, subgraphs)  # one per neighbour
        if self.level == "edge" and self.identifiers > 1:
            edges = read_edges(branches, subgraphs)  # [E, D]
            return edges if context is None else torch.cat([edges, _ends(context, subgraphs)], 1)
        return self.node_readout.pool(branches, subgraphs, context)

    def states(self, pooled: Tensor) -> Tensor:
        """What follows the pool, vector by vector: [N | E, D] to the same."""
        if self.level == "edge" and self.identifiers > 1:
            return pooled
        nodes: Tensor = self.node_readout.mlp(pooled)
        return nodes

    def outputs(self, states: Tensor, graphs: GraphStore) -> Tensor:
        """Predictions from the states of all nodes (or edges): [N | E | G, out_channels].

        At node level, and at edge level with two or more identifiers, each state gives its own.
        """
        if self.level == "edge" and self.identifiers < 2:
            states = _ends(states, graphs)
        elif self.level == "graph":
            states = self.graph_readout(states, graphs)
        result: Tensor = self.head(states)
        return result


def _ends(nodes: Tensor, graphs: GraphStore) -> Tensor:
    """The states of both ends of each edge, [N, D] to [E, 2 D]."""
    return torch.cat([nodes[graphs.edge_to_node], nodes[graphs.neighbor]], dim=1)
