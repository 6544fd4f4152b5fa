import torch
from torch import nn

from i2gnn.nn import BatchNorm, mlp, mlp_of_parts


def test_parts_are_as_good_as_their_concatenation():
    network = mlp([7, 5, 2], norm="batch").double()
    parts = [torch.randn(6, width, dtype=torch.float64, requires_grad=True) for width in (3, 4)]
    torch.testing.assert_close(mlp_of_parts(network, parts), network(torch.cat(parts, dim=1)))


def test_norms_stand_before_activations_and_not_at_the_end():
    kinds = [type(module) for module in mlp([4, 3, 3, 1], nn.ELU, norm="batch")]
    between = [BatchNorm, nn.ELU, nn.Linear]
    assert kinds == [nn.Linear, *between, *between]
    assert [type(module) for module in mlp([4, 2])] == [nn.Linear]
