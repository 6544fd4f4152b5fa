"""Gated layers, those of the paper's counting models."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from i2gnn import ops
from i2gnn.nn.convs.conv import Conv, join, square_weight
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["GatedGraph", "stack_weights"]


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
        self.weight = square_weight(in_channels)
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
        h = join(h, z)
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
