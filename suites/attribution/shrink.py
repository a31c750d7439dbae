"""Smaller cases that still show something wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from dmlcts.specs import OperatorDesc, TensorDesc
from dmlcts.specs.descriptions import documented_total_size
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.rules import unconditional_violations
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Array, Streams, Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import (
    WITHOUT_DISPATCH,
    Finding,
    Judgement,
    Suspect,
    plain,
    streams_of,
    value_clauses,
)
from dmlcts.suites.judging.one_value import distinguishing_places

_MOST_STEPWISE = 64
DISTINGUISHING_COUNT = 3
_SHRINKS_WITH_LOSS = {"timeout": 1, "crash": 6, "device_lost": 6, "resource_error": 2}

_RELATIONS = (
    "idempotent",
    "monotone",
    "odd",
    "contained",
    "threshold equivalence",
    "stated relation",
    "plain layout",
)

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
        simpler_finding = again(bench, candidate, finding.outcome)
        if simpler_finding is not None:
            return simpler_finding
    best = again(bench, same, finding.outcome) if (same := _of_one_value(finding)) is not None else None
    best = finding if best is None or best.clause != finding.clause else best
    case = best.case
    budget, elements = effort.shrinks, effort.elements
    enough = bench.losses + _SHRINKS_WITH_LOSS.get(finding.outcome, effort.shrinks)  # a process each, or the limit
    shrinking, axis = True, 0
    while shrinking and budget > 0 and elements > 0 and bench.losses < enough:
        shrinking = False
        for candidate in chain(smaller(case, axis), later(case)):
            if not asks_the_same(bench, candidate):
                continue
            budget -= 1
            elements -= candidate.operator.output.element_count
            simpler_finding = again(bench, candidate, finding.outcome)
            if simpler_finding is not None and simpler_finding.clause == finding.clause:
                axis = _shortened(case, candidate)
                best, case, shrinking = simpler_finding, candidate, True
                break
            if budget <= 0 or elements <= 0 or bench.losses >= enough:
                break
    return best


def asks_the_same(bench: Bench, case: Case) -> bool:
    """Whether a simpler case still asks what its clause asks: a description to refuse still breaks the clause's rule.

    The rules are those of :mod:`dmlcts.specs.rules`, whatever the feature level. A tensor of more elements than
    DirectML takes is legal once it is shortened, and then rightly accepted.
    """
    if case.expectation != "refused":
        return True
    return any(broken.clause == case.clause for broken in unconditional_violations(case.operator, bench.tables))


def again(bench: Bench, case: Case, outcome: str) -> Finding | None:
    """The first thing of the given outcome that is wrong with ``case``; ``None`` where there is none."""
    findings = [finding for finding in judge_case(bench, case).findings if finding.outcome == outcome]
    return findings[0] if findings else None


def judged(bench: Bench, case: Case) -> Judgement:
    """The judgement of ``case`` by every clause that its dispatch can be judged by.

    A relation between elements can hold between wrong values: then they are judged as well.
    """
    judgement = judge_case(bench, case)
    if judgement.findings or case.expectation not in _RELATIONS:
        return judgement
    try:
        return judge_case(bench, replace(case, expectation="oracle"))
    except Unconstrained:
        return judgement  # no value follows from the pages: the relation is all that there is


def is_right(judgement: Judgement) -> bool:
    """Whether a case was dispatched, and all came out right: what is refused shows nothing."""
    return bool(judgement.executions) and not judgement.findings


def single_elements(bench: Bench, finding: Finding) -> Iterator[Case]:
    """Packed tensors of one suspected element each, where a wrong value of the case may be wrong by itself."""
    case = finding.case
    if finding.clause not in value_clauses(case):
        return
    if case.expectation == "one value":
        for suspect in finding.suspects:
            yield plain(bench, case, distinguishing_values(case, suspect), DISTINGUISHING_COUNT)
    if case.expectation not in ("oracle", "idempotent", "odd", "contained"):
        return
    for suspect in finding.suspects:
        yield plain(bench, case, streams_of(case, suspect), 1)


def _of_one_value(finding: Finding) -> Case | None:
    """The case with the values of the wrong element for all, so that it stays wrong as long as its layout makes it."""
    case = finding.case
    if case.expectation != "oracle" or not finding.suspects or not alike(case) or not finding.wrong:
        return None
    values = streams_of(case, finding.suspects[0])
    return None if values == case.values else replace(case, values=values)


def _shortened(case: Case, less: Case) -> int:
    """The first dimension that is shorter in ``less``: the next to be tried, so that the others get their turn."""
    sizes = zip(case.operator.output.sizes, less.operator.output.sizes, strict=True)
    return next((axis for axis, (size, other) in enumerate(sizes) if size != other), 0)


def smaller(case: Case, first: int = 0) -> Iterator[Case]:
    """Simpler variants of a case, the greatest simplification first.

    Args:
        case: a case.
        first: the dimension that is shortened first.
    """
    if not resizable(case):
        return
    placement = case.placement
    standard = Placement(in_place=placement.in_place, alias=placement.alias, one_region=placement.one_region)
    if placement != standard:
        yield replace(case, placement=standard)
    if placement.one_region:
        yield replace(case, placement=replace(placement, one_region=False))
    whole, laid = case.operator.output.sizes, layouts(case)
    strided = [name for name, strides in laid.items() if strides is not None]
    if strided:
        yield resized(case, whole, {})
        if len(laid) > 2 or not placement.in_place:  # in place the output has the same as an input
            yield from (resized(case, whole, {**laid, name: None}) for name in strided)
    rank = len(whole)
    for axis in (*range(first, rank), *range(first)):
        size = whole[axis]
        nearly = size - 1 if size <= _MOST_STEPWISE else size - size // 8
        for less in dict.fromkeys((1, size // 2, nearly)):
            if 0 < less < size:
                yield resized(case, (*whole[:axis], less, *whole[axis + 1 :]), laid)


def later(case: Case) -> Iterator[Case]:
    """The case without its first elements, where its values are listed and stand along one dimension."""
    whole, laid = case.operator.output.sizes, layouts(case)
    count = case.operator.output.element_count
    long = [axis for axis, size in enumerate(whole) if size > 1]
    if not resizable(case) or len(long) != 1:
        return
    for name in spread(case):
        if len(case.values[name]) < 2 or 0 in case.operator.tensors[name].element_strides:
            return
    for left_out in dict.fromkeys((count // 2, 1)):
        sizes = tuple(count - left_out if axis == long[0] else 1 for axis in range(len(whole)))
        shorter = resized(case, sizes, laid)
        wide = spread(case)
        values = (
            _without_first(value, count, left_out) if name in wide else value.array(1)
            for name, value in case.values.items()
        )
        yield replace(shorter, values=streams_of(case, values))


def _without_first(values: Values, count: int, left_out: int) -> Array:
    """A stream of ``count`` elements without the first of them; one that repeats stays as short as it is."""
    period = values.array(min(count, len(values)))
    return period[left_out:] if period.size == count else np.roll(period, -left_out)


def spread(case: Case) -> dict[str, TensorDesc]:
    """The inputs that have as many elements as the output, by name; the others have one."""
    sizes = case.operator.output.sizes
    return {name: tensor for name, tensor in case.operator.inputs.items() if tensor.sizes == sizes}


def layouts(case: Case) -> dict[str, Strides]:
    """The strides of the output and of every input of as many elements, by name."""
    return {
        **{name: tensor.strides for name, tensor in spread(case).items()},
        case.operator.output_name: case.operator.output.strides,
    }


def resizable(case: Case) -> bool:
    """Whether a case means the same with other sizes: tensors alike, and values that do not belong together."""
    return alike(case) and case.expectation != "one value"


def alike(case: Case) -> bool:
    """Whether all tensors have the output's sizes or one element, so that another layout of as many means the same.

    Where types differ that a description must not mix, nothing is dispatched.
    """
    operator = case.operator
    types = {tensor.data_type for tensor in operator.tensors.values()}
    if len(types) > 1 and case.expectation in WITHOUT_DISPATCH:
        return False
    wide = spread(case)
    return bool(wide) and all(name in wide or tensor.element_count == 1 for name, tensor in operator.inputs.items())


def distinguishing_values(case: Case, suspect: Suspect) -> Streams:
    """The two values that show which integers open bounds became, and a third one: as few as "one value" takes."""
    x = case.values.first.array(case.operator.input.element_count)
    low, high = distinguishing_places(case.operator, x)
    return streams_of(case, ([x[low], x[high], suspect[0]],))


def _excess(tensor: TensorDesc) -> int:
    """Bytes by which a tensor's total size is larger than it has to be."""
    return tensor.total_size_in_bytes - documented_total_size(tensor.data_type, tensor.sizes, tensor.strides)


