"""Random regular graphs with some edges taken out (Chen et al., 2020), the paper's counting data.

(n, d) uniform over (10, 6), (15, 6), (20, 5), (30, 5);
a random d-regular graph on n nodes, minus n edges chosen without replacement.
"""

import random

import numpy as np

from i2gnn.errors import InputError
from i2gnn.graphs import GraphStore, RawGraphs
from i2gnn.progress import progress_bar

__all__ = ["SIZES", "draw_graphs", "generate_graphs"]

SIZES = ((10, 6), (15, 6), (20, 5), (30, 5))
"""The (number of nodes n, degree d) to choose from."""


def generate_graphs(count: int, seed: int = 0, progress: bool = False) -> GraphStore:
    """Generates graphs of the counting benchmark.

    Args:
        count: Number of graphs G.
        seed: Same seed, same graphs.
        progress: Shows a bar.

    Example:
        >>> len(generate_graphs(4, seed=1))
        4
    """
    return GraphStore.from_raw(draw_graphs(count, seed, progress), symmetrize=True)


def draw_graphs(count: int, seed: int = 0, progress: bool = False) -> RawGraphs:
    """The same graphs, each edge once."""
    from networkx import random_regular_graph

    if count < 0:
        raise InputError(f"count is {count}; expected 0 or more graphs")
    draw = random.Random(seed)
    num_nodes = np.empty(count, dtype=np.int64)
    edge_lists = []
    with progress_bar("generating graphs", count, enabled=progress) as advance:
        for graph in range(count):
            nodes, degree = draw.choice(SIZES)
            edges = sorted(random_regular_graph(degree, nodes, seed=draw).edges())
            kept = draw.sample(edges, len(edges) - nodes)
            num_nodes[graph] = nodes
            edge_lists.append(np.array(kept, dtype=np.int64))
            advance()
    return RawGraphs(
        num_nodes=num_nodes,
        num_edges=np.array([len(edges) for edges in edge_lists], dtype=np.int64),
        edges=np.concatenate([*edge_lists, np.empty((0, 2), dtype=np.int64)]),
    )
