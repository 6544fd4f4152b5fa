"""How far outputs and gradients are from those in float64: that precision is the same is shown."""

from collections.abc import Sequence

import torch
from torch import Tensor

from i2gnn.benchmark.cases import Case
from i2gnn.benchmark.formulations import FORMULATIONS, Formulation, FormulationName

__all__ = ["errors_of", "relative_error"]


def errors_of(
    case: Case, device: torch.device, graphs: int
) -> dict[FormulationName, tuple[float, float]]:
    """Relative errors of the outputs and of the gradients, by formulation.

    The truth is float64 in plain PyTorch. Outputs are held to those of "ours, reference ops" in
    float64; gradients of "copied", whose weights have other shapes, to those of itself in float64.

    Args:
        case: Model and graphs.
        device: Where to compute.
        graphs: How many graphs to take.
    """
    graphs = min(graphs, case.batch_size)
    exact = {
        name: Formulation(case, name, device, graphs, torch.float64).gradients()
        for name in ("ours, reference ops", "copied")
    }
    errors = {}
    for name in FORMULATIONS:
        output, gradients = Formulation(case, name, device, graphs).gradients()
        own = exact["copied" if name == "copied" else "ours, reference ops"]
        errors[name] = (
            relative_error([output], [exact["ours, reference ops"][0]]),
            relative_error(gradients, own[1]),
        )
    return errors


def relative_error(found: Sequence[Tensor], exact: Sequence[Tensor]) -> float:
    """Norm of the difference over the norm of what is exact, all tensors taken as one vector.

    Example:
        >>> relative_error([torch.tensor([3.0, 4.5])], [torch.tensor([3.0, 4.0])])
        0.1
    """
    pairs = list(zip(found, exact, strict=True))
    wrong = sum(float((f.double() - e.double()).square().sum()) for f, e in pairs)
    return float((wrong / sum(float(e.double().square().sum()) for _, e in pairs)) ** 0.5)
