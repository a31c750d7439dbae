"""The memory around and inside the tensors: guards, poison, offsets, and inputs that nobody may touch.

Every dispatch of the suite is checked for all of this; these tests place tensors where it hurts.
"""

from __future__ import annotations

import itertools
from typing import Any

from dmlcts.specs import ScaleBias
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.generation import distinct
from dmlcts.suites.generation.drawn.draws import drawn_cases
from dmlcts.suites.generation.drawn.layouts import Kinds
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

BOTH_ORDERS = ((16, False), (48, True))
LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 255, 257)


def _lengths(subject: Subject, judge: Judge, layout_clause: str, placements: list[Placement]) -> list[Case]:
    """Packed tensors of every length, each placed in every way; its last element shows."""
    attributes = subject.revealing()
    inputs = subject.distinct(2 * max(LENGTHS))
    distinguishing = distinct.distinguishing(inputs.arrays, judge.expected(subject, attributes, inputs))
    cases = []
    for number, (length, placement) in enumerate(itertools.product(LENGTHS, placements)):
        places = distinguishing[number % len(distinguishing)]
        last = next((int(place) for place in places if place >= length - 1), inputs.count - 1)
        cases.append(
            subject.case(
                subject.values_clause(attributes),
                inputs.ending_at(last, length),
                attributes,
                layout_clause=layout_clause,
                placement=placement,
            )
        )
    return cases


@checks("tensor.output.bounds")
def test_nothing_outside_the_output_changes(subject: Subject, judge: Judge) -> None:
    """Short tensors whose last word is partly theirs, with guards and with slack in the bound region."""
    placements = [Placement(front=16, gap=16, tail=16), Placement(slack=64), Placement(slack=4, output_first=True)]
    judge.all(_lengths(subject, judge, "tensor.position", placements))


@checks("tensor.output.complete")
def test_every_output_element_is_written(subject: Subject, judge: Judge) -> None:
    """Short and odd lengths, tails of one to three elements, each element poisoned with what it must not become."""
    judge.all(_lengths(subject, judge, "tensor.position", [Placement()]))


@checks("tensor.input.unchanged")
def test_the_input_is_never_written(subject: Subject, judge: Judge) -> None:
    """The input stands before, after and beside the output, with gaps between its elements."""
    attributes = subject.revealing()
    clause = subject.values_clause(attributes)
    values = subject.distinct(101).streams
    cases = []
    for output_first in (False, True):
        for spacing in (1, 2, 3):
            sizes = subject.flat(101)
            strides = tuple(spacing * 101 if axis < len(sizes) - 1 else spacing for axis in range(len(sizes)))
            operator = subject.describe(sizes, attributes, strides, None)
            placement = Placement(output_first=output_first, gap=0)
            cases.append(Case(operator, values, clause, "tensor.strides.padded", placement=placement))
    judge.all(cases)


@checks("binding.offset")
def test_any_multiple_of_16_is_an_offset(subject: Subject, judge: Judge) -> None:
    """Offsets of every multiple of 16 up to 256, and larger ones that are not multiples of 32, 64 or 256."""
    attributes = subject.revealing()
    inputs = subject.distinct(71)
    offsets = [*range(16, 272, 16), 272, 528, 1040, 4112, 65552]
    judge.all(
        subject.case(
            subject.values_clause(attributes),
            inputs,
            attributes,
            layout_clause="binding.offset",
            placement=Placement(front=offset, gap=gap, output_first=output_first),
        )
        for offset in offsets
        for gap, output_first in ((16, False), (48, True))
    )


@checks("binding.offset")
def test_offsets_of_strided_and_scaled_tensors(subject: Subject, judge: Judge) -> None:
    """The same for inputs with gaps, and with ScaleBias, which other paths of a kernel may be for."""
    attributes = subject.revealing()
    values = subject.distinct(71).streams
    sizes = subject.flat(71)
    strides = tuple(213 if axis < len(sizes) - 1 else 3 for axis in range(len(sizes)))
    sets: list[tuple[dict[str, Any], tuple[int, ...] | None]] = [(attributes, strides)]
    if subject.table.has_scale_bias:
        sets.append((subject.scaled(attributes, ScaleBias(1.0, 1.0)), None))
    judge.all(
        Case(
            subject.describe(sizes, attribute_set, source, None),
            values,
            subject.scaled_values_clause(attribute_set),
            "binding.offset",
            placement=Placement(front=offset, gap=gap, output_first=output_first),
        )
        for attribute_set, source in sets
        for offset in (16, 48, 80, 112, 240, 272, 65_552)
        for gap, output_first in (BOTH_ORDERS if subject.profile.every_place else ((48, offset % 32 == 0),))
    )


@checks("binding.offset")
def test_drawn_offsets(subject: Subject, judge: Judge) -> None:
    """Any sizes, offsets, order and slack."""
    judge.all(drawn_cases(subject, "binding.offset", Kinds(larger=True)))


@checks("tensor.output.padding")
def test_padding_is_characterised(subject: Subject, judge: Judge) -> None:
    """Bytes between the output's elements may be overwritten or kept."""
    attributes = subject.revealing()
    values = subject.distinct(67).streams
    behaviours = set()
    for spacing in (2, 3):
        sizes = subject.flat(67)
        strides = tuple(spacing * 67 if axis < len(sizes) - 1 else spacing for axis in range(len(sizes)))
        operator = subject.describe(sizes, attributes, None, strides)
        run = judge.run(Case(operator, values, subject.values_clause(attributes), "tensor.strides.output"))
        if run is None:
            return
        behaviours.add("padding is overwritten" if run.padding_changed else "padding is kept")
    judge.characterise("tensor.output.padding", operator, " or ".join(sorted(behaviours)))
