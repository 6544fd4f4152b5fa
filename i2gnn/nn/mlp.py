"""Multi-layer perceptrons, used by convs, readouts and heads."""

from collections.abc import Sequence

from torch import nn

__all__ = ["mlp"]


def mlp(widths: Sequence[int], activation: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Linear layers of the given widths with an activation between them, none at the end.

    Example:
        >>> mlp([64, 32, 1], nn.ELU)
        Sequential(
          (0): Linear(in_features=64, out_features=32, bias=True)
          (1): ELU(alpha=1.0)
          (2): Linear(in_features=32, out_features=1, bias=True)
        )
    """
    layers: list[nn.Module] = []
    for before, after in zip(widths[:-1], widths[1:], strict=True):
        layers += [nn.Linear(before, after), activation()]
    return nn.Sequential(*layers[:-1])
