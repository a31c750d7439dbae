"""Metamorphic properties: what must hold between results, whatever the oracle says of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.specs.checks import OwnCheck
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.drawn import values as drawn
from dmlcts.suites.generation.drawn.draws import generators
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks


def _judge(subject: Subject, judge: Judge, name: OwnCheck) -> None:
    """The property ``name`` on the boundary lattice and on seeded values, for several attribute sets."""
    inputs = edge_values.inputs(subject.data_type)
    bulk = Values.bulk(subject.data_type, subject.seed + 5).array(20_011)
    bounds = edge_values.bounds(subject.data_type)
    sets = list(subject.attribute_sets(bounds if subject.profile.every_partner else bounds[:5]))
    judge.all(
        subject.case(subject.clause(name), values, attributes, expectation=name)
        for attributes in sets
        for values in (inputs, bulk)
    )


@checks("idempotent")
def test_idempotent(subject: Subject, judge: Judge) -> None:
    """Applied to its own output the operator changes nothing."""
    _judge(subject, judge, "idempotent")


@checks("monotone")
def test_monotone(subject: Subject, judge: Judge) -> None:
    """A larger input never gives a smaller output."""
    _judge(subject, judge, "monotone")


@checks("odd")
def test_odd(subject: Subject, judge: Judge) -> None:
    """The operator of -x is minus the operator of x."""
    _judge(subject, judge, "odd")


@checks("contained")
def test_contained(subject: Subject, judge: Judge) -> None:
    """Every output lies between the bounds."""
    _judge(subject, judge, "contained")


@checks("monotone")
def test_drawn_monotone(subject: Subject, judge: Judge) -> None:
    """Any attributes, any values."""
    judge.all(
        subject.case(
            subject.clause("monotone"),
            drawn.values(subject, source),
            drawn.attributes(subject, source),
            expectation="monotone",
        )
        for source in generators(subject, "monotone")
    )


def _one_sided(subject: Subject) -> Iterator[Case]:
    greatest = (
        np.float32(np.inf) if subject.data_type.is_floating else edge_values.limits_as_float(subject.data_type)[1]
    )
    inputs = edge_values.inputs(subject.data_type)
    if subject.data_type.is_floating:
        small = np.finfo(subject.data_type.numpy).smallest_normal
        inputs = inputs[(np.abs(inputs) >= small) | (inputs == 0)]  # each operator may flush in its own way
    for low, _ in edge_values.bounds(subject.data_type):
        attributes: dict[str, Any] = subject.between(low, greatest)
        case = subject.case(subject.clause("threshold-equivalence"), inputs, attributes)
        yield replace(case, expectation="threshold equivalence")


@checks("threshold-equivalence")
def test_clip_without_an_upper_bound_is_threshold(subject: Subject, judge: Judge) -> None:
    """CLIP with the greatest value of the type as Max gives what THRESHOLD gives."""
    judge.all(_one_sided(subject))
