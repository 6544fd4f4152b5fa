"""One run of a table: what it is called, what it is made of, where its files are."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from i2gnn.errors import InputError
from i2gnn.paper.presets import Preset, Task
from i2gnn.paper.records import record_name
from i2gnn.training import RunConfig
from i2gnn.training.options import different_settings
from i2gnn.training.resume import FREE

__all__ = ["Experiment"]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A cell of a table with one seed.

    Attributes:
        task: Table, data set, level, model and target.
        preset: Which settings it has.
        seed: Of the run.
        config: All settings.
        deviations: What is other than in the paper.
        tests: Whether the test graphs are used; a search looks at validation alone.
    """

    task: Task
    preset: Preset
    seed: int
    config: RunConfig
    deviations: tuple[str, ...] = ()
    tests: bool = True

    @property
    def name(self) -> str:
        """Unique among all experiments."""
        return record_name(self.task._asdict() | {"preset": self.preset, "seed": self.seed})

    @property
    def epochs(self) -> int:
        """How many it takes at most."""
        return self.config.training.epochs

    def record_path(self, results: str | os.PathLike[str]) -> Path:
        """Where its record is below the folder of results."""
        return Path(results, f"{self.name}.json")

    def run_dir(self, runs: str | os.PathLike[str]) -> Path:
        """Where its checkpoint is below the folder of runs."""
        return Path(runs, self.name)

    def differences(self, record: Mapping[str, Any]) -> list[str]:
        """Settings in which a record of this name is of another experiment."""
        try:
            sections = {key: record["settings"][key] for key in ("data", "model", "training")}
            # Through the settings' own class: what older records do not mention has a value.
            before = RunConfig.from_dict(sections).to_dict()
        except (KeyError, TypeError, InputError) as error:
            return [f"{type(error).__name__}: {error}"]
        return different_settings(before, self.config.to_dict(), FREE)
