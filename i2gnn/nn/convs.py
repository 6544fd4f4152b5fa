"""Message-passing layers lifted to rows: each passes messages inside every subgraph (Eq. 6).

All share one signature, `conv(h, subgraphs, edge_attr, z)`: [R, D_in] rows to [R, D_out]. There,
`edge_attr` [E, F] are the edge features of the graphs, or None, and `z` are embedded labels that
stand beside the states: where they are given, the layer works on [h, z], D_in wide together.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from i2gnn import ops
from i2gnn.nn.features import FeatureEncoder
from i2gnn.nn.norms import Norm
from i2gnn.nn.perceptron import mlp, mlp_of_parts, mlp_weights
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "CONVS",
    "GIN",
    "GINE",
    "Conv",
    "GatedGraph",
    "GraphConv",
    "NNConv",
    "ProductConv",
    "SumConv",
    "make_conv",
    "stack_weights",
]


class Conv(nn.Module):
    """Base of the layers.

    Attributes:
        needs_edge_attr: Whether the layer cannot run without edge features.
        ends_in_activation: Whether its output is already the result of a non-linearity, so that
            a network should not add one.
        has_mlp: Whether an MLP follows the messages, whose width and normalisation are options.
        tells_root: Whether messages are read through `sent`, so that the root's may have a weight
            of their own; ID-GNN takes no other layers.
        joins_roots: Whether a row's result depends on more than the subgraph it is in, such as the
            degrees of nodes in the whole graph, or a mean over all rows. Such a layer can neither
            be streamed under a memory budget nor run on distinct nodes alone.
    """

    needs_edge_attr = False
    tells_root = False
    has_mlp = False
    ends_in_activation = False
    joins_roots = False

    root_weight: nn.Parameter | None

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.register_parameter("root_weight", None)

    def forward(
        self,
        h: Tensor,
        subgraphs: Subgraphs,
        edge_attr: Tensor | None = None,
        z: Tensor | None = None,
    ) -> Tensor:
        """[R, in_channels] to [R, out_channels]."""
        raise NotImplementedError

    def distinguish_root(self) -> None:
        """Gives messages from the root a weight of their own, as in ID-GNN (You et al. 2021).

        Wherever the layer sums over h[i,j,l], it then reads W_root h[i,j,i] for l = i.
        """
        if not self.tells_root:
            raise ValueError(
                f"{type(self).__name__} does not read messages through `sent`, so that the root's "
                "cannot differ; if it does, set tells_root = True in its class"
            )
        self.root_weight = _square_weight(self.in_channels)

    def sent(self, h: Tensor, subgraphs: Subgraphs, others: Tensor | None = None) -> Tensor:
        """What each row sends to its neighbours, [R, in_channels].

        That is h, or h `others` where a weight for all but the root is given; the root may have
        its own.
        """
        sent = h if others is None else h @ others
        if self.root_weight is None:
            return sent
        roots = subgraphs.row_of_root.long()
        return sent.index_copy(0, roots, h.index_select(0, roots) @ self.root_weight)

    def fused(self, edge_attr: Tensor | None) -> tuple[ops.GINELayer, Tensor | None] | None:
        """The layer as an op takes it, and the types of edges; None where that is not possible."""
        return None

    def computes(self, kind: type["Conv"]) -> bool:
        """Whether this layer is of a class, or of a subclass that leaves alone what it computes."""
        return isinstance(self, kind) and all(
            getattr(type(self), name, None) is getattr(kind, name, None)
            for name in ("forward", "update", "sent", "weights")
        )

    def extra_repr(self) -> str:
        """Widths."""
        return f"{self.in_channels}, {self.out_channels}"


class SumConv(Conv):
    """Base of the layers that see their neighbours only as a sum: h' = update(h, sum of h[l])."""

    tells_root = True

    def forward(
        self,
        h: Tensor,
        subgraphs: Subgraphs,
        edge_attr: Tensor | None = None,
        z: Tensor | None = None,
    ) -> Tensor:
        """[R, in_channels] to [R, out_channels]; edge features are not used."""
        h = _join(h, z)
        return self.update(h, ops.aggregate(self.sent(h, subgraphs), subgraphs))

    def update(self, h: Tensor, message: Tensor) -> Tensor:
        """New states from states and sums of neighbours, row by row: [n, in] each to [n, out]."""
        raise NotImplementedError


