"""What one test measured: the gauges of the descriptions that it dispatched, and a measurement a signature."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmlcts.reports.documents.records import AccuracySeen
from dmlcts.specs import OperatorDesc
from dmlcts.specs.accuracy.measurable import is_measured
from dmlcts.specs.tables import Tables
from dmlcts.suites.measuring.measurement import Gauge, Measurement

_MOST_GAUGES = 256
_FEW = 1 << 9  # elements of a dispatch that is measured with others: operations on small arrays take as long on larger
_MOST_WAITING = 1 << 13  # elements of all that wait to be measured


def gauge_of(tables: Tables, operator: OperatorDesc, *, strict: bool) -> Gauge | None:
    """What measures results of a description; ``None`` where they are exact."""
    law = tables.law(tables.operator(operator.name))
    return Gauge(law, operator, strict=strict) if is_measured(law, operator) else None


class _Waiting(NamedTuple):
    """A dispatch that is not measured yet.

    Attributes:
        gauge: what measures it.
        into: what it is added to.
        inputs: the logical elements of each input.
        output: the results.
    """

    gauge: Gauge
    into: Measurement
    inputs: Mapping[str, NDArray[Any]]
    output: NDArray[Any]


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
        self._waiting: list[_Waiting] = []
        self._elements = 0

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
        key = (operator.name, operator.data_type.name, gauge.types)
        into = self._found.get(key)
        if into is None:
            into = self._found[key] = gauge.begun()
        size = output.size
        if not 0 < size <= _FEW or any(array.size != size for array in inputs.values()):
            self._measure()
            gauge.add(into, inputs, output)
            return
        held = {name: np.array(array) for name, array in inputs.items()}  # of memory that others may write to
        self._waiting.append(_Waiting(gauge, into, held, np.array(output)))
        self._elements += size
        if self._elements > _MOST_WAITING:
            self._measure()

    def _measure(self) -> None:
        """Measure what waits: what one gauge measures at once, as if one dispatch came after the other."""
        due, self._waiting, self._elements = self._waiting, [], 0
        kinds: dict[int, list[_Waiting]] = {}
        for dispatch in due:
            kinds.setdefault(id(dispatch.gauge), []).append(dispatch)
        digitless: dict[int, NDArray[Any]] = {}
        for some in kinds.values():
            gauge, into = some[0].gauge, some[0].into
            inputs = {name: np.concatenate([dispatch.inputs[name] for dispatch in some]) for name in some[0].inputs}
            output = np.concatenate([dispatch.output for dispatch in some])
            ends = np.cumsum([dispatch.output.size for dispatch in some])
            sizes = gauge.add_together(into, inputs, output, ends)
            if sizes is not None:
                digitless.update(zip(map(id, some), np.split(sizes, ends[:-1]), strict=True))
        for dispatch in due:  # in their order: the first of equally large numbers is kept
            if id(dispatch) in digitless:
                dispatch.gauge.add_digitless(dispatch.into, digitless[id(dispatch)], dispatch.inputs, dispatch.output)

    def _gauge(self, operator: OperatorDesc) -> Gauge | None:
        key = operator.kind
        if key not in self._gauges:
            if len(self._gauges) >= _MOST_GAUGES:
                self._gauges.clear()
            self._gauges[key] = gauge_of(self.tables, operator, strict=self.strict)
        return self._gauges[key]

    def records(self) -> tuple[AccuracySeen, ...]:
        """What was measured, by operator and signature."""
        self._measure()
        return tuple(
            measurement.record(operator, data_type)
            for (operator, data_type, _), measurement in sorted(self._found.items())
            if measurement.absolute is not None or any(measurement.apart.values())
        )
