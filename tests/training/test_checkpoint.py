import math
from pathlib import Path
from typing import Any

import pytest
import torch

from i2gnn.errors import InputError
from i2gnn.training import Checkpoint
from i2gnn.training.checkpoint import Copies


def make(**changes: Any) -> Checkpoint:
    weight = torch.arange(6.0).reshape(2, 3).t()  # not contiguous
    content: dict[str, Any] = {
        "epoch": 2,
        "model": {"a.weight": weight, "b.weight": weight},  # tied
        "best": {"a.weight": weight + 1, "b.weight": weight + 1},
        "best_epoch": 1,
        "optimizer": {0: {"step": torch.tensor(3.0)}, 1: {}},
        "average": {"a.weight": weight + 2},
        "scheduler": {"best": math.inf, "bad": 0},
        "rng": {"cpu": torch.get_rng_state()},
        "scaling": {"center": torch.tensor([0.1], dtype=torch.float64)},
        "history": [{"epoch": 1, "validation": 0.1 + 0.2}],
        "seconds": 1.5,
        "settings": {"network": {"name": "mpnn", "arguments": {"labels": None}}},
    }
    return Checkpoint(**(content | changes))


def test_round_trip(tmp_path: Path) -> None:
    saved = make()
    saved.save(tmp_path / "c.safetensors")
    found = Checkpoint.load(tmp_path / "c.safetensors")
    assert torch.equal(found.model["b.weight"], saved.model["b.weight"])
    assert torch.equal(found.rng["cpu"], saved.rng["cpu"])
    assert found.scaling["center"].dtype == torch.float64
    assert list(found.optimizer) == [0, 1]
    assert float(found.optimizer[0]["step"]) == 3.0
    for name in ("epoch", "best_epoch", "scheduler", "history", "seconds", "settings"):
        assert getattr(found, name) == getattr(saved, name)


def test_a_failed_save_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    make().save(path)
    with pytest.raises(TypeError):
        make(epoch=object()).save(path)
    assert Checkpoint.load(path).epoch == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.safetensors"]


def test_files_that_are_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    with pytest.raises(InputError, match=r"c.safetensors: no such file"):
        Checkpoint.load(path)
    make().save(path)
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(InputError, match=r"c.safetensors: not a saved Checkpoint"):
        Checkpoint.load(path)
    torch.save({"a": 1}, path)
    with pytest.raises(InputError, match=r"c.safetensors: not a saved Checkpoint"):
        Checkpoint.load(path)


def test_copies_do_not_follow_later_steps() -> None:
    tree = {"a": [torch.zeros(2)], "b": (1, torch.zeros(1, dtype=torch.int64))}
    copies = Copies(tree)
    taken = []
    for step in range(4):
        taken.append(copies.take())
        assert isinstance(taken[-1]["b"], tuple) and taken[-1]["b"][0] == 1
        for copy, value in zip(
            taken[-2:], range(step - len(taken[-2:]) + 1, step + 1), strict=True
        ):
            assert copy["a"][0].tolist() == [value, value]
            assert copy["b"][1].tolist() == [10 * value]
        tree["a"][0] += 1
        tree["b"][1].add_(10)
