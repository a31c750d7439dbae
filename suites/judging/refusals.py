"""Refusals: what was refused, unsupported or lost, which clause that breaks, and what should have been refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.descriptions import Attribute
from dmlcts.specs.deviations import Deviation
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.rules import unconditional_violations, violations
from dmlcts.specs.tables.fusing import FUSED
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.oracles import of_one_type
from dmlcts.suites.cases.outcomes import Execution, Mishap, Refusal, Unsupported
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.generation.attributes import number
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.findings import (
    DISPATCH_FAILED,
    MEMORY_CLAUSES,
    WITHOUT_DISPATCH,
    Finding,
    Judgement,
    plain,
    value_clauses,
)

LOSSES = ("crash", "timeout", "device_lost", "resource_error")
"""The outcomes after which the implementation runs in a fresh process."""

_ACCEPTED = "accepted, though it must be refused"
_MOST_PACKED = 1 << 16


def support_clause(bench: Bench, operator: OperatorDesc) -> str:
    """The clause that obliges an implementation of the bench's level to accept ``operator``: the lowest level's."""
    table = bench.tables.operator(operator.name)
    tensors = {name: (tensor.data_type, tensor.rank) for name, tensor in operator.tensors.items()}
    levels = [
        support.level for support in table.support_at(bench.level) if table.supports(tensors, support.feature_level)
    ]
    wanted = levels[-1] if levels else None
    stated = (clause.id for clause in table.checked_by("support.level") if clause.level == wanted)
    return next(stated, None) or table.clause_of("values", "rounding") or table.clauses[0].id


def stopped(bench: Bench, case: Case, outcome: Refusal | Mishap) -> Judgement:
    """The judgement of a case whose dispatch did not come back; nothing but the broken clause was checked."""
    if isinstance(outcome, Mishap):
        title = (
            outcome.title
            or {
                "fail": DISPATCH_FAILED,
                "crash": "the implementation raised an exception",
                "device_lost": "the device was lost",
                "resource_error": "the implementation ran out of resources",
            }[outcome.outcome]
        )
        clause = case.clause
        if case.layout_clause is not None and isinstance(bench.run(_packed(bench, case)), Execution):
            clause = case.layout_clause  # the values alone do no harm
        finding = Finding(clause, outcome.outcome, case, title, (("said", outcome.text),), deviation=Deviation.STOPPED)
        return Judgement((finding,), (clause,))
    if isinstance(outcome, Unsupported):
        return _unsupported(bench, case, outcome)
    if not outcome.obliged:
        return Judgement(refused=True)
    clause = _refused_clause(bench, case)
    title = f"refused, though feature level {bench.level} obliges it to accept"
    refused = Finding(clause, "fail", case, title, (("said", outcome.text),), deviation=Deviation.REFUSED)
    return Judgement((refused,), (clause,))


def _unsupported(bench: Bench, case: Case, outcome: Unsupported) -> Judgement:
    """The judgement of a case that the backend cannot express, under the clause for whose sake it cannot."""
    key = (case.operator, case.clause, case.layout_clause)
    clause = bench.lacking.get(key)
    if clause is None:
        clause = bench.lacking[key] = _lacking(bench, case)
        if not any(_is_packed_expressible(bench, case, sizes) for sizes in _sizes_to_try(case)):
            bench.inexpressible[_family(case.operator)] = outcome.text
    return _judged_unsupported(case, clause, outcome.text)


def known_unsupported(bench: Bench, case: Case) -> Judgement | None:
    """The judgement of a case whose operator is known to be inexpressible in any layout; ``None`` of another.

    Some runtimes lack most operators, and to ask for each case of one costs more than to judge what they have.
    """
    text = bench.inexpressible.get(_family(case.operator))
    if text is None or case.expectation in WITHOUT_DISPATCH or violations(case.operator, bench.level, bench.tables):
        return None
    return _judged_unsupported(case, case.clause, text)


def _family(operator: OperatorDesc) -> tuple[Hashable, int]:
    """What has to be alike for two descriptions to be expressible or not for the same reason, but for the layout."""
    return operator.kind, len(operator.output.sizes)


def _sizes_to_try(case: Case) -> list[tuple[int, ...]]:
    """Sizes of the case's dimensions on which an operator is tried before it counts as one that cannot be expressed.

    A backend may take no large tensors, or only lengths that are multiples of what it computes at once.
    """
    sizes = case.operator.output.sizes
    before = (1,) * (len(sizes) - 1)
    return [sizes, (*before, 1), (*before, 64)]


def _judged_unsupported(case: Case, clause: str, text: str) -> Judgement:
    others = value_clauses(case) if case.expectation in WITHOUT_DISPATCH else (*value_clauses(case), *MEMORY_CLAUSES)
    unreached = tuple(name for name in others if name != clause)
    return Judgement(clauses=(clause,), unsupported=text, unreached=unreached)


def _lacking(bench: Bench, case: Case) -> str:
    """Which clause a case cannot be expressed for: ScaleBias's or the strides' own, the layout's, or the values'.

    A test about something else that happens to draw ScaleBias or strides loses those cases and keeps its others.
    """

    def expressible(other: OperatorDesc) -> bool:
        if other == operator:  # which was not: to ask again costs an isolated implementation a message
            return False
        return not isinstance(attempt(bench, other), Unsupported)

    operator = case.operator
    table = bench.tables.operator(operator.name)
    if operator.activation is not None:
        return case.clause
    strided = any(tensor.strides is not None for tensor in operator.tensors.values())
    if expressible(_unscaled(operator)):
        return table.clause_of("scale-bias" if case.data_type.is_floating else "scale-bias.integer") or case.clause
    if strided and _is_packed_expressible(bench, case, operator.output.sizes):
        named = case.layout_clause or case.clause
        return named if named.startswith("tensor.strides.") else stride_clause(operator)
    if case.layout_clause is not None and expressible(_packed(bench, case).operator):
        return case.layout_clause
    return case.clause


def _unscaled(operator: OperatorDesc) -> OperatorDesc:
    attributes: dict[str, Attribute] = {
        name: None if isinstance(value, ScaleBias) else value for name, value in operator.attributes.items()
    }
    return OperatorDesc(operator.name, operator.tensors, attributes)


def _is_packed_expressible(bench: Bench, case: Case, sizes: Sequence[int]) -> bool:
    """Whether an operator of the case's types and attributes, without ScaleBias, is expressible on packed tensors."""
    operator = _unscaled(case.operator)
    alike = (*_family(operator), math.prod(sizes).bit_length())
    if alike not in bench.packed:
        subject = Subject.of(bench.tables.operator(operator.name), operator, bench.level)
        packed = subject.describe(tuple(sizes), operator.attributes)
        bench.packed[alike] = not isinstance(attempt(bench, packed), Unsupported)
    return bench.packed[alike]


