"""Cycles through every edge."""

import numpy as np
import numpy.typing as npt

from i2gnn.graphs import GraphStore
from i2gnn.parallel import jit, run_chunks

__all__ = ["cycles_through_edges"]


def cycles_through_edges(
    store: GraphStore, longest: int, description: str = ""
) -> npt.NDArray[np.int64]:
    """Number of cycles of length 3 .. longest through every directed edge, [E, longest - 2]."""
    counts = np.zeros((store.num_edges, longest - 2), dtype=np.int64)
    arrays = (store.edge_ptr.numpy(), store.neighbor.numpy(), longest, counts)
    run_chunks(_search, store.num_nodes, arrays, description=description)
    return counts


@jit
def _search(start, stop, edge_ptr, neighbor, longest, counts):  # type: ignore[no-untyped-def]
    """Depth-first search from every node; the first edge of a closed walk gets the cycle."""
    path = np.empty(longest + 1, dtype=np.int64)
    at = np.empty(longest + 1, dtype=np.int64)
    on_path = np.zeros(len(edge_ptr) - 1, dtype=np.bool_)
    for root in range(start, stop):
        path[0] = root
        at[0] = edge_ptr[root]
        depth = 0
        while depth >= 0:
            node = path[depth]
            if at[depth] == edge_ptr[node + 1]:
                on_path[node] = False
                depth -= 1
                continue
            nxt = neighbor[at[depth]]
            at[depth] += 1
            if nxt == root and depth >= 2:
                counts[at[0] - 1, depth - 2] += 1
            elif nxt != root and not on_path[nxt] and depth + 1 < longest:
                depth += 1
                path[depth] = nxt
                at[depth] = edge_ptr[nxt]
                on_path[nxt] = True
