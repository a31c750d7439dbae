"""What is swept: targets made from the tables, and the blocks they are cut into.

A target is one operator, signature and set of attributes with all the inputs it is asked for. A block is a
part of a target that is generated, dispatched and judged by itself, on any machine, any number of times, with
the same outcome. A new operator's table is swept like the others.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScalarUnion
from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.descriptions import Attribute
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature, signatures_on
from dmlcts.suites.cases.oracles import of_one_type, oracle_of
from dmlcts.suites.cases.values import Values, text
from dmlcts.suites.generation import edge_values
from dmlcts.suites.generation.profiles import PROFILES, QUICK, Profile
from dmlcts.suites.generation.signature_tensors import named
from dmlcts.suites.generation.subject import Subject

Kind = Literal["patterns", "sample", "bounds"]

BLOCK_PATTERNS = 1 << 24
BLOCK_SAMPLES = 1 << 22
BLOCK_BOUNDS = 1 << 11
FINITE_FLOAT16 = 63_488
_MOST_BITS = 32
_FEW_SETS = 3  # sets of attributes that the quick profile tries on an operator of several inputs
_LOOKED_AT = 256
_INFINITY = np.float32(np.inf)
_NAN = np.float32(np.nan)


@dataclass(frozen=True)
class Target:
    """One thing to sweep.

    Attributes:
        operator: the operator's full name.
        data_type: the element type; of several that of the first type variable.
        attributes: all attributes; for ``bounds`` those that stay.
        clause: id of the clause that a wrong value breaks.
        kind: "patterns": every bit pattern of the type, of several inputs every combination of patterns; "sample": the
            boundary lattice and seeded values; "bounds": every pattern for each finite FLOAT16 value of the attribute
            ``bound``.
        size: how many patterns, combinations, sampled values or bounds there are.
        bound: the attribute that "bounds" varies, else "".
        ties: "bounds" takes the tie above each FLOAT16 value in place of the value itself.
        seed: of sampled values.
        signature: what the type variables stand for, where the operator is not of one input and one type.
        inputs: the data types of the inputs by name there; empty for an only input of the output's type.
        output: the data type of the output there.
    """

    operator: str
    data_type: DataType
    attributes: dict[str, Attribute]
    clause: str
    kind: Kind
    size: int
    bound: str = ""
    ties: bool = False
    seed: int = 0
    signature: Signature | None = None
    inputs: tuple[tuple[str, DataType], ...] = ()
    output: DataType | None = None

    @property
    def output_type(self) -> DataType:
        """The data type of the output."""
        return self.output or self.data_type

    @property
    def input_bits(self) -> int:
        """Bits of the inputs of one output element."""
        types = [data_type for _, data_type in self.inputs] or [self.data_type]
        return 8 * sum(data_type.itemsize for data_type in types)

    @property
    def key(self) -> str:
        """A name that no other target of the plan has: ``CLIP-FLOAT32 Min=-1 Max=1``."""
        types = self.data_type.name if self.signature is None else named(self.signature)
        words = [f"{self.operator.removeprefix('ELEMENT_WISE_')}-{types}"]
        for name, value in self.attributes.items():
            if name == self.bound:
                words.append(f"{name}={'every tie' if self.ties else 'every'} FLOAT16")
            elif isinstance(value, np.float32):
                words.append(f"{name}={text(value)}")
            elif isinstance(value, ScalarUnion):
                words.append(f"{name}={text(value.value)}")
            elif isinstance(value, str):
                words.append(f"{name}={value}")
        if self.kind == "sample":
            words.append(f"seed={self.seed}")
        return " ".join(words)

    @property
    def elements(self) -> int:
        """How many elements the whole target judges."""
        return self.size << 16 if self.kind == "bounds" else self.size

    def elements_in(self, block: Block) -> int:
        """How many elements a block of the target judges."""
        return block.count << 16 if self.kind == "bounds" else block.count

    def block_size(self) -> int:
        """Patterns, samples or bounds of a block."""
        return {"patterns": BLOCK_PATTERNS, "sample": BLOCK_SAMPLES, "bounds": BLOCK_BOUNDS}[self.kind]

    def blocks(self, number: int) -> Iterator[Block]:
        """The target's blocks in order; ``number`` is its place in the plan."""
        step = self.block_size()
        for start in range(0, self.size, step):
            yield Block(number, start, min(step, self.size - start))


@dataclass(frozen=True)
class Block:
    """Part of a target: ``count`` patterns, samples or bounds from ``start`` on."""

    target: int
    start: int
    count: int

    @property
    def id(self) -> str:
        """Its name in the journal."""
        return f"{self.target}:{self.start:#x}+{self.count:#x}"


