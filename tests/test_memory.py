from pathlib import Path

import pytest

from i2gnn.errors import InputError
from i2gnn.memory import available_memory, format_size, left_in_container, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("500MB", 500 * 10**6), ("2gb", 2 * 10**9), (" 1.5 GiB ", 3 * 2**29), ("64", 64), (7, 7)],
)
def test_sizes_as_people_write_them(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "2 apples", "-1MB", "1.2.3MB", "0", "0.1B", True])
def test_other_texts_are_named(text: str) -> None:
    with pytest.raises(InputError, match=f"size is {text!r}; expected"):
        parse_size(text)


def test_printed_sizes_can_be_read_back() -> None:
    for size in (1, 999, 10**3, 25 * 10**5, 3 * 10**12):
        assert parse_size(format_size(size)) == size


def test_free_memory_is_that_of_the_machine() -> None:
    assert 2**20 < available_memory() < 2**50


def test_the_limit_of_a_container(tmp_path: Path) -> None:
    assert left_in_container(tmp_path) is None
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 100\n")
    assert left_in_container(tmp_path) is None
    (tmp_path / "memory.max").write_text("1000\n")
    assert left_in_container(tmp_path) == 400
    (tmp_path / "memory.max").write_text("600\n")
    assert left_in_container(tmp_path) == 0
