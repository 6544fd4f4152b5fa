"""What our counting experiments do otherwise than the paper."""

from i2gnn.paper.presets import Preset, Task, candidate_of
from i2gnn.training import RunConfig

__all__ = ["deviations"]

ALWAYS = "test at the best validation epoch; the published code takes a late one, or the best test"
QUICK = "quick: a smoke test on a few small graphs"


def deviations(preset: Preset, task: Task, config: RunConfig) -> tuple[str, ...]:
    """One sentence for each, to be kept beside the result."""
    found = [QUICK] if preset.quick else _deviations(preset, task, config)
    return (*found, *(() if preset.epochs is None else (f"{preset.epochs} epochs",)))


def _deviations(preset: Preset, task: Task, config: RunConfig) -> list[str]:
    found = [ALWAYS]
    model, training = config.model, config.training
    if training.precision == "tf32":
        found.append("TF32 matrix products on GPUs")
    if config.data.name == "chembl":
        found.append("a split of our own with a fixed seed; the paper's is not published")
    if model.name == "ppgn":
        found.append("PPGN marks the diagonal and computes no padding")
    if preset.reading and model.name != "ppgn":
        found.append(
            "5 layers, as the paper's appendix says; its main text says 4"
            if model.num_layers == 5
            else "4 layers, which the paper's main text and parameters say; its appendix says 5"
        )
    if not preset.reading:
        about = candidate_of(preset, task).about
        found.append(f"{model.num_layers} layers, labels {model.labels or 'spd'}")
        found.append(f"settings of our own: {about}")
    if config.data.more is not None:
        found.append(f"{config.data.more:,} more graphs to train on")
    return found
