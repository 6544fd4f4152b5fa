"""Extracted subgraphs on disk, found again by content."""

import dataclasses
import hashlib
import logging
from pathlib import Path

from i2gnn.errors import InputError
from i2gnn.graphs.store import GraphStore
from i2gnn.subgraphs.structure import Subgraphs

__all__ = ["file_name", "read", "write"]

log = logging.getLogger(__name__)

FEATURES = ("x", "edge_attr", "y", "level")
"""Fields that do not influence extraction: they are not in the key and not in the file."""


def file_name(graphs: GraphStore, hops: int, identifiers: int, kinds: tuple[str, ...]) -> str:
    """A name that changes with the graphs' edges, the settings and the file format."""
    digest = hashlib.sha256()
    for tensor in (graphs.sizes["node"], graphs.degree, graphs.neighbor):
        digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
        digest.update(tensor.cpu().contiguous().numpy().data)
    settings = f"v{Subgraphs.FORMAT_VERSION}-h{hops}-i{identifiers}-{'+'.join(kinds) or 'none'}"
    return f"subgraphs-{settings}-{digest.hexdigest()[:20]}.safetensors"


def write(path: Path, subgraphs: Subgraphs) -> None:
    """Stores the structure and the labels."""
    dataclasses.replace(subgraphs, x=None, edge_attr=None, y=None, level=None).save(path)


def read(path: Path, graphs: GraphStore) -> Subgraphs | None:
    """Loads the subgraphs and gives them the features of `graphs`; None if there are none."""
    if not path.is_file():
        return None
    try:
        found = Subgraphs.load(path)
    except InputError as error:
        log.warning("ignoring a damaged cache file: %s", error)
        return None
    features = {name: getattr(graphs, name) for name in FEATURES}
    return dataclasses.replace(found.to(graphs.device), **features)
