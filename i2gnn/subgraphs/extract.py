"""Extraction of the K-hop ego-nets of every node of a store, in one pass."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from i2gnn.errors import InputError
from i2gnn.graphs.flat import index_dtype, offsets
from i2gnn.graphs.store import GraphStore
from i2gnn.parallel import run_chunks
from i2gnn.subgraphs import cache
from i2gnn.subgraphs.labels import attach_labels, parse_labels
from i2gnn.subgraphs.structure import AXES, Subgraphs

__all__ = ["SubgraphsTooLarge", "extract_subgraphs"]


class SubgraphsTooLarge(InputError):
    """The subgraphs would not fit into memory; the message gives rows, bytes and ways out."""


def extract_subgraphs(
    graphs: GraphStore,
    *,
    hops: int = 3,
    identifiers: int = 2,
    labels: str = "spd",
    cache_dir: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Subgraphs:
    """Extracts the ego-net of every node, once per root, and labels its rows (Section 4).

    Args:
        graphs: Where the roots are.
        hops: Radius K of the ego-nets; without effect for zero identifiers.
        identifiers: 0 (the graph itself), 1 (root) or 2 (root and each neighbour in turn).
        labels: "none", or one or more of "identity", "spd", "spd_pred" and "resistance" joined
            by "+"; see `i2gnn.subgraphs.labels`.
        cache_dir: Keeps the result there, under a key of the graphs and the settings.
        progress: Shows a progress bar on standard error.

    Example:
        >>> path = GraphStore.from_edge_lists([[(0, 1), (1, 2)]], symmetrize=True)
        >>> extract_subgraphs(path, hops=1)
        Subgraphs(graphs=1, nodes=3, edges=4, branches=4, pairs=7, links=8, rows=10)
    """
    kinds = parse_labels(labels, identifiers)
    if identifiers not in (0, 1, 2):
        raise ValueError(f"identifiers must be 0, 1 or 2, got {identifiers!r}")
    if identifiers == 0:
        return _whole_graphs(graphs)
    if (
        not isinstance(hops, int) or not 1 <= hops <= 253
    ):  # distances up to hops + 1 are stored in uint8, shifted by one
        raise ValueError(f"hops must lie in 1..253, got {hops!r}")
    if cache_dir is not None:
        path = Path(cache_dir) / cache.file_name(graphs, hops, identifiers, kinds)
        found = cache.read(path, graphs)
        if found is not None:
            return found
    subgraphs = _extract(graphs, hops, identifiers, kinds, progress)
    subgraphs = attach_labels(subgraphs, kinds, progress)
    if cache_dir is not None:
        cache.write(path, subgraphs)
    return subgraphs


def _whole_graphs(graphs: GraphStore) -> Subgraphs:
    """Zero identifiers: pairs are nodes, links are edges."""
    nodes = torch.arange(graphs.num_nodes, device=graphs.device)
    ones = torch.ones_like(graphs.degree)
    per_node, per_edge = graphs.sizes["node"], graphs.sizes["edge"]
    return Subgraphs(
        **_fields(graphs),
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
    graphs: GraphStore, hops: int, identifiers: int, kinds: tuple[str, ...], progress: bool
) -> Subgraphs:
    from i2gnn.subgraphs import kernels

    host = graphs.to("cpu")
    adjacency = (
        host.offsets["node"].numpy(),
        host.node_to_graph.numpy(),
        host.edge_ptr.numpy(),
        host.neighbor.numpy(),
    )
    nodes = host.num_nodes
    pair_count = np.zeros(nodes, dtype=np.int32)
    links_of_root = np.zeros(nodes, dtype=np.int64)
    title = "sizing ego-nets" if progress else ""
    arguments: tuple[Any, ...] = (hops, *adjacency, pair_count, links_of_root)
    run_chunks(kernels.count_pairs, nodes, arguments, description=title)

    branch_count = host.degree.clamp(min=1) if identifiers == 2 else torch.ones_like(host.degree)
    pairs = torch.from_numpy(pair_count)
    sizes = dict(host.sizes)
    for axis, of_root in (
        ("branch", branch_count),
        ("pair", pairs),
        ("link", torch.from_numpy(links_of_root)),
        ("row", pairs.long() * branch_count),
    ):
        sizes[axis] = _sum_by_graph(of_root, host)
    _check_memory(sizes, kinds)

    pair_ptr, link_ptr = offsets(pairs).numpy(), offsets(torch.from_numpy(links_of_root)).numpy()
    num_pairs, num_links = int(pair_ptr[-1]), int(link_ptr[-1])
    pair_type = _numpy_type(num_pairs)
    pair_to_node = np.empty(num_pairs, dtype=_numpy_type(nodes))
    link_count = np.empty(num_pairs, dtype=np.int32)
    link_to_pair = np.empty(num_links, dtype=pair_type)
    link_to_edge = np.empty(num_links, dtype=_numpy_type(host.num_edges))
    run_chunks(
        kernels.fill_pairs,
        nodes,
        (*adjacency, pair_ptr, link_ptr, pair_to_node, link_count, link_to_pair, link_to_edge),
        weights=links_of_root + pair_count,
        description="extracting ego-nets" if progress else "",
    )
    branch_ptr = offsets(branch_count)
    branch_to_root = torch.repeat_interleave(torch.arange(nodes), branch_count)
    rank = torch.arange(len(branch_to_root)) - branch_ptr[branch_to_root]
    # Breadth-first order puts the neighbours of i, ascending, right behind i itself.
    skip = (host.degree > 0).long() if identifiers == 2 else torch.zeros(nodes, dtype=torch.int64)
    branch_to_pair = torch.from_numpy(pair_ptr)[branch_to_root] + rank + skip[branch_to_root]
    return Subgraphs(
        **_fields(host),
        sizes=sizes,
        identifiers=identifiers,
        hops=hops,
        branch_count=branch_count.to(torch.int32),
        pair_count=pairs,
        branch_to_pair=branch_to_pair.to(index_dtype(num_pairs)),
        pair_to_node=torch.from_numpy(pair_to_node),
        link_count=torch.from_numpy(link_count),
        link_to_pair=torch.from_numpy(link_to_pair),
        link_to_edge=torch.from_numpy(link_to_edge),
    )


def _fields(graphs: GraphStore) -> dict[str, Any]:
    """The fields of a store that its subgraphs take over."""
    names = {field.name for field in dataclasses.fields(GraphStore)} - {"sizes"}
    return {name: getattr(graphs, name) for name in names}


def _sum_by_graph(of_root: Tensor, graphs: GraphStore) -> Tensor:
    total = torch.zeros(len(graphs), dtype=torch.int64)
    return total.index_add_(0, graphs.node_to_graph, of_root.long())


def _numpy_type(length: int) -> Any:
    return np.int32 if index_dtype(length) == torch.int32 else np.int64


def _check_memory(sizes: dict[str, Tensor], kinds: tuple[str, ...]) -> None:
    """Compares what the columns will take with the memory of the machine, before taking it."""
    total = {axis: int(counts.sum()) for axis, counts in sizes.items()}
    per_row = sum({"identity": 1, "spd": 2, "spd_pred": 4, "resistance": 8}[k] for k in kinds)
    needed = 8 * total["pair"] + 8 * total["link"] + 4 * total["branch"] + per_row * total["row"]
    available = _available_memory()
    if needed > available:
        raise SubgraphsTooLarge(
            f"the subgraphs have {total['row']:,} rows over {total['pair']:,} pairs and need "
            f"{needed / 2**30:.1f} GiB, of which {available / 2**30:.1f} GiB are free; "
            "use fewer hops, fewer identifiers, or extract the graphs in several parts"
        )


def _available_memory() -> int:
    """Bytes that can be taken without swapping; free pages where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if "MemAvailable" in line)
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
