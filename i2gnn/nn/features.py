"""Features of nodes and edges: numbers and types."""

import math

import torch
from torch import Tensor, nn

from i2gnn import ops

__all__ = ["ConcatEncoder", "FeatureEncoder"]

MAX_TABLE = 1024
"""Combinations of types up to which a table of all of them is made."""


class FeatureEncoder(nn.Module):
    """Embeds the features of nodes or edges, of which the first columns may be types.

        out[n] = sum over type columns c of table_c[features[n, c]] + W numbers[n] + b

    Args:
        types: For each type column how many types there are; its values are 0 .. types[c] - 1.
        numbers: How many columns of numbers follow.
        channels: Width D.
        what: "node" or "edge", for messages.

    Shapes:
        features: [n, len(types) + numbers].
        returns: [n, D].
    """

    def __init__(
        self, types: tuple[int, ...], numbers: int, channels: int, what: str = "node"
    ) -> None:
        super().__init__()
        self.types = tuple(types)
        self.numbers = numbers
        self.channels = channels
        self.what = what
        if not (types or numbers):
            raise ValueError(f"an encoder of {what} features needs types or numbers")
        self.tables = nn.ParameterList(torch.randn(size, channels) for size in types)
        self.linear = nn.Linear(numbers, channels) if numbers else None

    def forward(self, features: Tensor | None) -> Tensor:
        """[n, F] to [n, D]."""
        types, numbers = self.split(features)
        parts = [ops.lookup(t, v) for t, v in zip(self.tables, types.unbind(1), strict=True)]
        if self.linear is not None:
            parts.append(self.linear(numbers.to(self.linear.weight.dtype)))
        return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]

    def as_table(self, features: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The same as a table and the entry of each item: out[n] = table[entry[n]].

        The table has one row per combination of types, which are few; where there are numbers too,
        it is the result itself, and the second is None.
        """
        size = math.prod(self.types)
        if self.linear is not None or size > MAX_TABLE:
            return self(features), None
        types, _ = self.split(features)
        table, entry = self.tables[0], types[:, 0]
        for c in range(1, len(self.types)):
            table = (table.unsqueeze(1) + self.tables[c].unsqueeze(0)).flatten(0, 1)
            entry = entry * self.types[c] + types[:, c]
        return table, entry.contiguous()

    def split(self, features: Tensor | None) -> tuple[Tensor, Tensor]:
        """The columns of types (int64) and those of numbers."""
        return split_features(features, self.types, self.numbers, self.what)


class ConcatEncoder(nn.Module):
    """Features side by side: an embedding of every type column, and all columns as numbers.

        out[n] = [table_1[features[n, 1]], table_2[features[n, 2]], ..., features[n]]

    This is how the published models for ZINC and QM9 read the atom's type. No linear map follows;
    the first layer takes the width as it is.

    Args:
        types: As in `FeatureEncoder`.
        numbers: As in `FeatureEncoder`.
        embedding_channels: Width of each embedding.

    Shapes:
        features: [n, F] with F = len(types) + numbers.
        returns: [n, len(types) embedding_channels + F].
    """

    def __init__(self, types: tuple[int, ...], numbers: int, embedding_channels: int = 8) -> None:
        super().__init__()
        self.types = tuple(types)
        self.numbers = numbers
        self.channels = len(types) * (embedding_channels + 1) + numbers
        self.tables = nn.ParameterList(torch.randn(size, embedding_channels) for size in types)

    def forward(self, features: Tensor | None) -> Tensor:
        """[n, F] to [n, channels]."""
        types, numbers = split_features(features, self.types, self.numbers, "node")
        parts = [ops.lookup(t, v) for t, v in zip(self.tables, types.unbind(1), strict=True)]
        dtype = parts[0].dtype if parts else numbers.dtype
        return torch.cat([*parts, types.to(dtype), numbers.to(dtype)], dim=1)


def split_features(
    features: Tensor | None, types: tuple[int, ...], numbers: int, what: str
) -> tuple[Tensor, Tensor]:
    """Splits [n, F] features into type columns (int64) and numbers, and checks both."""
    width = len(types) + numbers
    if features is None or features.shape[1] != width:
        found = "none" if features is None else str(features.shape[1])
        raise ValueError(
            f"the model expects {what} features of width {width}, the graphs have {found}"
        )
    columns = features[:, : len(types)].long()
    if not columns.is_cuda and columns.numel():  # a GPU would have to be waited for: NaN there
        low, high = columns.min(0).values, columns.max(0).values
        for c, size in enumerate(types):
            if low[c] < 0 or high[c] >= size:
                raise ValueError(
                    f"column {c} of the {what} features holds types {int(low[c])}..{int(high[c])}; "
                    f"the model expects 0..{size - 1}"
                )
    return columns, features[:, len(types) :]