class GIN(SumConv):
    """Graph isomorphism layer (Xu et al. 2019).

    h'[i,j,k] = mlp((1 + eps) h[i,j,k] + sum of h[i,j,l] over l in N_i(k))

    Args:
        in_channels: Width of the input.
        out_channels: Width of the output.
        expansion: Hidden width of the MLP, in widths of the input.
        norm: Normalisation inside the MLP.
    """

    has_mlp = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        expansion: int = 1,
        norm: Norm = "none",
    ) -> None:
        super().__init__(in_channels, out_channels)
        self.eps = nn.Parameter(torch.zeros(()))
        self.mlp = mlp([in_channels, expansion * in_channels, out_channels], norm=norm)

    def update(self, h: Tensor, message: Tensor) -> Tensor:
        """[n, in_channels] each to [n, out_channels]."""
        result: Tensor = self.mlp((1 + self.eps) * h + message)
        return result

    def fused(self, edge_attr: Tensor | None) -> tuple[ops.GINELayer, Tensor | None] | None:
        """The layer as an op takes it."""
        weights = mlp_weights(self.mlp) if self.computes(GIN) else None
        if self.root_weight is not None or weights is None:
            return None
        return ops.GINELayer(self.eps, weights), None


class GINE(Conv):
    """Graph isomorphism layer with edge features (Hu et al. 2020).

    h'[i,j,k] = mlp((1 + eps) h[i,j,k] + sum of relu(h[i,j,l] + encode(e[k,l])) over l in N_i(k))

    Args:
        in_channels: Width of the input.
        out_channels: Width of the output.
        edge_channels: Number of columns of numbers among the edge features.
        edge_types: Sizes of their columns of types; see `FeatureEncoder`.
        expansion: Hidden width of the MLP, in widths of the input.
        norm: Normalisation inside the MLP.
    """

    needs_edge_attr = True
    tells_root = True
    has_mlp = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        edge_channels: int = 0,
        edge_types: tuple[int, ...] = (),
        expansion: int = 1,
        norm: Norm = "none",
    ) -> None:
        super().__init__(in_channels, out_channels)
        self.eps = nn.Parameter(torch.zeros(()))
        self.edge = FeatureEncoder(edge_types, edge_channels, in_channels, "edge")
        self.mlp = mlp([in_channels, expansion * in_channels, out_channels], norm=norm)

    def forward(
        self,
        h: Tensor,
        subgraphs: Subgraphs,
        edge_attr: Tensor | None = None,
        z: Tensor | None = None,
    ) -> Tensor:
        """[R, in_channels] to [R, out_channels]."""
        # Messages act on each channel alone, so [h, z] need not be put side by side, unless the
        # root has a weight, which mixes channels.
        parts = [_join(h, z)] if z is None or self.root_weight is not None else [h, z]
        table, edge_type = self.edge.as_table(_require(edge_attr, self))
        tables = torch.split(table, [part.shape[1] for part in parts], dim=1)
        inputs = [
            (1 + self.eps) * h + ops.aggregate(self.sent(h, subgraphs), subgraphs, edge, edge_type)
            for h, edge in zip(parts, tables, strict=True)
        ]
        return mlp_of_parts(self.mlp, inputs)

    def fused(self, edge_attr: Tensor | None) -> tuple[ops.GINELayer, Tensor | None] | None:
        """The layer as an op takes it, and the types of edges, if types are all they have."""
        weights = mlp_weights(self.mlp) if self.computes(GINE) else None
        if self.root_weight is not None or weights is None:
            return None
        table, edge_type = self.edge.as_table(_require(edge_attr, self))
        if edge_type is None:
            return None
        return ops.GINELayer(self.eps, weights, edges=table), edge_type


