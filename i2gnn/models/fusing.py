"""How the layers of a network run in as few ops as there are for them; the results are the same.

Gated layers that see labels alone are one op together with what is read of them. GIN and GINE
layers are one op with all that is around them. A gated layer is one op with the labels that come
in behind it. Everything else runs module by module; only there do hooks of inner modules fire.
"""

from typing import TYPE_CHECKING, cast

from torch import Tensor, nn

from i2gnn import ops
from i2gnn.nn import (
    GatedGraph,
    InjectLabels,
    Layer,
    ProductConv,
    stack_projections,
    stack_weights,
)
from i2gnn.nn.layers import embed_layers
from i2gnn.nn.norms import count_batch
from i2gnn.nn.readouts import PARTS
from i2gnn.subgraphs import Subgraphs

if TYPE_CHECKING:
    from i2gnn.models.network import IdentifierGNN

__all__ = [
    "has_static_shapes",
    "pool_labels",
    "read_at_once",
    "run_fused",
    "run_layer",
    "sees_labels_alone",
]


def sees_labels_alone(model: "IdentifierGNN") -> bool:
    """Whether a model is gated layers on discrete labels, as the paper's for counting is.

    The context of nodes is not read.
    """
    labels = model.encode_labels
    return (
        labels is not None
        and labels.resistance is None
        and model.encode_nodes is None
        and model.virtual_node is None
        and model.gate is None
        and "context" not in model.parts
        and all(layer.gated is not None for layer in _layers(model))
    )


def pool_labels(model: "IdentifierGNN", subgraphs: Subgraphs) -> Tensor:
    """What a model that sees labels alone reads of each subgraph: [B, parts D]."""
    assert model.encode_labels is not None
    model.encode_labels.check(subgraphs)
    convs = [layer.gated for layer in _layers(model)]
    injections = cast("list[InjectLabels]", list(model.injections))
    return ops.gated_stack(
        model.encode_labels.combinations(),
        subgraphs,
        stack_weights([conv for conv in convs if conv is not None]),
        stack_projections(injections, subgraphs) if injections else None,
        model.pool,
        cast("tuple[ops.Part, ...]", model.parts),
    )


def run_fused(model: "IdentifierGNN", h: Tensor, subgraphs: Subgraphs) -> Tensor | None:
    """Rows after all layers, by one op: [R, D] to the same; None where there is none for them."""
    layers = _layers(model)
    apart = model.virtual_node or model.injections or any(layer.drops for layer in layers)
    if apart or not ops.uses_kernels(h):
        return None
    fused = _fuse(model, h, subgraphs)
    if fused is None:
        return None
    count_batch(layers, subgraphs.num_rows)
    return ops.gine_layers(h, subgraphs, *fused)


def run_layer(model: "IdentifierGNN", t: int, h: Tensor, subgraphs: Subgraphs) -> Tensor:
    """Layer t and, unless it is the last, what prepares its result for the next."""
    layer = _layers(model)[t]
    inject = cast(InjectLabels, model.injections[t]) if t < len(model.injections) else None
    if inject and layer.gated and (then := inject.projection(subgraphs)):
        h = layer.gated(h, subgraphs, then=then)
        return h
    h = layer(h, subgraphs, subgraphs.edge_attr)
    return h if inject is None else inject(h, subgraphs)


def read_at_once(model: "IdentifierGNN", h: Tensor, subgraphs: Subgraphs) -> Tensor | None:
    """Nodes read from rows in all parts as means, [R, D] to [N, 4 D]; None if they are not."""
    between = model.path_readout or not isinstance(model.edge_readout.mlp, nn.Identity)
    if between or model.parts != PARTS or model.pool != "mean" or model.level == "edge":
        return None
    gate = None
    if model.gate is not None and model.gate_labels is not None:
        gate = model.gate.embedding(model.gate_labels.embedding(subgraphs))
    return ops.node_states(h, subgraphs, gate)


def has_static_shapes(model: "IdentifierGNN", subgraphs: Subgraphs) -> bool:
    """Whether training steps can be recorded: of gated, product and fused GIN and GINE layers.

    Batch normalisation leaves spare rows out only in fused layers, and these alone have node
    states; nothing else may then read spare rows, as the context would.
    """
    if model.level == "edge" or model.virtual_node is not None:
        return False
    layers, weight = _layers(model), next(model.parameters())
    if all(layer.conv.has_mlp for layer in layers):
        return ops.uses_fused(weight) and _fuse(model, weight, subgraphs) is not None
    return "context" not in model.parts and all(map(_keeps_rows_apart, layers))


def _layers(model: "IdentifierGNN") -> list[Layer]:
    return cast("list[Layer]", list(model.layers))


def _fuse(
    model: "IdentifierGNN", like: Tensor, subgraphs: Subgraphs
) -> tuple[list[ops.GINELayer], Tensor | None] | None:
    """All layers as ops take them, and the types of edges; None if one is more than an op.

    The rows would be on the device and of the type of `like`.
    """
    layers, found, edge_type = _layers(model), [], None
    if not all(layer.conv.has_mlp for layer in layers):
        return None
    labels = embed_layers(layers, subgraphs)
    for layer, of_labels in zip(layers, labels, strict=True):
        fused = layer.fused(like, subgraphs, subgraphs.edge_attr, of_labels)
        if fused is None:
            return None
        found.append(fused[0])
        edge_type = fused[1]
    return found, edge_type


def _keeps_rows_apart(layer: Layer) -> bool:
    """Whether rows meet in sums over links alone, so that it need not know which are spare."""
    apart = layer.mix is None and isinstance(layer.norm, nn.Identity)
    return apart and (layer.conv.computes(GatedGraph) or layer.conv.computes(ProductConv))
