"""Which other kernels a case's own is put beside: of other attributes, on other tensors, and of other operators.

What is wrong among them is judged in :mod:`dmlcts.suites.judging.neighbours`.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from dmlcts.specs import OperatorDesc, ScalarUnion, ScaleBias, TensorDesc
from dmlcts.specs.descriptions import Attribute
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.rules import violations
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature, signatures
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.generation import attributes as ordinary_attributes
from dmlcts.suites.generation.attributes import Attributes
from dmlcts.suites.generation.subject import Subject

Others = tuple[Sequence[OperatorTable], Sequence[OperatorTable]]
"""Operators that take the same tensors as one: the few that share most attributes with it, and the rest."""

_TOO_DEEP = 9  # dimensions
_NEAR = 2.0**-20  # of a number: more than results may be wrong by, less than FLOAT16 or six digits show
_HIGH_WORD = 1 << 32
_MOST_OTHERS = 6  # operators beside the case's own
_OTHER_TYPES = 2


def neighbours(bench: Bench, case: Case) -> list[OperatorDesc]:
    """Descriptions of the same tensors with other attributes, and of a few other operators that take them."""
    mine = bench.tables.operator(case.operator.name)
    variants_by_operator = {mine.operator: [*_judged_variants(bench, mine, case), *_nearly_alike(bench, mine, case)]}
    for table in _in_turn(_takers(bench, case), _number_of(case)):
        if len(variants_by_operator) > _MOST_OTHERS:
            break
        if variants := list(_judged_variants(bench, table, case)):
            variants_by_operator[table.operator] = variants
    return [operator for name in bench.tables.operators for operator in variants_by_operator.get(name, ())]


def _judged_variants(
    bench: Bench, table: OperatorTable, case: Case, order: Callable[..., Iterable[Attributes]] = iter
) -> Iterator[OperatorDesc]:
    tensors = {name: (tensor.data_type, tensor.rank) for name, tensor in case.operator.tensors.items()}
    if not table.supports(tensors, bench.level):
        return iter(())  # nobody is obliged to accept one of them
    return (variant for variant in _variants(table, case, order) if variant != case.operator and bench.obliged(variant))


def _number_of(case: Case) -> int:
    return zlib.crc32(repr(case.operator).encode())


def _in_turn(others: Others, number: int) -> list[OperatorTable]:
    """First those that share attributes with an operator, then the rest in turn: each comes beside it in some case."""
    alike, rest = others
    start = number % max(1, len(rest))
    return [*alike, *rest[start:], *rest[:start]]


def _by_attributes(mine: OperatorTable, others: Sequence[OperatorTable]) -> Others:
    names = {item.name for item in mine.attributes if item.type != "DML_SCALE_BIAS"}
    shared = {table.operator: len(names & {item.name for item in table.attributes}) for table in others}
    alike = sorted((table for table in others if shared[table.operator]), key=lambda table: -shared[table.operator])
    alike = alike[: _MOST_OTHERS // 2]
    return tuple(alike), tuple(table for table in others if table not in alike)


def _takers(bench: Bench, case: Case) -> Others:
    """The other operators that take the case's tensors."""
    return _others(ByIdentity(bench.tables), case.operator.name, tuple(case.operator.tensors))


@lru_cache(maxsize=512)
def _others(tables_key: ByIdentity[Tables], name: str, tensors: tuple[str, ...]) -> Others:
    tables, mine = tables_key.value.operators, tables_key.value.operator(name)
    return _by_attributes(mine, [table for table in tables.values() if table is not mine and _takes(table, tensors)])


def _takes(table: OperatorTable, tensors: Collection[str]) -> bool:
    """Whether an operator has tensors of these names, and needs no others."""
    needed = {name for name, row in table.tensors.items() if not row.optional}
    return needed <= set(tensors) <= set(table.tensors)


def _variants(table: OperatorTable, case: Case, order: Callable[..., Iterable[Attributes]]) -> Iterator[OperatorDesc]:
    low, high = (2, 6) if case.data_type.is_floating or table.operator != case.operator.name else (3, 7)
    for attributes in order(ordinary_attributes.variants(table, Signature.of(case.operator, table), low, high)):
        yield OperatorDesc(table.operator, case.operator.tensors, attributes)


