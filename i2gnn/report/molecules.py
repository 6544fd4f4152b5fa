"""Molecules with atoms coloured by a number, as SVG or HTML."""

import html
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from i2gnn.counting.api import Counts
from i2gnn.counting.patterns import Pattern
from i2gnn.errors import InputError
from i2gnn.files import write_atomically
from i2gnn.report.page import write_page

__all__ = ["MoleculeDrawing", "draw_molecule"]

WIDTH, HEIGHT, CAPTION = 260, 220, 22


def draw_molecule(smiles: str, values: Sequence[int]) -> str:
    """One molecule as SVG: atoms with a count are orange, the more the darker, and numbered.

    Args:
        smiles: The molecule.
        values: One number per atom, in the order of RDKit.
    """
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D

    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None or molecule.GetNumAtoms() != len(values):
        raise InputError(f"{smiles!r}: expected a molecule with {len(values)} atoms")
    most = max([1, *values])
    colours = {}
    for atom, value in enumerate(values):
        if value:
            molecule.GetAtomWithIdx(atom).SetProp("atomNote", str(value))
            strength = 0.25 + 0.75 * value / most
            colours[atom] = (1.0, 1.0 - 0.45 * strength, 1.0 - 0.9 * strength)
    drawer = rdMolDraw2D.MolDraw2DSVG(WIDTH, HEIGHT)
    rdMolDraw2D.PrepareAndDrawMolecule(
        drawer, molecule, highlightAtoms=list(colours), highlightAtomColors=colours
    )
    drawer.FinishDrawing()
    # A drawing among others: no XML declaration, nothing before the tag.
    text: str = drawer.GetDrawingText()
    return text[text.index("<svg") :]


class MoleculeDrawing:
    """Collects the first molecules of a file and draws one row each, one column per count.

    Args:
        path: Where the drawing goes, .svg or .html.
        patterns: The substructures that are counted.
        level: Must be "node".
        limit: Molecules to draw at most.
    """

    def __init__(
        self, path: str | os.PathLike[str], patterns: Sequence[Pattern], level: str, limit: int
    ) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() not in (".svg", ".html"):
            raise InputError(f"{path}: expected a name in .svg or .html")
        if level != "node":
            raise InputError(f"drawing colours atoms, so it needs level node, not {level}")
        self.names = [pattern.name for pattern in patterns]
        self.limit = limit
        self.rows: list[tuple[int, str, list[str]]] = []

    def add(self, smiles: Sequence[str] | None, numbers: Sequence[int], counts: Counts) -> None:
        """Takes a block of molecules, as far as the limit allows."""
        if smiles is None:
            raise InputError("only molecules can be drawn; the input holds other graphs")
        ptr: Any = counts.store.offsets["node"].tolist()
        for graph in range(min(len(smiles), self.limit - len(self.rows))):
            values = counts.values[ptr[graph] : ptr[graph + 1]]
            columns = [values[:, c].tolist() for c in range(len(self.names))]
            drawings = [draw_molecule(smiles[graph], column) for column in columns]
            self.rows.append((numbers[graph], smiles[graph], drawings))

    def save(self) -> None:
        """Writes the file."""
        if self.path.suffix.lower() == ".svg":
            write_atomically(self.path, self._svg())
            return
        molecules = [
            {
                "number": number,
                "smiles": smiles,
                "drawings": [
                    {"name": name, "svg": Markup(drawing)}
                    for name, drawing in zip(self.names, drawings, strict=True)
                ],
            }
            for number, smiles, drawings in self.rows
        ]
        write_page(self.path, "molecules.html", {"molecules": molecules, "width": WIDTH})

    def _svg(self) -> str:
        parts = []
        for line, (number, _, drawings) in enumerate(self.rows):
            for column, drawing in enumerate(drawings):
                x, y = column * WIDTH, line * (HEIGHT + CAPTION)
                caption = f"{number}: {self.names[column]}"
                parts.append(f'<text x="{x + 8}" y="{y + 16}">{html.escape(caption)}</text>')
                parts.append(re.sub(r"^<svg", f'<svg x="{x}" y="{y + CAPTION}"', drawing))
        width, height = WIDTH * len(self.names), (HEIGHT + CAPTION) * len(self.rows)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'font-family="sans-serif" font-size="13">\n' + "\n".join(parts) + "\n</svg>\n"
        )
