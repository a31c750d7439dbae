"""Evidence: output bytes that a verifier judges again, of cases that it enumerates by itself.

The plan follows from the tables, the feature level and the seed alone: the boundary lattice of every operator
and data type that the level obliges, under every interesting set of attributes, and a seeded sample of cases
with layouts, ScaleBias and bulk values. `dmlcts certify` dispatches the plan and keeps what came back, and nothing
else; `dmlcts verify` makes the same plan, regenerates every input and judges the bytes. Forging needs right outputs.

A seed's sample can be prepared before there is a device. A verifier who minds hands out a *challenge*, and the
sample is drawn from both.

Choices come from SHA-256: a generator's stream may change with its library.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
import secrets
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScaleBias, UsageError
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.rules import violations
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import signatures_on
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.oracles import OneInput, Oracle, oracle_of
from dmlcts.suites.cases.outcomes import DeviceGone, Execution, Mishap, Outcome
from dmlcts.suites.cases.placement import Placement, aliases_of
from dmlcts.suites.cases.values import Values, text_with_bits
from dmlcts.suites.generation import edge_values, profiles
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import inputs_text

SAMPLED = 32  # drawn cases that each operator and data type adds to its lattice

_MOST_PAIRS = 4096  # elements of a case that tries several inputs together
_MOST_ELEMENTS = 1024
_CHALLENGE_BYTES = 16
_FACTORS = ((2.0, 0.0), (-1.0, 0.0), (0.5, -0.25), (-3.0, 7.0), (3.3333333, -2.7182817))
_WHOLE_FACTORS = ((1.0, 0.0), (1.0, 1.0), (2.0, 3.0))
_WIDE: tuple[edge_values.Bounds, ...] = ((np.float32(-1000), np.float32(1000)), (np.float32(2), np.float32(6)))
_MOST_LOSSES = 40
_GIVEN_UP = Mishap("crash", f"given up after {_MOST_LOSSES} losses")
_Member = TypeVar("_Member")


@dataclass(frozen=True)
class Planned:
    """One case of the plan.

    Attributes:
        identity: what the case is, in words that differ for any two cases of a plan.
        case: what is dispatched.
    """

    identity: str
    case: Case

    @property
    def size(self) -> int:
        """Bytes of its output elements, packed."""
        target = self.case.operator.output
        return target.element_count * target.data_type.itemsize


class _Draw:
    """Choices that follow from a text, the same on every machine and with every version of every library."""

    def __init__(self, key: str) -> None:
        self._key, self._drawn = key, 0

    def below(self, limit: int) -> int:
        """A whole number from 0 to ``limit`` - 1."""
        self._drawn += 1
        digest = hashlib.sha256(f"{self._key}/{self._drawn}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % limit

    def of(self, members: Sequence[_Member]) -> _Member:
        """One of the members."""
        return members[self.below(len(members))]

    def shuffled(self, count: int) -> list[int]:
        """The numbers below ``count`` in any order."""
        left, order = list(range(count)), []
        while left:
            order.append(left.pop(self.below(len(left))))
        return order


def new_challenge() -> str:
    """A challenge that nobody can have known: 32 hexadecimal digits."""
    return secrets.token_hex(_CHALLENGE_BYTES)


def read_challenge(text: str | None) -> str:
    """The challenge that somebody wrote; "" for none.

    Raises:
        UsageError: it is none.
    """
    written = (text or "").strip().lower()
    if text is not None and not re.fullmatch(f"[0-9a-f]{{{2 * _CHALLENGE_BYTES}}}", written):
        raise UsageError(f"{text!r} is no challenge", "give the 32 digits that `dmlcts challenge` printed")
    return written


def plan(
    tables: Tables, level: FeatureLevel, seed: int, challenge: str = "", operators: Collection[str] | None = None
) -> list[Planned]:
    """The cases whose outputs a submission carries, in the order in which it carries them.

    Args:
        tables: the spec tables.
        level: the feature level; only what it obliges an implementation to accept is planned.
        seed: the run's seed, for the sample.
        challenge: what the verifier handed out beforehand; the sample is drawn from it as well.
        operators: full names of those that are certified; ``None`` for all.
    """
    chosen = sorted(name for name in tables.operators if operators is None or name in operators)
    with np.errstate(all="ignore"):  # infinities and NaNs are values like any other here
        return list(_plan(tables, chosen, level, f"{seed}/{challenge}" if challenge else str(seed), seed))


def _plan(tables: Tables, names: Sequence[str], level: FeatureLevel, drawn: str, seed: int) -> Iterator[Planned]:
    for name, table in ((name, tables.operators[name]) for name in names):
        listed = {data_type for support in table.support_at(level) for data_type in support.data_types}
        for data_type in DataType:
            for signature in signatures_on(table, data_type) if data_type in listed else ():
                subject = Subject(table, signature, level, seed, profile=profiles.FULL)
                cases = (
                    (_lattice(subject), _sample(subject, drawn))
                    if subject.of_one_type
                    else ((_pairs(subject), _sample_of_several(subject, drawn)))
                )
                for kind, case in itertools.chain(*cases):
                    if _judged(case, tables, level):
                        yield Planned(f"{name} {signature} {kind}", case)


def digest(planned: Sequence[Planned]) -> str:
    """SHA-256 of a plan: its cases in their order, whole descriptions and inputs included."""
    state = hashlib.sha256()
    for item in planned:
        state.update(f"{item.identity} {item.case.operator} {item.case.placement}\n".encode())
        for values in item.case.values.values():
            state.update(str(values.seed).encode() if values.data is None else values.data)
    return state.hexdigest()


def _judged(case: Case, tables: Tables, level: FeatureLevel) -> bool:
    """Whether the level obliges an implementation to accept the case, and the pages fix its casts."""
    if violations(case.operator, level, tables):
        return False
    case_oracle = oracle(case.operator, tables)
    try:
        _ = case_oracle.vector.attributes if isinstance(case_oracle, OneInput) else None
    except Unconstrained:
        return False
    return True


def oracle(operator: OperatorDesc, tables: Tables) -> Oracle:
    """The oracle of a description, with every latitude: a certification is never strict."""
    return oracle_of(tables, operator, strict=False)


def _fractional(data_type: DataType) -> list[edge_values.Bounds]:
    """Bounds that the type does not hold, for its casts."""
    if data_type is DataType.FLOAT32:
        return []
    if data_type is DataType.FLOAT16:
        written = [(-0.1, 0.1), (-65519.996, 65519.996), (0.3333333, 2049.0), (1.00048828125, 3.1415927)]
    elif data_type.is_signed:
        written = [(-2.75, 2.75), (-100.99, -0.5), (0.99, 7.5)]
    else:
        written = [(0.99, 7.5), (1.5, 100.99)]
    return [(np.float32(low), np.float32(high)) for low, high in written]


@lru_cache(maxsize=2)
def _specials(data_type: DataType) -> Any:
    """What the lattice of a floating type has beside its inputs for any operator."""
    return np.concatenate(
        [
            edge_values.ties(data_type),
            edge_values.near_ties(data_type),
            edge_values.integers(data_type),
            edge_values.subnormals(data_type),
            edge_values.nans(data_type),
        ]
    )


def _inputs(data_type: DataType, around: Sequence[Any]) -> Any:
    """The whole boundary lattice of a type; of an 8-bit type, every value."""
    if data_type.itemsize == 1:
        return edge_values.every_pattern(data_type)
    arrays = [edge_values.inputs(data_type, around)]
    if data_type.is_floating:
        arrays.append(_specials(data_type))
    values = np.concatenate(arrays)
    _, first = np.unique(values.view(data_type.bits_dtype), return_index=True)
    return values[np.sort(first)]


def _lattice(subject: Subject) -> Iterator[tuple[str, Case]]:
    data_type = subject.data_type
    pairs = [
        *edge_values.bounds(data_type),
        *edge_values.inverted_bounds(data_type),
        *edge_values.equal_bounds(data_type),
        *_fractional(data_type),
    ]
    for index, attributes in enumerate(subject.attribute_sets(pairs)):
        around = [attributes[name] for name in subject.table.float_attributes]
        clause = subject.values_clause(attributes)
        yield f"lattice {index}", subject.case(clause, _inputs(data_type, around), attributes)


def _sample(subject: Subject, drawn: str) -> Iterator[tuple[str, Case]]:
    table, data_type = subject.table, subject.data_type
    for number in range(SAMPLED):
        draw = _Draw(f"{drawn}/{table.operator}/{data_type.name}/{number}")
        name = next((item.name for item in table.attributes if item.type == "DML_SCALE_BIAS"), None)
        scaled = name is not None and number % 3 == 2
        attributes: dict[str, Any] = dict(draw.of(list(subject.attribute_sets(_WIDE if scaled else None))))
        if scaled and name is not None:
            attributes[name] = ScaleBias(*draw.of(_FACTORS if data_type.is_floating else _WHOLE_FACTORS))
        sizes = _sizes(draw, draw.of(subject.ranks))
        in_place = number % 4 == 3
        source, target = _layout(draw, sizes, in_place=in_place)
        values = _small(data_type) if scaled else Values.bulk(data_type, draw.below(1 << 32))
        placement = Placement(
            front=16 * (1 + draw.below(40)),
            gap=16 * (1 + draw.below(40)),
            tail=16 * (1 + draw.below(40)),
            in_place=in_place,
            output_first=not in_place and bool(draw.below(2)),
        )
        operator = subject.describe(sizes, attributes, source, target)
        yield f"sample {number}", Case(operator, values, subject.values_clause(attributes), None, "oracle", placement)


def _pairs(subject: Subject) -> Iterator[tuple[str, Case]]:
    """Edge values of several inputs together, a part of what the tests of values try; they know no seed."""
    subject = replace(subject, seed=0, profile=profiles.QUICK)
    for index, attributes in enumerate(subject.attribute_sets()):
        clause = subject.values_clause(attributes)
        for place, elements in enumerate(subject.edge_sets()):
            some = elements[:: -(-elements.count // _MOST_PAIRS)]
            yield f"lattice {index}.{place}", subject.case(clause, some, attributes)


def _sample_of_several(subject: Subject, drawn: str) -> Iterator[tuple[str, Case]]:
    """Bulk values in layouts of their own for each tensor, some of them in place."""
    table = subject.table
    for number in range(SAMPLED):
        draw = _Draw(f"{drawn}/{table.operator}/{subject.signature}/{number}")
        attributes = draw.of(list(subject.attribute_sets()))
        sizes = _sizes(draw, draw.of(subject.ranks))
        layouts = {name: _strides(draw, sizes, broadcast=False) if draw.below(3) else None for name in subject.inputs}
        target = _strides(draw, sizes, broadcast=False) if draw.below(2) else None
        operator = subject.describe(sizes, attributes, None, target, layouts=layouts)
        aliases = table.tensors[table.output].may_alias
        alias = draw.of(list(aliases)) if aliases and number % 4 == 3 else ""
        if alias:
            operator = subject.describe(sizes, attributes, None, layouts[alias], layouts=layouts)
        if aliases_of(table, operator).count(alias) == 0:
            alias = ""
        placement = Placement(
            front=16 * (1 + draw.below(40)),
            gap=16 * (1 + draw.below(40)),
            tail=16 * (1 + draw.below(40)),
            in_place=bool(alias),
            alias=alias,
            output_first=not alias and bool(draw.below(2)),
        )
        values = subject.bulk(draw.below(1 << 32))
        yield f"sample {number}", Case(operator, values, subject.values_clause(attributes), None, "oracle", placement)


def _small(data_type: DataType) -> Values:
    """Values small enough that no scale overflows an integer; the lattice of the type for floats."""
    if data_type.is_floating:
        inputs = edge_values.inputs(data_type)
        return Values.of(inputs[np.isfinite(inputs)], data_type)
    low = -20 if data_type.is_signed else 0
    return Values.of(np.arange(low, 40), data_type)


def _sizes(draw: _Draw, rank: int) -> tuple[int, ...]:
    room, sizes = _MOST_ELEMENTS, []
    for _ in range(rank):
        size = 1 + draw.below(min(room, 23))
        sizes.append(size)
        room //= size
    return tuple(sizes[axis] for axis in draw.shuffled(rank))


def _layout(
    draw: _Draw, sizes: tuple[int, ...], *, in_place: bool
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Strides of the input and of the output: packed, permuted, with gaps, the input perhaps broadcast."""
    source = _strides(draw, sizes, broadcast=not in_place) if draw.below(3) else None
    if in_place:
        return source, source
    return source, _strides(draw, sizes, broadcast=False) if draw.below(2) else None


