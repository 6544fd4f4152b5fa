"""Records: one per measurement, with what it was measured on."""

from collections.abc import Callable
from typing import Any

from i2gnn.benchmark.settings import BenchmarkSettings
from i2gnn.machine import hardware, versions

__all__ = ["Log", "Record"]

Record = dict[str, Any]
"""One measurement: case, formulation, mode, quantity, value, unit, sizes, hardware, versions.

A quantity that could not be measured has the value None and a reason.
"""


class Log:
    """Collects records, each with what it was measured on."""

    def __init__(self, settings: BenchmarkSettings, on_record: Callable[[Record], None]) -> None:
        self.records: list[Record] = []
        self._on_record = on_record
        self._context = {
            "device": settings.where.type,
            "precision": settings.matmul,
            "layers": settings.layers,
            "width": settings.width,
            "seed": settings.seed,
            "hardware": hardware(settings.where),
            "versions": versions(),
        }

    def add(
        self,
        quantity: str,
        value: float | None,
        unit: str,
        *,
        case: str | None = None,
        formulation: str | None = None,
        mode: str | None = None,
        **more: Any,
    ) -> None:
        """Makes one record."""
        record: Record = {
            "case": case,
            "formulation": formulation,
            "mode": mode,
            "quantity": quantity,
            "value": value,
            "unit": unit,
        }
        self.records.append(record | more | self._context)
        self._on_record(self.records[-1])
