"""FLOAT bounds on tensors of other types: truncation for integers, ties to even for FLOAT16, silence beyond."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dmlcts.specs import DataType
from dmlcts.suites.cases.values import text
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.drawn import values as drawn
from dmlcts.suites.generation.drawn.draws import generators
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.judging.one_value import adopted_oracle
from dmlcts.suites.running.markers import checks

FRACTIONS = (0.0, 0.25, 0.5, 0.75, 0.99)


def _within(values: Iterable[float], data_type: DataType) -> list[np.float32]:
    """The values, as FLOATs, whose truncation lies within the integer type; without repetitions."""
    low, high = edge_values.limits_as_float(data_type)
    limits = np.iinfo(data_type.numpy)
    kept = [np.float32(value) for value in values]
    kept = [value for value in kept if int(limits.min) <= int(value) <= int(limits.max)]
    return list(dict.fromkeys([*kept, low, high]))


def _integer_bounds(data_type: DataType) -> list[np.float32]:
    """Whole and fractional bounds: small ones, and around every power of two up to the limits of the type."""
    values = [sign * (whole + fraction) for whole in (0, 1, 2, 7, 100) for fraction in FRACTIONS for sign in (1, -1)]
    values += [sign * float((1 << bit) + 1) for bit in range(4, 24) for sign in (1, -1)]  # odd, at every precision
    for bit in (7, 8, 15, 16, 22, 23, 24, 25, 31, 32, 53, 62, 63):
        power = np.float32(2.0**bit)
        around = [power, np.nextafter(power, np.float32(0)), np.nextafter(power, np.float32(np.inf))]
        values += [float(sign * value) for value in around for sign in (1, -1)]
        values += [sign * (float(power) + fraction) for fraction in (-1.5, -0.5, 0.5) for sign in (1, -1)]
    limits = np.iinfo(data_type.numpy)
    values += [float(limits.max) + 0.5, float(limits.max) + 0.99, float(limits.min) - 0.5, float(limits.min) - 0.99]
    if not data_type.is_signed:
        values += [-0.25, -0.5, -0.99]
    return _within(values, data_type)


def _inputs(data_type: DataType, bounds: Iterable[np.float32]) -> np.ndarray:
    """The boundary lattice and the exact neighbourhood of each bound, made of integers and not of floats."""
    limits = np.iinfo(data_type.numpy)
    near = {int(bound) + step for bound in bounds for step in range(-3, 4)}
    kept = sorted(value for value in near if int(limits.min) <= value <= int(limits.max))
    return np.concatenate([np.array(kept, data_type.numpy), edge_values.inputs(data_type)])


@checks("cast.integer")
def test_integer_bounds_truncate_toward_zero(subject: Subject, judge: Judge) -> None:
    """2.9 acts as 2 and -2.9 as -2, at every size and up to the limits; inputs are compared exactly."""
    bounds = _integer_bounds(subject.data_type)
    low, high = edge_values.limits_as_float(subject.data_type)
    clause = subject.clause("cast.integer")
    pairs = [(bound, high) for bound in bounds] + [(low, bound) for bound in bounds]
    if not subject.profile.every_partner:
        pairs = pairs[:: 2 if subject.data_type.itemsize > 1 else 1]
    judge.all(subject.case(clause, _inputs(subject.data_type, pair), subject.between(*pair)) for pair in pairs)


@checks("cast.integer")
def test_drawn_integer_bounds(subject: Subject, judge: Judge) -> None:
    """Any fractional bounds within the type, in order: inverted ones are another clause's."""
    cases = []
    for source in generators(subject, "integer bounds"):
        low, high = sorted(drawn.bound(subject.data_type, source, exact=False) for _ in range(2))
        inputs = _inputs(subject.data_type, (low, high))
        cases.append(subject.case(subject.clause("cast.integer"), inputs, subject.between(low, high)))
    judge.all(cases)


def _float16_bounds() -> list[np.float32]:
    """Ties between neighbouring FLOAT16 values, their FLOAT neighbours, subnormal and smaller ones, 65504 to 65520."""
    lower = np.array(
        [
            0x0000,
            0x0001,
            0x0002,
            0x0003,
            0x03FE,
            0x03FF,
            0x0400,
            0x0401,
            0x3BFF,
            0x3C00,
            0x3C01,
            0x4248,
            0x6400,
            0x6401,
            0x7BFD,
            0x7BFE,
        ],
        np.uint16,
    )
    here = lower.view(np.float16).astype(np.float64)
    there = (lower + np.uint16(1)).view(np.float16).astype(np.float64)
    ties = ((here + there) / 2).astype(np.float32)
    bounds = [*ties, *np.nextafter(ties, np.float32(0)), *np.nextafter(ties, np.float32(np.inf))]
    bounds += [np.float32(value) for value in (65504.0, 65504.004, 65512.0, 65519.0, 65519.996, 0.1, 1e-7, 3.1415927)]
    bounds += [np.float32(1e-10), np.float32(1e-40)]
    return [bound for value in dict.fromkeys(bounds) for bound in (value, -value)]


