"""NaN, zeros, infinities and subnormals: required where a page says something, characterised where none does."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.cases.values import text, text_with_bits
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

NAN = np.float32(np.nan)


def _modes(subject: Subject) -> list[dict[str, Any]]:
    return list(subject.attribute_sets([(np.float32(-1.0), np.float32(1.0))]))


@checks("rounding.infinity")
def test_infinities_stay(subject: Subject, judge: Judge) -> None:
    """An infinite input gives the same infinity, in every mode."""
    inputs = np.array([np.inf, -np.inf, 1.0], subject.data_type.numpy)
    judge.all(subject.case(subject.clause("rounding.infinity"), inputs, attributes) for attributes in _modes(subject))


@checks("rounding.nan")
def test_nan_stays_nan(subject: Subject, judge: Judge) -> None:
    """A NaN input gives a NaN, whatever its sign, kind and payload, in every mode, and leaves its neighbours alone."""
    nans = edge_values.nans(subject.data_type)
    inputs = np.stack([np.full_like(nans, 1.25), nans, np.full_like(nans, -3.75)], axis=1).ravel()
    judge.all(subject.case(subject.clause("rounding.nan"), inputs, attributes) for attributes in _modes(subject))


@checks("nan.input")
def test_nan_input_is_characterised(subject: Subject, judge: Judge) -> None:
    """A NaN input gives NaN or one of the bounds, and its neighbours are not touched by it."""
    ordinary = np.array([-3.0, 0.5, 7.0], subject.data_type.numpy)
    inputs = np.concatenate([ordinary, edge_values.nans(subject.data_type), ordinary])
    bounds = [(np.float32(-1.5), np.float32(2.5)), (np.float32(-6), np.float32(-2)), (np.float32(3), np.float32(9))]
    for attributes in subject.attribute_sets(bounds):
        case = subject.case(subject.clause("nan.input"), inputs, attributes)
        run = judge.run(case)
        if run is None:
            return
        seen = run.output[np.isnan(run.x)]
        names = {_name(value, attributes, None) for value in seen}
        example = f"{_attributes(attributes)}: {text_with_bits(inputs[3])} gives {text_with_bits(seen[0])}"
        judge.characterise(case.clause, case.operator, f"NaN input gives {' or '.join(sorted(names))}", example)


@checks("nan.bound")
def test_nan_bound_is_characterised(subject: Subject, judge: Judge) -> None:
    """A NaN bound is ignored, gives NaN or another bound, but nothing else."""
    inputs = np.array([-3.0, -1.0, 0.5, 2.0, 7.0], subject.data_type.numpy)
    pairs = [(NAN, np.float32(2)), (np.float32(-1), NAN), (NAN, NAN)]
    for attributes in subject.attribute_sets(pairs):
        case = subject.case(subject.clause("nan.bound"), inputs, attributes)
        run = judge.run(case)
        if run is None:
            return
        names = [name for name in subject.table.float_attributes if np.isnan(attributes[name])]
        if not names:
            continue
        behaviour = f"NaN {' and '.join(names)}: {_nan_bound_effect(run, attributes, subject.table)}"
        example = f"{_attributes(attributes)}: {text(inputs[4])} gives {text_with_bits(run.output[4])}"
        judge.characterise(case.clause, case.operator, behaviour, example)


def _nan_bound_effect(run: Execution, attributes: dict[str, Any], table: OperatorTable) -> str:
    if np.isnan(run.output).all():
        return "gives NaN"
    for bound, what in ((NAN, "is ignored"), (np.float32(0), "acts as 0")):
        taken = {name: bound if np.isnan(value) else value for name, value in attributes.items() if value is not None}
        low, high = (run.x.dtype.type(taken.get(name, NAN)) for name in (table.lower or "", table.upper or ""))
        if np.array_equal(run.output, np.fmax(np.fmin(run.x, high), low)):  # which ignore a NaN
            return what
    return "gives " + ", ".join(f"{text(value)} for {text(x)}" for x, value in zip(run.x, run.output, strict=True))


@checks("zero-sign")
def test_sign_of_zero_is_characterised(subject: Subject, judge: Judge) -> None:
    """Zeros compare equal: which one comes back is measured, not required."""
    inputs = np.array([-0.0, 0.0, -0.25, 0.25], subject.data_type.numpy)
    zero = np.float32(0.0)
    pairs = [(np.float32(-1), np.float32(1)), (zero, np.float32(1)), (-zero, np.float32(1)),
             (np.float32(-1), zero), (np.float32(-1), -zero)]  # fmt: skip
    kept = True
    example = ""
    for attributes in subject.attribute_sets(pairs):
        case = subject.case(subject.clause("zero-sign"), inputs, attributes)
        run = judge.run(case)
        if run is None:
            return
        ieee = _strict(judge, case).acceptance(run.x).admits(run.output)
        if not ieee.all() and kept:
            kept = False
            first = int(np.flatnonzero(~ieee)[0])
            example = f"{_attributes(attributes)}: {text(run.x[first])} gives {text_with_bits(run.output[first])}"
    behaviour = "the sign of zero is IEEE 754-2019's" if kept else "the sign of zero differs from IEEE 754-2019's"
    judge.characterise(case.clause, case.operator, behaviour, example)


def _subnormal_bounds(inputs: np.ndarray) -> list[edge_values.Bounds]:
    """Bounds around the subnormals, and bounds that are subnormal, on both sides and on one."""
    largest = np.float32(inputs[np.argmax(inputs)])
    below = np.float32(np.nextafter(inputs.max(), inputs.dtype.type(0)))
    zero, one = np.float32(0), np.float32(1)
    return [(-one, one), (-largest, largest), (-below, below), (below, one), (-one, -below), (zero, one), (-one, zero)]


@checks("subnormal.float16")
def test_float16_subnormals_are_kept(subject: Subject, judge: Judge) -> None:
    """Subnormal inputs, bounds and results keep every bit, among normal neighbours."""
    inputs = edge_values.subnormals(subject.data_type)
    clause = subject.clause("subnormal.float16")
    judge.all(
        subject.case(clause, inputs, attributes) for attributes in subject.attribute_sets(_subnormal_bounds(inputs))
    )


@checks("subnormal")
def test_subnormals_are_characterised(subject: Subject, judge: Judge) -> None:
    """Subnormal inputs, bounds and results are kept or flushed to zero; normal neighbours are kept."""
    inputs = edge_values.subnormals(subject.data_type)
    seen: dict[str, str] = {}
    for attributes in subject.attribute_sets(_subnormal_bounds(inputs)):
        case = subject.case(subject.clause("subnormal"), inputs, attributes)
        run = judge.run(case)
        if run is None:
            return
        kept = _strict(judge, case).acceptance(run.x).admits(run.output)
        for first in np.flatnonzero(~kept):
            what = "are flushed to zero" if run.output[first] == 0 else "are taken for zero in comparisons"
            example = f"{_attributes(attributes)}: {text(run.x[first])} gives {text_with_bits(run.output[first])}"
            seen.setdefault(f"subnormals {what}", example)
    for behaviour, example in (seen or {"subnormals are kept": ""}).items():
        judge.characterise(case.clause, case.operator, behaviour, example)


def _strict(judge: Judge, case: Case) -> VectorOracle:
    oracle = judge.bench.vector_oracle(case.operator)
    return VectorOracle(oracle.law, case.operator, strict=True)


def _attributes(attributes: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {text(value)}" for name, value in attributes.items() if isinstance(value, np.float32))


def _name(value: Any, attributes: dict[str, Any], other: str | None) -> str:
    if np.isnan(value):
        return "NaN"
    for name, bound in attributes.items():
        if isinstance(bound, np.float32) and float(bound) == float(value):
            return name
    return other or text(value)
