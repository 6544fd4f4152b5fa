"""What all layers have in common."""

import math

import torch
from torch import Tensor, nn

from i2gnn import ops
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["Conv", "SumConv", "join", "require", "square_weight"]


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
        self.root_weight = square_weight(self.in_channels)

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
        h = join(h, z)
        return self.update(h, ops.aggregate(self.sent(h, subgraphs), subgraphs))

    def update(self, h: Tensor, message: Tensor) -> Tensor:
        """New states from states and sums of neighbours, row by row: [n, in] each to [n, out]."""
        raise NotImplementedError


def square_weight(channels: int) -> nn.Parameter:
    """A fresh weight that keeps the width, [channels, channels]."""
    bound = 1 / math.sqrt(channels)
    return nn.Parameter(torch.empty(channels, channels).uniform_(-bound, bound))


def join(h: Tensor, z: Tensor | None) -> Tensor:
    """[h, z], or h alone."""
    return h if z is None else torch.cat([h, z], dim=1)


def require(edge_attr: Tensor | None, conv: Conv) -> Tensor:
    """The features of edges, which a layer cannot do without."""
    if edge_attr is None:
        raise ValueError(f"{type(conv).__name__} needs edge features, the graphs have none")
    return edge_attr
