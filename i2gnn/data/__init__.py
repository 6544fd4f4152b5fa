"""Data sets: generated, read from a local folder or downloaded, with their splits."""

from i2gnn.data.counting import CountingData, generate_counting, load_counting
from i2gnn.data.download import DataFile, data_folder, fetch, locate
from i2gnn.data.splits import Splits
from i2gnn.data.structures import with_structures
from i2gnn.data.synthetic import generate_graphs

__all__ = [
    "CountingData",
    "DataFile",
    "Splits",
    "data_folder",
    "fetch",
    "generate_counting",
    "generate_graphs",
    "load_counting",
    "locate",
    "with_structures",
]
