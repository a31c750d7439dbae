"""Bounds, scales and biases of every magnitude: no binade, no digit and no bit of them is lost.

What a bound became shows in the outputs of the least and the greatest inputs; its neighbours are inputs as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dmlcts.specs import DataType, ScaleBias
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Array
from dmlcts.suites.combinations.rows import share_of
from dmlcts.suites.generation import binades, edge_values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

FACTORS = ((2.0, 0.5), (1.0, 0.5), (-0.75, 0.5), (0.0, 0.5), (1.0, 0.0))
AROUND_NOTHING = ((-1.5, 2.5), (-6.0, -2.0), (3.0, 9.0))  # none of them is zero, nor what the bias of FACTORS becomes


def _share(subject: Subject, items: Sequence[Any], parts: int) -> Sequence[Any]:
    """Every so many-th item where they are shared out; neighbouring types take others, so that together take all."""
    first = subject.table.data_types.index(subject.data_type) % parts
    return share_of(subject, items[first::parts] if subject.profile.shares_out else items)


def _inputs(data_type: DataType, bounds: Sequence[np.float32]) -> Array:
    """The least and the greatest values of the type, zero, one, and each bound with its neighbours."""
    if data_type.is_floating:
        ends = np.array([-np.inf, np.inf, np.finfo(data_type.numpy).max, 0, 1, -1], data_type.numpy)
        return np.concatenate(
            [ends, edge_values.neighbours([data_type.numpy.type(bound) for bound in bounds], data_type)]
        )
    limits = np.iinfo(data_type.numpy)
    near = {int(bound) + step for bound in bounds for step in range(-2, 3)} | {0, 1}
    inside = sorted(value for value in near if int(limits.min) <= value <= int(limits.max))
    return np.array([limits.min, limits.max, *inside], data_type.numpy)


def _between(subject: Subject, clause: str, low: np.float32, high: np.float32) -> Case:
    bounds = [bound for bound in (low, high) if np.isfinite(bound)]
    return subject.case(clause, _inputs(subject.data_type, bounds), subject.between(low, high))


# Bounds.


@checks("values", data_types=("FLOAT32",), bounds=("low",))
def test_bounds_of_every_binade(subject: Subject, judge: Judge) -> None:
    """Bounds of every exponent and both signs, with mantissas that need all their bits and nine digits."""
    clause = subject.clause("values")
    values = binades.every_binade()
    shifted = (*values[127:], *values[:127])
    cases = []
    for magnitude, other in zip(values, shifted, strict=True):
        cases.append(_between(subject, clause, -magnitude, other))
        # Min of the other sign; Max beside every partner
        if subject.profile.every_partner or len(subject.table.float_attributes) == 1:
            cases += [_between(subject, clause, magnitude, np.float32(np.inf))]
        if subject.profile.every_partner:
            cases += [_between(subject, clause, np.float32(-np.inf), -other)]
    judge.all(cases)


@checks("cast.float16")
def test_float16_bounds_of_every_exponent(subject: Subject, judge: Judge) -> None:
    """Bounds between two FLOAT16 of every exponent, both signs, where truncation and rounding differ and where not."""
    values = binades.between_float16()
    clause = subject.clause("cast.float16")
    judge.all(_between(subject, clause, -low, high) for low, high in zip(values[::-1], values, strict=True))


@checks("cast.integer")
def test_integer_bounds_of_every_binade(subject: Subject, judge: Judge) -> None:
    """Bounds of every exponent up to the limits of the type, with mantissas that need all their bits."""
    bounds = binades.integer_bounds(subject.data_type)
    low, high = edge_values.limits_as_float(subject.data_type)
    clause = subject.clause("cast.integer")
    ends = [sorted((bound, low if number % 2 else high)) for number, bound in enumerate(bounds)]
    judge.all(_between(subject, clause, *pair) for pair in ends)


@checks("cast.exact")
def test_whole_bounds_of_every_binade(subject: Subject, judge: Judge) -> None:
    """Bounds of every exponent that the type represents, with mantissas that need all their bits."""
    if subject.data_type.is_floating:
        wide = np.array([binades.of_exponent(exponent) for exponent in range(-14, 16)]).astype(np.float16)
        bounds = [np.float32(sign * value) for value in wide for sign in (1, -1)]
    else:
        bounds = [bound for bound in binades.integer_bounds(subject.data_type) if bound == np.trunc(bound)]
        bounds += [np.trunc(bound) for bound in binades.integer_bounds(subject.data_type) if abs(bound) < 1 << 23]
    clause = subject.clause("cast.exact")
    judge.all(_between(subject, clause, bound, np.float32(np.inf)) for bound in dict.fromkeys(bounds))


@checks("cast.integer")
def test_nearly_whole_bounds(subject: Subject, judge: Judge) -> None:
    """Bounds within 2^-20 of a whole number, on either side: 6.9999995 is 6, not 7."""
    _, high = edge_values.limits_as_float(subject.data_type)
    clause = subject.clause("cast.integer")
    cases = []
    for value in _share(subject, list(dict.fromkeys(binades.near_whole())), 2):
        cases.append(_between(subject, clause, value, high))
        negative = -value if subject.data_type.is_signed or value < 1 else np.float32(0)
        cases.append(_between(subject, clause, negative, value))
    judge.all(cases)


def _minus_zeros(subject: Subject, clause: str) -> list[Case]:
    zero, five = np.float32(-0.0), np.float32(5)
    below = -five if subject.data_type.is_signed else zero
    return [_between(subject, clause, low, high) for low, high in ((zero, five), (below, zero), (zero, zero))]


@checks("values", data_types=("FLOAT32", "FLOAT16"), bounds=("low",))
def test_bounds_of_minus_zero(subject: Subject, judge: Judge) -> None:
    """A bound of -0 is a zero, and nothing below it."""
    judge.all(_minus_zeros(subject, subject.clause("values")))


@checks("cast.integer")
def test_integer_bounds_of_minus_zero(subject: Subject, judge: Judge) -> None:
    """A bound of -0 is the integer 0, also on unsigned types."""
    judge.all(_minus_zeros(subject, subject.clause("cast.integer")))


@checks("cast.exact")
def test_exact_bounds_of_minus_zero(subject: Subject, judge: Judge) -> None:
    """A Min of -0 is the type's zero."""
    judge.all(_minus_zeros(subject, subject.clause("cast.exact")))


