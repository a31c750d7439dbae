"""NaN, zeros, infinities and subnormals: required where a page says something, characterised where none does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import ApproximateResults
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.cases.values import Array, text, text_with_bits
from dmlcts.suites.conformance.having import function_of_one_input
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

NAN = np.float32(np.nan)
_SHOWN = 2.0**-140  # from here on no result is so inaccurate that it is 0


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
    pairs = [
        (np.float32(-1), np.float32(1)),
        (zero, np.float32(1)),
        (-zero, np.float32(1)),
        (np.float32(-1), zero),
        (np.float32(-1), -zero),
    ]
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
    zero, unit = np.float32(0), np.float32(1)
    return [
        (-unit, unit),
        (-largest, largest),
        (-below, below),
        (below, unit),
        (-unit, -below),
        (zero, unit),
        (-unit, zero),
    ]


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


@checks("values", data_types=("FLOAT32",), having=function_of_one_input, characterises=True)
def test_subnormals_of_functions_are_characterised(subject: Subject, judge: Judge) -> None:
    """Subnormal inputs and results of approximate functions: kept or flushed to zero, wherever that shows."""
    attributes = subject.attributes()
    tried = np.concatenate([edge_values.subnormals(subject.data_type), _of_small_results(subject)])
    case = subject.case(subject.values_clause(attributes), tried, attributes)
    run = judge.run(case)
    oracle = judge.bench.oracle(case.operator)
    if run is None or not isinstance(oracle, ApproximateResults):
        return
    smallest = np.finfo(np.float32).smallest_normal
    with np.errstate(all="ignore"):
        real = oracle.real(run.inputs)
        at_zero = oracle.real({name: np.zeros(1, array.dtype) for name, array in run.inputs.items()})[0]
        kept = np.isfinite(run.output) & (run.output != 0)
        shown = (np.abs(real) >= _SHOWN) & np.isfinite(real.astype(np.float32))
    is_input = (np.abs(run.x) < smallest) & (run.x != 0)
    shows = is_input & shown & (at_zero == 0 or not np.isfinite(at_zero))
    is_result = shown & (np.abs(real) < smallest)
    one_way = "inputs, or their results," if (is_input & is_result).any() else "inputs"
    phrases = [_kept(f"subnormal {one_way}", kept[shows]), _kept("subnormal results", kept[is_result & ~is_input])]
    behaviour = ", ".join(filter(None, phrases))
    if behaviour:
        judge.characterise(case.clause, case.operator, behaviour)


def _of_small_results(subject: Subject) -> Array:
    """Normal inputs of every magnitude, and those where powers of e, 2 and 10 are about to vanish."""
    magnitudes = np.ldexp(np.float32(1.25), np.arange(-125, 128, dtype=np.int32))
    steps = np.linspace(-104, -87, 69, dtype=np.float32)
    return np.concatenate([magnitudes, -magnitudes, steps, -steps]).astype(subject.data_type.numpy)


def _kept(what: str, kept: NDArray[np.bool_]) -> str:
    """Whether all, none or some are kept; "" where there are none."""
    if not kept.size:
        return ""
    return (
        f"{what} are kept"
        if kept.all()
        else f"some {what} are flushed to zero"
        if kept.any()
        else (f"{what} are flushed to zero")
    )


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