def _nearly_alike(bench: Bench, table: OperatorTable, case: Case) -> list[OperatorDesc]:
    """Of the operator's own variants one with each number changed alone, and those with a scale or a bias alone.

    And those with numbers that a coarse comparison takes for the first variant's.
    """
    variants = list(_judged_variants(bench, table, case))
    if not variants or any(tensor.strides is not None for tensor in case.operator.tensors.values()):
        return []  # of strided kernels those that differ in all of them have to do
    base, signature = variants[0], Signature.of(case.operator, table)
    bounds = [item for item in table.attributes if item.is_number and item.role in ("low", "high")]
    less = 1 if case.data_type.is_floating else 2
    changed: list[dict[str, Attribute]] = [
        {item.name: ordinary_attributes.number(table, signature, item, less if item.role == "low" else 40)}
        for item in (bounds if len(bounds) > 1 else [])
    ]
    scaled = [item.name for item in table.attributes if item.type == "DML_SCALE_BIAS"]
    changed += [{name: ScaleBias(*numbers)} for name in scaled for numbers in ((2, 0), (1, 1))]
    changed += _next_to(table, signature, base)
    candidates = (replace(base, attributes={**base.attributes, **change}) for change in changed)
    return [
        candidate
        for candidate in candidates
        if candidate not in (case.operator, *variants) and bench.obliged(candidate)
    ]


def _next_to(table: OperatorTable, signature: Signature, base: OperatorDesc) -> list[dict[str, Attribute]]:
    """Changes of a description's first number to the other sign, and of its last one in what few bits leave out.

    The first of several numbers is a lower bound, the last one an upper bound: they stay in their order. Of a ScaleBias
    the bias changes its sign and the scale its last bits, seven of them: results have to show it.
    """
    kind = signature.data_type
    numbers = [(item, _plain(base.attributes[item.name])) for item in table.attributes if item.is_number]
    changed = [(item, -value) for item, value in numbers[:1] if kind.is_signed]
    for item, value in numbers[-1:]:
        further = value * _NEAR if kind.is_floating else _HIGH_WORD if kind.itemsize == 8 else 0
        changed.append((item, value + further))
    changes: list[dict[str, Attribute]] = [
        {item.name: ordinary_attributes.number(table, signature, item, value)} for item, value in changed
    ]
    for item in table.attributes:
        if item.type == "DML_SCALE_BIAS":
            changes += [{item.name: ScaleBias(2, -1)}] if kind.is_signed else []
            changes += [{item.name: ScaleBias(2 + 2 * _NEAR, 1)}] if kind.is_floating else []
    return changes


def _plain(number: Attribute) -> Any:
    """A number by itself, of a union or not."""
    return number.value if isinstance(number, ScalarUnion) else number


def on_other_tensors(subject: Subject, operator: OperatorDesc) -> list[OperatorDesc]:
    """A description of the subject on other tensors: more elements, one, strided ones, and those of other types.

    Attributes stay; of other types they are ordinary ones where their own type is the tensor's.
    """
    sizes, attributes = operator.output.sizes, operator.attributes
    spread = tuple(2 * stride for stride in TensorDesc(subject.data_type, sizes).element_strides)
    strides = spread if operator.output.strides is None else None
    descriptions = [
        subject.describe((*sizes[:-1], 2 * sizes[-1]), attributes),
        subject.describe((1,) * len(sizes), attributes),
        subject.describe(sizes, attributes, strides, strides),
    ]
    here, size = subject.signature, subject.data_type.itemsize
    others = [
        signature
        for signature in signatures(subject.table)
        if signature.present == here.present and signature.types != here.types
    ]
    for other in sorted(others, key=lambda candidate: candidate.data_type.itemsize != size)[:_OTHER_TYPES]:
        turned = replace(subject, signature=other)
        kept = not any(item.type == "DML_SCALAR_UNION" for item in subject.table.attributes)
        descriptions.append(turned.describe(sizes, attributes if kept else turned.attributes()))
    return [description for description in descriptions if description != operator]


def on_nearly_the_same_tensors(subject: Subject, operator: OperatorDesc) -> list[OperatorDesc]:
    """A description of the subject on tensors that differ from a description's in one respect each.

    In the strides of one tensor, in which input is broadcast, in which of two inputs has the strides, in the total
    sizes, in the order of packed sizes, in the type that one type variable but the first stands for, in which optional
    tensors are there.
    """
    sizes, tensors = operator.output.sizes, operator.tensors
    descriptions = []
    for name in subject.wide:
        tensor = tensors[name]
        spread = [2 * stride for stride in TensorDesc(tensor.data_type, sizes).element_strides]
        other = TensorDesc(tensor.data_type, sizes, None if tensor.strides else spread)
        descriptions.append(replace(operator, tensors={**tensors, name: other}))
    descriptions += _laid_otherwise(subject, operator)
    larger = {
        name: replace(original, total_size_in_bytes=original.total_size_in_bytes + 16)
        for name, original in tensors.items()
    }
    descriptions.append(replace(operator, tensors=larger))
    if all(tensor.strides is None for tensor in tensors.values()):
        descriptions.append(subject.describe(sizes[::-1], operator.attributes))
    laid = {name: tensors[name].strides for name in subject.wide}
    for signature in _nearest(subject.table, subject.signature):
        alike = replace(subject, signature=signature)
        descriptions.append(
            alike.describe(sizes, operator.attributes, operator.input.strides, operator.output.strides, layouts=laid)
        )
    return [description for description in dict.fromkeys(descriptions) if description != operator]