def _strides(draw: _Draw, sizes: tuple[int, ...], *, broadcast: bool) -> tuple[int, ...]:
    strides, step = [0] * len(sizes), 1
    for axis in draw.shuffled(len(sizes)):
        if broadcast and not draw.below(4):
            continue
        step += draw.below(3)
        strides[axis] = step
        step *= sizes[axis]
    return tuple(strides)


@dataclass(frozen=True)
class Absent:
    """A planned case that has no output.

    Attributes:
        case: its position in the plan.
        outcome: "refused", or the outcome of what happened instead.
        wording: what the implementation said.
    """

    case: int
    outcome: str
    wording: str


def gather(bench: Bench, planned: Sequence[Planned]) -> tuple[bytes, list[Absent]]:
    """Dispatch a plan on a device.

    Returns:
        The output elements of all cases, packed, little-endian, in the plan's order, with zeros where a case
        has none; and the cases that have none.
    """
    outputs, absent = [], []
    lost = 0
    for index, item in enumerate(planned):
        outcome = _dispatched(bench, item.case, hurry=lost > 0) if lost < _MOST_LOSSES else _GIVEN_UP
        if isinstance(outcome, Execution):
            little = outcome.output.dtype.newbyteorder("<")
            outputs.append(outcome.output.astype(little, copy=False).tobytes())
            continue
        lost += isinstance(outcome, Mishap) and outcome.outcome != "fail"
        absent.append(Absent(index, outcome.outcome if isinstance(outcome, Mishap) else "refused", outcome.text[:200]))
        outputs.append(bytes(item.size))
    return b"".join(outputs), absent


