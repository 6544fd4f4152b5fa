"""One node of each kind: what no network on these subgraphs can tell apart need be run once.

The molecules of ChEMBL have 208,909 atoms to train on, and 7,088 different neighbourhoods of
radius 3. An epoch over one atom of each has a sixteenth of the rows, and rare neighbourhoods count
as much as common ones. Atoms to be judged by are run once for each kind, too; each still counts.
"""

import dataclasses

import numpy as np
import torch
from torch import Tensor

from i2gnn.data.splits import Splits
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.refinement import RowRefinement, settle
from i2gnn.subgraphs import Subgraphs
from i2gnn.subgraphs.drop import select_roots
from i2gnn.subgraphs.labels import attach_labels

__all__ = ["Distinct", "with_kinds"]

FINEST = {1: "nodes+center", 2: "nodes+center+side", 3: "nodes+center+side"}
"""By identifiers all that is read of a subgraph by itself."""


def with_kinds(data: GraphStore) -> Subgraphs:
    """Numbers the kinds of nodes: two are of one kind if no network tells their subgraphs apart.

    That holds whatever its weights, its depth and its readout, as long as subgraphs do not meet
    before they are read: with node states or a context, nodes of one kind may differ.

    Raises:
        InputError: Labels that are real numbers, or no identifiers.

    Example:
        >>> from i2gnn import extract_subgraphs
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2), (2, 3)]], symmetrize=True)
        >>> with_kinds(extract_subgraphs(path, hops=2)).kind
        tensor([0, 1, 1, 0])
    """
    identifiers = data.identifiers if isinstance(data, Subgraphs) else 0
    if not isinstance(data, Subgraphs) or identifiers not in FINEST:
        raise InputError("distinct nodes are roots of subgraphs; the model has no identifiers")
    if data.kind is not None:
        return data
    # Without labels messages may still tell where they come from, as those of the root in ID-GNN.
    marked = data if data.label_kinds else attach_labels(data, ("identity",))
    try:
        refinement = RowRefinement(marked, readout=FINEST[identifiers])
    except ValueError as error:
        raise InputError(f"distinct nodes: {error}") from error
    colors = settle(refinement, rounds=None, level="node")
    return dataclasses.replace(data, kind=torch.from_numpy(colors).to(data.device))


class Distinct:
    """Which nodes are run, and which they stand for.

    Of the nodes to train on that have targets, one of each kind and with each target is left; which
    one is drawn, so that they come from many graphs. Of those to be judged by, the first of each
    kind.

    Args:
        data: Subgraphs of all nodes, with targets at nodes.
        splits: What graphs are for.
        device: Where predictions will be.

    Attributes:
        data: The same with the subgraphs of these nodes alone; of others to train on, targets are
            missing.
        splits: The same without graphs to train on that have none of them.
        places: For each node of the graphs in `splits.val` and `splits.test`, in their order, the
            place among these nodes of the one that is run.
    """

    def __init__(self, data: GraphStore, splits: Splits, device: torch.device) -> None:
        data = with_kinds(data)
        assert data.kind is not None and data.y is not None
        kind, y = data.kind.cpu().numpy(), data.y.cpu().numpy()
        kept = torch.zeros(data.num_nodes, dtype=torch.bool)
        trained = data.items_of("node", splits.train).numpy()
        nodes = np.random.default_rng(0).permutation(trained[(y[trained] == y[trained]).any(1)])
        what = np.column_stack([kind[nodes], y[nodes]])
        kept[nodes[np.unique(what, axis=0, return_index=True)[1]]] = True
        unknown = torch.zeros_like(kept)
        unknown[trained] = ~kept[trained]
        self.places: dict[str, Tensor] = {}
        for name in ("val", "test"):
            nodes = data.items_of("node", getattr(splits, name)).numpy()
            _, first, which = np.unique(kind[nodes], return_index=True, return_inverse=True)
            kept[nodes[first]] = True
            self.places[name] = torch.from_numpy(first[which]).to(device)
        targets = data.y if data.y.is_floating_point() else data.y.float()
        targets = targets.masked_fill(unknown.to(data.device).unsqueeze(1), float("nan"))
        data = dataclasses.replace(data, y=targets, kind=None)
        self.data = select_roots(data, kept.to(data.device))
        left = self.data.sizes["pair"][splits.train] > 0
        self.splits = dataclasses.replace(splits, train=splits.train[left])
