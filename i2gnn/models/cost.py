"""What a model takes in memory while it works on subgraphs."""

from collections.abc import Iterator

import torch
from torch import nn

from i2gnn.models.network import IdentifierGNN
from i2gnn.nn import Conv, GatedGraph, NNConv, ProductConv
from i2gnn.nn.features import FeatureEncoder
from i2gnn.ops import uses_kernels
from i2gnn.subgraphs.stream import Cost

__all__ = ["working_set"]

PAIR, LINK, ROW, MESSAGE = 64, 48, 80, 64
"""Bytes of indices: what extraction gives, and the maps that ops derive from it."""


def working_set(model: IdentifierGNN, training: bool) -> Cost:
    """Bytes that the model takes per pair, link, row and message of the subgraphs it works on.

    With c the input width of the widest layer and b the bytes of a float, a row takes

        evaluation   b (4 c + width in and out of the widest product)
        training     b (4 c + sum over layers of (2 c + widths of what its products read))

    and 80 bytes of labels and indices. A message takes 64 bytes of indices where an op lists
    messages, and 2 c floats, with NNConv 3 c, in training for every layer, where one writes them
    out. A GRU counts as a product; one without a compiled kernel keeps its gates as well.

    This is an upper bound of what ops allocate, for most layers within a factor of two; kernels
    that run a whole layer or network at once take far less.
    """
    weight = next(model.parameters())
    kernels = uses_kernels(weight)
    compiled = kernels and weight.is_cpu and weight.dtype == torch.float32
    layers = [list(_products(layer, compiled)) for layer in model.layers]
    for t, inject in enumerate(model.injections):
        layers[t] += _products(inject, compiled)
    if model.gate is not None:
        layers[-1] += _products(model.gate, compiled)
    modules = list(model.modules())
    width = max(module.in_channels for module in modules if isinstance(module, Conv))
    # Of each message what is sent and what arrives, which NNConv joins from the kinds of edges.
    written = 3 if any(isinstance(module, NNConv) for module in modules) else 2 * (not kernels)
    listed = written > 0 or any(isinstance(module, GatedGraph) for module in modules)
    floats, repeated = 4 * width, len(layers) if training else 1
    if training:
        floats += sum(2 * width + sum(read for read, _ in layer) for layer in layers)
    else:
        floats += max(used for layer in layers for _, used in layer)
    size = weight.dtype.itemsize
    return Cost(
        pair=PAIR,
        link=LINK,
        row=ROW + size * floats,
        message=MESSAGE * listed + written * size * width * repeated,
    )


def _products(module: nn.Module, compiled: bool) -> Iterator[tuple[int, int]]:
    """For each product with rows: floats per row to keep for gradients, and floats in use."""
    if isinstance(module, nn.Linear):
        yield module.in_features, module.in_features + module.out_features
    elif isinstance(module, nn.GRUCell):
        kept, used = (2, 6) if compiled else (9, 12)
        yield kept * module.hidden_size, used * module.hidden_size
    elif isinstance(module, nn.modules.batchnorm._BatchNorm):
        yield module.num_features, 2 * module.num_features
    elif isinstance(module, ProductConv):
        # Two linear maps, and both factors of their product, each with a summand beside it.
        yield 2 * module.in_channels + 4 * module.out_channels, 6 * module.out_channels
    else:
        for name, part in module.named_children():
            sees_edges = isinstance(module, NNConv) and name == "net"
            if not (sees_edges or isinstance(part, FeatureEncoder)):
                yield from _products(part, compiled)
