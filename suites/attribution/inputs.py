"""Which inputs a value is wrong for: ordinary ones where there are any, and from where to where.

A reader who is shown an infinity mends that alone. So a finite, normal number of few digits is shown where one is wrong
as well, with the range of all that are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType
from dmlcts.suites.attribution.shrink import again
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Streams, Values, text
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, plain, simplest_first, streams_of

Array = NDArray[Any]

WRONG_FOR = "wrong for"
"""The label, among a finding's details, of the inputs that are wrong."""

_BITS_OF_LATTICE = 14  # the patterns that are tried first: of FLOAT32 a sign, an exponent and 5 bits of the mantissa
_BETWEEN = 1 << 12  # that are tried between one that is right and the next that is wrong
_MOST_STEPS = 2
_MOST_RANGES = 2


def _kinds(values: Any) -> list[str]:
    """What is out of the ordinary among floating-point values."""
    if values.dtype.kind != "f":
        return []
    small = np.finfo(values.dtype).smallest_normal
    kinds = {
        "NaN": np.isnan(values),
        "infinite": np.isinf(values),
        "subnormal": (values != 0) & (np.abs(values) < small),
        "-0.0": (values == 0) & np.signbit(values),
    }
    return [name for name, mask in kinds.items() if mask.any()]


def _special(values: Any) -> Any:
    small = np.finfo(values.dtype).smallest_normal
    with np.errstate(invalid="ignore"):
        return ~np.isfinite(values) | ((np.abs(values) < small) & ((values != 0) | np.signbit(values)))


def ordinary_inputs(bench: Bench, finding: Finding) -> Iterator[Case]:
    """Integers are all of one kind, and the recipes of bulk values have ordinary ones only."""
    case = finding.case
    changed: dict[str, Any] = dict(case.values)
    for name, stream in case.values.items():
        values = stream.array(len(stream)).copy()
        if values.dtype.kind == "f" and _special(values).any():
            others = np.resize(np.array([3.0, -5.5, 7.25, 0.5, 11.0], values.dtype), values.size)
            changed[name] = Values.of(np.where(_special(values), others, values), stream.data_type)
    streams = Streams(tuple(changed.items()))
    if streams != case.values:
        yield replace(case, values=streams)


def unusual_inputs_text(case: Case) -> str:
    """What is out of the ordinary among a case's inputs, in words."""
    kinds = dict.fromkeys(kind for stream in case.values.values() for kind in _kinds(stream.array(len(stream))))
    return " and ".join(kinds) + " inputs"


@dataclass(frozen=True)
class Tried:
    """Inputs that were tried, ascending, each of which has a result that follows from the pages.

    Attributes:
        inputs: they.
        wrong: which of them came out wrong.
    """

    inputs: Array
    wrong: NDArray[np.bool_]

    def beside(self, other: Tried) -> Tried:
        """These and others."""
        inputs, first = np.unique(np.concatenate([self.inputs, other.inputs]), return_index=True)
        return Tried(inputs, np.concatenate([self.wrong, other.wrong])[first])

    def spans(self, value: Any) -> bool:
        """Whether an input lies between two neighbours of these that are both wrong, or is one of them."""
        above = int(np.searchsorted(self.inputs, value))
        if np.isnan(value) or above == self.inputs.size:
            return False
        return bool(self.wrong[above] and (self.inputs[above] == value or (above and self.wrong[above - 1])))

    def edges(self) -> Array:
        """The places before which right turns to wrong, or wrong to right."""
        return np.flatnonzero(self.wrong[1:] != self.wrong[:-1]) + 1


def is_of_one_input(finding: Finding) -> bool:
    """Whether a finding is a wrong value of an operator of one floating-point input, alone in a packed tensor."""
    case = finding.case
    alone = case.layout_clause is None and case.operator.output.element_count == 1
    of_one = len(case.operator.inputs) == 1 and case.data_type in (DataType.FLOAT32, DataType.FLOAT16)
    wrong = finding.outcome == "fail" and bool(finding.wrong) and not finding.settled
    return wrong and alone and of_one and case.expectation == "oracle"


def ordinary(bench: Bench, finding: Finding) -> Finding:
    """A wrong value of one input at an ordinary input, where one is wrong as well; else the finding itself.

    Args:
        bench: what to judge on.
        finding: what is wrong.
    """
    if not is_of_one_input(finding) or not _special(finding.case.values.first.array(1)).any():
        return finding
    return _simplest(bench, finding, tried(bench, finding.case))


def _simplest(bench: Bench, finding: Finding, seen: Tried) -> Finding:
    """The finding at the simplest of the inputs that are wrong, where that is an ordinary one."""
    case = finding.case
    ordinary_ones = seen.inputs[seen.wrong & ~_special(seen.inputs)]
    if not ordinary_ones.size:
        return finding
    best = simplest_first({case.operator.input_name: ordinary_ones}, np.arange(ordinary_ones.size))[0]
    simpler_finding = again(bench, replace(case, values=streams_of(case, [ordinary_ones[best]])), finding.outcome)
    return finding if simpler_finding is None or simpler_finding.clause != finding.clause else simpler_finding


