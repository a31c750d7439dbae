"""Which other kernels a case's own is put beside: of other attributes, on other tensors, and of other operators.

And what is wrong with one of those by itself.
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
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.rules import violations
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature, signatures
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Mishap, Refusal, Unsupported
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.generation import attributes as ordinary_attributes
from dmlcts.suites.generation.attributes import Attributes
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import Finding, Judgement, is_mishap
from dmlcts.suites.judging.outputs import judge_dispatch, judge_oracle
from dmlcts.suites.judging.refusals import stride_clause

Made = list[tuple[Any, OperatorDesc]]
"""Kernels, or why there is none, with their descriptions."""

Others = tuple[Sequence[OperatorTable], Sequence[OperatorTable]]
"""Operators that take the same tensors as one: the few that share most attributes with it, and the rest."""

BESIDE_OTHER_TENSORS = "beside other tensors"
"""The expectation of a kernel between kernels on other tensors."""

_TOO_DEEP = 9  # dimensions
_NEAR = 2.0**-20  # of a number: more than results may be wrong by, less than FLOAT16 or six digits show
_HIGH_WORD = 1 << 32
_MOST_OTHERS = 6  # operators beside the case's own


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


def own_case(bench: Bench, case: Case, operator: OperatorDesc, values: Streams) -> Case:
    """A neighbour on a memory like the case's, as a case of its own: by its values or, with strides, by those."""
    subject = Subject.of(bench.tables.operator(operator.name), operator, bench.level)
    strided = any(tensor.strides is not None for tensor in operator.tensors.values())
    layout_clause = stride_clause(operator) if strided else None
    clause = subject.scaled_values_clause(operator.attributes)
    return Case(operator, values, clause, layout_clause, placement=case.placement)


def judge_on_a_fresh_device(bench: Bench, case: Case) -> Judgement:
    """The case judged where nothing ran before it."""
    fresh = bench.fresh()
    try:
        return judge_oracle(fresh, case)
    finally:
        fresh.close()


def by_itself(bench: Bench, case: Case, own: Case) -> tuple[Finding, ...] | None:
    """What is wrong with a case's neighbour where nothing ran before it as well; ``None`` where nothing is.

    It is reported for kernels of the case's operator. What is wrong with another operator is left to its own tests, not
    reported again beside each that takes its tensors; and what stops a dispatch may do so at silent points alone.
    """
    findings = judge_on_a_fresh_device(bench, own).findings
    first_findings = findings[:1] if own.operator.name == case.operator.name else ()
    return tuple(finding for finding in first_findings if not is_mishap(finding)) if findings else None


def is_settled(alone: Judgement) -> bool:
    """Whether a case is wrong, refused or unsupported whatever its history."""
    return bool(alone.findings) or alone.refused or alone.unsupported is not None


def by_its_place(bench: Bench, case: Case) -> Judgement | None:
    """A dispatch of several as a case of its own, about its place; ``None`` where nothing is wrong then.

    What is wrong in place, or at an offset, by itself says nothing of how often a kernel ran.
    """
    subject = Subject.of(bench.tables.operator(case.operator.name), case.operator, bench.level)
    place_clause = subject.in_place_clause if case.placement.in_place else "binding.same-resource"
    own = replace(
        case,
        clause=subject.scaled_values_clause(case.operator.attributes),
        expectation="oracle",
        layout_clause=place_clause,
        recipe=None,
    )
    judgement = judge_on_a_fresh_device(bench, own)
    return judgement if judgement.findings else None


def with_own_faults(judgement: Judgement, faults: Sequence[Finding]) -> Judgement:
    """The judgement of a case among neighbours; where it is right, one fault that a neighbour has by itself."""
    return judgement if judgement.findings or not faults else replace(judgement, findings=tuple(faults[:1]))


def stops_by_itself(bench: Bench, case: Case) -> bool:
    """Whether a kernel is not made, or not closed, also where nothing ran before."""
    fresh = bench.fresh()
    try:
        kernel = fresh.create(case.operator)
        if isinstance(kernel, (Refusal, Mishap)):
            return True
        fresh.run_unjudged(kernel, case)
        return fresh.closed(kernel) is not None
    finally:
        fresh.close()


