"""Layers that are polynomials of states and sums: of degree one, or two."""

import torch
from torch import Tensor, nn

from i2gnn.nn.convs.conv import SumConv

__all__ = ["GraphConv", "ProductConv"]


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
