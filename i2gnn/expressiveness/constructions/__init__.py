"""The paper's proofs as code: what models with 0, 1 and 2 identifiers can count, by messages."""

from i2gnn.expressiveness.constructions.construction import Construction
from i2gnn.expressiveness.constructions.homomorphisms import derive_construction
from i2gnn.expressiveness.constructions.table import CONSTRUCTIONS, construct
from i2gnn.expressiveness.constructions.vocabulary import Rows

__all__ = ["CONSTRUCTIONS", "Construction", "Rows", "construct", "derive_construction"]
