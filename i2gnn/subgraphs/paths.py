"""Three identifiers: the branches of a root i are the paths (j, j') that lead on from it.

j is a neighbour of i, and j' a neighbour of j other than i; j itself where there is none, and i
for all three where i is isolated, so that no edge and no node is lost. Everything else is as with
two identifiers: the ego-net is stored once per root, and each of its nodes carries one row per
branch. A root of degree d has about d (d - 1) branches instead of d.
"""

import dataclasses
import os
from pathlib import Path

import torch

from i2gnn.graphs.flat import index_dtype, offsets, ragged_arange
from i2gnn.graphs.store import GraphStore
from i2gnn.subgraphs import cache
from i2gnn.subgraphs.extract import extract_subgraphs
from i2gnn.subgraphs.labels import attach_labels, parse_labels
from i2gnn.subgraphs.sizes import LABEL_BYTES, SubgraphSizes
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["extract_paths"]


def extract_paths(
    graphs: GraphStore,
    *,
    hops: int = 3,
    labels: str = "spd",
    cache_dir: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Subgraphs:
    """Extracts the ego-net of every node with three identifiers; see `extract_subgraphs`.

    Args:
        graphs: Where the roots are.
        hops: Radius K of the ego-nets, at least 2: a path leads that far.
        labels: "none", or "identity", "spd" or "spd_pred" joined by "+". The columns are those of
            `i2gnn.subgraphs.labels`, with 1 + d(j', k) after 1 + d(j, k), and 3 for j'.
        cache_dir: Keeps the result there, under a key of the graphs and the settings.
        progress: Shows a progress bar on standard error.

    Raises:
        SubgraphsTooLarge: The result would not fit into memory.

    Example:
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)
        >>> subgraphs = extract_paths(path, hops=2)
        >>> subgraphs.pair_to_node[subgraphs.branch_to_pair]
        tensor([1, 0, 2, 1], dtype=torch.int32)
        >>> subgraphs.pair_to_node[subgraphs.branch_to_tip]
        tensor([2, 0, 2, 0], dtype=torch.int32)
    """
    kinds = parse_labels(labels, identifiers=3)
    if not (isinstance(hops, int) and 2 <= hops <= 252):
        # Distances up to hops + 2 are stored in uint8, shifted by one.
        raise ValueError(f"hops must lie in 2..252 with 3 identifiers, got {hops!r}")
    if cache_dir is not None:
        file = Path(cache_dir) / cache.file_name(graphs, hops, 3, kinds)
        found = cache.read(file, graphs)
        if found is not None:
            return found
    ego_nets = extract_subgraphs(
        graphs.to("cpu"), hops=hops, identifiers=1, labels="none", progress=progress
    )
    subgraphs = attach_labels(_branch_out(ego_nets, kinds), kinds, progress)
    if cache_dir is not None:
        cache.write(file, subgraphs)
    return subgraphs if subgraphs.device == graphs.device else subgraphs.to(graphs.device)


def _branch_out(ego_nets: Subgraphs, kinds: tuple[str, ...]) -> Subgraphs:
    """Gives the ego-nets of one identifier their paths; linear in the number of paths."""
    degree, own_pair = ego_nets.degree.long(), ego_nets.pair_ptr[:-1]
    # Breadth-first order puts the neighbours of i, ascending, right behind i itself. Every root
    # has at least one step and every step one tip: themselves where there is no other.
    steps = degree.clamp(min=1)
    root = torch.repeat_interleave(torch.arange(len(degree)), steps)  # [S]
    place = torch.arange(len(root)) - offsets(steps)[root] + (degree > 0)[root]
    step = own_pair[root] + place  # the pair (i, j), [S]
    # All neighbours of j are in the ego-net, so its links lead to i and to every j'.
    tips = ego_nets.link_count[step].long()
    per_step = (tips - 1).clamp(min=1)
    branches = torch.zeros_like(degree).index_add(0, root, per_step)
    pairs = ego_nets.pair_count.long()
    links = torch.zeros_like(degree).index_add(0, ego_nets.pair_to_root, ego_nets.link_count.long())
    sizes = SubgraphSizes(
        roots=torch.arange(len(degree)),
        branches=branches,
        pairs=pairs,
        links=links,
        graph_nodes=ego_nets.num_nodes,
        graph_edges=ego_nets.num_edges,
        row_bytes=sum(LABEL_BYTES[kind][0] + 3 * LABEL_BYTES[kind][1] for kind in kinds),
    )
    sizes.check_memory()

    listed = tips.clamp(min=1)
    total = int(listed.sum())
    of_link = torch.repeat_interleave(torch.arange(len(step)), listed, output_size=total)
    place = ragged_arange(ego_nets.link_ptr[step], listed, total)
    # One more entry behind the links: an isolated root points there.
    tip = torch.cat([ego_nets.link_to_pair.long(), own_pair.new_zeros(1)])[place]
    first = step[of_link]
    alone = tips[of_link] <= 1
    kept = alone | (tip != own_pair[root[of_link]])
    tip = torch.where(alone, first, tip)[kept]

    graph = ego_nets.node_to_graph
    by_graph = torch.zeros(len(ego_nets), dtype=torch.int64)
    kind = index_dtype(ego_nets.num_pairs)
    return dataclasses.replace(
        ego_nets,
        sizes={
            **ego_nets.sizes,
            "branch": by_graph.index_add(0, graph, branches),
            "row": by_graph.index_add(0, graph, sizes.rows),
        },
        identifiers=3,
        branch_count=branches.to(torch.int32),
        branch_to_pair=first[kept].to(kind),
        branch_to_tip=tip.to(kind),
    )