# Scale and bias.


def _open(subject: Subject) -> dict[str, Any]:
    """Attributes that clamp nothing."""
    return subject.between(-np.inf, np.inf)


@checks("scale-bias", data_types=("FLOAT32",))
def test_scale_and_bias_of_every_binade(subject: Subject, judge: Judge) -> None:
    """Scales and biases of every exponent and both signs, with mantissas that need all their bits."""
    clause = subject.clause("scale-bias")
    generator = np.random.Generator(np.random.PCG64(subject.seed + 5))
    cases = []
    for exponent in range(-126, 128):
        signs = (1 - 2 * generator.integers(0, 2, 2)).astype(np.float32)
        scale = signs[0] * binades.of_exponent(exponent)
        # An input of 0 bares the bias, whose exponent goes through all of them as well.
        bias = signs[1] * binades.of_exponent((exponent * 91 + 37) % 254 - 126)
        powers = np.clip(np.arange(-15, 16, 3) - exponent, -126, 126)
        x = np.ldexp(generator.uniform(1, 2, powers.size), powers) * (1 - 2 * generator.integers(0, 2, powers.size))
        inputs = np.concatenate([[0, 1, -3], x]).astype(np.float32)
        cases.append(subject.case(clause, inputs, subject.scaled(_open(subject), ScaleBias(scale, bias))))
        bare = subject.scaled(_open(subject), ScaleBias(scale, 0))  # an input of 1 bares the scale
        cases.append(subject.case(clause, inputs, bare))
        if not subject.profile.every_partner:
            continue
        near = signs[1] * np.ldexp(np.float32(1.375), int(generator.integers(-12, 12)))
        cases.append(subject.case(clause, inputs, subject.scaled(_open(subject), ScaleBias(scale, near))))
    judge.all(share_of(subject, cases))


