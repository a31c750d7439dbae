"""What a judgement says: findings, each with the clause that it breaks, and the words for elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, OperatorDesc, ScalarUnion, ScaleBias, TensorDesc
from dmlcts.specs.descriptions import Attribute
from dmlcts.specs.deviations import Deviation, Origin
from dmlcts.specs.oracle.vectorised import Acceptance
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.cases.values import Streams, Values, simplicity, text, text_with_bits
from dmlcts.suites.generation.subject import Subject

Array = NDArray[Any]

MEMORY_CLAUSES = ("tensor.output.complete", "tensor.output.bounds", "tensor.input.unchanged")

MOST_SUSPECTS = 6

Suspect = tuple[Any, ...]
"""An element of each input, in the order of the operator's tensors: numpy scalars."""

DISPATCH_FAILED = "the dispatch failed"
WITHOUT_DISPATCH = ("refused", "accepted", "either")

_FEW_BYTES = 1 << 13  # of values that are kept backwards
_LARGE = 1e8  # from here on a FLOAT is written with an exponent


@dataclass(frozen=True)
class Finding:
    """Something wrong.

    Attributes:
        clause: id of the clause it breaks.
        outcome: ``fail``, ``crash``, ``timeout``, ``device_lost``, ``resource_error``.
        case: the case that showed it.
        title: one short line.
        details: label and text pairs, for the full account.
        wrong: how many elements are wrong.
        suspects: input elements of wrong outputs, one of each input, the simplest first; single-element cases are made
            of them.
        settled: whether it stays as it is: trying smaller cases would lose the process, or show nothing.
        needs: the factors that it needs, by name; see :mod:`dmlcts.suites.attribution.needs`.
        index: the flat index of the wrong element that is shown, -1 where it is not about one.
        repeat: how often a replay has to try, for what does not come every time; 0 where it does.
        deviation: in which way it is wrong.
        origin: what a wrong value changes with, where that was found.
        because: id of the clause of the fault that explains it, where that is another one; "" where it stands for
            itself. ``clause`` stays the one that its test checks, and that fails. A run of few clauses may not have
            judged the one that explains it.
    """

    clause: str
    outcome: str
    case: Case
    title: str
    details: tuple[tuple[str, str], ...] = ()
    wrong: int = 0
    suspects: tuple[Suspect, ...] = ()
    settled: bool = False
    needs: tuple[str, ...] = ()
    index: int = -1
    repeat: int = 0
    deviation: Deviation = Deviation.UNKNOWN
    origin: Origin = Origin.UNKNOWN
    because: str = ""


def is_mishap(finding: Finding) -> bool:
    """Whether a dispatch did not come back: it failed, or took the process or the device with it."""
    return finding.outcome != "fail" or finding.title == DISPATCH_FAILED


@dataclass(frozen=True)
class Judgement:
    """The result of judging a case.

    Attributes:
        findings: all that is wrong; empty where the case passes.
        clauses: ids of the clauses that were checked.
        elements: how many elements were judged.
        executions: the dispatches, in order; empty where the implementation legitimately refused.
        refused: the implementation refused the description, and had the right to.
        unsupported: why the backend cannot express the description; ``clauses`` then holds the one for whose
            sake it cannot, and nothing was checked. ``None`` where it can.
        unreached: ids of the further clauses that the case would have checked.
    """

    findings: tuple[Finding, ...] = ()
    clauses: tuple[str, ...] = ()
    elements: int = 0
    executions: tuple[Execution, ...] = ()
    refused: bool = False
    unsupported: str | None = None
    unreached: tuple[str, ...] = ()

    def checking(self, clauses: tuple[str, ...]) -> Judgement:
        """The same judgement of other clauses."""
        return Judgement(
            self.findings, clauses, self.elements, self.executions, self.refused, self.unsupported, self.unreached
        )


Expectation = Callable[[Bench, Case], Judgement]


def value_clauses(case: Case) -> tuple[str, ...]:
    """The clauses that the values of a dispatch of ``case`` speak about."""
    return (case.clause,) if case.layout_clause is None else (case.clause, case.layout_clause)


