"""One node of each kind: what no network on these subgraphs can tell apart need be run once.

The molecules of ChEMBL have 208,909 atoms to train on, and 7,088 different neighbourhoods of
radius 3. An epoch over one atom of each has a sixteenth of the rows, and rare neighbourhoods count
as much as common ones. Atoms to be judged by are run once for each kind, too; each still counts.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from i2gnn.data.splits import Splits
from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore
from i2gnn.refinement import RowRefinement, settle
from i2gnn.subgraphs import Subgraphs
from i2gnn.subgraphs.drop import select_roots
from i2gnn.subgraphs.labels import attach_labels

__all__ = ["Distinct", "Judged", "with_kinds"]

Ints = npt.NDArray[np.int64]

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


class Judged(NamedTuple):
    """All nodes of some graphs, to be judged by though one of each kind is run.

    Shapes:
        place: [n], where the node that is run stands among those of the graphs that are left.
        target: [n, T].
    """

    place: Tensor
    target: Tensor

    def to(self, device: torch.device, dtype: torch.dtype) -> "Judged":
        """The same elsewhere, the targets in another precision."""
        return Judged(self.place.to(device), self.target.to(device, dtype))


class Distinct:
    """Which nodes are run, and which they stand for.

    Of the nodes to train on that have targets, one of each kind and with each target is left; which
    one is drawn, so that they come from many graphs. Of those to be judged by, the first of each
    kind.

    Args:
        data: Subgraphs of all nodes, with targets at nodes.
        splits: What graphs are for.

    Attributes:
        data: The same with the subgraphs of these nodes alone; of others to train on, targets are
            missing.
        splits: The same without graphs that have none of them.
        judged: By "val" and "test" all nodes of the graphs in `splits` as they were, in their
            order.
    """

    def __init__(self, data: GraphStore, splits: Splits) -> None:
        data = with_kinds(data)
        assert data.kind is not None and data.y is not None
        kind, device = data.kind.cpu().numpy(), data.device
        targets = (data.y if data.y.is_floating_point() else data.y.float()).cpu()
        trained = data.items_of("node", splits.train)
        drawn = _draw_one_of_each(trained, kind, targets.numpy())
        nodes = {name: data.items_of("node", getattr(splits, name)) for name in ("val", "test")}
        stands = {name: _first_of_each(these, kind) for name, these in nodes.items()}
        kept, used = (torch.zeros(n, dtype=torch.bool) for n in (data.num_nodes, len(data)))
        kept[torch.cat([drawn, *stands.values()])] = True
        used[data.node_to_graph.cpu()[kept]] = True
        left = {name: graphs[used[graphs]] for name, graphs in vars(splits).items()}
        self.splits = Splits(**left)
        self.judged: dict[str, Judged] = {}
        for name, run in stands.items():
            place = torch.empty(data.num_nodes, dtype=torch.int64)
            there = data.items_of("node", left[name])
            place[there] = torch.arange(len(there))
            self.judged[name] = Judged(place[run], targets[nodes[name]])
        unknown = torch.zeros_like(kept)
        unknown[trained], unknown[drawn] = True, False
        targets = targets.masked_fill(unknown.unsqueeze(1), float("nan")).to(device)
        data = dataclasses.replace(data, y=targets, kind=None)
        self.data = select_roots(data, kept.to(device))


def _draw_one_of_each(nodes: Tensor, kind: Ints, y: npt.NDArray[Any]) -> Tensor:
    """Of the nodes with targets one of each kind and with each target."""
    known = nodes.numpy()[(y[nodes] == y[nodes]).any(1)]
    drawn = np.random.default_rng(0).permutation(known)
    # Column by column, where missing targets are equal to each other.
    targets = [np.unique(column, return_inverse=True)[1] for column in y[drawn].T]
    what = np.column_stack([kind[drawn], *targets])
    return torch.from_numpy(drawn[np.unique(what, axis=0, return_index=True)[1]])


def _first_of_each(nodes: Tensor, kind: Ints) -> Tensor:
    """For each node the first that is of its kind, [n] to [n]."""
    _, first, which = np.unique(kind[nodes], return_index=True, return_inverse=True)
    return nodes[first[which]]