@checks("cast.float16")
def test_float16_bounds_round_to_nearest_even(subject: Subject, judge: Judge) -> None:
    """Bounds between two FLOAT16 values, on either side of the tie and at it."""
    clause = subject.clause("cast.float16")
    most = np.float32(65504.0)
    pairs = [pair for bound in _float16_bounds() for pair in ((bound, most), (-most, bound))]
    special = np.array([np.inf, -np.inf, 65504, -65504, 1, -1, 0], np.float16)
    judge.all(
        subject.case(
            clause,
            np.concatenate([special, edge_values.neighbours([np.float16(bound) for bound in pair], subject.data_type)]),
            subject.between(*pair),
        )
        for pair in pairs
    )


@checks("cast.float16")
def test_drawn_float16_bounds(subject: Subject, judge: Judge) -> None:
    """Any bounds below the overflow threshold, in order: inverted ones are another clause's."""
    cases = []
    for source in generators(subject, "FLOAT16 bounds"):
        low, high = sorted(drawn.float16_bound(source) for _ in range(2))
        inputs = edge_values.neighbours([np.float16(low), np.float16(high)], subject.data_type)
        cases.append(subject.case(subject.clause("cast.float16"), inputs, subject.between(low, high)))
    judge.all(cases)


def _upper(subject: Subject) -> str:
    """The bound that an example names: the upper one, or the only one."""
    return subject.table.upper or subject.table.float_attributes[0]


@checks("cast.float16-overflow")
def test_float16_overflow_is_characterised(subject: Subject, judge: Judge) -> None:
    """Finite bounds from 65520 on become infinite or 65504."""
    inputs = np.array([np.inf, -np.inf, 65504, -65504, 1.0], np.float16)
    clause = subject.clause("cast.float16-overflow")
    for magnitude in (65520.0, 65536.0, 1e6, 3e38):
        attributes = subject.between(-magnitude, magnitude)
        run = judge.run(subject.case(clause, inputs, attributes))
        if run is None:
            return
        became = "becomes infinite" if np.isinf(run.output[0]) else "saturates to 65504"
        behaviour = f"a bound from 65520 on {became}"
        example = f"{_upper(subject)} = {magnitude:g}"
        judge.characterise(clause, subject.describe(subject.flat(5), attributes), behaviour, example)


def _adopted(bound: np.float32, taken: int, data_type: DataType) -> str:
    """How the integer that the implementation took relates to the bound."""
    limits = np.iinfo(data_type.numpy)
    if np.isnan(bound):
        names = {int(limits.min): "the least value", int(limits.max): "the greatest value", 0: "0"}
        return f"becomes {names.get(taken, str(taken))}"
    saturated = int(limits.max) if bound > 0 else int(limits.min)
    if taken == saturated:
        return "saturates"
    if np.isfinite(bound):
        wrapped = int(bound) & ((1 << (8 * data_type.itemsize)) - 1)
        if taken & ((1 << (8 * data_type.itemsize)) - 1) == wrapped:
            return "wraps"
    return "becomes 0" if taken == 0 else f"becomes {taken}"


def _stored(bound: np.float32, stored: int, data_type: DataType) -> str:
    """How the result of a maximum in a wider type came into the integer type."""
    limits = np.iinfo(data_type.numpy)
    if stored == int(limits.max):
        return "saturated"
    span = 1 << limits.bits
    if np.isfinite(bound) and (int(bound) - stored) % span == 0:
        return "wrapped"
    return "by way of a 32-bit integer" if not np.isnan(bound) else f"as {stored}"


