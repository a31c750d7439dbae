"""Where a wrong value comes from: one part of the memory is changed at a time, and the value changes with it or not.

The parts are the guards outside both tensors, the bytes of the input that hold no element, the output before the
dispatch, and the input's other elements. Each is filled with one of two values that the operator tells apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, Region, TensorDesc
from dmlcts.suites.cases.bench import Bench, Mishap, Refusal
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, elements
from dmlcts.suites.judging.findings import Finding, index_text
from dmlcts.suites.judging.outputs import marks

_MOST_TRACED = 1 << 16
_EXPECTATIONS = ("oracle", "plain layout")

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class _Parts:
    """Which bytes of a memory are what."""

    guards: Mask
    padding: Mask
    output: Mask


def traced(bench: Bench, finding: Finding) -> Finding:
    """The finding with a line on where its wrong value comes from, where that is not its own element.

    Args:
        bench: what to dispatch on.
        finding: a wrong value, on its smallest case.
    """
    case = finding.case
    source, target = case.operator.input, case.operator.output
    alone = len(case.operator.inputs) == 1 and source.data_type is target.data_type
    small = alone and source.element_count <= _MOST_TRACED and source.sizes == target.sizes
    if finding.index < 0 or not finding.wrong or case.expectation not in _EXPECTATIONS or not small:
        return finding
    two = _two_marks(bench, case)
    if two is None:
        return finding
    kernel = bench.create(case.operator)
    if isinstance(kernel, (Refusal, Mishap)):
        return finding
    origin = _Tracer(bench, kernel, case, finding.index, two).origin()
    bench.closed(kernel)
    return replace(finding, details=(*finding.details, ("origin", origin))) if origin else finding


def _two_marks(bench: Bench, case: Case) -> tuple[Any, Any] | None:
    """Two values that become different ones; ``None`` where the operator makes one of all."""
    values = marks(case.data_type)
    outputs = bench.oracle(case.operator).expected({case.operator.input_name: values})
    with np.errstate(invalid="ignore"):
        different = np.flatnonzero(~np.isnan(outputs) & (outputs != outputs[0])) if outputs.dtype.kind == "f" else (
            np.flatnonzero(outputs != outputs[0])
        )  # fmt: skip
    return (values[0], values[different[0]]) if different.size else None


class _Tracer:
    def __init__(self, bench: Bench, kernel: Any, case: Case, index: int, marks: tuple[Any, Any]) -> None:
        self._bench, self._kernel, self._case = bench, kernel, case
        self._index = index
        self._marks = marks

    def origin(self) -> str:
        """What the value changes with, in words; "" where with nothing but its own element."""
        base = self._value()
        if base is None:
            return ""
        if self._value(guards=True) not in (base, None):
            return "it changes with the bytes outside both tensors: read outside the input"
        if self._value(padding=True) not in (base, None):
            return "it changes with bytes of the input that hold no element: read from a gap"
        if not self._case.placement.in_place and self._value(output=True) not in (base, None):
            return "it changes with what the output held before: read from the output"
        count = self._case.operator.input.element_count
        if self._value(others=range(count)) in (base, None):
            return ""
        low, high = 0, count
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._value(others=range(low, middle)) != base else (middle, high)
        index = index_text(self._case.operator.input, low)
        return f"it changes with the input at index {index}: another element's"

    def _value(
        self, *, guards: bool = False, padding: bool = False, output: bool = False, others: range = range(0)
    ) -> bytes | None:
        """What the element becomes, with those parts of the memory holding the second mark and the rest the first."""
        case, first, second = self._case, *self._marks
        arena = self._bench.prepare(case)
        parts = _parts(arena, case)
        for mask, changed in ((parts.guards, guards), (parts.padding, padding), (parts.output, output)):
            _fill(arena.memory, mask, second if changed else first)
        if others:
            self._put(arena, others, second)
        mishap = self._bench.dispatch(self._kernel, arena)
        return None if mishap is not None else arena.output(case)[self._index].tobytes()

    def _put(self, arena: Arena, others: range, value: Any) -> None:
        """Give other elements of the input another value; the element itself keeps its own, and those that share it."""
        tensor = self._case.operator.input
        view = elements(arena.memory, arena.bindings[self._case.operator.input_name], tensor)
        own = tuple(int(part) for part in np.unravel_index(self._index, tensor.sizes))
        kept = view[own].copy()
        for other in others:
            view[np.unravel_index(other, tensor.sizes)] = value
        view[own] = kept


def _unsigned(tensor: TensorDesc) -> TensorDesc:
    named = DataType[f"UINT{8 * tensor.data_type.itemsize}"]
    return TensorDesc(named, tensor.sizes, tensor.strides, tensor.total_size_in_bytes)


def _parts(arena: Arena, case: Case) -> _Parts:
    holds = {}
    spans = np.zeros(arena.memory.size, bool)
    for name, tensor in case.operator.tensors.items():
        marked = np.zeros(arena.memory.size, np.uint8)
        region: Region = arena.bindings[name]
        view = elements(marked, region, _unsigned(tensor))
        view[...] = np.iinfo(view.dtype).max
        holds[name] = marked != 0
        spans[region.offset : region.offset + tensor.total_size_in_bytes] = True
    source = arena.bindings[case.operator.input_name]
    padding = np.zeros(arena.memory.size, bool)
    padding[source.offset : source.offset + case.operator.input.total_size_in_bytes] = True
    reads, writes = case.operator.input_name, case.operator.output_name
    output = holds[writes] & ~holds[reads]
    return _Parts(~spans, padding & ~holds[reads] & ~output, output)


def _fill(memory: NDArray[np.uint8], mask: Mask, value: Any) -> None:
    """Fill the bytes with the value, at the places where its elements stand."""
    item = np.asarray(value).itemsize
    pattern = np.resize(np.frombuffer(np.asarray(value).tobytes(), np.uint8), -(-memory.size // item) * item)
    memory[mask] = pattern[: memory.size][mask]
