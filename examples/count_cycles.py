"""Counts rings in a few molecules and a pattern of one's own in a graph.

python examples/count_cycles.py
"""

import networkx

from i2gnn.counting import Pattern, count

MOLECULES = {
    "cubane": "C12C3C4C1C5C2C3C45",
    "naphthalene": "c1ccc2ccccc2c1",
    "toluene": "Cc1ccccc1",
}


def main() -> None:
    """Prints three small tables."""
    rings = count(list(MOLECULES.values()), "cycle3..cycle8", level="graph")
    table = rings.to_frame()
    table["graph"] = list(MOLECULES)
    print("Cycles per molecule (naphthalene's outline is a 10-cycle, too long to count here)")
    print(table.to_string(index=False), "\n")

    atoms = count(MOLECULES["toluene"], ["cycle6", "path3"])
    print("Per atom of toluene: six-rings through it, paths of three bonds that start at it")
    print(atoms.to_frame().to_string(index=False), "\n")

    bowtie = Pattern([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)], position=2, name="bowtie")
    club = networkx.karate_club_graph()
    members = count(club, ["cycle3", "clique4", bowtie]).to_frame()
    print("Karate club: members with the most pairs of triangles that meet in them alone")
    print(members.nlargest(5, "bowtie").to_string(index=False))


if __name__ == "__main__":
    main()