def stride_clause(operator: OperatorDesc) -> str:
    """The clause on the kind of strides that a description has."""
    packed = TensorDesc(operator.output.data_type, operator.output.sizes).element_strides
    sources = [tensor.element_strides for tensor in operator.inputs.values() if tensor.sizes == operator.output.sizes]
    target = operator.output.element_strides
    if all(source == packed for source in (*sources, target)):
        return "tensor.strides.packed"
    if any(0 in source for source in sources):
        return "tensor.strides.broadcast"
    if any(list(strides) != sorted(strides, reverse=True) for strides in (*sources, target)):
        return "tensor.strides.permuted"
    return "tensor.strides.padded" if target in sources else "tensor.strides.output"


def _packed(bench: Bench, case: Case) -> Case:
    """As many elements with the same attributes on packed tensors, out of place."""
    return plain(bench, case, case.values, min(max(1, case.operator.output.element_count), _MOST_PACKED))


def explained(finding: Finding, seen: set[str]) -> Finding:
    """The finding of a loss, with what judging the case again in a fresh process showed.

    Args:
        finding: any finding; other than of a loss it stays as it is.
        seen: the outcomes that the case alone had there; a loss that is not among them did not happen again.
    """
    if finding.outcome not in LOSSES:
        return finding
    if finding.outcome in seen:
        cause = "the same in a fresh process: the case itself is to blame"
        return replace(finding, details=(*finding.details, ("again", cause)))
    others = ", ".join(sorted(seen)) or "no fault"
    cause = f"{others} in a fresh process: what ran before it is to blame, or chance"
    clause = "execution.repeatable" if finding.outcome == "resource_error" else "execution.independent"
    return replace(
        finding,
        clause=clause,
        title=f"{finding.title}, not again in a fresh process",
        details=(*finding.details, ("again", cause)),
        suspects=(),
        settled=True,
    )


def attempt(bench: Bench, operator: OperatorDesc) -> Refusal | Mishap | None:
    """Create a kernel and close it again; ``None`` where both went well."""
    known, bench.attempted = bench.attempted, None
    if known is not None and known[0] is operator:
        return known[1]
    return bench.tried(operator)