def together(judgements: Sequence[Judgement], clause: str) -> Judgement:
    """Several dispatches as one judgement; what is wrong with a value breaks ``clause``."""
    findings = tuple(finding for judgement in judgements for finding in judgement.findings)
    checked = dict.fromkeys(name for judgement in judgements for name in judgement.clauses)
    executions = tuple(execution for judgement in judgements for execution in judgement.executions)
    elements = sum(judgement.elements for judgement in judgements)
    return Judgement(findings[:1], (clause, *checked), elements, executions)


def index_text(tensor: TensorDesc, flat: int) -> str:
    """The coordinates of an element, from its place in row-major order."""
    return str([int(part) for part in np.unravel_index(flat, tensor.sizes)])


def acceptable_text(acceptance: Acceptance, data_type: DataType, index: int = 0) -> str:
    """What is acceptable of one element, in words: its values with their bits."""
    element = acceptance.element(index)
    if element.any_value:
        return "any value"

    def with_bits(bits: int) -> str:
        return text_with_bits(np.array(bits, data_type.bits_dtype).view(data_type.numpy))

    alone, ranges = element.listed(data_type)
    shown = [*map(with_bits, alone), *(f"{with_bits(low)} to {with_bits(high)}" for low, high in ranges)]
    return " or ".join([*shown, *(["any NaN"] if element.any_nan else [])]) or "any value"


def inputs_text(inputs: Mapping[str, Array], index: int, as_text: Callable[[Any], str] = text) -> str:
    """The elements that an output element is made of: of several inputs each with its tensor's name.

    ``inputs`` holds 1-D arrays of one length by the tensors' names; ``index`` is a place in them.
    """
    if len(inputs) == 1:
        (only,) = inputs.values()
        return as_text(only[index])
    return ", ".join(f"{name} {as_text(array[index])}" for name, array in inputs.items())


def shown(inputs: Mapping[str, Array], index: int, output: Any) -> str:
    """One line: which inputs gave what, a value or words.

    ``inputs`` holds 1-D arrays of one length by the tensors' names; ``index`` is a place in them.
    """
    input_text, gave = inputs_text(inputs, index), output if isinstance(output, str) else text(output)
    return f"input {input_text} gives {gave}" if len(inputs) == 1 else f"{input_text} give {gave}"


def suspect_of(inputs: Mapping[str, Array], index: int) -> Suspect:
    """The elements of every input that an output element is made of.

    ``inputs`` holds 1-D arrays of one length by the tensors' names; ``index`` is a place in them.
    """
    return tuple(array[index] for array in inputs.values())


def suspects_of(inputs: Mapping[str, Array], indices: Array) -> tuple[Suspect, ...]:
    """The first few distinct suspects among the elements at ``indices``.

    ``inputs`` holds 1-D arrays of one length by the tensors' names; ``indices`` are places in them.
    """
    suspects: dict[bytes, Suspect] = {}
    for index in indices[: 8 * MOST_SUSPECTS]:
        suspect = suspect_of(inputs, index)
        suspects.setdefault(b"".join(value.tobytes() for value in suspect), suspect)
    return tuple(suspects.values())[:MOST_SUSPECTS]


def simplest_first(inputs: Mapping[str, Array], indices: Array) -> Array:
    """The indices in the order of how soon a reader grasps their elements.

    ``inputs`` holds 1-D arrays of one length by the tensors' names; ``indices`` are places in them.
    """
    key = sum(simplicity(array[indices]) for array in inputs.values())
    return np.asarray(indices[np.argsort(np.asarray(key), kind="stable")])


def streams_of(case: Case, elements: Iterable[Any]) -> Streams:
    """Streams that fill the case's inputs with these elements, in the order of the inputs: arrays or single values."""
    return Streams.of(
        {name: np.atleast_1d(element) for name, element in zip(case.operator.inputs, elements, strict=True)},
        case.operator,
    )


def turned_values(case: Case, turn: Callable[[Array], Array]) -> Streams:
    """The case's values in another order, each tensor's by itself.

    ``turn`` is given the 1-D array of a tensor's elements, in row-major order, and gives one of the same length.
    """
    inputs = case.operator.inputs
    return streams_of(case, (turn(values.array(inputs[name].element_count)) for name, values in case.values.items()))


