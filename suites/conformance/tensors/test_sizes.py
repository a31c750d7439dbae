"""What an element becomes does not depend on how many others there are: powers of two, tails, large tensors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from dmlcts.specs import ScaleBias
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Array
from dmlcts.suites.conformance.having import few_bytes
from dmlcts.suites.conformance.tensors.describing import places_in_turn
from dmlcts.suites.generation.covering_subjects import of_few_bytes, whole
from dmlcts.suites.generation.drawn.draws import drawn_cases
from dmlcts.suites.generation.drawn.layouts import Kinds
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_SMALL_GROUP = 64
_PERIOD = 2039  # a prime: no part of a tensor that is moved by whole groups falls in step
_FEW_VALUES = 1021  # another one; tests of values have more values in their places
WORKGROUPS = 65536  # one more than one dispatch takes; times 256 it is past 2^24 as well, where FLOAT32 ends counting


def _of_count(subject: Subject, count: int, period: int = _FEW_VALUES) -> Case:
    attributes = subject.revealing()
    operator = subject.describe(subject.flat(count), attributes)
    values = subject.distinct(period).streams
    return Case(operator, values, subject.values_clause(attributes), "tensor.position")


@checks("tensor.position")
def test_lengths_around_powers_of_two(subject: Subject, judge: Judge) -> None:
    """2^k - 1, 2^k, 2^k + 1 elements, and tails of one to three after multiples of four, 64 and 256."""
    most = subject.profile.powers_of_two
    counts = [(1 << bit) + step for bit in range(2, most) for step in (-1, 0, 1)]
    counts += [base + tail for base in (60, 1020, 4096 - 4, 65280) for tail in (1, 2, 3)]
    judge.all(_of_count(subject, count) for count in counts)
    if subject.table.has_scale_bias:  # the one beyond full groups, past 2^15: no seed may leave it out
        attributes = subject.scaled(subject.revealing(), ScaleBias(1.0, 1.0))
        count = (1 << 15) + 1
        judge(
            Case(
                subject.describe(subject.flat(count), attributes),
                subject.distinct(_FEW_VALUES).streams,
                subject.scaled_values_clause(attributes),
                "tensor.position",
            )
        )


@checks("tensor.position")
def test_a_single_element_at_every_rank(subject: Subject, judge: Judge) -> None:
    """The least of many values, the greatest and one between them, each alone: bounds on both sides show."""
    attributes, elements = subject.revealing(), subject.distinct(251)
    clause, order = subject.values_clause(attributes), np.argsort(elements.first, kind="stable")
    alone = [elements[place : place + 1].streams for place in order[[0, 125, 250]]]
    judge.all(
        Case(subject.describe((1,) * rank, attributes), values, clause, "tensor.position")
        for rank in subject.ranks
        for values in alone
    )


@checks("tensor.position", "tensor.output.complete")
@pytest.mark.parametrize("group", [64, 256])
def test_more_workgroups_than_one_dispatch_takes(subject: Subject, judge: Judge, group: int) -> None:
    """Past 65535 groups of 64 and of 256 threads with one element each, past 2^24 elements, and a tail.

    Quick has the groups of 64 alone, on operators with bounds or modes; see :func:`test_past_the_largest_grid`.
    """
    largest = subject.profile.largest_on_every_type or (group == _SMALL_GROUP and whole(subject.table))
    judge(_of_count(subject, WORKGROUPS * (group if largest else 1) + 37))


@checks("tensor.position", "tensor.output.complete", on="values", having=few_bytes)
def test_past_the_largest_grid(subject: Subject, judge: Judge) -> None:
    """A packed tensor past 65535 groups of 256 threads, and past 2^24 elements, of the type of the fewest bytes.

    Of the wider types that an implementation takes in its place where it has to, few elements.
    """
    _past_the_largest_grid(subject, judge)


@checks("tensor.position", "tensor.output.complete", on="rounding", having=few_bytes)
def test_past_the_largest_grid_to_be_rounded(subject: Subject, judge: Judge) -> None:
    """The same of an operator whose values are stated by modes of rounding alone."""
    _past_the_largest_grid(subject, judge)


def _past_the_largest_grid(subject: Subject, judge: Judge) -> None:
    table, known = subject.table, signatures(subject.table, subject.level)
    claimed = (judge.bench.info.data_types or {}).get(table.operator)
    taken = (
        signature
        for signature in of_few_bytes(table)
        if signature in known and (claimed is None or signature.data_type in claimed)
    )
    count = WORKGROUPS * 256 + 37 if next(taken, None) == subject.signature else 2 * _PERIOD + 37
    judge(_of_count(subject, count, _PERIOD))


@checks("tensor.position")
def test_row_lengths_that_do_not_divide_well(subject: Subject, judge: Judge) -> None:
    """Rows whose length has no exact reciprocal, at ranks above one: positions come from divisions.

    In quick each length has its turn at one of three ranks, packed and padded.
    """
    attributes = subject.revealing()
    values = subject.distinct(_FEW_VALUES).streams
    clause = subject.values_clause(attributes)
    cases = []
    ranks = sorted({2, 4, subject.ranks[-1]} & set(subject.ranks))
    for turn, length in enumerate((3, 7, 11, 41, 47, 49, 55, 61, 82, 83, 94, 97, 98, 103, 107)):
        for rank in places_in_turn(subject, ranks, turn):
            sizes = (*([1] * (rank - 2)), 101, length)
            strides = (*([101 * (length + 1)] * (rank - 2)), length + 1, 1)
            for source in (None, strides):
                operator = subject.describe(sizes, attributes, source, None)
                cases.append(Case(operator, values, clause, "tensor.position"))
    judge.all(cases)


@checks("tensor.position")
def test_divided_positions_past_2_17(subject: Subject, judge: Judge) -> None:
    """More than 2^17 elements in rows of 61, packed and padded, at every rank above one; in quick by turns.

    Of all short rows those of 61 are the ones whose FLOAT32 reciprocal gives most elements a wrong row; the 16-bit
    multipliers that stand for a division fail from 2^16 elements on.
    """
    attributes = subject.revealing()
    values = subject.distinct(_FEW_VALUES).streams
    clause = subject.values_clause(attributes)
    cases = []
    for rank in subject.ranks:
        if rank == 1:
            continue
        sizes = (*([1] * (rank - 3)), 47, 47, 61) if rank > 2 else (2161, 61)
        rows = math.prod(sizes[:-1])
        padded = (*([62 * rows] * (rank - 3)), 62 * 47, 62, 1) if rank > 2 else (62, 1)
        for source in places_in_turn(subject, (None, padded), rank):
            operator = subject.describe(sizes, attributes, source, None)
            cases.append(Case(operator, values, clause, "tensor.position"))
    judge.all(cases)


@checks("tensor.position", "tensor.output.complete")
def test_more_rows_than_a_grid_has(subject: Subject, judge: Judge) -> None:
    """A matrix of more than 65535 rows of three elements, which is what one dimension of a grid takes."""
    rank = next((rank for rank in subject.ranks if rank > 1), 0)
    if not rank:
        pytest.skip("needs two dimensions")
    attributes = subject.revealing()
    operator = subject.describe((*([1] * (rank - 2)), 65_541, 3), attributes)
    values = subject.distinct(_FEW_VALUES).streams
    judge(Case(operator, values, subject.values_clause(attributes), "tensor.position"))


@checks("tensor.position")
def test_many_dimensions_past_many_workgroups(subject: Subject, judge: Judge) -> None:
    """The highest rank with a few hundred thousand elements."""
    rank = subject.ranks[-1]
    sizes = {1: (300_007,), 2: (547, 548), 3: (67, 67, 67)}.get(rank, (*([2] * (rank - 4)), 11, 13, 17, 19)[-rank:])
    attributes = subject.typical()[0]
    operator = subject.describe(sizes, attributes)
    values = subject.distinct(_FEW_VALUES).streams
    judge(Case(operator, values, subject.values_clause(attributes), "tensor.position"))


@checks("tensor.position")
def test_shape_and_position_do_not_change_values(subject: Subject, judge: Judge) -> None:
    """Without an oracle: the same elements give the same results at another rank, shape and offset."""
    judge.all(drawn_cases(subject, "tensor.position", Kinds(), "plain layout"))


@checks("tensor.position")
def test_neighbours_do_not_change_values(subject: Subject, judge: Judge) -> None:
    """Each value alone among others of another kind, and the lattice forwards, backwards and rotated."""
    attributes = subject.typical()[0]
    clause = subject.values_clause(attributes)
    inputs = subject.edges()
    changes: list[Callable[[Array], Array]] = [
        lambda x: x,
        lambda x: x[::-1],
        lambda x: np.roll(x, 1),
        lambda x: np.roll(x, 7),
        lambda x: np.repeat(x, 3),
        lambda x: np.tile(x, 3),
    ]
    orders = [inputs.each(change) for change in changes]
    judge.all(subject.case(clause, order, attributes, layout_clause="tensor.position") for order in orders)
