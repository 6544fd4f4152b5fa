"""Labels: as states, mixed into states, as gates."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from i2gnn import ops
from i2gnn.subgraphs.codes import codes_on, possible_codes
from i2gnn.subgraphs.labels import label_sizes
from i2gnn.subgraphs.structure import Subgraphs

__all__ = [
    "InjectLabels",
    "LabelEncoder",
    "LabelGate",
    "embed_together",
    "gate_together",
    "stack_projections",
]


class LabelEncoder(nn.Module):
    """Embeds the labels of rows: the sum of one embedding per column, plus resistances.

        z[r] = sum over columns c of table_c[labels[r, c]] + W resistance[r]

    The two columns of `spd_pred`, a distance and itself again or 0, can have one table.

    Args:
        kinds: Label kinds, as `parse_labels` returns them.
        hops: Radius of the ego-nets, which bounds the distances.
        identifiers: Number of identifiers.
        channels: Width D.
        root_only: Whether to see the root's labels alone: all that says where a branch is, is
            dropped (the paper's ablation "single").
        shared: Whether a distance and its second column have one table, as in the published code.

    Shapes:
        returns: [R, D].
    """

    def __init__(
        self,
        kinds: tuple[str, ...],
        hops: int,
        identifiers: int,
        channels: int,
        root_only: bool = False,
        shared: bool = False,
    ) -> None:
        super().__init__()
        self.kinds = kinds
        self.channels = channels
        self.sizes = label_sizes(kinds, hops, identifiers)
        seen = label_sizes(kinds, hops, 1) if root_only else self.sizes
        self.root_only = root_only
        marks = int("identity" in kinds)  # its column comes first
        repeats = 2 if shared and "spd_pred" in kinds else 1
        sizes = seen[:marks] + seen[marks::repeats]
        self.tables = nn.ParameterList(torch.randn(size, channels) for size in sizes)
        self.table_of_column = [
            c if c < marks else marks + (c - marks) // repeats for c in range(len(seen))
        ]
        self.distances = 1 if root_only else identifiers
        self.resistance = nn.Linear(self.distances, channels) if "resistance" in kinds else None

    def forward(self, subgraphs: Subgraphs, then: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """Embeddings z of all rows, or z W + b if `then` gives (W, b), [D, D'] and [D'].

        The product is taken on the table of all label combinations, of which there are few, and
        not on the rows.
        """
        return ops.embed_labels(self.embedding(subgraphs, then), subgraphs)

    def embedding(
        self, subgraphs: Subgraphs, then: tuple[Tensor, Tensor] | None = None
    ) -> ops.LabelEmbedding:
        """What makes the embeddings of `forward`: a table by label code, a weight of resistances.

        Biases are added to the table, which has one row if no label is discrete.
        """
        table, weight = embed_together([self], subgraphs)
        embedded = ops.LabelEmbedding(table[0], None if weight is None else weight[0])
        return embedded if then is None else project(embedded, *then)

    def combinations(self) -> Tensor:
        """Sums of embeddings for every code of a label: [C, D]."""
        return combinations([self])[0]

    def check(self, subgraphs: Subgraphs) -> None:
        """Raises unless the subgraphs carry the labels that this encoder was built for."""
        if subgraphs.label_kinds != self.kinds or subgraphs.label_sizes != self.sizes:
            raise ValueError(
                f"the model expects labels {self.kinds} of sizes {self.sizes}, the subgraphs have "
                f"{subgraphs.label_kinds} of sizes {subgraphs.label_sizes}; "
                "extract them with the model's own settings (model.extract)"
            )


class InjectLabels(nn.Module):
    """Mixes the labels into the states again: h' = W [h, z] + b.

    Shapes:
        h: [R, D].
        returns: [R, D].
    """

    def __init__(self, labels: LabelEncoder, channels: int) -> None:
        super().__init__()
        self.labels = labels
        self.linear = nn.Linear(2 * channels, channels)

    def forward(self, h: Tensor, subgraphs: Subgraphs) -> Tensor:
        """[R, D] to [R, D]."""
        weight_h, weight_z = self.linear.weight.t().chunk(2)
        z = self.labels(subgraphs, then=(weight_z, self.linear.bias))
        return torch.addmm(z, h, weight_h)

    def projection(self, subgraphs: Subgraphs) -> ops.Projection | None:
        """The same as a product and a table to add; None if labels are not all discrete."""
        if self.labels.resistance is not None:
            return None
        self.labels.check(subgraphs)
        weight_h, weight_z = self.linear.weight.t().chunk(2)
        table = torch.addmm(self.linear.bias, self.labels.combinations(), weight_z)
        return ops.Projection(weight_h, table)


def embed_together(encoders: Sequence[LabelEncoder], subgraphs: Subgraphs) -> ops.LabelEmbedding:
    """What `LabelEncoder.embedding` makes, for several encoders alike, with a first axis of them.

    Few operations on long tensors, where one encoder at a time would take many on short ones.
    """
    for encoder in encoders:
        encoder.check(subgraphs)
    table, weight = None, None
    distances = [encoder.resistance for encoder in encoders if encoder.resistance is not None]
    if distances:
        weight = torch.stack([linear.weight.t() for linear in distances])
        table = torch.stack([linear.bias for linear in distances]).unsqueeze(1)
    if encoders[0].tables:
        table = combinations(encoders) if table is None else combinations(encoders) + table
    assert table is not None, "an encoder of no labels"
    return ops.LabelEmbedding(table, weight)


def project(labels: ops.LabelEmbedding, weight: Tensor, bias: Tensor) -> ops.LabelEmbedding:
    """The embeddings times a weight, plus a bias: products on tables instead of rows.

    All of them may have a first axis, of several encoders.
    """
    product = torch.addmm if labels.table.dim() == 2 else torch.baddbmm
    of_resistance = None if labels.weight is None else labels.weight @ weight
    return ops.LabelEmbedding(product(bias, labels.table, weight), of_resistance)


def gate_together(gates: Sequence["LabelGate"], labels: ops.LabelEmbedding) -> ops.LabelEmbedding:
    """What the sigmoids of several gates are taken of, with a first axis of them."""
    weight = torch.stack([gate.linear.weight for gate in gates]).transpose(1, 2)
    return project(labels, weight, torch.stack([gate.linear.bias for gate in gates]).unsqueeze(1))


def combinations(encoders: Sequence[LabelEncoder]) -> Tensor:
    """The tables of several encoders alike, for every code of a label: [T, C, D]."""
    first = encoders[0]
    tables = [torch.stack(same) for same in zip(*(e.tables for e in encoders), strict=True)]
    if first.root_only and "identity" in first.kinds:
        other, root = tables[0].unbind(1)
        tables[0] = torch.stack([other, root] + [other] * (first.sizes[0] - 2), dim=1)
    columns = [tables[place] for place in first.table_of_column]
    total = columns[0]
    for table in columns[1:]:
        total = (total.unsqueeze(2) + table.unsqueeze(1)).flatten(1, 2)
    unseen = math.prod(first.sizes[len(columns) :])  # the columns of branches come last
    total = total if unseen == 1 else total.repeat_interleave(unseen, dim=1)
    possible = possible_codes(first.kinds, first.sizes)
    return total if possible is None else total.index_select(1, codes_on(possible, total.device))


def stack_projections(injections: Sequence[InjectLabels], subgraphs: Subgraphs) -> ops.Projection:
    """The projections of several layers, with a first axis of layers; one product for all."""
    for inject in injections:
        inject.labels.check(subgraphs)
    width = injections[0].linear.out_features
    weight = torch.stack([inject.linear.weight for inject in injections]).transpose(1, 2)
    bias = torch.stack([inject.linear.bias for inject in injections]).unsqueeze(1)
    tables = combinations([inject.labels for inject in injections])
    return ops.Projection(weight[:, :width], torch.baddbmm(bias, tables, weight[:, width:]))


class LabelGate(nn.Module):
    """How much of each channel of a row a pool lets through, by the row's labels.

        gate[r] = sigmoid(W z[r] + b)

    Args:
        label_channels: Width of the label embeddings z.
        channels: Width D of the rows.

    Shapes:
        returns: [R, D], values between 0 and 1.
    """

    def __init__(self, label_channels: int, channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(label_channels, channels)

    def forward(self, labels: LabelEncoder, subgraphs: Subgraphs) -> Tensor:
        """The gates of all rows, [R, D]."""
        return ops.label_gates(self.embedding(labels.embedding(subgraphs)), subgraphs)

    def embedding(self, labels: ops.LabelEmbedding) -> ops.LabelEmbedding:
        """What the sigmoid is taken of."""
        return project(labels, self.linear.weight.t(), self.linear.bias)
