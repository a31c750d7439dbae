"""The values of an operator: max(Min, min(x, Max)), max(x, Min), and whatever formula a table states.

CLIP's page takes the maximum last, so that Min > Max gives Min everywhere.
"""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.suites.combinations.rows import share_of
from dmlcts.suites.generation import attributes as numbers
from dmlcts.suites.generation import distinct, edge_values
from dmlcts.suites.generation.drawn import values as drawn
from dmlcts.suites.generation.drawn.draws import generators
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

NARROW = ("FLOAT16", "INT16", "INT8", "UINT16", "UINT8")


@checks("values")
def test_ordinary_bounds(subject: Subject, judge: Judge) -> None:
    """The boundary lattice, and the bounds with their neighbours, for every ordinary pair of bounds.

    And for those of which kernels are often their own, as 0 and 1.
    """
    clause, ordinary = subject.clause("values"), list(subject.attribute_sets())
    usual = [bounds for bounds in numbers.usual_sets(subject.table, subject.signature) if bounds not in ordinary]
    stated = [
        *((clause, bounds) for bounds in ordinary),
        *((subject.values_clause(bounds), bounds) for bounds in usual),
    ]
    judge.all(
        subject.case(clause, elements, attributes)
        for clause, attributes in stated
        for elements in subject.edge_sets(_floats(attributes))
    )


@checks("bounds.equal")
def test_equal_bounds(subject: Subject, judge: Judge) -> None:
    """Min = Max gives that value for every input."""
    clause = subject.clause("bounds.equal")
    judge.all(
        subject.case(clause, edge_values.inputs(subject.data_type, _floats(attributes)), attributes)
        for attributes in subject.attribute_sets(edge_values.equal_bounds(subject.data_type))
    )


@checks("bounds.inverted")
def test_inverted_bounds(subject: Subject, judge: Judge) -> None:
    """Min > Max gives Min for every input."""
    clause = subject.clause("bounds.inverted")
    judge.all(
        subject.case(clause, edge_values.inputs(subject.data_type, _floats(attributes)), attributes)
        for attributes in subject.attribute_sets(edge_values.inverted_bounds(subject.data_type))
    )


@checks("bounds.infinite")
def test_infinite_and_one_sided_bounds(subject: Subject, judge: Judge) -> None:
    """An infinite bound leaves its side open, both of them leave everything, inverted ones give Min."""
    infinity = np.float32(np.inf)
    ends = [np.float32(value) for value in (-2.5, 0.0, 3.0)]
    pairs = [(-infinity, infinity), (infinity, -infinity), (infinity, infinity), (-infinity, -infinity)]
    pairs += [pair for end in ends for pair in ((-infinity, end), (end, infinity), (infinity, end), (end, -infinity))]
    infinite = subject.clause("bounds.infinite")
    general = subject.table.clause_of("values") or infinite
    cases = []
    for attributes in subject.attribute_sets(pairs):
        clause = subject.values_clause(attributes)
        inputs = edge_values.inputs(subject.data_type, _floats(attributes))
        cases.append(subject.case(infinite if clause == general else clause, inputs, attributes))
    judge.all(cases)


@checks("values", data_types=NARROW)
def test_every_input(subject: Subject, judge: Judge) -> None:
    """All values of an 8- or 16-bit type but NaN, for every ordinary and inverted pair of bounds; pairs of 8 bits."""
    pairs = edge_values.bounds(subject.data_type)
    if not subject.profile.every_partner:
        pairs = pairs[:6]
    clause = subject.clause("values")
    everything = list(subject.all_sets())
    if not everything:
        pytest.skip("too many combinations")
    sets = share_of(
        subject, [(bounds, elements) for bounds in subject.attribute_sets(pairs) for elements in everything]
    )
    judge.all(subject.case(clause, elements, bounds) for bounds, elements in sets)


@checks("bounds.inverted", data_types=NARROW)
def test_every_input_with_inverted_bounds(subject: Subject, judge: Judge) -> None:
    """All values of an 8- or 16-bit type but NaN, for two inverted pairs of bounds."""
    everything = edge_values.every_pattern(subject.data_type)
    pairs = edge_values.inverted_bounds(subject.data_type)[:2]
    clause = subject.clause("bounds.inverted")
    judge.all(subject.case(clause, everything, attributes) for attributes in subject.attribute_sets(pairs))


@checks("values")
def test_drawn_bounds_and_values(subject: Subject, judge: Judge) -> None:
    """Any bounds whose cast is fixed, in any order, on small arrays of any values."""
    cases = []
    for source in generators(subject, "bounds and values"):
        attributes = drawn.attributes(subject, source)
        cases.append(subject.case(subject.values_clause(attributes), drawn.values(subject, source), attributes))
    judge.all(cases)


@checks("values")
def test_few_elements(subject: Subject, judge: Judge) -> None:
    """One element, and a few, whose last result is not what an input holds: kernels for few are often their own."""
    attributes, inputs = subject.revealing(), subject.distinct(64)
    distinguishing = distinct.distinguishing(inputs.arrays, judge.expected(subject, attributes, inputs))
    judge.all(
        subject.case(
            subject.values_clause(attributes), inputs.ending_at(max(int(places[-1]), count - 1), count), attributes
        )
        for count in (1, 3, 5)
        for places in distinguishing
    )


@checks("values")
def test_seeded_bulk(subject: Subject, judge: Judge) -> None:
    """Many seeded values over the whole range of the type."""
    count = subject.profile.bulk
    clause = subject.clause("values")
    cases = []
    for number, attributes in enumerate(subject.typical()):
        values = subject.bulk_elements(subject.seed + number, count)
        cases.append(subject.case(clause, values, attributes))
    judge.all(cases)


def _floats(attributes: dict[str, object]) -> list[float]:
    return [float(value) for value in attributes.values() if isinstance(value, np.float32)]
