import json

import numpy as np
import pytest

from i2gnn.errors import InputError
from i2gnn.paper.records import (
    KEYS,
    read_record,
    read_records,
    record_name,
    thin_curve,
    write_record,
)


def test_a_thinned_curve_keeps_its_ends_and_the_best_epoch():
    history = [{"epoch": e, "lr": 1e-3, "validation": abs(e - 777) + 1 / 3} for e in range(1, 2001)]
    curve = thin_curve(history, best_epoch=777)
    assert curve["epoch"][0] == 1 and curve["epoch"][-1] == 2000 and 777 in curve["epoch"]
    assert 200 <= len(curve["epoch"]) <= 201
    assert len(curve["validation"]) == len(curve["lr"]) == len(curve["epoch"])
    assert min(curve["validation"]) == 0.33333


def test_records_are_short_and_read_back(tmp_path, caplog):
    record = dict.fromkeys(KEYS, 0) | {
        "table": "table2",
        "preset": "paper",
        "settings": {"data": {"targets": ["cycle6"]}},
        "curve": {"epoch": list(range(100))},
        "deviations": ["one, [two]", "three"],
        "title": "I²-GNN",
    }
    path = tmp_path / f"{record_name(record)}.json"
    write_record(path, record)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == record == read_record(path)
    assert text.count("\n") < 30 and "I²-GNN" in text
    assert read_records(tmp_path, ["table2", "table3"]) == [record]
    write_record(path.with_name("copy.json"), record)
    assert read_records(tmp_path, ["table2"]) == [record]
    assert "copy.json is the record of table2/paper-0-0-0-0" in caplog.text


@pytest.mark.parametrize("text", ["{", "[]", '{"table": "table2"}'])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match="x.json: not (JSON|a record)"):
        read_record(path)


def test_numbers_of_numpy_are_no_trouble(tmp_path):
    history = [{"epoch": 1, "validation": np.float64(0.25)}]
    assert thin_curve(history, 1) == {"epoch": [1], "validation": [0.25]}
