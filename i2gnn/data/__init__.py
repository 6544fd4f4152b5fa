"""Data sets: generated, read from a local folder or downloaded, with their splits."""

from i2gnn.data.chembl import read_chembl
from i2gnn.data.counting import (
    CountingData,
    count_targets,
    draw_counting,
    generate_counting,
    load_counting,
    read_counting,
)
from i2gnn.data.download import DataFile, data_folder, fetch, locate
from i2gnn.data.splits import Splits
from i2gnn.data.synthetic import generate_graphs

__all__ = [
    "CountingData",
    "DataFile",
    "Splits",
    "count_targets",
    "data_folder",
    "draw_counting",
    "fetch",
    "generate_counting",
    "generate_graphs",
    "load_counting",
    "locate",
    "read_chembl",
    "read_counting",
]