class GatedGraph(Conv):
    """Gated graph layer (Li et al. 2016): a GRU fed with the sum of the neighbours.

    h'[i,j,k] = GRU(W sum of h[i,j,l] over l in N_i(k), h[i,j,k])
    """

    ends_in_activation = True
    tells_root = True

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)
        if in_channels != out_channels:
            raise ValueError(
                f"GatedGraph keeps its width, got {in_channels} to {out_channels}; labels beside "
                "the states (label_injection='concat') need another conv, such as 'gin'"
            )
        self.weight = _square_weight(in_channels)
        self.gru = nn.GRUCell(in_channels, in_channels)

    def forward(
        self,
        h: Tensor,
        subgraphs: Subgraphs,
        edge_attr: Tensor | None = None,
        z: Tensor | None = None,
        then: ops.Projection | None = None,
    ) -> Tensor:
        """[R, in_channels] to the same; `then` is applied to the result in the same pass."""
        h = _join(h, z)
        if self.root_weight is None:
            return ops.gated_layer(h, subgraphs, self.weights(), then)
        assert then is None, "a projection in the same pass needs one weight for all messages"
        gru, sent = self.gru, self.sent(h, subgraphs, others=self.weight)
        weights = ops.GRUWeights(gru.weight_ih.t(), gru.weight_hh.t(), gru.bias_ih, gru.bias_hh)
        return ops.gated_layer(h, subgraphs, weights, sent=sent)

    def weights(self) -> ops.GRUWeights:
        """The weights of the GRU, the message weight multiplied into them.

        The two follow each other without a non-linearity: multiplied once, they cost one product
        per row instead of two.
        """
        gru = self.gru
        message = self.weight @ gru.weight_ih.t()
        return ops.GRUWeights(message, gru.weight_hh.t(), gru.bias_ih, gru.bias_hh)


def stack_weights(convs: Sequence[GatedGraph]) -> ops.GRUWeights:
    """The weights of several layers, with a first axis of layers; one product for all of them."""
    weight = torch.stack([conv.weight for conv in convs])
    inputs = torch.stack([conv.gru.weight_ih for conv in convs])
    return ops.GRUWeights(
        torch.bmm(weight, inputs.transpose(1, 2)),
        torch.stack([conv.gru.weight_hh for conv in convs]).transpose(1, 2),
        torch.stack([conv.gru.bias_ih for conv in convs]),
        torch.stack([conv.gru.bias_hh for conv in convs]),
    )


