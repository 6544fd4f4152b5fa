"""One layer of a network: message passing inside subgraphs, and what the paper's models add."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from i2gnn import ops
from i2gnn.nn.convs import Conv, GatedGraph
from i2gnn.nn.encoders import LabelEncoder, LabelGate, embed_together, gate_together
from i2gnn.nn.norms import BatchNorm, Norm, count_batch, make_norm
from i2gnn.nn.perceptron import mlp
from i2gnn.nn.readouts import PARTS, read_nodes
from i2gnn.ops import Reduce
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["Layer", "LayerLabels", "MixNodeStates", "embed_layers"]


class MixNodeStates(nn.Module):
    """Lets the subgraphs hear of each other: every row sees the pooled state of its node k.

        p[k]       = the parts of node k, gated by the labels z        (`i2gnn.nn.readouts`)
        h'[i,j,k]  = W_2 relu(W_1 [h[i,j,k], p[k]] + b_1) + b_2

    This is the paper's h[i,j,k] <- h[i,j,k] (+) h[k] (Appendix, ZINC). The part of W_1 that meets p
    is applied to N nodes before they are spread, so nothing wider than the hidden layer, 2 D, is
    ever made per row.

    Args:
        channels: Width D of the rows.
        parts: What of each node to read.
        reduce: "sum" or "mean".
        label_channels: Width of the label embeddings behind the gate; 0 for no gate.

    Shapes:
        h: [R, D].
        returns: [R, D].
    """

    def __init__(
        self, channels: int, parts: tuple[str, ...], reduce: Reduce, label_channels: int = 0
    ) -> None:
        super().__init__()
        self.parts = parts
        self.reduce = reduce
        self.gate = LabelGate(label_channels, channels) if label_channels else None
        self.mlp = mlp([(1 + len(parts)) * channels, 2 * channels, channels])

    def forward(self, h: Tensor, subgraphs: Subgraphs, labels: LabelEncoder | None) -> Tensor:
        """[R, D] to [R, D]; `labels` embeds what the gate sees."""
        if not subgraphs.complete:
            raise ValueError("node states need every node as a root; these subgraphs have some")
        gate = None if self.gate is None else self.gate(labels, subgraphs)
        states = read_nodes(h, subgraphs, self.parts, self.reduce, gate)  # [N, parts D]
        first, *others = self.mlp
        assert isinstance(first, nn.Linear)
        weight_h, weight_p = torch.split(first.weight.t(), [h.shape[1], states.shape[1]])
        from_nodes = torch.addmm(first.bias, states, weight_p)  # [N, 2 D]
        out = torch.addmm(ops.spread_nodes(from_nodes, subgraphs), h, weight_h)  # [R, 2 D]
        for module in others:
            out = module(out)
        return out

    def fused(self, gate: ops.LabelEmbedding | None) -> ops.NodeMix | None:
        """The weights as an op takes them; None unless it reads all parts, as means."""
        if self.parts != PARTS or self.reduce != "mean":
            return None
        first, _, last = self.mlp
        assert isinstance(first, nn.Linear) and isinstance(last, nn.Linear)
        width = last.out_features
        rows, states = torch.split(first.weight.t(), [width, len(PARTS) * width])
        return ops.NodeMix(gate, states, rows, first.bias, last.weight.t(), last.bias)


class LayerLabels(NamedTuple):
    """The labels of a layer as tables.

    Attributes:
        states: What stands beside the states.
        gate: What the sigmoid of the gate of `mix` is taken of.
    """

    states: ops.LabelEmbedding | None
    gate: ops.LabelEmbedding | None


class Layer(nn.Module):
    """A conv, and around it everything that is an option.

        m = conv(h), or conv([h, z]) with the layer's own label embeddings z
        m = mix(m)                                see `MixNodeStates`
        m = dropout(elu(norm(m)))
        h = m + h                                 if `residual`, where the widths agree

    Args:
        conv: Message passing.
        labels: Label embeddings of this layer, for `concat` and for the gate of `mix`.
        concat: Whether the conv sees them beside h.
        mix: Exchange between the subgraphs, or None.
        norm: "batch" or "none".
        activation: Whether an ELU follows; never right behind a conv that ends in one.
        dropout: Probability of a zero.
        residual: Whether the input is added.

    Shapes:
        h: [R, conv.in_channels], less the width of z with `concat`.
        edge_attr: [E, F], or None.
        returns: [R, conv.out_channels].
    """

    def __init__(
        self,
        conv: Conv,
        *,
        labels: LabelEncoder | None = None,
        concat: bool = False,
        mix: MixNodeStates | None = None,
        norm: Norm = "none",
        activation: bool = True,
        dropout: float = 0.0,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.conv = conv
        self.labels = labels
        self.concat = concat
        self.mix = mix
        self.norm = make_norm(norm, conv.out_channels)
        done = conv.ends_in_activation and mix is None and norm == "none"
        self.activation = activation and not done
        self.dropout = dropout
        self.residual = residual

    @property
    def gate(self) -> LabelGate | None:
        """The gate of `mix`, if there is one."""
        return None if self.mix is None else self.mix.gate

    @property
    def gated(self) -> GatedGraph | None:
        """The conv, if the layer is a gated conv of equal messages and nothing else."""
        extras = (self.concat, self.mix, self.activation, self.dropout, self.residual)
        plain = not any(extras) and isinstance(self.norm, nn.Identity)
        if not plain or not isinstance(self.conv, GatedGraph) or not self.conv.computes(GatedGraph):
            return None
        return self.conv if self.conv.root_weight is None else None

    def forward(self, h: Tensor, subgraphs: Subgraphs, edge_attr: Tensor | None = None) -> Tensor:
        """[R, in_channels] to [R, out_channels]."""
        fused = None
        if ops.uses_kernels(h) and self.conv.has_mlp:
            (labels,) = embed_layers([self], subgraphs)
            fused = self.fused(h, subgraphs, edge_attr, labels)
        if fused is not None:
            count_batch([self], subgraphs.num_rows)
            m = ops.gine_layer(h, subgraphs, *fused)
            if not self.drops:
                return m
        else:
            z = self.labels(subgraphs) if self.labels is not None and self.concat else None
            m = self.conv(h, subgraphs, edge_attr, z)
            if self.mix is not None:
                m = self.mix(m, subgraphs, self.labels)
            if subgraphs.graph_ptr is not None and isinstance(self.norm, BatchNorm):
                raise ValueError("batch normalisation would count the spare rows of this batch")
            m = self.norm(m)
            if self.activation:
                m = functional.elu(m)
        if self.dropout:
            m = functional.dropout(m, self.dropout, self.training)
        return m + h if self._adds_input else m

    @property
    def in_channels(self) -> int:
        """Width of the states that it takes, to which the conv may see labels added."""
        beside = self.labels.channels if self.labels is not None and self.concat else 0
        return self.conv.in_channels - beside

    @property
    def drops(self) -> bool:
        """Whether dropout sets numbers to zero now."""
        return self.dropout > 0 and self.training

    def fused(
        self,
        like: Tensor,
        subgraphs: Subgraphs,
        edge_attr: Tensor | None,
        labels: LayerLabels,
    ) -> tuple[ops.GINELayer, Tensor | None] | None:
        """The layer as one op, and the types of edges; None if it is not.

        What comes behind a dropout is left out. The input would be on the device and of the type
        of `like`; `labels` are those that `embed_layers` makes for this layer.
        """
        found = self.conv.fused(edge_attr)
        if found is None:
            return None
        layer, edge_type = found
        mix = norm = None
        if self.mix is not None:
            mix = self.mix.fused(labels.gate)
            if mix is None:
                return None
        if isinstance(self.norm, BatchNorm):
            norm = self.norm.state()
            if norm is None:
                return None
        layer = layer._replace(
            labels=labels.states,
            mix=mix,
            norm=norm,
            activation=self.activation,
            residual=self._adds_input and not self.drops,
        )
        fits = ops.fits_gine_layer(like, subgraphs, layer, self.in_channels)
        return (layer, edge_type) if fits else None

    @property
    def _adds_input(self) -> bool:
        return self.residual and self.conv.out_channels == self.in_channels


def embed_layers(layers: Sequence[Layer], subgraphs: Subgraphs) -> list[LayerLabels]:
    """The label tables of layers; those of layers alike are made together."""
    alike: dict[tuple[int, bool], list[int]] = {}
    for t, layer in enumerate(layers):
        if layer.labels is not None:
            alike.setdefault((layer.labels.channels, layer.gate is not None), []).append(t)
    found = [LayerLabels(None, None)] * len(layers)
    for (_, gated), places in alike.items():
        encoders = [layers[t].labels for t in places]
        labels = embed_together([encoder for encoder in encoders if encoder], subgraphs)
        states = _unstack(labels)
        gates: Sequence[ops.LabelEmbedding | None] = [None] * len(places)
        if gated:
            of_layers = [layers[t].gate for t in places]
            gates = _unstack(gate_together([gate for gate in of_layers if gate], labels))
        for t, of_states, of_gate in zip(places, states, gates, strict=True):
            found[t] = LayerLabels(of_states if layers[t].concat else None, of_gate)
    return found


def _unstack(labels: ops.LabelEmbedding) -> list[ops.LabelEmbedding]:
    tables, weight = labels.table.unbind(), labels.weight
    weights = [None] * len(tables) if weight is None else weight.unbind()
    return [ops.LabelEmbedding(*pair) for pair in zip(tables, weights, strict=True)]