def closed(bench: Bench, case: Case, others: list[tuple[Any, OperatorDesc]]) -> list[Mishap]:
    """Close a case's neighbouring kernels; what goes wrong, but for those that close as badly without it."""
    mishaps = [(mishap, operator) for kernel, operator in others if (mishap := bench.closed(kernel)) is not None]
    return [
        mishap
        for mishap, neighbour in mishaps
        if not stops_by_itself(bench, replace(case, operator=neighbour, values=ordinary_values(bench, neighbour)))
    ]


def ordinary_values(bench: Bench, operator: OperatorDesc) -> Streams:
    """Values for a description that is not on the case's tensors."""
    subject = Subject.of(bench.tables.operator(operator.name), operator, bench.level)
    return subject.distinct(operator.output.element_count).streams


def as_own_case(bench: Bench, judgement: Judgement, case: Case, neighbours_alive: Sequence[OperatorDesc]) -> Judgement:
    """What is wrong with one of several kernels, as its own case, which holds all of them."""
    if not judgement.findings:
        return judgement
    clause = case.clause
    if case.layout_clause is not None:
        table = bench.tables.operator(case.operator.name)
        clause = Subject.of(table, case.operator, bench.level).values_clause(case.operator.attributes)
    own = replace(case, clause=clause, expectation="beside others", beside=tuple(neighbours_alive), recipe=None)
    return replace(judgement, findings=tuple(replace(finding, case=own) for finding in judgement.findings))


def is_out(bench: Bench, case: Case, other: Case, kernel: Refusal | Mishap, faults: list[Finding]) -> bool:
    """Whether a neighbour cannot be had by itself either; a refusal that breaks a clause is added to ``faults``."""
    if isinstance(kernel, (Mishap, Unsupported)):
        return stops_by_itself(bench, other)
    findings = by_itself(bench, case, own_case(bench, case, other.operator, other.values))
    faults += findings or ()
    return findings is not None


def judged_before(
    bench: Bench, case: Case, kernel: Any, neighbours_alive: Sequence[OperatorDesc], *, among_others: bool = False
) -> tuple[Finding, ...]:
    """What is wrong with a kernel that runs before another: by itself, or beside those that are alive.

    Args:
        bench: the bench.
        case: what it runs on.
        kernel: the kernel.
        neighbours_alive: the descriptions of all that are alive, where their tensors are the case's.
        among_others: whether they are on other tensors. What is not wrong by itself is then reported as a case among
            those next to it, which is still to be judged.
    """
    try:
        judged = judge_dispatch(bench, kernel, case, bench.oracle(case.operator))
    except Unconstrained:  # bounds that are not of another type: whatever comes of them is right
        return ()
    if not judged.findings:
        return ()
    findings = by_itself(bench, case, own_case(bench, case, case.operator, case.values))
    if findings is None and len(neighbours_alive) > 1:
        clause = "execution.independent"
        neighbour_findings = as_own_case(bench, judged, replace(case, layout_clause=clause), neighbours_alive).findings[
            :1
        ]
        return tuple(replace(finding, clause=clause, suspects=()) for finding in neighbour_findings)
    if findings is None and among_others and not any(map(is_mishap, judged.findings)):
        own = replace(case, expectation=BESIDE_OTHER_TENSORS, layout_clause="execution.independent", recipe=None)
        return tuple(replace(finding, case=own) for finding in judged.findings[:1])
    return findings or ()


def had(made: Made) -> Made:
    """The kernels among them."""
    return [(kernel, operator) for kernel, operator in made if not isinstance(kernel, (Refusal, Mishap))]


def refused_by_themselves(bench: Bench, case: Case, made: Made) -> list[Finding]:
    """What is wrong with refusing neighbours, where they are refused by themselves as well."""
    refused = [operator for kernel, operator in made if isinstance(kernel, Refusal) and kernel.obliged]
    own = (own_case(bench, case, operator, ordinary_values(bench, operator)) for operator in dict.fromkeys(refused))
    return [finding for case_alone in own for finding in by_itself(bench, case, case_alone) or ()]
