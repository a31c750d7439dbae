"""ScaleBias: x * scale + bias before the operator; fused or separate, in FLOAT16 or FLOAT32, all are conforming."""

from __future__ import annotations

import numpy as np

from dmlcts.specs import DataType, ScaleBias
from dmlcts.specs.arithmetic.integer_arithmetic import (
    FRACTIONAL,
    NEGATIVE,
    WHOLE,
    Observation,
    distinguishing_inputs,
    named,
)
from dmlcts.specs.arithmetic.vector_arithmetic import fused_multiply_add
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.drawn import values as drawn
from dmlcts.suites.generation.drawn.draws import generators
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

FACTORS = (
    (1.0, 0.0),
    (2.0, 0.0),
    (1.0, 1.0),
    (-1.0, 0.0),
    (0.5, -0.25),
    (2.0, 3.0),
    (-3.0, 7.0),
    (0.0, 1.5),
    (1.0, -1.0),
    (0.1, 0.7),
    (3.3333333, -2.7182817),
    (1024.0, -5.0),
    (0.00390625, 12.0),
)
WIDE = ((np.float32(-1000), np.float32(1000)), (np.float32(-1), np.float32(1)), (np.float32(2), np.float32(6)))


def _finite(subject: Subject) -> np.ndarray:
    inputs = edge_values.inputs(subject.data_type)
    return inputs[np.isfinite(inputs)]


@checks("scale-bias")
def test_scale_and_bias_come_first(subject: Subject, judge: Judge) -> None:
    """Scales and biases of every kind, positive and negative, on the boundary lattice, under several bounds."""
    clause = subject.clause("scale-bias")
    judge.all(
        subject.case(clause, _finite(subject), subject.scaled(attributes, ScaleBias(scale, bias)))
        for scale, bias in FACTORS
        for attributes in subject.attribute_sets(WIDE)
    )


@checks("scale-bias")
def test_infinite_and_overflowing_intermediates(subject: Subject, judge: Judge) -> None:
    """Infinite inputs, products that overflow, infinity times zero."""
    clause = subject.clause("scale-bias")
    greatest = np.finfo(subject.data_type.numpy).max
    inputs = np.array([np.inf, -np.inf, greatest, -greatest, greatest / 2, 1.0, 0.0], subject.data_type.numpy)
    judge.all(
        subject.case(clause, inputs, subject.scaled(attributes, ScaleBias(scale, bias)))
        for scale, bias in ((4.0, 1.0), (-4.0, 1.0), (0.0, 2.0), (1.0, 3.0), (0.5, -3.0))
        for attributes in subject.attribute_sets((*WIDE, (-np.float32(np.inf), np.float32(np.inf))))
    )


@checks("scale-bias")
def test_drawn_scale_and_bias(subject: Subject, judge: Judge) -> None:
    """Any finite scale and bias, any values."""
    kind = np.float16 if subject.data_type is DataType.FLOAT16 else np.float32
    cases = []
    for source in generators(subject, "scale and bias"):
        scale, bias = (np.float32(kind(np.ldexp(source.uniform(-1, 1), source.integers(-12, 13)))) for _ in range(2))
        attributes = subject.scaled(drawn.attributes(subject, source), ScaleBias(scale, bias))
        cases.append(subject.case(subject.clause("scale-bias"), drawn.values(subject, source), attributes))
    judge.all(cases)


@checks("scale-bias", "in-place")
def test_seeded_bulk_and_in_place(subject: Subject, judge: Judge) -> None:
    """Seeded values, out of place and in place: scale and bias are applied once."""
    count = subject.profile.bulk_scaled
    values = Values.bulk(subject.data_type, subject.seed).array(count)
    attributes = subject.scaled(subject.between(-1000.0, 1000.0), ScaleBias(0.75, 1.5))
    clause = subject.clause("scale-bias")
    in_place = subject.case(
        clause, values, attributes, layout_clause=subject.clause("in-place"), placement=Placement(in_place=True)
    )
    judge.all([subject.case(clause, values, attributes), in_place])