def _dispatched(bench: Bench, case: Case, *, hurry: bool) -> Outcome:
    """Run a case; one that hangs after another has hung gets less time."""
    try:
        with bench.hurried() if hurry else contextlib.nullcontext():
            return bench.run(case)
    except DeviceGone as error:
        return Mishap("device_lost", str(error))


@dataclass(frozen=True)
class Wrong:
    """A planned case whose carried outputs are not what the pages say.

    Attributes:
        planned: the case.
        elements: how many elements are wrong.
        wording: the first of them, for a person.
    """

    planned: Planned
    elements: int
    wording: str


def judge(planned: Sequence[Planned], outputs: bytes, absent: frozenset[int], tables: Tables) -> list[Wrong]:
    """Judge carried outputs against inputs that are made here, from the plan.

    Args:
        planned: the plan, made by the verifier.
        outputs: what :func:`gather` returned; as long as the plan asks for.
        absent: positions of the cases that have no output.
        tables: the verifier's tables.
    """
    failures, start = [], 0
    for index, item in enumerate(planned):
        carried = outputs[start : start + item.size]
        start += item.size
        if index in absent:
            continue
        data_type = item.case.operator.output.data_type
        output = np.frombuffer(carried, data_type.numpy.newbyteorder("<")).astype(data_type.numpy)
        inputs = Arena.prepare(item.case).inputs
        with np.errstate(all="ignore"):  # infinities and NaNs are values like any other here
            wrong = oracle(item.case.operator, tables).judge(inputs, output)
        if wrong.size:
            first = int(wrong[0])
            input_text = inputs_text(inputs, first, text_with_bits)
            message = f"element {first}: input {input_text} gives {text_with_bits(output[first])}"
            failures.append(Wrong(item, int(wrong.size), message))
    return failures
