"""GNN-AK+: ego-nets as kernels of a network on nodes, in two variants."""

from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from i2gnn import ops
from i2gnn.graphs.raw import Level
from i2gnn.graphs.store import GraphStore
from i2gnn.models.base import check_choice
from i2gnn.models.ego_nets import EgoNetNetwork
from i2gnn.nn import Conv, GatedGraph, LabelEncoder, LabelGate, Norm, make_conv, make_norm, mlp
from i2gnn.ops import Reduce
from i2gnn.subgraphs import Subgraphs
from i2gnn.subgraphs.drop import draw_roots, select_roots

__all__ = ["GNNAKPlain", "GNNAKPlus"]


class GNNAKPlus(EgoNetNetwork):
    """GNN-AK+ as its authors define it (Zhao et al. 2022).

        layer     h[i,k] = W [x[k], e(d(i,k))]                                   rows, e: embedding
                  h      = relu(norm(conv(h))) + h                               (inner_layers)
                  centroid[i] = g1(0) * h[i,i]
                  subgraph[i] = pool of g2(d(i,k)) * relu(W_s h[i,k]) over k in V_i
                  context[k]  = pool of g3(d(i,k)) * relu(W_c h[i,k]) over roots i with k in V_i
                  x = relu(norm(W_f [centroid, subgraph, context])) + x          (num_layers)
        output    levels as in `NodeNetwork`

    where g(d) = sigmoid(W_g e(d)) gates by the distance to the centroid. With `subgraph_drop=R`
    training keeps only so many roots that every node lies in R of their ego-nets, anew for every
    batch. A dropped root has no centroid and subgraph encoding, so such a network uses the context
    alone, in evaluation too; a sampled sum is scaled by (ego-nets the node is in) / (those kept).

    Serves the rows "GNNAK+" of Tables 1 and 5, where the paper quotes the authors. Time
    n s (d D + D^2) per inner layer, memory n s D, for ego-nets of s nodes.

    Args:
        in_channels: Columns of numbers among the node features.
        node_types: For each column of types among them, how many types there are.
        edge_channels: Columns of numbers among the edge features, for convs that use them.
        edge_types: As `node_types`, for the edge features.
        hidden_channels: Width D of all states.
        num_layers: Number of layers, each with its own inner network.
        inner_layers: Message-passing layers inside the ego-nets, per layer.
        out_channels: Number of outputs per node, edge or graph.
        conv: Message passing inside the ego-nets, a key of `CONVS` or a subclass of `Conv`.
        hops: Radius K of the ego-nets.
        label_channels: Width of the embedding of distances.
        combine: "concat" as above, or "sum" of the three encodings, then W_f.
        norm: "batch" or "none".
        dropout: Probability of a zero after each layer.
        subgraph_drop: How many ego-nets every node must lie in during training; 0 keeps all.
        pool: "sum" or "mean", in all pools.
        level: Where the outputs live: "node", "edge" or "graph".

    Shapes:
        batch: `Subgraphs` with one identifier.
        returns: [N | E | G, out_channels].
    """

    def __init__(
        self,
        *,
        in_channels: int = 0,
        node_types: tuple[int, ...] = (),
        edge_channels: int = 0,
        edge_types: tuple[int, ...] = (),
        hidden_channels: int = 64,
        num_layers: int = 4,
        inner_layers: int = 1,
        out_channels: int = 1,
        conv: str | type[Conv] = "gin",
        hops: int = 3,
        label_channels: int = 16,
        combine: Literal["concat", "sum"] = "concat",
        norm: Norm = "batch",
        dropout: float = 0.0,
        subgraph_drop: int = 0,
        pool: Reduce = "mean",
        level: Level = "node",
    ) -> None:
        super().__init__(
            in_channels=in_channels,
            node_types=node_types,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            out_channels=out_channels,
            hops=hops,
            labels="spd",
            pool=pool,
            level=level,
        )
        check_choice("combine", combine, ("concat", "sum"))
        if inner_layers < 1:
            raise ValueError(f"inner_layers must be at least 1, got {inner_layers}")
        if subgraph_drop < 0:
            raise ValueError(f"subgraph_drop must be at least 0, got {subgraph_drop}")
        self.subgraph_drop = subgraph_drop
        width = hidden_channels
        self.layers = nn.ModuleList(
            KernelLayer(
                self.label_encoder(label_channels),
                nn.ModuleList(
                    make_conv(conv, width, width, edge_channels, edge_types)
                    for _ in range(inner_layers)
                ),
                width,
                label_channels,
                parts=("context",) if subgraph_drop else ("centroid", "subgraph", "context"),
                combine=combine,
                norm=norm,
                dropout=dropout,
                pool=pool,
            )
            for _ in range(num_layers)
        )

    def forward(self, batch: Any) -> Tensor:
        """Predictions at the model's level, [N | E | G, out_channels]."""
        subgraphs = self.ego_nets(batch)
        kept = subgraphs
        if self.subgraph_drop and self.training:
            kept = select_roots(subgraphs, draw_roots(subgraphs, self.subgraph_drop))
        seen = subgraphs.node_to_pair.ptr.diff()  # [N], ego-nets that each node is in
        x = self.encode(subgraphs)
        for layer in self.layers:
            x = layer(x, kept, seen)
        return self.read(x, subgraphs)


