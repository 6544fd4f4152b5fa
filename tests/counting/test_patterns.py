import pytest

from i2gnn.counting import CATALOGUE, Pattern, parse_pattern, resolve
from i2gnn.errors import InputError


def test_ranges_and_lists_keep_their_order() -> None:
    names = [p.name for p in resolve(["path4", "cycle6..cycle8", CATALOGUE["clique4"]])]
    assert names == ["path4", "cycle6", "cycle7", "cycle8", "clique4"]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([], "numbered from 0"),
        ([(0, 2)], "numbered from 0"),
        ([(0, 0), (0, 1)], "self-loop"),
        ([(0, 1), (1, 0)], "repeated"),
        ([(0, 1), (2, 3)], "not connected"),
        ([(v, v + 1) for v in range(8)], "9 nodes; at most 8"),
    ],
)
def test_bad_patterns_are_refused(edges: list[tuple[int, int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pattern(edges)


def test_position_must_exist() -> None:
    with pytest.raises(InputError, match="position 5"):
        Pattern([(0, 1)], position=5)


@pytest.mark.parametrize("text", ["", "a", "a=0-1@x", "=0-1", "a=0-1-2", "cycle3=0-1", "a=0-5"])
def test_bad_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="pattern"):
        parse_pattern(text)


def test_symmetries() -> None:
    sizes = {name: len(CATALOGUE[name].automorphisms) for name in ("cycle6", "path3", "clique4")}
    assert sizes == {"cycle6": 12, "path3": 2, "clique4": 24}
    assert CATALOGUE["cycle5"].multiplicity("node") == 5
    assert CATALOGUE["path3"].multiplicity("edge") == 3


@pytest.mark.parametrize("text", ["cycle8..cycle3", "cycle3..path4", "cycle3..", "cycle2..cycle4"])
def test_bad_ranges_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="unknown substructure"):
        resolve(text)
