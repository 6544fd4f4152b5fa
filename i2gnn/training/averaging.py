"""The average of a model's weights over its last steps, which often does better than the last."""

import contextlib
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

__all__ = ["WeightAverage"]


class WeightAverage:
    """An exponential average of weights and floating-point buffers, kept beside the model.

        average = decay * average + (1 - decay) * weights       after every step

    Everything happens in place, on tensors that stay where they are, so that an update can be part
    of a recorded training step, and the averaged model part of a recorded validation.

    Args:
        model: Where the weights are; it keeps its own.
        decay: Share of the old average in the new one; about 1 / (1 - decay) steps count.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._decay = decay
        state = model.state_dict(keep_vars=True)
        # Others are counters, such as those of batch normalisation.
        self._live = {k: v.detach() for k, v in state.items() if v.is_floating_point()}
        self._average = {name: weight.clone() for name, weight in self._live.items()}
        self._aside = {name: torch.empty_like(weight) for name, weight in self._live.items()}

    @torch.no_grad()
    def update(self) -> None:
        """Takes the weights as they are now into the average."""
        torch._foreach_lerp_(_values(self._average), _values(self._live), 1 - self._decay)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Puts the average into the model, and its own weights back when the block ends."""
        _copy(self._aside, self._live)
        _copy(self._live, self._average)
        try:
            yield
        finally:
            _copy(self._live, self._aside)

    def state_dict(self) -> dict[str, Tensor]:
        """The averages by name of the weight."""
        return self._average

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from another average of the same weights."""
        for name, average in self._average.items():
            average.copy_(state[name])


def _values(tensors: Mapping[str, Tensor]) -> list[Tensor]:
    return list(tensors.values())


@torch.no_grad()
def _copy(there: Mapping[str, Tensor], here: Mapping[str, Tensor]) -> None:
    torch._foreach_copy_(_values(there), _values(here))
