"""Multi-layer perceptrons, used by convs, readouts and heads."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from i2gnn import ops
from i2gnn.nn.norms import BatchNorm, Norm, make_norm

__all__ = ["mlp", "mlp_of_parts", "mlp_weights"]


def mlp(
    widths: Sequence[int], activation: type[nn.Module] = nn.ReLU, norm: Norm = "none"
) -> nn.Sequential:
    """Linear layers of the given widths; between them a normalisation, if any, and an activation.

    Example:
        >>> mlp([64, 32, 1], nn.ELU)
        Sequential(
          (0): Linear(in_features=64, out_features=32, bias=True)
          (1): ELU(alpha=1.0)
          (2): Linear(in_features=32, out_features=1, bias=True)
        )
    """
    layers: list[nn.Module] = [nn.Linear(widths[0], widths[1])]
    for before, after in zip(widths[1:-1], widths[2:], strict=True):
        if norm != "none":
            layers.append(make_norm(norm, before))
        layers += [activation(), nn.Linear(before, after)]
    return nn.Sequential(*layers)


def mlp_of_parts(mlp: nn.Sequential, parts: Sequence[Tensor]) -> Tensor:
    """mlp([part, part, ...]) without making the concatenation, [n, D_part] each to [n, D']."""
    first, *others = mlp
    assert isinstance(first, nn.Linear)
    weights = torch.split(first.weight.t(), [part.shape[1] for part in parts])
    out: Tensor = first.bias
    for part, weight in zip(parts, weights, strict=True):
        out = torch.addmm(out, part, weight)
    for module in others:
        out = module(out)
    return out


def mlp_weights(mlp: nn.Sequential) -> ops.Perceptron | None:
    """The weights of an MLP with one hidden layer and a ReLU, for an op; None if it is another.

    Modules may have been replaced by others, and norms may be of a kind that ops do not know.
    """
    first, *between, activation, last = mlp
    if not (isinstance(first, nn.Linear) and isinstance(last, nn.Linear)):
        return None
    if type(activation) is not nn.ReLU or len(between) > 1:
        return None
    norm = None
    if between:
        if not isinstance(between[0], BatchNorm):
            return None
        norm = between[0].state()
        if norm is None:
            return None
    return ops.Perceptron(first.weight.t(), first.bias, norm, last.weight.t(), last.bias)