@checks("scale-bias", data_types=("FLOAT16",))
def test_float16_scale_and_bias_of_every_binade(subject: Subject, judge: Judge) -> None:
    """The same for the exponents of FLOAT16."""
    clause = subject.clause("scale-bias")
    generator = np.random.Generator(np.random.PCG64(subject.seed + 6))
    cases = []
    for exponent in range(-14, 16):
        for bias_exponent in (-14 + (exponent * 7) % 30, exponent // 2, -11):
            scale, bias = binades.of_exponent(exponent), -binades.of_exponent(bias_exponent)
            powers = np.clip(np.arange(-8, 12) - exponent, -14, 14)
            x = np.ldexp(generator.uniform(1, 2, powers.size), powers) * (1 - 2 * generator.integers(0, 2, powers.size))
            inputs = np.concatenate([[0, 1, -3], x]).astype(np.float16)
            cases.append(subject.case(clause, inputs, subject.scaled(_open(subject), ScaleBias(scale, bias))))
    judge.all(cases)


def _whole(subject: Subject, scale: int, bias: int) -> Case | None:
    """Inputs whose products and results lie within the type and within 2^24; ``None`` where there is none."""
    limits = np.iinfo(subject.data_type.numpy)
    least, most = max(int(limits.min), -(1 << 24)), min(int(limits.max), 1 << 24)
    ends = [end // scale for end in (least, most)] + [(end - bias) // scale for end in (least, most)]
    tried = {0, 1, 2, 3, 5, -1, -2, least, most, -bias, 1 - bias}
    tried |= {end + step for end in (*ends, 100) for step in (-1, 0, 1, 2)}
    fitting = [x for x in sorted(tried) if all(least <= number <= most for number in (x, x * scale, x * scale + bias))]
    if not fitting:
        return None
    low, high = edge_values.limits_as_float(subject.data_type)
    attributes = subject.scaled(subject.between(low, high), ScaleBias(scale, bias))
    clause = subject.clause("scale-bias.integer")
    return subject.case(clause, np.array(fitting, subject.data_type.numpy), attributes)


@checks("scale-bias.integer")
def test_whole_scale_and_bias_of_every_magnitude(subject: Subject, judge: Judge) -> None:
    """Around every power of two, of both signs: on unsigned types a negative bias is a zero point."""
    numbers = list(binades.whole_numbers())
    factors = [(1, sign * number) for number in numbers for sign in (1, -1)]
    factors += [(number, bias) for number, bias in zip(numbers, numbers[::-1], strict=True)]
    factors += [(number, -1) for number in numbers] + [(2, -number) for number in numbers]
    if subject.data_type.is_signed:
        factors += [(-number, number // 2) for number in numbers]
    cases = [case for scale, bias in _share(subject, factors, 6) if (case := _whole(subject, scale, bias)) is not None]
    judge.all(cases)


@checks("nan.input")
def test_nan_inputs_with_scale_and_bias(subject: Subject, judge: Judge) -> None:
    """A NaN stays one under any scale and bias, also a scale of zero: a NaN or a bound comes out, and nothing else."""
    nans = edge_values.nans(subject.data_type)
    inputs = np.stack([np.full_like(nans, 1.25), nans, np.full_like(nans, -3.75)], axis=1).ravel()
    clause = subject.clause("nan.input")
    judge.all(
        subject.case(clause, inputs, subject.scaled(attributes, ScaleBias(scale, bias)))
        for scale, bias in FACTORS
        for attributes in subject.attribute_sets([(np.float32(low), np.float32(high)) for low, high in AROUND_NOTHING])
    )