def reversed_values(case: Case) -> Streams:
    """The case's values backwards, each tensor's by itself; of the few that most cases have, found once for all."""
    streams = []
    for (name, tensor), values in zip(case.operator.inputs.items(), case.values.values(), strict=True):
        count = tensor.element_count
        few = count * tensor.data_type.itemsize <= _FEW_BYTES
        streams.append((name, (_backwards if few else _reversed)(values, count)))
    return Streams(tuple(streams))


def _reversed(values: Values, count: int) -> Values:
    return Values.of(values.array(count)[::-1], values.data_type)


_backwards = lru_cache(maxsize=1 << 11)(_reversed)


def filled_with(case: Case, inputs: Mapping[str, Array]) -> Streams:
    """Streams of the logical elements of a dispatch; of a tensor of one element its only one.

    ``inputs`` holds 1-D arrays by the tensors' names, in row-major order.
    """
    return streams_of(
        case, (array[:1] if case.operator.tensors[name].element_count == 1 else array for name, array in inputs.items())
    )


def plain(bench: Bench, case: Case, values: Streams, count: int) -> Case:
    """The same attributes on packed tensors of ``count`` elements, out of place, at the lowest rank there is."""
    subject = Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)
    known = [*subject.obliged_ranks, *(rank for rank in range(1, 9) if subject.listed(rank)), 1]
    operator = subject.describe((*([1] * (known[0] - 1)), count), case.operator.attributes)
    return Case(operator, values, case.clause, None, case.expectation)


def operator_text(operator: OperatorDesc, beside: OperatorDesc | None = None) -> str:
    """An operator with its attributes, on one line; with its first input, where that is other than one's beside it."""
    words = [operator.name, *(f"{name} {_attribute_text(value)}" for name, value in operator.attributes.items())]
    if beside is not None and operator.tensors != beside.tensors:
        tensor = operator.input
        strides = "" if tensor.strides is None else f", strides {list(tensor.strides)}"
        words.append(f"on {tensor.data_type.name} {list(tensor.sizes)}{strides}")
    return ", ".join(words)


def _attribute_text(value: Attribute) -> str:
    if isinstance(value, ScaleBias):
        return f"({text(value.scale)}, {text(value.bias)})"
    if isinstance(value, OperatorDesc):
        return f"({operator_text(value)})"
    if isinstance(value, ScalarUnion):
        return text(value.value)
    return text(value) if isinstance(value, np.float32) else str("none" if value is None else value)


def attribute_text(value: Any, data_type: DataType = DataType.FLOAT32) -> str:
    """An attribute as a person reads it, floats with their bits; beside integer elements, large ones in full."""
    if value is None:
        return "none"
    if isinstance(value, np.float32):
        large = not data_type.is_floating and np.isfinite(value) and abs(value) >= _LARGE
        return text_with_bits(value).replace(text(value), str(int(value)), 1) if large else text_with_bits(value)
    if isinstance(value, str | np.uint32):
        return str(value)
    if isinstance(value, OperatorDesc):
        numbers = ", ".join(f"{name} {attribute_text(number)}" for name, number in value.attributes.items())
        return f"{value.name} with {numbers}" if numbers else value.name
    if isinstance(value, ScalarUnion):
        return f"{text_with_bits(value.value)} as {value.data_type.name}"
    return f"scale {text_with_bits(value.scale)}, bias {text_with_bits(value.bias)}"


def with_neighbours(finding: Finding, outputs: Mapping[OperatorDesc, Array]) -> Finding:
    """The finding with each kernel that was alive, and what it gave for the element that is shown.

    ``outputs`` holds the elements of each kernel's output, 1-D.
    """
    case = finding.case
    details = []
    for number, operator in enumerate(case.beside, start=1):
        description = operator_text(operator)
        if operator == case.operator:
            description += ": this one, which is wrong"
        elif operator in outputs and finding.index >= 0:
            description += f": gives {text_with_bits(outputs[operator][finding.index])} for this element"
        details.append((f"kernel {number}", description))
    return replace(finding, details=(*finding.details, *details))
