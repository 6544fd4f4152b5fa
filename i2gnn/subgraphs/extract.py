"""Extraction of the K-hop ego-nets of all or some nodes of a store, in one pass."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from i2gnn.graphs.flat import index_dtype, offsets
from i2gnn.graphs.store import GraphStore
from i2gnn.parallel import chunks_for, run_chunks
from i2gnn.subgraphs import cache
from i2gnn.subgraphs.checks import check_arguments
from i2gnn.subgraphs.labels import attach_labels, parse_labels
from i2gnn.subgraphs.neighborhood import induced, neighborhood, no_places
from i2gnn.subgraphs.sizes import SubgraphSizes, count_subgraphs
from i2gnn.subgraphs.structure import AXES, Subgraphs

__all__ = ["cut_out", "extract_from", "extract_subgraphs", "graph_fields"]


def extract_subgraphs(
    graphs: GraphStore,
    *,
    hops: int = 3,
    identifiers: int = 2,
    labels: str = "spd",
    roots: Tensor | None = None,
    branches: Tensor | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Subgraphs:
    """Extracts the ego-net of every node, once per root, and labels its rows (Section 4).

    Args:
        graphs: Where the roots are.
        hops: Radius K of the ego-nets; without effect for zero identifiers.
        identifiers: 0 (the graph itself), 1 (root), 2 (root and each neighbour in turn) or 3 (root
            and each path of two steps in turn; see `i2gnn.subgraphs.paths`).
        labels: "none", or one or more of "identity", "spd", "spd_pred" and "resistance" joined
            by "+"; see `i2gnn.subgraphs.labels`.
        roots: Nodes to be roots, by default all. The result then has these nodes and those they
            see, and no others, so that the rest of the graphs costs next to nothing. Nodes keep
            their order, and `Subgraphs.roots` tells which are roots.
        branches: Mask [E] of the edges i <- j whose j is to be a branch of i, by default all; see
            `i2gnn.subgraphs.sample`. Only with two identifiers.
        cache_dir: Keeps the result there, under a key of the graphs and the settings.
        progress: Shows a progress bar on standard error.

    Raises:
        SubgraphsTooLarge: The result would not fit into memory; none has been taken.

    Example:
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)
        >>> extract_subgraphs(path, hops=1)
        Subgraphs(graphs=1, nodes=3, edges=4, branches=4, pairs=7, links=8, rows=10)
        >>> extract_subgraphs(path, hops=1, roots=torch.tensor([0]))
        Subgraphs(graphs=1, nodes=2, edges=2, branches=1, pairs=2, links=2, rows=2)
    """
    graphs = GraphStore.from_any(graphs)
    kinds = parse_labels(labels, identifiers)
    check_arguments(graphs, hops, identifiers, roots, branches)
    if cache_dir is not None and not (roots is None and branches is None):
        raise ValueError("a cache keeps all roots with all branches; leave out cache_dir")
    if identifiers == 0:
        return _whole_graphs(graphs)
    if identifiers == 3:
        from i2gnn.subgraphs.paths import extract_paths  # which builds on this file

        return extract_paths(
            graphs, hops=hops, labels=labels, cache_dir=cache_dir, progress=progress
        )
    if cache_dir is not None:
        path = Path(cache_dir) / cache.file_name(graphs, hops, identifiers, kinds)
        found = cache.read(path, graphs)
        if found is not None:
            return found
    host = graphs.to("cpu")
    if branches is not None:
        branches = branches.cpu()
    chosen = None if roots is None else torch.unique(roots.cpu())
    if chosen is not None:
        host, chosen, edges = cut_out(host, chosen, hops)
        branches = None if branches is None else branches[edges]
    subgraphs = extract_from(
        host,
        hops=hops,
        identifiers=identifiers,
        labels=labels,
        roots=chosen,
        branches=branches,
        progress=progress,
    )
    if cache_dir is not None:
        cache.write(path, subgraphs)
    return subgraphs if host.device == graphs.device else subgraphs.to(graphs.device)


def cut_out(
    graphs: GraphStore, roots: Tensor, hops: int, places: Tensor | None = None
) -> tuple[GraphStore, Tensor, Tensor]:
    """What the roots see as graphs of its own, the roots in it, and which edges it has.

    `roots` are ascending, and so are those returned; for `places` see `induced`.
    """
    places = no_places(graphs) if places is None else places
    nodes = neighborhood(graphs, roots, hops, places)
    seen, edges = induced(graphs, nodes, places)
    return seen, torch.searchsorted(nodes, roots), edges


def extract_from(
    graphs: GraphStore,
    *,
    hops: int,
    identifiers: int,
    labels: str,
    roots: Tensor | None = None,
    branches: Tensor | None = None,
    progress: bool = False,
) -> Subgraphs:
    """Counts, extracts and labels; the arguments have been checked and are on the host.

    Roots, ascending, are nodes of `graphs`, none of which is left out.
    """
    sizes = count_subgraphs(
        graphs,
        hops=hops,
        identifiers=identifiers,
        labels=labels,
        roots=roots,
        branches=branches,
        progress=progress,
    )
    sizes.check_memory()
    subgraphs = _extract(graphs, sizes, hops, identifiers, branches, roots is None, progress)
    return attach_labels(subgraphs, parse_labels(labels, identifiers), progress)


def _whole_graphs(graphs: GraphStore) -> Subgraphs:
    """Zero identifiers: pairs are nodes, links are edges."""
    nodes = torch.arange(graphs.num_nodes, device=graphs.device)
    ones = torch.ones_like(graphs.degree)
    per_node, per_edge = graphs.sizes["node"], graphs.sizes["edge"]
    return Subgraphs(
        **graph_fields(graphs),
        sizes={axis: per_edge if axis in ("edge", "link") else per_node for axis in AXES},
        identifiers=0,
        hops=0,
        branch_count=ones,
        pair_count=ones,
        branch_to_pair=nodes.to(graphs.neighbor.dtype),
        pair_to_node=nodes.to(graphs.neighbor.dtype),
        link_count=graphs.degree,
        link_to_pair=graphs.neighbor,
        link_to_edge=torch.arange(graphs.num_edges, device=graphs.device).to(
            index_dtype(graphs.num_edges)
        ),
    )


def _extract(
    graphs: GraphStore,
    sizes: SubgraphSizes,
    hops: int,
    identifiers: int,
    branches: Tensor | None,
    complete: bool,
    progress: bool,
) -> Subgraphs:
    """The subgraphs of the roots that were counted, without labels."""
    from i2gnn.subgraphs import kernels

    pair_ptr, link_ptr = offsets(sizes.pairs), offsets(sizes.links)
    num_pairs, num_links = int(pair_ptr[-1]), int(link_ptr[-1])
    pair_to_node = np.empty(num_pairs, dtype=_numpy_type(graphs.num_nodes))
    link_count = np.empty(num_pairs, dtype=np.int32)
    link_to_pair = np.empty(num_links, dtype=_numpy_type(num_pairs))
    link_to_edge = np.empty(num_links, dtype=_numpy_type(graphs.num_edges))
    arguments: tuple[Any, ...] = (
        sizes.roots.numpy(),
        graphs.offsets["node"].numpy(),
        graphs.edge_ptr.numpy(),
        graphs.neighbor.numpy(),
        pair_ptr.numpy(),
        link_ptr.numpy(),
        *(pair_to_node, link_count, link_to_pair, link_to_edge),
    )
    run_chunks(
        kernels.fill_pairs,
        len(sizes.roots),
        arguments,
        weights=(sizes.links + sizes.pairs).numpy(),
        chunks=chunks_for(num_links, 256),
        description="extracting ego-nets" if progress else "",
    )
    per_root = {"branch": sizes.branches, "pair": sizes.pairs}
    per_root |= {"link": sizes.links, "row": sizes.rows}
    graph_of_root = graphs.node_to_graph[sizes.roots]
    by_graph = {axis: _sum_into(graph_of_root, n, len(graphs)) for axis, n in per_root.items()}
    by_node = {axis: _sum_into(sizes.roots, n, graphs.num_nodes) for axis, n in per_root.items()}
    return Subgraphs(
        **graph_fields(graphs),
        sizes={**graphs.sizes, **by_graph},
        identifiers=identifiers,
        hops=hops,
        complete=complete,
        branch_count=by_node["branch"].to(torch.int32),
        pair_count=by_node["pair"].to(torch.int32),
        branch_to_pair=_branches(graphs, sizes, identifiers, branches).to(index_dtype(num_pairs)),
        pair_to_node=torch.from_numpy(pair_to_node),
        link_count=torch.from_numpy(link_count),
        link_to_pair=torch.from_numpy(link_to_pair),
        link_to_edge=torch.from_numpy(link_to_edge),
        branch_weight=None
        if branches is None
        else (graphs.degree / by_node["branch"].clamp(min=1)).clamp(min=1),
    )


def _branches(
    graphs: GraphStore, sizes: SubgraphSizes, identifiers: int, branches: Tensor | None
) -> Tensor:
    """The pair (i, j) of each branch, [B]."""
    own_pair = offsets(sizes.pairs)[:-1]  # of each root, [n]
    if identifiers == 1:
        return own_pair
    degree = graphs.degree[sizes.roots]
    root = torch.repeat_interleave(torch.arange(len(degree)), degree.clamp(min=1))
    # Breadth-first order puts the neighbours of i, ascending, right behind i itself; an isolated
    # root, the only one whose place is 0, is its own branch.
    place = torch.arange(len(root)) - offsets(degree.clamp(min=1))[root] + (degree > 0)[root]
    pair = own_pair[root] + place
    if branches is None:
        return pair
    edge = graphs.edge_ptr[sizes.roots][root] + place - 1
    kept = place == 0
    kept[~kept] = branches[edge[~kept]]
    return pair[kept]


def graph_fields(graphs: GraphStore) -> dict[str, Any]:
    """The fields of a store that its subgraphs take over."""
    names = {field.name for field in dataclasses.fields(GraphStore)} - {"sizes"}
    return {name: getattr(graphs, name) for name in names}


def _sum_into(group: Tensor, values: Tensor, groups: int) -> Tensor:
    return torch.zeros(groups, dtype=torch.int64).index_add_(0, group, values)


def _numpy_type(length: int) -> Any:
    return np.int32 if index_dtype(length) == torch.int32 else np.int64
