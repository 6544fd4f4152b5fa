"""Layers by name."""

from collections.abc import Callable
from typing import Any

from i2gnn.nn.convs.conv import Conv
from i2gnn.nn.convs.edge_weights import NNConv
from i2gnn.nn.convs.gated import GatedGraph
from i2gnn.nn.convs.gin import GIN, GINE
from i2gnn.nn.convs.graph import GraphConv, ProductConv
from i2gnn.nn.norms import Norm

__all__ = ["CONVS", "make_conv"]

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
