"""Memory for rows that is used again.

A tensor of many megabytes comes from the system as fresh pages, and touching them for the first
time takes about as long as a pass over them does. Training asks for the same sizes in every step.
"""

import threading
import weakref
from collections import deque
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

__all__ = ["Pages", "empty_rows"]

SMALL = 2**18
"""Numbers up to which the system's own allocator does as well."""

Array = npt.NDArray[Any]


class Pages:
    """Buffers that come back when the last tensor in them is gone.

    At no time are there more than were once in use at the same time.
    """

    def __init__(self) -> None:
        self.free: list[Array] = []
        self.used = self.most_used = 0  # numbers
        # A tensor may go in any thread, and while the lock is held: it only leaves a note.
        self._returned: deque[Array] = deque()
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """Numbers in all buffers."""
        return self.used + sum(buffer.size for buffer in self.free)

    def take(self, numbers: int) -> Tensor:
        """A tensor with that many numbers, float32 and not initialised."""
        with self._lock:
            self._collect()
            buffer = self._find(numbers)
            self.used += buffer.size
            self.most_used = max(self.most_used, self.used)
        view = buffer[:numbers]
        weakref.finalize(view, self._returned.append, buffer).atexit = False
        return torch.from_numpy(view)

    def _collect(self) -> None:
        while self._returned:
            buffer = self._returned.popleft()
            self.used -= buffer.size
            self.free.append(buffer)

    def _find(self, numbers: int) -> Array:
        """The smallest free buffer that is not much too large, or a new one."""
        rounded = _round_up(numbers)
        fitting = [b for b in self.free if numbers <= b.size <= rounded * 5 // 4]
        if fitting:
            return self._remove(min(fitting, key=lambda b: b.size))
        while self.free and self.held + rounded > self.most_used:
            self._remove(self.free[0])
        return torch.empty(rounded).numpy()

    def _remove(self, buffer: Array) -> Array:
        self.free = [b for b in self.free if b is not buffer]
        return buffer


def _round_up(numbers: int) -> int:
    """To at most three binary digits more than a power of two, so that batches share sizes.

    Example:
        >>> _round_up(1000), _round_up(1024), _round_up(1025)
        (1024, 1024, 1152)
    """
    step = 1 << max(0, (numbers - 1).bit_length() - 4)
    return -(-numbers // step) * step


_pages = Pages()


def empty_rows(rows: int, width: int) -> Tensor:
    """As `torch.empty(rows, width)`, of float32, on pages that were used before if there are."""
    if rows * width < SMALL:
        return torch.empty(rows, width)
    return _pages.take(rows * width).view(rows, width)
