"""Smaller cases that still show something wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from dmlcts.specs import OperatorDesc, TensorDesc
from dmlcts.specs.descriptions import documented_total_size
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case, Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, plain, value_clauses
from dmlcts.suites.judging.one_value import telling_places

_MOST_STEPWISE = 64
TELLING = 3
_SHRINKS_WITH_LOSS = {"timeout": 1, "crash": 6, "device_lost": 6, "resource_error": 2}

Strides = tuple[int, ...] | None


@dataclass(frozen=True)
class Effort:
    """How much is spent on one finding.

    Attributes:
        shrinks: how many smaller cases are tried at most, beside those of one element.
        elements: how many elements they may have together.
        removals: how many cases are tried to learn what the fault needs.
    """

    shrinks: int = 60
    elements: int = 1 << 26
    removals: int = 120


def shrink(bench: Bench, finding: Finding, effort: Effort) -> Finding:
    """The finding on a smaller case, where one shows it as well.

    A value that is wrong by itself is reduced to a packed tensor of that one element, and then breaks the case's
    value clause; what needs its layout, position or neighbours keeps them, as small as they can be.

    Args:
        bench: what to judge on.
        finding: what is wrong.
        effort: how much may be tried.
    """
    if finding.settled:
        return finding
    case = finding.case
    for candidate in single_elements(bench, finding):
        found = again(bench, candidate, finding.outcome)
        if found is not None:
            return found
    best = finding
    budget, elements = effort.shrinks, effort.elements
    enough = bench.losses + _SHRINKS_WITH_LOSS.get(finding.outcome, effort.shrinks)  # a process each, or the limit
    shrinking, axis = True, 0
    while shrinking and budget > 0 and elements > 0 and bench.losses < enough:
        shrinking = False
        for candidate in chain(smaller(case, axis), later(case)):
            budget -= 1
            elements -= candidate.operator.input.element_count
            found = again(bench, candidate, finding.outcome)
            if found is not None and found.clause == finding.clause:
                axis = _shortened(case, candidate)
                best, case, shrinking = found, candidate, True
                break
            if budget <= 0 or elements <= 0 or bench.losses >= enough:
                break
    return best


def again(bench: Bench, case: Case, outcome: str) -> Finding | None:
    """The first thing of the given outcome that is wrong with ``case``; ``None`` where there is none."""
    findings = [finding for finding in judge_case(bench, case).findings if finding.outcome == outcome]
    return findings[0] if findings else None


def single_elements(bench: Bench, finding: Finding) -> Iterator[Case]:
    """Packed tensors of one suspected element each, where a wrong value of the case may be wrong by itself."""
    case = finding.case
    if finding.clause not in value_clauses(case):
        return
    if case.expectation == "one value":
        for value in finding.suspects:
            yield plain(bench, case, telling_values(case, value), TELLING)
    if case.expectation not in ("oracle", "idempotent", "odd", "contained"):
        return
    for value in finding.suspects:
        yield plain(bench, case, Values.of([value], case.data_type), 1)


def _shortened(case: Case, less: Case) -> int:
    """The first dimension that is shorter in ``less``: the next to be tried, so that the others get their turn."""
    sizes = zip(case.operator.input.sizes, less.operator.input.sizes, strict=True)
    return next((axis for axis, (one, other) in enumerate(sizes) if one != other), 0)


def smaller(case: Case, first: int = 0) -> Iterator[Case]:
    """Simpler variants of a case, the greatest simplification first.

    Args:
        case: a case.
        first: the dimension that is shortened first.
    """
    source, target = case.operator.input, case.operator.output
    if not resizable(case):
        return
    standard = Placement(in_place=case.placement.in_place)
    if case.placement != standard:
        yield replace(case, placement=standard)
    if source.strides is not None or target.strides is not None:
        yield resized(case, source.sizes, None, None)
        if source.strides is not None and not case.placement.in_place:  # there both have the same
            yield resized(case, source.sizes, None, target.strides)
        if target.strides is not None and not case.placement.in_place:
            yield resized(case, source.sizes, source.strides, None)
    for axis in (*range(first, source.rank), *range(first)):
        size = source.sizes[axis]
        nearly = size - 1 if size <= _MOST_STEPWISE else size - size // 8
        for less in dict.fromkeys((1, size // 2, nearly)):
            if 0 < less < size:
                sizes = (*source.sizes[:axis], less, *source.sizes[axis + 1 :])
                yield resized(case, sizes, source.strides, target.strides)


def later(case: Case) -> Iterator[Case]:
    """The case without its first elements, where its values are listed and stand along one dimension."""
    source, target = case.operator.input, case.operator.output
    count = source.element_count
    long = [axis for axis, size in enumerate(source.sizes) if size > 1]
    if not resizable(case) or len(long) != 1 or len(case.values) < 2 or 0 in source.element_strides:
        return
    values = case.values.array(count)
    for left_out in dict.fromkeys((count // 2, 1)):
        sizes = tuple(count - left_out if axis == long[0] else 1 for axis in range(source.rank))
        shorter = resized(case, sizes, source.strides, target.strides)
        yield replace(shorter, values=Values.of(values[left_out:], case.data_type))


def resizable(case: Case) -> bool:
    """Whether a case means the same with other sizes: tensors alike, and values that do not belong together."""
    return alike(case) and case.expectation != "one value"


def alike(case: Case) -> bool:
    """Whether both tensors have the same sizes and type, so that another layout of as many elements means the same."""
    source, target = case.operator.input, case.operator.output
    return source.sizes == target.sizes and source.data_type == target.data_type


def telling_values(case: Case, value: Any) -> Values:
    """The two values that show which integers open bounds became, and a third one: as few as "one value" takes."""
    x = case.values.array(case.operator.input.element_count)
    low, high = telling_places(case.operator, x)
    return Values.of([x[low], x[high], value], case.data_type)


def _excess(tensor: TensorDesc) -> int:
    """Bytes by which a tensor's total size is larger than it has to be."""
    return tensor.total_size_in_bytes - documented_total_size(tensor.data_type, tensor.sizes, tensor.strides)


def resized(case: Case, sizes: tuple[int, ...], source: Strides, target: Strides, *, excess: bool = True) -> Case:
    """The case with other sizes and strides; the total sizes stay larger than needed by as much as they were.

    Args:
        case: whose attributes, values and placement are kept.
        sizes: of both tensors.
        source: the input's strides, ``None`` for packed.
        target: the output's; in place the input's count.
        excess: keep what the total sizes are too large by.
    """
    ends = case.operator.input, case.operator.output
    more = [_excess(tensor) if excess else 0 for tensor in ends]
    tensors = {}
    for name, strides, extra in zip(
        ("InputTensor", "OutputTensor"), (source, source if case.placement.in_place else target), more, strict=True
    ):
        needed = documented_total_size(case.data_type, sizes, strides)
        tensors[name] = TensorDesc(case.data_type, sizes, strides, needed + extra)
    return case.with_operator(OperatorDesc(case.operator.name, tensors, case.operator.attributes))