def _laid_otherwise(subject: Subject, operator: OperatorDesc) -> list[OperatorDesc]:
    """The description with one row for all of each input in turn, and with the strides of two inputs exchanged.

    Where there is a single row it is one element for all.
    """
    tensors, names = operator.tensors, list(subject.inputs)
    *outer, _ = operator.output.sizes
    repeated = (*[0] * len(outer), int(any(size > 1 for size in outer)))
    laid: list[dict[str, Sequence[int] | None]] = [{name: repeated} for name in names]
    laid += [
        {first_name: tensors[other].strides, other: tensors[first_name].strides}
        for first_name, other in itertools.pairwise(names)
    ]
    layouts = (
        {
            name: TensorDesc(tensors[name].data_type, tensors[name].sizes, strides)
            for name, strides in strides_by_name.items()
        }
        for strides_by_name in laid
    )
    return [replace(operator, tensors={**tensors, **layout}) for layout in layouts]


def _nearest(table: OperatorTable, own: Signature) -> list[Signature]:
    """One signature with each type variable but the first changed alone, and those with other optional tensors."""
    every = [signature for signature in signatures(table) if signature != own]
    nearest = [signature for signature in every if signature.types == own.types]
    for variable, _ in own.types[1:]:
        alike = (
            signature
            for signature in every
            if signature.present == own.present
            and signature == own.exchanged(variable, dict(signature.types).get(variable, own.data_type))
        )
        nearest += itertools.islice(alike, 1)
    return nearest


def two_neighbours(bench: Bench, case: Case) -> list[OperatorDesc]:
    """The operator with other attributes and another operator, both on equal tensors, where there are such."""
    mine = bench.tables.operator(case.operator.name)
    number = _number_of(case)
    takers = _in_turn(_takers(bench, case), number)[:_MOST_OTHERS]
    start = number % max(1, len(takers))  # each of them has its turn
    others = (
        variant for table in [*takers[start:], *takers[:start]] for variant in _judged_variants(bench, table, case)
    )
    return [*itertools.islice(_judged_variants(bench, mine, case, reversed), 1), *itertools.islice(others, 1)]


def mismatched(bench: Bench, case: Case) -> OperatorDesc:
    """A description that no implementation may accept: of other attributes, its output larger than its inputs.

    Where no page says that sizes have to be equal, the output's total size is too small for them instead.
    """
    mine = bench.tables.operator(case.operator.name)
    other = [case.operator, *_judged_variants(bench, mine, case)][-1]
    sizes, data_type = (*other.output.sizes[:-1], other.output.sizes[-1] + 4), other.output.data_type
    odd = _with_output(mine, other, TensorDesc(data_type, sizes))
    if violations(odd, bench.level, bench.tables):
        return odd
    return _with_output(mine, other, TensorDesc(data_type, sizes, total_size_in_bytes=4))


def refusable(bench: Bench, case: Case) -> list[OperatorDesc]:
    """Descriptions of other attributes that no implementation may accept: of unlike sizes, of unlike types, too deep.

    Types are left out where no page says that they have to be equal.
    """
    mine = bench.tables.operator(case.operator.name)
    odd = mismatched(bench, case)
    output, types = case.operator.output, mine.types_of(mine.output)
    retyped = (
        _with_output(mine, replace(odd, tensors=case.operator.tensors), TensorDesc(data_type, output.sizes))
        for data_type in types
        if data_type is not output.data_type
    )
    unlike = [description for description in retyped if violations(description, bench.level, bench.tables)]
    deep = {
        name: TensorDesc(tensor.data_type, (*((1,) * (_TOO_DEEP - tensor.rank)), *tensor.sizes))
        for name, tensor in case.operator.tensors.items()
    }
    return [odd, *unlike[:1], replace(odd, tensors=deep)]


def _with_output(table: OperatorTable, operator: OperatorDesc, output: TensorDesc) -> OperatorDesc:
    return OperatorDesc(operator.name, {**operator.tensors, table.output: output}, operator.attributes)


def ordinary_values(bench: Bench, operator: OperatorDesc) -> Streams:
    """Values for a description that is not on the case's tensors."""
    subject = Subject.of(bench.tables.operator(operator.name), operator, bench.level)
    return subject.distinct(operator.output.element_count).streams