def resized(case: Case, sizes: tuple[int, ...], laid: Mapping[str, Strides], *, excess: bool = True) -> Case:
    """The case with other sizes and strides; the total sizes stay larger than needed by as much as they were.

    Args:
        case: whose attributes, values and placement are kept.
        sizes: of all tensors but those of one element.
        laid: strides by name; a tensor that is missing is packed, and in place the output has those of its alias.
        excess: keep what the total sizes are too large by.
    """
    operator = case.operator
    alias = case.placement.aliased(operator)
    wide = {*spread(case), operator.output_name}
    tensors = {}
    for name, tensor in operator.tensors.items():
        if name not in wide:
            kept = tensor.strides if tensor.rank == len(sizes) else None
            single = TensorDesc(tensor.data_type, (1,) * len(sizes), kept)
            total = single.total_size_in_bytes + (_excess(tensor) if excess else 0)
            tensors[name] = TensorDesc(tensor.data_type, single.sizes, kept, total)
            continue
        strides = laid.get(alias if alias is not None and name == operator.output_name else name)
        needed = documented_total_size(tensor.data_type, sizes, strides)
        tensors[name] = TensorDesc(tensor.data_type, sizes, strides, needed + (_excess(tensor) if excess else 0))
    return case.with_operator(OperatorDesc(operator.name, tensors, operator.attributes))
