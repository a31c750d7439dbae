"""What one test measured: the gauges of the descriptions that it dispatched, and a measurement a signature."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from numpy.typing import NDArray

from dmlcts.reports.documents.records import AccuracySeen
from dmlcts.specs import OperatorDesc
from dmlcts.specs.accuracy.measurable import is_measured
from dmlcts.specs.tables import Tables
from dmlcts.suites.measuring.measurement import Gauge, Measurement

_MOST_GAUGES = 256


def gauge_of(tables: Tables, operator: OperatorDesc, *, strict: bool) -> Gauge | None:
    """What measures results of a description; ``None`` where they are exact."""
    law = tables.law(tables.operator(operator.name))
    return Gauge(law, operator, strict=strict) if is_measured(law, operator) else None


class Measurements:
    """What is measured of every dispatch that a test judges; nothing of descriptions whose results are exact.

    Args:
        tables: the spec tables.
        strict: whether flushed subnormals are errors.
    """

    def __init__(self, tables: Tables, *, strict: bool) -> None:
        self.tables = tables
        self.strict = strict
        self._gauges: dict[Hashable, Gauge | None] = {}
        self._found: dict[tuple[str, str, str], Measurement] = {}

    def note(self, operator: OperatorDesc, inputs: Mapping[str, NDArray[Any]], output: NDArray[Any]) -> None:
        """Measure a dispatch.

        Args:
            operator: its description.
            inputs: the logical elements of each input by tensor name, 1-D and of one length.
            output: the results, 1-D.
        """
        gauge = self._gauge(operator)
        if gauge is None:
            return
        found = gauge.begun()
        key = (operator.name, operator.data_type.name, found.types)
        gauge.add(self._found.setdefault(key, found), inputs, output)

    def _gauge(self, operator: OperatorDesc) -> Gauge | None:
        key = operator.kind
        if key not in self._gauges:
            if len(self._gauges) >= _MOST_GAUGES:
                self._gauges.clear()
            self._gauges[key] = gauge_of(self.tables, operator, strict=self.strict)
        return self._gauges[key]

    def records(self) -> tuple[AccuracySeen, ...]:
        """What was measured, by operator and signature."""
        return tuple(
            found.record(operator, data_type) for (operator, data_type, _), found in sorted(self._found.items())
            if found.absolute is not None or any(found.apart.values())
        )  # fmt: skip
