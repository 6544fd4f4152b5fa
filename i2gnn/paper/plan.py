"""Which runs of a table to make."""

from collections.abc import Callable, Sequence

from i2gnn.data.chembl import FILE as CHEMBL
from i2gnn.data.download import data_folder
from i2gnn.errors import InputError
from i2gnn.paper.counting import CountingTable
from i2gnn.paper.experiment import Experiment
from i2gnn.paper.presets import Preset, Task

__all__ = ["choose_experiments"]


def choose_experiments(
    table: CountingTable,
    *,
    presets: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1, 2),
    targets: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    epochs: int | None = None,
    quick: bool = False,
    data_root: str | None = None,
) -> list[Experiment]:
    """The runs of a table, in the order in which to make them.

    Args:
        table: Where they belong.
        presets: Their names; by default the paper's; of a search, all candidates.
        seeds: One run of each cell for each.
        targets: Only these.
        models: Only these.
        datasets: Only these.
        epochs: Other than the preset's, under a name of their own.
        quick: Smoke tests on generated graphs; on ChEMBL only where its file is.
        data_root: Folder of data sets.

    Raises:
        InputError: A name that the table does not have.
    """
    names = presets or table.presets
    chosen = [Preset(name, epochs, quick) for name in names]
    # By name, so that what is asked for twice is run once.
    named = {one.name: one for preset in chosen for one in table.experiments(preset, seeds)}
    found = list(named.values())
    if not found:
        asked = ", ".join(names)
        raise InputError(f"{table.name} has no runs of {asked}; expected {table.fitting}")
    wanted: list[tuple[str, Sequence[str] | None, Callable[[Task], str]]] = [
        ("target", targets, lambda task: task.target),
        ("model", models, lambda task: task.model),
        ("data set", datasets, lambda task: task.dataset),
    ]
    planned = found
    for what, asked_for, of in wanted:
        if asked_for is not None:
            known = list(dict.fromkeys(of(one.task) for one in planned))
            for name in asked_for:
                if name not in known:
                    expected = ", ".join(known)
                    raise InputError(f"{table.name} has no {what} {name!r}; expected {expected}")
            found = [one for one in found if of(one.task) in asked_for]
    if not found:
        raise InputError(f"{table.name} has no runs of these targets, models and data sets")
    if quick:
        there = (data_folder(data_root) / CHEMBL.path).is_file()
        found = [one for one in found if there or one.task.dataset != "chembl"]
        if not found:
            raise InputError(f"{CHEMBL.path} is not in the folder of data sets (--data-root)")
    return found