def _refused_clause(bench: Bench, case: Case) -> str:
    """Which clause a refusal breaks: the layout's, the attributes', or the support table's.

    Where the same attributes are accepted on a packed tensor it is the layout that is refused; where the same
    tensors are accepted with ordinary attributes, it is the attributes.
    """
    packed, layout_clause = _packed(bench, case).operator, case.layout_clause
    if layout_clause is not None and layout_clause.startswith("execution."):  # which is about no layout
        strided = any(tensor.strides is not None for tensor in case.operator.tensors.values())
        layout_clause = stride_clause(case.operator) if strided else None
    if layout_clause is not None and packed != case.operator and attempt(bench, packed) is None:
        return layout_clause
    table = bench.tables.operator(case.operator.name)
    signature = Signature.of(case.operator, table)
    ordinary: dict[str, Attribute] = dict(case.operator.attributes)
    for item in table.attributes:
        if item.is_number:
            ordinary[item.name] = number(table, signature, item, 0 if item.role == "low" else 1)
        elif item.type in ("DML_SCALE_BIAS", FUSED):
            ordinary[item.name] = None
    usual = OperatorDesc(case.operator.name, case.operator.tensors, ordinary)
    if usual != case.operator and attempt(bench, usual) is None:
        general = case.clause == table.clause_of("values") or bench.tables.clause(case.clause).subject == "properties"
        return (general and _cast_clause(bench, case.operator)) or case.clause
    return support_clause(bench, case.operator)


def _cast_clause(bench: Bench, operator: OperatorDesc) -> str | None:
    """The clause on the cast of the bounds, where one of them is not a value of the tensor's type."""
    table = bench.tables.operator(operator.name)
    data_type = operator.input.data_type
    wanted: list[OwnCheck] = []
    if not of_one_type(table):
        return None
    for name in table.float_attributes:
        value = operator.attributes[name]
        if not isinstance(value, np.float32) or not np.isfinite(value):
            continue
        if data_type is DataType.FLOAT16:
            with np.errstate(over="ignore"):
                half = np.float16(value)
            if np.isinf(half):
                wanted.insert(0, "cast.float16-overflow")
            elif np.float32(half) != value:
                wanted += ["cast.float16", "cast.inexact"]
        elif not data_type.is_floating and not float(value).is_integer():
            wanted += ["cast.integer", "cast.inexact"]
    return table.clause_of(*wanted)


def _listed(table: OperatorTable, tensor: str, data_type: DataType, level: FeatureLevel) -> bool:
    """Whether a level lists a type for a tensor, at some rank and beside some other types."""
    return any(data_type.name in support.types[table.tensors[tensor].type] for support in table.support_at(level))


@lru_cache(maxsize=1 << 12)  # an operator's refused descriptions are of few types
def _listed_later(
    table: ByIdentity[OperatorTable], types: tuple[tuple[str, DataType], ...], level: FeatureLevel
) -> bool:
    """Whether the table lists each type for its tensor, and the level does not list them all."""
    known = all(_listed(table.value, name, data_type, level) for name, data_type in types)
    return not known and all(data_type in table.value.types_of(name) for name, data_type in types)


@lru_cache(maxsize=1 << 10)
def _right(clauses: tuple[str, ...], *, refused: bool) -> Judgement:
    """The result of most attempts: nothing is wrong."""
    return Judgement((), clauses, refused=refused)


def judge_refused(bench: Bench, case: Case) -> Judgement:
    """The description is refused with InvalidArgument."""
    answer = attempt(bench, case.operator)
    if isinstance(answer, Refusal) and not isinstance(answer, Unsupported):
        # a type that only a later level lists may be refused for that alone: it says nothing about the clause
        table = ByIdentity(bench.tables.operator(case.operator.name))
        types = tuple((name, tensor.data_type) for name, tensor in case.operator.tensors.items())
        return _right(value_clauses(case), refused=_listed_later(table, types, bench.level))
    if answer is not None:
        return stopped(bench, case, answer)
    finding = Finding(case.clause, "fail", case, _ACCEPTED, deviation=Deviation.ACCEPTED)
    return Judgement((finding,), value_clauses(case))


def wrongly_accepted(bench: Bench, operator: OperatorDesc, values: Streams) -> tuple[Finding, ...]:
    """What is wrong with having accepted a description: a finding, where every level asks for its refusal.

    Args:
        bench: the bench.
        operator: the description.
        values: a value for each of its inputs.
    """
    known = {clause.id for clause in bench.tables.clauses_of(bench.tables.operator(operator.name))}
    broken = (
        violation.clause for violation in unconditional_violations(operator, bench.tables) if violation.clause in known
    )
    cases = (Case(operator, values, clause, None, "refused") for clause in broken)
    return tuple(
        Finding(case.clause, "fail", case, _ACCEPTED, deviation=Deviation.ACCEPTED)
        for case in itertools.islice(cases, 1)
    )


def judge_accepted(bench: Bench, case: Case) -> Judgement:
    """The description is accepted where the level obliges it; nothing is dispatched."""
    answer = attempt(bench, case.operator)
    return _right(value_clauses(case), refused=False) if answer is None else stopped(bench, case, answer)


def judge_either(bench: Bench, case: Case) -> Judgement:
    """The description may be refused or accepted, but nothing worse may happen; nothing is dispatched."""
    answer = attempt(bench, case.operator)
    if isinstance(answer, (Mishap, Unsupported)):
        return stopped(bench, case, answer)
    return Judgement((), value_clauses(case), refused=answer is not None)
