"""The bioactive molecules of the paper's counting experiments (Table 2, right half)."""

import dataclasses
import os

from i2gnn.data.counting import CountingData
from i2gnn.data.download import DataFile, locate
from i2gnn.data.splits import Splits
from i2gnn.graphs import GraphStore

__all__ = ["FILE", "read_chembl"]

FILE = DataFile(
    path="chembl/chembl_16200.smi",
    sha256="ea8e7741d54d59379df92761101a21325a2b6bf041e014e1c2cac9af79e2d611",
    source="16,200 molecules of ChEMBL, less than 0.4 alike, chosen by the authors of the paper: "
    "github.com/GraphPKU/I2GNN",
)

FRACTIONS = (0.6, 0.2, 0.2)
"""Train, validation and test: 9,720, 3,240 and 3,240 molecules."""

SEED = 0
"""Of the split. The paper publishes none; this one never changes."""


def read_chembl(
    root: str | os.PathLike[str] | None = None, limit: int | None = None
) -> CountingData:
    """Reads `<root>/chembl/chembl_16200.smi`; graphs without atoms and bonds, as in the paper.

    Args:
        root: Folder of data sets; see `data_folder`.
        limit: About so many of the molecules, split in the same proportions; the others are not
            even parsed.
    """
    path = locate(FILE, root)
    smiles = path.read_text(encoding="ascii").split()
    splits = Splits.random(len(smiles), FRACTIONS, SEED)
    if limit is not None:
        chosen, splits = splits.first(limit)
        smiles = [smiles[place] for place in chosen.tolist()]
    molecules = dataclasses.replace(GraphStore.from_smiles(smiles), x=None, edge_attr=None)
    return CountingData("chembl", molecules, splits)
