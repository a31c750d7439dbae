"""Where a wrong value comes from: one part of the memory is changed at a time, and the value changes with it or not.

The parts are the guards outside all tensors, the bytes of an input that hold no element, the output before the
dispatch, and the input's other elements. Each is filled with one of two values for which the operator's results differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, Region, TensorDesc
from dmlcts.specs.deviations import Origin
from dmlcts.suites.attribution.shrink import spread
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, elements
from dmlcts.suites.cases.outcomes import Mishap, Refusal
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
    """The finding with a line on where its wrong value comes from, where that is not its own elements.

    Of several inputs one after another is looked at, the others keeping what they hold.

    Args:
        bench: what to dispatch on.
        finding: a wrong value, on its smallest case.
    """
    case = finding.case
    names = list(spread(case))
    small = bool(names) and case.operator.output.element_count <= _MOST_TRACED
    if finding.index < 0 or not finding.wrong or case.expectation not in _EXPECTATIONS or not small:
        return finding
    own = {name: array[finding.index] for name, array in bench.prepare(case).inputs.items()}
    mark_pairs = {name: two for name in names if (two := _two_marks(bench, case, own, name)) is not None}
    kernel = bench.create(case.operator) if mark_pairs else None
    if kernel is None or isinstance(kernel, (Refusal, Mishap)):
        return finding
    origins = (_Tracer(bench, kernel, case, finding.index, name, two).origin() for name, two in mark_pairs.items())
    origin, words = next(((candidate, words) for candidate, words in origins if words), (Origin.UNKNOWN, ""))
    bench.closed(kernel)
    return replace(finding, details=(*finding.details, ("origin", words)), origin=origin) if words else finding


def _two_marks(bench: Bench, case: Case, own: Mapping[str, Any], name: str) -> tuple[Any, Any] | None:
    """Two values of one input that become different ones beside the others' own elements; ``None`` if none do."""
    values = marks(case.operator.tensors[name].data_type)
    beside = {other: np.repeat(element, values.size) for other, element in own.items()}
    outputs = bench.oracle(case.operator).expected({**beside, name: values})
    with np.errstate(invalid="ignore"):
        different = np.flatnonzero(~np.isnan(outputs) & (outputs != outputs[0]))
    return (values[0], values[different[0]]) if different.size else None


class _Tracer:
    """Traces a wrong element of the output to one input: its marks show whether that is read where it should not be."""

    def __init__(self, bench: Bench, kernel: Any, case: Case, index: int, name: str, marks: tuple[Any, Any]) -> None:
        self._bench, self._kernel, self._case = bench, kernel, case
        self._index = index
        self._name = name
        self._marks = marks

    def origin(self) -> tuple[Origin, str]:
        """What the value changes with, and that in words; "" where with nothing but its own elements."""
        several = len(self._case.operator.inputs) > 1
        subject, tensors, inputs = (
            (self._name, "all tensors", "the inputs") if several else ("the input", "both tensors", "the input")
        )
        base = self._value()
        if base is None:
            return Origin.UNKNOWN, ""
        if self._value(guards=True) not in (base, None):
            return Origin.OUTSIDE, f"it changes with the bytes outside {tensors}: read outside {inputs}"
        if self._value(padding=True) not in (base, None):
            return Origin.GAP, f"it changes with bytes of {subject} that hold no element: read from a gap"
        if not self._case.placement.in_place and self._value(output=True) not in (base, None):
            return Origin.OUTPUT, "it changes with what the output held before: read from the output"
        tensor = self._case.operator.tensors[self._name]
        if self._value(others=range(tensor.element_count)) in (base, None):
            return Origin.UNKNOWN, ""
        low, high = 0, tensor.element_count
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._value(others=range(low, middle)) != base else (middle, high)
        return Origin.OTHER_ELEMENT, f"it changes with {subject} at index {index_text(tensor, low)}: another element's"

    def _value(
        self, *, guards: bool = False, padding: bool = False, output: bool = False, others: range = range(0)
    ) -> bytes | None:
        """What the element becomes, with those parts of the memory holding the second mark and the rest the first.

        Of the other elements of the input those in a range hold the second mark, the rest the first.
        """
        case, first, second = self._case, *self._marks
        arena = self._bench.prepare(case)
        parts = _parts(arena, case, self._name)
        for mask, changed in ((parts.guards, guards), (parts.padding, padding), (parts.output, output)):
            _fill(arena.memory, mask, second if changed else first)
        self._put(arena, range(case.operator.output.element_count), first)
        self._put(arena, others, second)
        mishap = self._bench.dispatch(self._kernel, arena)
        return None if mishap is not None else arena.output(case)[self._index].tobytes()

    def _put(self, arena: Arena, others: range, value: Any) -> None:
        """Give other elements of the input another value; the element itself keeps its own, and those that share it."""
        tensor = self._case.operator.tensors[self._name]
        view = elements(arena.memory, arena.bindings[self._name], tensor)
        own = tuple(int(part) for part in np.unravel_index(self._index, tensor.sizes))
        kept = view[own].copy()
        view[np.unravel_index(np.arange(others.start, others.stop), tensor.sizes)] = value
        view[own] = kept


def _unsigned(tensor: TensorDesc) -> TensorDesc:
    named = DataType[f"UINT{8 * tensor.data_type.itemsize}"]
    return TensorDesc(named, tensor.sizes, tensor.strides, tensor.total_size_in_bytes)


def _parts(arena: Arena, case: Case, name: str) -> _Parts:
    """The guards outside all tensors, the gaps of one input, and the output where it is no input's memory."""
    holds = {}
    spans = np.zeros(arena.memory.size, bool)
    for tensor_name, tensor in case.operator.tensors.items():
        marked = np.zeros(arena.memory.size, np.uint8)
        region: Region = arena.bindings[tensor_name]
        view = elements(marked, region, _unsigned(tensor))
        view[...] = np.iinfo(view.dtype).max
        holds[tensor_name] = marked != 0
        spans[region.offset : region.offset + tensor.total_size_in_bytes] = True
    output = holds.pop(case.operator.output_name)
    read = np.logical_or.reduce(list(holds.values()))
    padding = np.zeros(arena.memory.size, bool)
    start = arena.bindings[name].offset
    padding[start : start + case.operator.tensors[name].total_size_in_bytes] = True
    return _Parts(~spans, padding & ~read & ~output, output & ~read)


def _fill(memory: NDArray[np.uint8], mask: Mask, value: Any) -> None:
    """Fill the bytes with the value, at the places where its elements stand."""
    item = np.asarray(value).itemsize
    pattern = np.resize(np.frombuffer(np.asarray(value).tobytes(), np.uint8), -(-memory.size // item) * item)
    memory[mask] = pattern[: memory.size][mask]
