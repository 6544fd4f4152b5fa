"""Node deletion: the subgraph of root i is its whole graph without i.

The layout is that of one identifier. The root keeps its pair, the first, which has no links; its
row can be told by the label "identity". A graph of n nodes and m directed edges has n^2 pairs and
n m - 2 m links.
"""

import numpy as np
import torch

from i2gnn.graphs.flat import index_dtype, offsets
from i2gnn.graphs.store import GraphStore
from i2gnn.parallel import run_chunks
from i2gnn.subgraphs.extract import graph_fields
from i2gnn.subgraphs.labels import attach_labels, parse_labels
from i2gnn.subgraphs.sizes import SubgraphSizes
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["extract_deletions"]


def extract_deletions(
    graphs: GraphStore, *, labels: str = "identity", progress: bool = False
) -> Subgraphs:
    """Extracts, for every node, its graph without this node, in time linear in the result.

    Args:
        graphs: Where the nodes are.
        labels: "identity" (1 at the deleted node, 0 elsewhere) or "none".
        progress: Shows a progress bar on standard error.

    Raises:
        SubgraphsTooLarge: The result would not fit into memory; none has been taken.

    Example:
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)
        >>> subgraphs = extract_deletions(path)
        >>> subgraphs
        Subgraphs(graphs=1, nodes=3, edges=4, branches=3, pairs=9, links=4, rows=9)
        >>> subgraphs.pair_to_node
        tensor([0, 1, 2, 1, 0, 2, 2, 0, 1], dtype=torch.int32)
    """
    from i2gnn.subgraphs import deletion_kernel

    kinds = parse_labels(labels, identifiers=1)
    if set(kinds) - {"identity"}:
        raise ValueError(f"labels must be 'identity' or 'none' where nodes are deleted: {labels!r}")
    graphs = GraphStore.from_any(graphs)
    host = graphs.to("cpu")
    nodes, graph = torch.arange(host.num_nodes), host.node_to_graph
    per_graph = {axis: host.sizes[axis].long() for axis in ("node", "edge")}
    sizes = SubgraphSizes(
        roots=nodes,
        branches=torch.ones_like(nodes),
        pairs=per_graph["node"][graph],
        links=per_graph["edge"][graph] - 2 * host.degree.long(),
        graph_nodes=host.num_nodes,
        graph_edges=host.num_edges,
        row_bytes=len(kinds),
    )
    sizes.check_memory()
    pair_ptr, link_ptr = offsets(sizes.pairs), offsets(sizes.links)
    num_pairs, num_links = int(pair_ptr[-1]), int(link_ptr[-1])
    to_node, to_pair, to_edge = map(index_dtype, (host.num_nodes, num_pairs, host.num_edges))
    pair_to_node = torch.empty(num_pairs, dtype=to_node)
    link_count = torch.empty(num_pairs, dtype=torch.int32)
    link_to_pair = torch.empty(num_links, dtype=to_pair)
    link_to_edge = torch.empty(num_links, dtype=to_edge)
    arrays = (
        *(host.offsets["node"], graph, host.edge_ptr, host.neighbor, pair_ptr, link_ptr),
        *(pair_to_node, link_count, link_to_pair, link_to_edge),
    )
    run_chunks(
        deletion_kernel.fill_deletions,
        host.num_nodes,
        [array.numpy() for array in arrays],
        weights=(sizes.links + sizes.pairs).numpy().astype(np.int64),
        description="deleting nodes" if progress else "",
    )
    in_graph = per_graph["node"]
    per_link = in_graph * per_graph["edge"] - 2 * per_graph["edge"]
    subgraphs = Subgraphs(
        **graph_fields(host),
        sizes={
            **host.sizes,
            "branch": in_graph,
            "pair": in_graph.square(),
            "link": per_link,
            "row": in_graph.square(),
        },
        identifiers=1,
        hops=0,
        branch_count=torch.ones(host.num_nodes, dtype=torch.int32),
        pair_count=sizes.pairs.to(torch.int32),
        branch_to_pair=pair_ptr[:-1].to(to_pair),
        pair_to_node=pair_to_node,
        link_count=link_count,
        link_to_pair=link_to_pair,
        link_to_edge=link_to_edge,
    )
    return attach_labels(subgraphs, kinds).to(graphs.device)