@dataclass(frozen=True)
class Plan:
    """The targets of a sweep, in order.

    Attributes:
        targets: what is swept.
        open: signatures of operators whose tables leave every value open: a sweep could find nothing wrong with them.
    """

    targets: tuple[Target, ...]
    open: tuple[str, ...] = ()

    def blocks(self) -> Iterator[Block]:
        """All blocks, target by target."""
        for number, target in enumerate(self.targets):
            yield from target.blocks(number)

    @property
    def elements(self) -> int:
        """How many elements the whole plan judges."""
        return sum(target.elements for target in self.targets)

    @property
    def digest(self) -> str:
        """What two plans share if and only if they ask for the same."""
        rows = [[target.key, target.clause, target.kind, target.size, target.block_size()] for target in self.targets]
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]


def bound_value(index: int, *, tie: bool) -> np.float32:
    """The ``index``-th finite FLOAT16 value as a FLOAT, or the tie between it and the next away from zero."""
    half = FINITE_FLOAT16 // 2
    pattern = index if index < half else 0x8000 + index - half
    here = np.array(pattern, np.uint16).view(np.float16)
    if not tie or pattern & 0x7FFF == 0x7BFF:  # beyond the greatest value lies what the pages leave open
        return np.float32(here)
    there = np.array(pattern + 1, np.uint16).view(np.float16)
    return np.float32((float(here) + float(there)) / 2)


@dataclass(frozen=True)
class _Maker:
    """Makes the targets of one operator and element type."""

    subject: Subject
    seed: int
    profile: Profile

    def _clause(self, *names: OwnCheck) -> str:
        return self.subject.table.clause_of(*names) or ""

    def targets(self) -> Iterator[Target]:
        """Without repetitions: where only Min is an attribute, pairs with the same Min are one."""
        seen = set()
        for target in self._all():
            if target.key not in seen:
                seen.add(target.key)
                yield target

    def _all(self) -> Iterator[Target]:
        data_type = self.subject.data_type
        for pairs, clause in self._bounds():
            for attributes in self.subject.attribute_sets(pairs):
                yield self._target(attributes, clause or self.subject.values_clause(attributes))
        if data_type is DataType.FLOAT16:
            yield from self._cast_targets()

    def _target(self, attributes: dict[str, Any], clause: str) -> Target:
        data_type = self.subject.data_type
        operator = self.subject.table.operator
        if data_type.itemsize > 4:
            size = self.profile.sweep_samples
            return Target(operator, data_type, attributes, clause, "sample", size, seed=self.seed)
        return Target(operator, data_type, attributes, clause, "patterns", 1 << (8 * data_type.itemsize))

    def _bounds(self) -> Iterator[tuple[list[edge_values.Bounds], str]]:
        """Pairs of bounds with the clause they are about; ``""`` for the clause of the values."""
        data_type, table = self.subject.data_type, self.subject.table
        if not table.float_attributes:
            yield [(np.float32(-1), np.float32(1))], ""
            return
        few = None if self.profile.every_partner or data_type.itemsize < 4 else 4
        ordinary = edge_values.bounds(data_type)
        if few is not None and data_type.is_floating:
            ordinary = [ordinary[0], ordinary[1], ordinary[6], (np.float32(-0.1), np.float32(0.3))]
        yield ordinary[:few], ""
        yield edge_values.equal_bounds(data_type)[: few and 1], self._clause("bounds.equal", "values")
        yield edge_values.inverted_bounds(data_type)[: few and 2], self._clause("bounds.inverted", "values")
        if not data_type.is_floating:
            low, high = edge_values.limits_as_float(data_type)
            yield [(np.float32(2.9), high), (low, np.float32(100.75))], self._clause("cast.integer", "cast.inexact")
            return
        infinite = [
            (-_INFINITY, _INFINITY),
            (np.float32(0), _INFINITY),
            (-_INFINITY, np.float32(0)),
            (_INFINITY, -_INFINITY),
        ]
        yield infinite[: few and 3], self._clause("bounds.infinite", "values")
        tiny = np.finfo(data_type.numpy).smallest_subnormal
        subnormal = np.float32(tiny * data_type.numpy.type(3))
        yield [(-subnormal, subnormal), (subnormal, np.float32(1))][: few and 1], ""
        nan = self._clause("nan.bound")
        if nan:
            yield [(_NAN, np.float32(2)), (np.float32(-1), _NAN), (_NAN, _NAN)], nan

    def _cast_targets(self) -> Iterator[Target]:
        """Every finite FLOAT16 bound: as the lower one itself; as the upper one the tie above, where it is rounded."""
        table = self.subject.table
        greatest = np.float32(np.finfo(np.float16).max)
        clause = self._clause("cast.float16", "cast.exact", "values")
        for name in table.float_attributes:
            attribute = table.attribute(name)
            ties = name != table.lower and attribute is not None and attribute.cast == "documented"
            attributes = self.subject.between(-greatest, greatest)
            yield Target(table.operator, DataType.FLOAT16, attributes, clause, "bounds", FINITE_FLOAT16, name, ties)


