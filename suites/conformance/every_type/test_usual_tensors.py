"""Tensors as networks have them: channels last, and thousands of elements, which shares of small cases do not meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.combinations.rows import share_of
from dmlcts.suites.conformance.every_type.test_layouts_on_every_type import crowded
from dmlcts.suites.conformance.tensors.describing import plain_scaling
from dmlcts.suites.conformance.tensors.test_strides import permuted
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_IMAGES = (2, 3, 5, 7)
_LAST = (0, 2, 3, 1)  # the order of dimensions from the slowest to the fastest
_THOUSANDS = (3, 5, 17, 19)  # 4845: no power of two, more than 2^12 and less than 2^15


@checks("values", "tensor.strides.permuted", "tensor.strides.output", "execution.repeatable")
def test_channels_last(subject: Subject, judge: Judge) -> None:
    """Four dimensions of which the second runs fastest, without gaps: each tensor alone, all of them, in place, again.

    With a ScaleBias as well, where the operator has one.
    """
    if len(_IMAGES) in subject.ranks:
        attributes = subject.revealing()
        judge.all(_channels_last(subject, attributes))
        if subject.table.has_scale_bias:
            judge.all(_channels_last(subject, subject.scaled(attributes, plain_scaling(subject))))


def _channels_last(subject: Subject, attributes: dict[str, Any]) -> Iterator[Case]:
    clause, values = subject.scaled_values_clause(attributes), subject.distinct(251).streams
    last = permuted(_IMAGES, _LAST)

    def case(layout_clause: str, place: Placement | None = None, **layout: Any) -> Case:
        operator = subject.describe(_IMAGES, attributes, **layout)
        return Case(operator, values, clause, layout_clause, placement=place or Placement())

    for name in subject.inputs:
        yield case("tensor.strides.permuted", layouts={name: last})
    yield case("tensor.strides.output", output_strides=last)
    yield case("tensor.strides.permuted", strides=last, output_strides=last)
    for place in subject.in_place:
        yield case(subject.in_place_clause, place, strides=last, output_strides=last)
    yield replace(case("execution.repeatable", strides=last, output_strides=last), expectation="again")


@checks(
    "values",
    "tensor.strides.padded",
    "tensor.strides.permuted",
    "tensor.strides.output",
    "tensor.strides.broadcast",
    "binding.same-resource",
)
def test_thousands_of_elements(subject: Subject, judge: Judge) -> None:
    """More than 2^12 elements and less than 2^15, in each of the crowded layouts, and with a ScaleBias."""
    if len(_THOUSANDS) not in subject.ranks:
        return
    attributes = subject.revealing()
    sets = [attributes]
    if subject.table.has_scale_bias:
        sets.append(subject.scaled(attributes, plain_scaling(subject)))
    for each in sets:
        judge.all(share_of(subject, list(crowded(subject, _THOUSANDS, each))))