class Lift(nn.Module):
    """Rows from nodes and labels: h[i,k] = W [x[k], z[i,k]] + b.

    The part of W that meets x is applied to nodes, the other to the table of labels.

    Shapes:
        x: [N, D].
        returns: [R, D].
    """

    def __init__(self, channels: int, label_channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(channels + label_channels, channels)

    def forward(self, x: Tensor, labels: LabelEncoder, subgraphs: Subgraphs) -> Tensor:
        """[N, D] to [R, D]."""
        weight_x, weight_z = torch.split(self.linear.weight.t(), [x.shape[1], labels.channels])
        from_labels = labels(subgraphs, then=(weight_z, self.linear.bias))
        rows: Tensor = from_labels + ops.spread_nodes(x @ weight_x, subgraphs)
        return rows


class KernelLayer(nn.Module):
    """One layer of `GNNAKPlus`: [N, D] to [N, D] through the rows of the ego-nets."""

    def __init__(
        self,
        labels: LabelEncoder,
        convs: nn.ModuleList,
        channels: int,
        label_channels: int,
        *,
        parts: tuple[str, ...],
        combine: str,
        norm: Norm,
        dropout: float,
        pool: Reduce,
    ) -> None:
        super().__init__()
        self.labels = labels
        self.lift = Lift(channels, label_channels)
        self.convs = convs
        self.norms = nn.ModuleList(make_norm(norm, channels) for _ in convs)
        self.gates = nn.ModuleDict({part: LabelGate(label_channels, channels) for part in parts})
        pooled = [part for part in parts if part != "centroid"]
        self.transforms = nn.ModuleDict({part: nn.Linear(channels, channels) for part in pooled})
        self.combine = combine
        width = channels * len(parts) if combine == "concat" else channels
        self.fuse = nn.Linear(width, channels)
        self.norm = make_norm(norm, channels)
        self.dropout = dropout
        self.pool: Reduce = pool

    def forward(self, x: Tensor, kept: Subgraphs, seen: Tensor) -> Tensor:
        """[N, D] to [N, D]; `kept` are the ego-nets to use, of `seen` that each node is in."""
        h = self.lift(x, self.labels, kept)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            h = functional.relu(norm(conv(h, kept, kept.edge_attr))) + h
        parts = [self._encode(part, h, kept, seen) for part in self.gates]
        fused = torch.cat(parts, dim=1) if self.combine == "concat" else torch.stack(parts).sum(0)
        out = functional.relu(self.norm(self.fuse(fused)))
        return functional.dropout(out, self.dropout, self.training) + x

    def _encode(self, part: str, h: Tensor, kept: Subgraphs, seen: Tensor) -> Tensor:
        """The centroid, subgraph or context encoding of the nodes, [R, D] to [N, D]."""
        gate: Tensor = self.gates[part](self.labels, kept)
        if part == "centroid":
            return (gate * h).index_select(0, kept.row_of_root)
        h = gate * functional.relu(self.transforms[part](h))
        if part == "subgraph":
            return ops.pool_nodes(h, kept, self.pool)
        if kept.complete:
            return ops.pool_context(h, kept, self.pool)
        total = h.new_zeros(kept.num_nodes, h.shape[1]).index_add(0, kept.row_to_node, h)
        mean = total / kept.node_to_pair.ptr.diff().unsqueeze(1)
        return mean if self.pool == "mean" else mean * seen.unsqueeze(1)


class GNNAKPlain(EgoNetNetwork):
    """The paper's own, plainer version of GNN-AK+ in its counting experiments.

        start     h[i,k] = z_1[i,k] + x[k]                          z_t: embedding of the labels
        layer t   h = conv(h)
                  p[k] = mlp_t([sum of g_t[k,l] * h[k,l] over l in V_k,     subgraph
                                h[k,k],                                     centre
                                sum of c_t[i,k] * h[i,k] over i])           context
                  h[i,k] = W [p[k], z_{t+1}[i,k]]                           (num_layers times)
        output    once more p, without a conv before it; levels as in `NodeNetwork`

    where g_t = sigmoid(W_g z_t) and c_t = sigmoid(W_c z_t) are gates by the labels. Every row of a
    node is overwritten by the state p of that node, so the linear map on p is taken per node.

    Serves the rows "GNNAK+" of Tables 2, 3, 9 and 12: 251k weights in linear layers and GRU cells
    at 4 layers of width 64. Time n s (d D + D^2) per layer, memory n s D, for ego-nets of s nodes.

    Args:
        in_channels: Columns of numbers among the node features.
        node_types: For each column of types among them, how many types there are.
        edge_channels: Columns of numbers among the edge features, for convs that use them.
        edge_types: As `node_types`, for the edge features.
        hidden_channels: Width D of all states.
        num_layers: Number T of message-passing layers.
        out_channels: Number of outputs per node, edge or graph.
        conv: Message passing inside the ego-nets, a key of `CONVS` or a subclass of `Conv`.
        hops: Radius K of the ego-nets.
        labels: Label kinds joined by "+".
        shared_labels: Whether a distance and its second column, of "spd_pred", have one table of
            embeddings, as in the published code.
        pool: "sum" or "mean", in all pools.
        level: Where the outputs live: "node", "edge" or "graph".

    Shapes:
        batch: `Subgraphs` with one identifier.
        returns: [N | E | G, out_channels].
    """

    def __init__(
        self,
        *,
        in_channels: int = 0,
        node_types: tuple[int, ...] = (),
        edge_channels: int = 0,
        edge_types: tuple[int, ...] = (),
        hidden_channels: int = 64,
        num_layers: int = 4,
        out_channels: int = 1,
        conv: str | type[Conv] = "gated",
        hops: int = 3,
        labels: str = "spd",
        shared_labels: bool = False,
        pool: Reduce = "sum",
        level: Level = "node",
    ) -> None:
        super().__init__(
            in_channels=in_channels,
            node_types=node_types,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            out_channels=out_channels,
            hops=hops,
            labels=labels,
            shared_labels=shared_labels,
            pool=pool,
            level=level,
        )
        width = hidden_channels
        self.encoders = nn.ModuleList(self.label_encoder(width) for _ in range(num_layers + 1))
        self.convs = nn.ModuleList(
            make_conv(conv, width, width, edge_channels, edge_types) for _ in range(num_layers)
        )
        self.lifts = nn.ModuleList(Lift(width, width) for _ in range(num_layers - 1))
        self.pools = nn.ModuleList(GatedPool(width, pool) for _ in range(num_layers + 1))

    def static_shapes(self, batch: GraphStore) -> bool:
        """Whether training steps can be recorded: those of gated layers."""
        return self.level != "edge" and all(isinstance(conv, GatedGraph) for conv in self.convs)

    def forward(self, batch: Any) -> Tensor:
        """Predictions at the model's level, [N | E | G, out_channels]."""
        subgraphs = self.ego_nets(batch)
        h = self.encoders[0](subgraphs)
        if self.encode_nodes is not None:
            h = h + ops.spread_nodes(self.encode(subgraphs), subgraphs)
        for t, conv in enumerate(self.convs):
            h = conv(h, subgraphs, subgraphs.edge_attr)
            p = self.pools[t](h, self.encoders[t], subgraphs)  # [N, D]
            if t < len(self.lifts):
                h = self.lifts[t](p, self.encoders[t + 1], subgraphs)
            else:
                h = ops.spread_nodes(p, subgraphs)
        return self.read(self.pools[-1](h, self.encoders[-1], subgraphs), subgraphs)


class GatedPool(nn.Module):
    """Subgraph, centre and context of every node through an MLP: [R, D] to [N, D]."""

    def __init__(self, channels: int, pool: Reduce) -> None:
        super().__init__()
        self.subgraph = LabelGate(channels, channels)
        self.context = LabelGate(channels, channels)
        self.mlp = mlp([3 * channels, channels, channels])
        self.pool: Reduce = pool

    def forward(self, h: Tensor, labels: LabelEncoder, subgraphs: Subgraphs) -> Tensor:
        """[R, D] to [N, D]."""
        embedded = labels.embedding(subgraphs)
        inside, around = (gate.embedding(embedded) for gate in (self.subgraph, self.context))
        result: Tensor = self.mlp(ops.gated_pools(h, subgraphs, inside, around, self.pool))
        return result