def _whole_factors(subject: Subject) -> list[tuple[int, int]]:
    """Small ones, negative biases as zero points of quantisation are, and some as large as results can be."""
    most = min(int(np.iinfo(subject.data_type.numpy).max), 1 << 24)
    factors = [
        (1, 0),
        (2, 0),
        (1, 1),
        (2, 3),
        (3, 1),
        (5, 10),
        (0, 7),
        (1, -3),
        (3, -20),
        (1, -128),
        (2, -127),
        (1, most - 5),
        (1, -most),
        (most, 0),
        (most // 3, 2),
        (most // 5, -most),
        (0, most),
    ]
    return factors + ([(-1, 0), (-2, 5), (-3, most), (-most, -1)] if subject.data_type.is_signed else [(-1, 9)])


@checks("scale-bias.integer")
def test_whole_scale_and_bias_on_integers(subject: Subject, judge: Judge) -> None:
    """Whole scales and biases whose products and sums fit: exact, in integers or in floats."""
    limits = np.iinfo(subject.data_type.numpy)
    most = min(int(limits.max), 1 << 24)
    least = max(int(limits.min), -(1 << 24))
    clause = subject.clause("scale-bias.integer")
    cases = []
    for scale, bias in _whole_factors(subject):
        powers = (sign << bit for bit in range(25) for sign in (1, -1))
        candidates = {*range(-20, 21), *(power + step for power in powers for step in (-1, 0, 1)), most, least}
        ends = [(end - shift) // (scale or 1) for end in (least, most) for shift in (0, bias)]
        candidates |= {end + step for end in ends for step in (-1, 0, 1)}
        fitting = [
            x
            for x in sorted(candidates)
            if least <= x <= most and least <= x * scale <= most and least <= x * scale + bias <= most
        ]
        low, high = edge_values.limits_as_float(subject.data_type)
        for bounds in ((low, high), (np.float32(3), np.float32(50))):
            attributes = subject.scaled(subject.between(*bounds), ScaleBias(scale, bias))
            if fitting:
                cases.append(subject.case(clause, np.array(fitting, subject.data_type.numpy), attributes))
    judge.all(cases)


@checks("scale-bias.integer-inexact")
def test_fractions_and_overflow_on_integers_are_characterised(subject: Subject, judge: Judge) -> None:
    """Fractional factors, overflow, numbers no float holds: one of the arithmetics there are, and it is named."""
    clause = subject.clause("scale-bias.integer-inexact")
    inputs = distinguishing_inputs(subject.data_type)
    low, high = edge_values.limits_as_float(subject.data_type)
    limits = np.iinfo(subject.data_type.numpy)
    greatest = float(limits.max)
    unnamed = [(1.0, 0.0), (1.0, greatest), (2.0, -greatest), (greatest, 1.0), (-1.0, float(limits.min)), (0.0, 300.5)]
    pairs = [(pair, (low, high)) for pair in (*WHOLE, *NEGATIVE, *FRACTIONAL)]
    pairs += [(pair, (low, high)) for pair in unnamed]
    pairs += [(pair, (np.float32(4), np.float32(90))) for pair in ((0.5, 0.0), (2.0, 0.0), (1.0, 0.75))]
    cases = []
    for (scale, bias), bounds in pairs:
        attributes = subject.scaled(subject.between(*bounds), ScaleBias(scale, bias))
        cases.append(subject.case(clause, inputs, attributes))
    judgements = judge.all(cases, dispatches=True)
    if not all(judgement.executions for judgement in judgements):
        return
    top = int(high) if subject.table.upper in subject.table.float_attributes else int(limits.max)
    named_ones = len(WHOLE) + len(NEGATIVE) + len(FRACTIONAL)
    seen = [
        Observation(*pair, tuple(run.x.tolist()), tuple(run.output.tolist()), int(low), top)
        for (pair, _), judgement in zip(pairs[:named_ones], judgements, strict=False)
        for run in judgement.executions
    ]
    judge.characterise(clause, cases[0].operator, named(subject.data_type, seen))


@checks("scale-bias")
def test_contraction_is_characterised(subject: Subject, judge: Judge) -> None:
    """Whether x * scale + bias is rounded once or twice, and in which format: measured where they differ.

    An approximate result does not show what it was computed of.
    """
    if not subject.of_one_type:
        return
    generator = np.random.Generator(np.random.PCG64(1))
    inputs = generator.uniform(1, 2, 4096).astype(subject.data_type.numpy)
    scale, bias = np.float32(1.1), np.float32(-1.3)  # neither is a FLOAT16, and the sum cancels
    attributes = subject.scaled(subject.between(-1000.0, 1000.0), ScaleBias(scale, bias))
    case = subject.case(subject.clause("scale-bias"), inputs, attributes)
    run = judge.run(case)
    if run is None:
        return
    single = inputs.astype(np.float32)
    s, b = np.asarray(scale), np.asarray(bias)
    own = inputs.dtype
    paths = {
        "separate": (single * s + b).astype(own),
        "fused": fused_multiply_add(single, s, b, np.dtype(np.float32)).astype(own),
    }
    if subject.data_type is DataType.FLOAT16:
        narrow = s.astype(own), b.astype(own)
        paths = {
            "separate in FLOAT16": inputs * narrow[0] + narrow[1],
            "fused in FLOAT16": fused_multiply_add(inputs, *narrow, own),
            "separate in FLOAT32": paths["separate"],
            "fused in FLOAT32": paths["fused"],
        }
    matching = [name for name, values in paths.items() if np.array_equal(values, run.output)]
    how = " or ".join(matching) if matching else "in several ways"
    behaviour = f"x * scale + bias is computed {how}"
    judge.characterise(case.clause, case.operator, behaviour)