def ranged(bench: Bench, finding: Finding) -> tuple[Finding, Tried]:
    """A wrong value of one input with the range of the inputs that are wrong, where there are several.

    Inputs of all magnitudes are dispatched together, and then those at the ends of the range, until it is exact. A
    range is said where none of those that were tried inside it is right.

    Args:
        bench: what to judge on.
        finding: what is wrong, a value of one input; the simplest input that is wrong is shown instead of its own.

    Returns:
        The finding, and the inputs that were tried.
    """
    seen = tried(bench, finding.case)
    if not seen.wrong.any():
        return finding, seen
    for _ in range(_MOST_STEPS):
        between = _unknown(seen)
        if len(seen.edges()) > 2 * _MOST_RANGES or not between.size:
            break
        seen = seen.beside(tried(bench, finding.case, between))
    message = _text_of(seen)
    finding = _simplest(bench, finding, seen)
    return replace(finding, details=(*finding.details, (WRONG_FOR, message))), seen


def tried(bench: Bench, case: Case, inputs: Array | None = None) -> Tried:
    """What becomes of inputs, dispatched together in a packed tensor.

    Args:
        bench: what to judge on.
        case: whose operator and attributes they are.
        inputs: ascending, of the input's type; by default some of every magnitude, and the infinities.
    """
    inputs = _lattice(case.data_type) if inputs is None else inputs
    together = plain(bench, case, streams_of(case, [inputs]), inputs.size)
    seen = judge_case(bench, together).executions
    if not seen:
        return Tried(inputs[:0], np.zeros(0, bool))
    run_inputs = seen[-1].inputs
    oracle = bench.oracle(together.operator)
    wrong = np.zeros(inputs.size, bool)
    wrong[oracle.judge(run_inputs, seen[-1].output)] = True
    open_ = oracle.acceptance(run_inputs).any_value
    known = np.ones(inputs.size, bool) if open_ is None else ~np.broadcast_to(open_, inputs.shape)
    return Tried(inputs[known], wrong[known])


@lru_cache
def _lattice(data_type: DataType) -> Array:
    """Numbers of a type of every magnitude and sign, and the infinities, ascending; of FLOAT16 all but zeros' signs."""
    width = 8 * data_type.itemsize
    kept = min(width, _BITS_OF_LATTICE if width > 16 else width)
    bits = (np.arange(1 << kept, dtype=np.uint64) << np.uint64(width - kept)).astype(data_type.bits_dtype)
    numbers = bits.view(data_type.numpy)
    return np.unique(numbers[~np.isnan(numbers)])


def _ordinal(numbers: Array) -> NDArray[np.int64]:
    """The numbers' places among all of their type."""
    bits = numbers.view(f"u{numbers.dtype.itemsize}").astype(np.int64)
    sign = np.int64(1) << np.int64(8 * numbers.dtype.itemsize - 1)
    return np.where(bits >= sign, sign - bits, bits)


def _numbers(ordinals: NDArray[np.int64], like: Array) -> Array:
    sign = np.int64(1) << np.int64(8 * like.dtype.itemsize - 1)
    bits = np.where(ordinals < 0, sign - ordinals, ordinals)
    return np.asarray(bits.astype(f"u{like.dtype.itemsize}").view(like.dtype))


def _unknown(seen: Tried) -> Array:
    """Inputs between one that is right and the next that is wrong, ascending; none where those are neighbours."""
    places, ordinals = seen.edges(), _ordinal(seen.inputs)
    ordinal_runs = [
        np.unique(np.linspace(ordinals[place - 1] + 1, ordinals[place] - 1, min(_BETWEEN, gap)).astype(np.int64))
        for place in places
        if (gap := int(ordinals[place] - ordinals[place - 1]) - 1) > 0
    ]
    return _numbers(np.concatenate(ordinal_runs), seen.inputs) if ordinal_runs else seen.inputs[:0]


def _text_of(seen: Tried) -> str:
    """The inputs that are wrong, in words; "" where none are."""
    inputs, wrong = seen.inputs, np.flatnonzero(seen.wrong)
    if not wrong.size:
        return ""
    tally = f"{wrong.size:,} of {inputs.size:,}"
    runs = np.split(wrong, np.flatnonzero(np.diff(wrong) > 1) + 1)
    if len(runs) > _MOST_RANGES:
        between = f"{tally} values between {text(inputs[wrong[0]])} and {text(inputs[wrong[-1]])}"
        return f"{between}, each halfway between two integers" if _halves(inputs[wrong]) else between
    if wrong.size == inputs.size:
        return f"every x, {tally} values"
    return f"{' or '.join(_run_text(inputs, int(run[0]), int(run[-1])) for run in runs)}, {tally} values"


def _halves(numbers: Array) -> bool:
    """Whether all are as far from one integer as from the next."""
    magnitudes = np.abs(numbers[np.isfinite(numbers)])
    return magnitudes.size == numbers.size and bool((magnitudes - np.floor(magnitudes) == 0.5).all())


def _run_text(inputs: Array, first: int, last: int) -> str:
    low, high = text(inputs[first]), text(inputs[last])
    if first == last:
        return f"x = {low}"
    if last == inputs.size - 1:
        return f"x >= {low}"
    return f"x <= {high}" if first == 0 else f"{low} <= x <= {high}"
