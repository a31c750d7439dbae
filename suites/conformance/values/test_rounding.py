"""ROUND in its three modes. TOWARD_INFINITY is to nearest with halves away from zero, not the ceiling."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.suites.cases.values import Values
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.drawn import values as drawn
from dmlcts.suites.generation.drawn.draws import generators
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

MODES = ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")
in_every_mode = pytest.mark.parametrize("mode", MODES)
in_all_modes = checks("rounding")


def _judge(subject: Subject, judge: Judge, mode: str, inputs: object) -> None:
    judge(subject.case(subject.clause("rounding", RoundingMode=mode), inputs, subject.attributes(RoundingMode=mode)))


@in_all_modes
@in_every_mode
def test_ties_of_every_exponent(subject: Subject, judge: Judge, mode: str) -> None:
    """K + 1/2 for small k and around every power of two below which halves exist, of both signs."""
    _judge(subject, judge, mode, edge_values.ties(subject.data_type))


@in_all_modes
@in_every_mode
def test_near_ties(subject: Subject, judge: Judge, mode: str) -> None:
    """The neighbours of every tie: 0.49999997 is not a half."""
    _judge(subject, judge, mode, edge_values.near_ties(subject.data_type))


@checks("rounding", "tensor.position")
@in_every_mode
def test_near_ties_in_packed_powers_of_two(subject: Subject, judge: Judge, mode: str) -> None:
    """The same in tensors of 2^k elements, for which kernels of their own are often written."""
    clause = subject.clause("rounding", RoundingMode=mode)
    inputs = np.concatenate([edge_values.near_ties(subject.data_type), edge_values.ties(subject.data_type)])
    judge.all(
        subject.case(
            clause, np.resize(inputs, count), subject.attributes(RoundingMode=mode), layout_clause="tensor.position"
        )
        for count in (64, 256, 1024, 4096)
    )


@in_all_modes
@in_every_mode
def test_integers_stay(subject: Subject, judge: Judge, mode: str) -> None:
    """Integers up to the largest finite value, odd ones beyond 2^23 among them: 8388609 stays 8388609."""
    _judge(subject, judge, mode, edge_values.integers(subject.data_type))


@in_all_modes
@in_every_mode
def test_boundary_lattice(subject: Subject, judge: Judge, mode: str) -> None:
    """Every power of two with its neighbours, quarters, limits of the type, zeros, subnormals."""
    inputs = edge_values.inputs(subject.data_type)
    _judge(subject, judge, mode, inputs[np.isfinite(inputs)])


@checks("rounding", data_types=("FLOAT16",))
@in_every_mode
def test_every_input(subject: Subject, judge: Judge, mode: str) -> None:
    """All 2^16 values of FLOAT16 but NaN."""
    _judge(subject, judge, mode, edge_values.every_pattern(subject.data_type))


@in_all_modes
@in_every_mode
def test_seeded_bulk(subject: Subject, judge: Judge, mode: str) -> None:
    """Seeded values: over the whole range, and as fractions of numbers that have them."""
    count = subject.profile.bulk
    information = np.finfo(subject.data_type.numpy)
    generator = np.random.Generator(np.random.PCG64(subject.seed))
    scale = 2.0 ** generator.integers(-2, information.nmant, count)
    fractions = (generator.uniform(-1, 1, count) * scale).astype(subject.data_type.numpy)
    _judge(subject, judge, mode, fractions)
    _judge(subject, judge, mode, Values.bulk(subject.data_type, subject.seed).array(count))


@in_all_modes
def test_drawn_values(subject: Subject, judge: Judge) -> None:
    """Any values, any mode."""
    for number, source in enumerate(generators(subject, "rounding")):
        _judge(subject, judge, MODES[number % len(MODES)], drawn.values(subject, source))


@in_all_modes
@in_every_mode
def test_official_vectors(subject: Subject, judge: Judge, mode: str) -> None:
    """The vectors of the DML_ROUNDING_MODE page: what the oracle says of them, and what the page says."""
    examples = [example for example in subject.table.examples if example.attributes.get("RoundingMode") == mode]
    assert examples, f"the table has no example for {mode}"
    for example in examples:
        run = judge.run(subject.case(example.clause, example.inputs, subject.attributes(RoundingMode=mode)))
        if run is not None:
            assert [float(value) for value in run.output] == list(example.outputs)