def _characterise_bounds(subject: Subject, judge: Judge, clause: str, bounds: Iterable[np.float32], kind: str) -> None:
    inputs = edge_values.inputs(subject.data_type)
    low, high = edge_values.limits_as_float(subject.data_type)
    for bound in bounds:
        for name in subject.table.float_attributes:
            attributes = {**subject.between(low, high), name: bound}  # the other bound hides nothing
            case = subject.case(clause, inputs, attributes, expectation="one value")
            run = judge.run(case)
            if run is None:
                return
            oracle, casts = adopted_oracle(judge.bench, case, run)
            if name not in casts:
                continue  # the table leaves nothing open: what it becomes was judged
            behaviour, example = _adopted(bound, casts[name], subject.data_type), f"acts as {casts[name]}"
            if oracle.judge(run.x, run.output).size:  # accepted all the same: no single bound does this
                behaviour = f"acts in a wider type, stored {_stored(bound, int(run.output[0]), subject.data_type)}"
                example = f"gives {run.output[0]} for every input"
            judge.characterise(clause, case.operator, f"{kind} bound {behaviour}", f"{name} = {text(bound)} {example}")


@checks("cast.out-of-range")
def test_out_of_range_bounds_are_characterised(subject: Subject, judge: Judge) -> None:
    """A bound beyond the type acts as one value of the type, whichever it is."""
    limits = np.iinfo(subject.data_type.numpy)
    above = np.float32(float(limits.max) + 1)
    bounds = [
        above,
        np.float32(1.5) * above,
        np.float32(3e38),
        np.float32(np.inf),
        np.float32(-np.inf),
        np.float32(-3e38),
    ]
    below = -above * np.float32(2) if subject.data_type.is_signed else np.float32(-1)
    _characterise_bounds(subject, judge, subject.clause("cast.out-of-range"), [*bounds, below], "an out-of-range")


@checks("cast.nan")
def test_nan_bounds_of_integers_are_characterised(subject: Subject, judge: Judge) -> None:
    """A NaN bound acts as one value of the type, whichever it is."""
    _characterise_bounds(subject, judge, subject.clause("cast.nan"), [np.float32(np.nan)], "a NaN")


@checks("cast.exact")
def test_representable_bounds_are_used_as_they_are(subject: Subject, judge: Judge) -> None:
    """Bounds that the type represents, at every size and up to its limits; inputs are compared exactly."""
    clause = subject.clause("cast.exact")
    if subject.data_type.is_floating:
        patterns = edge_values.inputs(subject.data_type)
        bounds = [np.float32(value) for value in patterns[np.isfinite(patterns)]]
        bounds = bounds[:: 1 if subject.profile.every_partner else 4]
        judge.all(
            subject.case(clause, edge_values.neighbours([bound], subject.data_type), subject.between(bound))
            for bound in bounds
        )
        return
    whole = [bound for bound in _integer_bounds(subject.data_type) if float(bound).is_integer()]
    judge.all(subject.case(clause, _inputs(subject.data_type, [bound]), subject.between(bound)) for bound in whole)


@checks("cast.inexact")
def test_other_bounds_are_characterised(subject: Subject, judge: Judge) -> None:
    """A bound between two values of the type acts as one of them."""
    clause = subject.clause("cast.inexact")
    if subject.data_type.is_floating:
        candidates = [np.float32(value) for value in (0.1, -0.1, 1.0002, -1.0002, 1.0008, 2049.0, 2051.0, -2051.0)]
    else:
        candidates = [np.float32(value) for value in (0.25, 0.5, 0.75, 1.5, 2.5, 2.75, 100.5)]
        if subject.data_type.is_signed:
            candidates += [-value for value in candidates]
    down = up = True
    operator = subject.describe(subject.flat(1), subject.attributes())
    nearest = zero = True
    for bound in candidates:
        attributes = subject.between(bound)
        lowest = -np.inf if subject.data_type.is_floating else np.iinfo(subject.data_type.numpy).min
        inputs = np.concatenate(
            [np.array([lowest], subject.data_type.numpy), edge_values.neighbours([np.trunc(bound)], subject.data_type)]
        )
        run = judge.run(subject.case(clause, inputs, attributes))
        if run is None:
            return
        taken, wanted = float(run.output[0]), float(bound)
        down &= taken < wanted
        up &= taken > wanted
        zero &= abs(taken) < abs(wanted)
        if subject.data_type.is_floating:
            nearest &= taken == float(np.float16(bound))
        else:
            nearest &= abs(taken - wanted) <= 0.5
    rounds = f"rounds {subject.table.lower}"
    names = [("toward zero", zero), ("to nearest", nearest), ("down", down), ("up", up)]
    behaviour = next((f"{rounds} {name}" for name, holds in names if holds), f"{rounds} one way or the other")
    judge.characterise(clause, operator, behaviour)
