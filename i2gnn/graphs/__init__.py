"""Graphs: many of them in flat tensors, from PyG, networkx, SMILES, graph6 and edge lists."""

from i2gnn.graphs.raw import Level, RawGraphs
from i2gnn.graphs.store import GraphStore

__all__ = ["GraphStore", "Level", "RawGraphs"]
