"""Small graphs whose counts are known by hand, as edge lists (each edge once)."""

from i2gnn.graphs import GraphStore

Edges = list[tuple[int, int]]


def cycle(n: int, first: int = 0) -> Edges:
    return [(first + a, first + (a + 1) % n) for a in range(n)]


def path(n: int) -> Edges:
    return [(a, a + 1) for a in range(n - 1)]


def complete(n: int) -> Edges:
    return [(a, b) for a in range(n) for b in range(a + 1, n)]


def rook() -> Edges:
    """4 x 4 rook's graph: squares in one row or column are adjacent."""
    squares = [(r, c) for r in range(4) for c in range(4)]
    return [
        (a, b)
        for a, (r, c) in enumerate(squares)
        for b, (s, d) in enumerate(squares)
        if a < b and (r == s or c == d)
    ]


def shrikhande() -> Edges:
    """Cayley graph of Z4 x Z4 with generators ±(1, 0), ±(0, 1), ±(1, 1)."""
    steps = {(1, 0), (3, 0), (0, 1), (0, 3), (1, 1), (3, 3)}
    squares = [(r, c) for r in range(4) for c in range(4)]
    return [
        (a, b)
        for a, (r, c) in enumerate(squares)
        for b, (s, d) in enumerate(squares)
        if a < b and ((s - r) % 4, (d - c) % 4) in steps
    ]


def petersen() -> Edges:
    outer = cycle(5)
    spokes = [(a, a + 5) for a in range(5)]
    return outer + spokes + [(5 + a, 5 + (a + 2) % 5) for a in range(5)]


def store(*graphs: Edges, num_nodes: list[int] | None = None) -> GraphStore:
    return GraphStore.from_edge_lists(graphs, num_nodes, symmetrize=True)


def awkward() -> GraphStore:
    """One node; no edges; an isolated last node; two components; empty; K4; a 12-node path."""
    graphs = [[], [], cycle(4), cycle(3) + cycle(5, first=3), [], complete(4), path(12)]
    return store(*graphs, num_nodes=[1, 3, 5, 8, 0, 4, 12])
