"""What a number of elements that a fault needs is about: the number itself, or one element that fewer do not have.

The smallest case of a wrong element is cut off right behind it. That one element less comes out right says nothing of
the number then: the wrong element itself is gone. So tensors are compared that hold it on both sides, at the same place
and with the same values, or that hold a last element on both sides where only the last one is wrong.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dmlcts.suites.attribution.shrink import DISTINGUISHING_COUNT, again, is_right, judged, layouts, resized
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.findings import Finding, streams_of

_MOST_FURTHER = 1 << 12

_RIGHT = {
    "element": "at the others",
    "elements": "before it",
    "tail": "before them",
}
"""By the factors that are about places: which elements come out right."""

PLACES = tuple(_RIGHT)
"""The factors that are about places of elements, and not about their number."""


def counted(bench: Bench, finding: Finding, known: str = "") -> tuple[str, str, str]:
    """A needed number of elements: what it is about, in the case, and what comes out right.

    Args:
        bench: what to judge on.
        finding: what is wrong, on a case that comes out right with a single element.
        known: the factor that another finding of the same fault was found to need: "count", or one about places;
            "" where nothing is known yet. What is known is not looked for again.

    Returns:
        The factor's name, its level in words, and its base level: ("count", "40 elements", "with 39"), where fewer
        come out right that still have a wrong element; ("element", "element 11", "at the others") for one that is
        wrong in larger tensors as well; ("tail", "elements from 11 on", "before them"); ("elements", "element 11 and
        others after it", "before it").
    """
    case = finding.case
    count = case.operator.output.element_count
    text, place = f"{count} elements", count - 1
    if known in PLACES:
        return known, _text_of(known, place), _RIGHT[known]
    if _keeps_a_wrong_one(finding):
        return "count", text, _with(bench, case, _one_fewer(case))
    if not _in_a_row(case) or case.expectation == "one value":
        return "count", text, _with(bench, case, None)
    if case.expectation != "oracle" or not finding.suspects:
        return "count", text, _with(bench, case, _one_fewer(case, behind=True))
    alike = replace(case, values=streams_of(case, finding.suspects[0]))
    if not known and not is_last_alone(again(bench, alike, finding.outcome), count):
        return "count", text, _with(bench, case, _one_fewer(case, behind=True))  # its neighbours' values matter
    right = _with(bench, case, _one_fewer(alike))
    if known:
        return "count", text, right
    larger = _longer(alike, count + min(count, _MOST_FURTHER))
    larger_finding = again(bench, larger, finding.outcome)
    if larger_finding is None:
        return "count", text, f"{right} and with {larger.operator.output.element_count}"
    if larger_finding.index != place:  # wrong are the lowest of equal ones that come first
        return "count", text, right
    following = larger.operator.output.element_count - place
    factor = "element" if larger_finding.wrong == 1 else "tail" if larger_finding.wrong == following else "elements"
    return factor, _text_of(factor, place), _RIGHT[factor]


def _text_of(factor: str, place: int) -> str:
    return {
        "element": f"element {place}",
        "elements": f"element {place} and others after it",
        "tail": f"elements from {place} on",
    }[factor]


def is_last_alone(finding: Finding | None, count: int) -> bool:
    """Whether of ``count`` elements the last is wrong, and no other."""
    return finding is not None and (finding.wrong, finding.index) == (1, count - 1)


def _keeps_a_wrong_one(finding: Finding) -> bool:
    """Whether one that is wrong is left where the longest dimension is shorter by one."""
    sizes = finding.case.operator.output.sizes
    axis = int(np.argmax(sizes))
    if finding.wrong > math.prod(sizes) // sizes[axis]:
        return True
    return finding.index >= 0 and int(np.unravel_index(finding.index, sizes)[axis]) < sizes[axis] - 1


def _in_a_row(case: Case) -> bool:
    return sum(size > 1 for size in case.operator.output.sizes) == 1


def _longer(case: Case, count: int) -> Case:
    """The case with another number of elements along its longest dimension."""
    sizes = case.operator.output.sizes
    axis = int(np.argmax(sizes))
    return resized(case, (*sizes[:axis], count, *sizes[axis + 1 :]), layouts(case))


def _one_fewer(case: Case, *, behind: bool = False) -> Case:
    """The case without its last elements along the longest dimension; ``behind``: without its first one."""
    whole = case.operator.output.sizes
    shorter = _longer(case, max(whole) - 1)
    if not behind:
        return shorter
    count = case.operator.output.element_count
    arrays = ((name, value.array(count)) for name, value in case.values.items())
    values = (array[:1] if case.operator.tensors[name].element_count == 1 else array[1:] for name, array in arrays)
    return replace(shorter, values=streams_of(case, values))


def _with(bench: Bench, case: Case, fewer: Case | None) -> str:
    """How many elements come out right: those of ``fewer`` where that was seen, else a single one."""
    if fewer is not None and is_right(judged(bench, fewer)):
        return f"with {fewer.operator.output.element_count}"
    return f"with {DISTINGUISHING_COUNT if case.expectation == 'one value' else 1}"
