import json
from pathlib import Path

import pandas as pd
import pytest

from i2gnn.counting.tables import open_table
from i2gnn.errors import InputError

FRAMES = [
    pd.DataFrame({"graph": [0, 0], "cycle3": [1, 2**62]}),
    pd.DataFrame({"graph": [3], "cycle3": [0]}),
]


def read(path: Path) -> dict[str, list[int]]:
    if path.suffix == ".json":
        rows = json.loads(path.read_text())
        return {name: [row[name] for row in rows] for name in ("graph", "cycle3")}
    frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
    return {str(name): frame[name].tolist() for name in frame}


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_pieces_make_one_table(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table.{ending}"
    with open_table(path) as write:
        for frame in FRAMES:
            write(frame)
    assert read(path) == {"graph": [0, 0, 3], "cycle3": [1, 2**62, 0]}


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_a_failure_leaves_nothing_behind(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table.{ending}"
    with pytest.raises(RuntimeError), open_table(path) as write:
        write(FRAMES[0])
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_unknown_kinds_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv, \.parquet, \.json"), open_table("a.xls"):
        pass
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(InputError, match="is a directory"), open_table(tmp_path / "a.csv"):
        pass
