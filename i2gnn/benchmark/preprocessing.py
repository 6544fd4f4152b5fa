"""Time to extract and label subgraphs, per graph, beside PyG's RootedEgoNets."""

import statistics
import time
import warnings
from collections.abc import Callable

from torch_geometric.data import Data
from torch_geometric.transforms import RootedEgoNets

from i2gnn.graphs import GraphStore
from i2gnn.subgraphs import extract_subgraphs

__all__ = ["PUBLISHED_MS", "ours_ms", "rooted_ego_nets_ms"]

PUBLISHED_MS = {"counting": 35.0, "zinc": 42.0}
"""Per graph, of the published implementation on the same kinds of graphs, on one thread.

Constants from the literature on this model, not measured here.
"""


def ours_ms(
    graphs: GraphStore, hops: int, labels: str, identifiers: int = 2, rounds: int = 5
) -> float:
    """Milliseconds per graph of our extraction with its labels, on all threads."""

    def work() -> object:
        return extract_subgraphs(graphs, hops=hops, identifiers=identifiers, labels=labels)

    extract_subgraphs(graphs.batch([0]), hops=hops, identifiers=identifiers, labels=labels)
    return 1000 * _median(work, rounds) / len(graphs)


def rooted_ego_nets_ms(graphs: GraphStore, hops: int) -> float:
    """The same by PyG's transform, which has one identifier and no labels: less work."""
    data = [
        Data(edge_index=one.edge_index, num_nodes=one.num_nodes)
        for one in (graphs.batch([g]) for g in range(len(graphs)))
    ]
    transform = RootedEgoNets(hops)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse")  # PyG's sparse tensors, on every call
        return 1000 * _median(lambda: [transform(item) for item in data], 3) / len(graphs)


def _median(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