def subject_of(tables: Tables, target: Target, level: FeatureLevel) -> Subject:
    """The operator and signature of a target, at a level."""
    table = tables.operator(target.operator)
    if target.signature is not None:
        return Subject(table, target.signature, level, target.seed, profile=QUICK)
    return Subject.on(table, target.data_type, level, target.seed)


def plan(
    tables: Tables,
    level: FeatureLevel,
    *,
    operators: Iterable[OperatorTable],
    data_types: Iterable[DataType],
    profile: str = "quick",
    seed: int = 0,
    claims: Any = None,
) -> Plan:
    """The sweep of what a level obliges.

    Args:
        tables: the spec tables.
        level: the feature level that is judged.
        operators: the tables to sweep.
        data_types: the element types to sweep, where the level obliges them.
        profile: "quick" takes a few pairs of bounds, "full" all that the lattice has.
        seed: of sampled values.
        claims: says of an operator's name and a type whether the device claims it; ``None`` for all.
    """
    wanted = set(data_types)
    targets: list[Target] = []
    left_open: list[str] = []
    for table in operators:
        for data_type in DataType:
            obliged = any(table.obliged(data_type, rank, level) for rank in range(1, 9))
            if data_type not in wanted or not obliged or (claims and not claims(table.operator, data_type)):
                continue
            if of_one_type(table) and tables.law(table).of_one_input:  # which the oracle of blocks answers
                subject = Subject.on(table, data_type, level, seed, PROFILES[profile])
                targets += _Maker(subject, seed, PROFILES[profile]).targets()
                continue
            for signature in signatures_on(table, data_type):
                subject = Subject(table, signature, level, seed, PROFILES[profile])
                if subject.obliged_ranks:
                    made = list(_of_several(subject, tables))
                    targets += made
                    left_open += [] if made else [str(subject)]
    return Plan(tuple(targets), tuple(left_open))


def _of_several(subject: Subject, tables: Tables) -> Iterator[Target]:
    """The targets of an operator that is not of one input and one type, on one signature."""
    judged = (attribute_set for attribute_set in subject.attribute_sets() if _is_judged(subject, attribute_set, tables))
    for attributes in itertools.islice(judged, None if subject.profile.every_partner else _FEW_SETS):
        target = Target(
            subject.table.operator,
            subject.data_type,
            attributes,
            subject.values_clause(attributes),
            "patterns",
            0,
            seed=subject.seed,
            signature=subject.signature,
            inputs=tuple(subject.inputs.items()),
            output=subject.types[subject.table.output],
        )
        if target.input_bits > _MOST_BITS:
            yield replace(target, kind="sample", size=subject.profile.sweep_samples)
        else:
            yield replace(target, size=1 << target.input_bits)


def _is_judged(subject: Subject, attributes: dict[str, Any], tables: Tables) -> bool:
    """Whether the tables say what is right: not where casts are open, or any value is permitted everywhere."""
    elements = subject.distinct(_LOOKED_AT)
    oracle = oracle_of(tables, subject.describe(subject.flat(elements.count), attributes), strict=False)
    try:
        with np.errstate(all="ignore"):
            accepted = oracle.acceptance(elements.spread)
    except Unconstrained:
        return False
    return accepted.any_value is None or not bool(accepted.any_value.all())


def described(tables: Tables, target: Target, level: FeatureLevel, count: int, index: int = 0) -> OperatorDesc:
    """The description of ``count`` elements of a target; ``index`` chooses the bound where it varies."""
    subject = subject_of(tables, target, level)
    return with_bound(subject.describe(subject.flat(count), target.attributes), target, index)


def with_bound(operator: OperatorDesc, target: Target, index: int) -> OperatorDesc:
    """The description with another bound, where the target varies it; else the description itself."""
    if target.kind != "bounds":
        return operator
    bound = {target.bound: bound_value(index, tie=target.ties)}
    return OperatorDesc(operator.name, operator.tensors, {**operator.attributes, **bound})


def sample(target: Target, start: int, count: int) -> Values:
    """The values of a sample's block: the boundary lattice first, then seeded values."""
    bulk = Values.bulk(target.data_type, target.seed * 1_000_003 + start // BLOCK_SAMPLES)
    if start:
        return bulk
    around = [value for value in target.attributes.values() if isinstance(value, np.float32)]
    special = edge_values.inputs(target.data_type, around)
    filled = bulk.array(count)
    filled[: special.size] = special[:count]
    return Values.of(filled, target.data_type)


def resized(target: Target, size: int) -> Target:
    """The target cut down to its first ``size`` patterns, samples or bounds; for trials."""
    return replace(target, size=size)