class GraphConv(SumConv):
    """Linear graph layer (Morris et al. 2019).

    h'[i,j,k] = W_1 h[i,j,k] + W_2 sum of h[i,j,l] over l in N_i(k)
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)
        self.own = nn.Linear(in_channels, out_channels)
        self.neighbors = nn.Linear(in_channels, out_channels, bias=False)

    def update(self, h: Tensor, message: Tensor) -> Tensor:
        """[n, in_channels] each to [n, out_channels]."""
        result: Tensor = self.own(h) + self.neighbors(message)
        return result


class ProductConv(SumConv):
    """Layer without saturation: a polynomial of the state and the sum of the neighbours.

        h'[i,j,k] = A h[i,j,k] + B m + (C h[i,j,k] + c) * (E m + e),   m = sum of h[i,j,l] over l

    The paper's constructions that count multiply numbers of walks by each other and by marks of
    nodes. Here these are products of channels, exact at every size, where gates and MLPs can only
    approximate them on the sizes that they have seen. A new layer has C = 0 and c = 0: it starts
    linear, or products of products would be huge before anything is learnt.
    """

    ends_in_activation = True

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)
        self.own = nn.Linear(in_channels, 2 * out_channels)
        self.neighbors = nn.Linear(in_channels, 2 * out_channels)
        for factor in (self.own.weight[out_channels:], self.own.bias[out_channels:]):
            nn.init.zeros_(factor)

    def update(self, h: Tensor, message: Tensor) -> Tensor:
        """[n, in_channels] each to [n, out_channels]."""
        (added, factor), (more, other) = (
            self.own(h).chunk(2, 1),
            self.neighbors(message).chunk(2, 1),
        )
        result: Tensor = torch.addcmul(added + more, factor, other)
        return result


class NNConv(Conv):
    """Layer whose message weight depends on the edge (Gilmer et al. 2017).

    h'[i,j,k] = W h[i,j,k] + sum of net(e[k,l]) h[i,j,l] over l in N_i(k)

    `net` maps edge features to a matrix. Equal edges share it, so it is computed once per distinct
    edge, and messages over equal edges are one matrix product.
    """

    needs_edge_attr = True
    tells_root = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        edge_channels: int = 0,
        edge_types: tuple[int, ...] = (),
        hidden_channels: int = 128,
    ) -> None:
        super().__init__(in_channels, out_channels)
        self.own = nn.Linear(in_channels, out_channels)
        self.net = nn.Sequential(
            FeatureEncoder(edge_types, edge_channels, hidden_channels, "edge"),
            nn.ReLU(),
            nn.Linear(hidden_channels, in_channels * out_channels),
        )

    def forward(
        self,
        h: Tensor,
        subgraphs: Subgraphs,
        edge_attr: Tensor | None = None,
        z: Tensor | None = None,
    ) -> Tensor:
        """[R, in_channels] to [R, out_channels]."""
        h = _join(h, z)
        kinds, kind_of_edge = torch.unique(_require(edge_attr, self), dim=0, return_inverse=True)
        weights = self.net(kinds).view(len(kinds), self.in_channels, self.out_channels)
        sent_from, sent_to, link = subgraphs.message_rows
        kind = kind_of_edge[subgraphs.link_to_edge[link]]  # [M]
        order = torch.argsort(kind, stable=True)
        counts = torch.bincount(kind, minlength=len(kinds)).tolist()
        out: Tensor = self.own(h)
        if not len(kinds):
            return out
        sent = self.sent(h, subgraphs).index_select(0, sent_from[order])
        # One op each, whose gradient is one op, too.
        parts = zip(torch.split(sent, counts), weights.unbind(), strict=True)
        messages = [part @ weight for part, weight in parts]
        return out.index_add(0, sent_to[order], torch.cat(messages))


CONVS: dict[str, type[Conv]] = {
    "gin": GIN,
    "gine": GINE,
    "gated": GatedGraph,
    "graph": GraphConv,
    "product": ProductConv,
    "nn": NNConv,
}
"""Layers by the name they have in configs."""


def make_conv(
    conv: str | type[Conv],
    in_channels: int,
    out_channels: int,
    edge_channels: int = 0,
    edge_types: tuple[int, ...] = (),
    expansion: int = 1,
    norm: Norm = "none",
    root_messages: bool = False,
) -> Conv:
    """Builds a layer; what does not concern it is left out.

    Args:
        conv: A key of `CONVS`, or a class of one's own.
        in_channels: Width of the input.
        out_channels: Width of the output.
        edge_channels: Columns of numbers among the edge features, for layers that use them.
        edge_types: Sizes of the columns of types among them.
        expansion: Hidden width of the MLP of "gin" and "gine", in widths of the input.
        norm: Normalisation inside that MLP.
        root_messages: Whether the root sends through a weight of its own.
    """
    if isinstance(conv, str) and conv not in CONVS:
        raise ValueError(
            f"unknown conv {conv!r}; expected one of {', '.join(CONVS)}, or a subclass of Conv"
        )
    kind = CONVS[conv] if isinstance(conv, str) else conv
    if not (isinstance(kind, type) and issubclass(kind, Conv)):
        raise ValueError(f"conv is {kind!r}; expected a key of CONVS or a subclass of Conv")
    options: dict[str, Any] = {}
    if kind.needs_edge_attr:
        if edge_channels < 1 and not edge_types:
            raise ValueError(
                f"conv {conv!r} uses edge features; pass edge_channels of at least 1, or edge_types"
            )
        options |= {"edge_channels": edge_channels, "edge_types": edge_types}
    if kind.has_mlp:
        options |= {"expansion": expansion, "norm": norm}
    make: Callable[..., Conv] = kind
    layer = make(in_channels, out_channels, **options)
    if root_messages:
        layer.distinguish_root()
    return layer


def _square_weight(channels: int) -> nn.Parameter:
    bound = 1 / math.sqrt(channels)
    return nn.Parameter(torch.empty(channels, channels).uniform_(-bound, bound))


def _join(h: Tensor, z: Tensor | None) -> Tensor:
    return h if z is None else torch.cat([h, z], dim=1)


def _require(edge_attr: Tensor | None, conv: Conv) -> Tensor:
    if edge_attr is None:
        raise ValueError(f"{type(conv).__name__} needs edge features, the graphs have none")
    return edge_attr
