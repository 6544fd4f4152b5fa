"""What a forward pass costs in theory, counted on the batch itself."""

from dataclasses import dataclass

from i2gnn.benchmark.roofline import FLOAT, batch_sizes
from i2gnn.graphs import GraphStore
from i2gnn.models import ModelEntry
from i2gnn.subgraphs import Subgraphs

__all__ = ["Theory", "count_theory"]


@dataclass(frozen=True)
class Theory:
    """The paper's orders of growth, with the sizes of one batch in place of their letters.

        time     layers (messages D + rows D^2) multiplications
        memory   rows D numbers: the states of one layer

    Constants are left out: only ratios between models mean something.

    Attributes:
        rows: States of a layer: one per node, (i, k), (i, k, j), or cell (a, b) for PPGN.
        messages: Terms of a layer's sums, on all rows together. A term of PPGN's matrix product
            over n nodes is z[a, c] z[c, b], of which there are n^3.
        width: Numbers D in a state.
        layers: How many layers there are.
    """

    rows: int
    messages: int
    width: int
    layers: int

    @property
    def multiplications(self) -> int:
        """Of all layers."""
        return self.layers * self.width * (self.messages + self.rows * self.width)

    @property
    def state_bytes(self) -> int:
        """Bytes of the states of one layer, as float32."""
        return FLOAT * self.rows * self.width


def count_theory(entry: ModelEntry, batch: GraphStore) -> Theory:
    """The cost of a model with the arguments of its preset.

    Args:
        entry: A model on subgraphs, or PPGN.
        batch: What the model takes: `entry.build().extract(graphs)`.

    Example:
        >>> from i2gnn.models import REGISTRY
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)
        >>> count_theory(REGISTRY["ppgn"], path)
        Theory(rows=9, messages=27, width=64, layers=4)
    """
    if isinstance(batch, Subgraphs):
        sizes = batch_sizes(batch)
        rows, messages = sizes["rows"], sizes["messages"]
    else:
        nodes = batch.sizes["node"]
        rows, messages = int((nodes**2).sum()), int((nodes**3).sum())
    return Theory(rows, messages, entry.preset["hidden_channels"], entry.preset["num_layers"])
