"""The average of a model's weights over its last steps, which often does better than the last."""

import contextlib
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

__all__ = ["WeightAverage"]

MISSING = "missing share"
"""Name in the state of an average; no weight has a name with a space."""


class WeightAverage:
    """An exponential average of weights and floating-point buffers, kept beside the model.

        sum     = decay * sum + (1 - decay) * weights           after every step, from zero on
        average = sum / (1 - decay^steps)

    so that the weights before the first step, which know nothing, have no share in it.

    Everything happens in place, on tensors that stay where they are, so that an update can be part
    of a recorded training step, and the averaged model part of a recorded validation.

    Args:
        model: Where the weights are; it keeps its own.
        decay: Share of the old average in the new one; about 1 / (1 - decay) steps count.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self._decay = decay
        # Each once, by its first name: tied weights have several.
        state = {id(v): (k, v) for k, v in reversed(model.state_dict(keep_vars=True).items())}
        # Others are counters, such as those of batch normalisation.
        self._live = {k: v.detach() for k, v in state.values() if v.is_floating_point()}
        self._sums = {name: torch.zeros_like(weight) for name, weight in self._live.items()}
        device = next(iter(self._live.values())).device
        self._missing = torch.ones((), dtype=torch.float64, device=device)  # decay^steps
        self._aside = {name: torch.empty_like(weight) for name, weight in self._live.items()}

    @torch.no_grad()
    def update(self) -> None:
        """Takes the weights as they are now into the average."""
        torch._foreach_lerp_(_values(self._sums), _values(self._live), 1 - self._decay)
        self._missing *= self._decay

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Puts the average into the model, and its own weights back when the block ends."""
        _copy(self._aside, self._live)
        _copy(self._live, self._sums)
        with torch.no_grad():
            live = _values(self._live)
            torch._foreach_div_(live, (1 - self._missing).to(live[0].dtype))
        try:
            yield
        finally:
            _copy(self._live, self._aside)

    def state_dict(self) -> dict[str, Tensor]:
        """The sums by name of the weight, and what is missing from 1 in their weights."""
        return {**self._sums, MISSING: self._missing}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from another average of the same weights."""
        for name, tensor in self.state_dict().items():
            tensor.copy_(state[name])


def _values(tensors: Mapping[str, Tensor]) -> list[Tensor]:
    return list(tensors.values())


@torch.no_grad()
def _copy(there: Mapping[str, Tensor], here: Mapping[str, Tensor]) -> None:
    torch._foreach_copy_(_values(there), _values(here))
