"""Which other kernels a case's own is put beside: of other attributes on its tensors, and of other operators."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import replace

from dmlcts.specs import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.rules import violations
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.generation import attributes as ordinary_attributes

_TOO_DEEP = 9  # dimensions
_MOST_OTHERS = 6  # operators beside the case's own


def neighbours(bench: Bench, case: Case) -> list[OperatorDesc]:
    """Descriptions of the same tensors with other attributes, and of a few other operators that take them."""
    mine = bench.tables.operator(case.operator.name)
    found = {mine.operator: _judged_variants(bench, mine, case)}
    for table in _most_telling_first(mine, _takers(bench, mine, case), case):
        if len(found) > _MOST_OTHERS:
            break
        if variants := _judged_variants(bench, table, case):
            found[table.operator] = variants
    return [one for name in bench.tables.operators for one in found.get(name, ())]


def _judged_variants(bench: Bench, table: OperatorTable, case: Case) -> list[OperatorDesc]:
    return [one for one in _variants(table, case) if one != case.operator and bench.obliged(one)]


def _most_telling_first(mine: OperatorTable, others: list[OperatorTable], case: Case) -> list[OperatorTable]:
    """First those that share attributes with an operator, then the rest in turn: each comes beside it in some case."""
    names = {item.name for item in mine.attributes if item.type != "DML_SCALE_BIAS"}
    shared = {table.operator: len(names & {item.name for item in table.attributes}) for table in others}
    alike = sorted((table for table in others if shared[table.operator]), key=lambda table: -shared[table.operator])
    alike = alike[: _MOST_OTHERS // 2]
    rest = [table for table in others if table not in alike]
    start = zlib.crc32(repr(case.operator).encode()) % max(1, len(rest))
    return [*alike, *rest[start:], *rest[:start]]


def _takers(bench: Bench, mine: OperatorTable, case: Case) -> list[OperatorTable]:
    """The other operators that take the case's tensors."""
    return [one for one in bench.tables.operators.values() if one is not mine and _takes(one, case.operator)]


def _takes(table: OperatorTable, operator: OperatorDesc) -> bool:
    """Whether an operator has the tensors of a description."""
    needed = {name for name, row in table.tensors.items() if not row.optional}
    return needed <= set(operator.tensors) <= set(table.tensors)


def _variants(table: OperatorTable, case: Case) -> Iterator[OperatorDesc]:
    low, high = (2, 6) if case.data_type.is_floating or table.operator != case.operator.name else (3, 7)
    signature = Signature.of(case.operator, table)
    attributes = ordinary_attributes.ordinary(table, signature)
    for item in table.attributes:
        if item.is_number:
            value = low if item.role == "low" else high
            attributes[item.name] = ordinary_attributes.number(table, signature, item, value)
        elif item.type == "ENUM":
            attributes[item.name] = item.enumerators[-1]
    variants = [attributes]
    for item in table.attributes:
        if item.type == "DML_SCALE_BIAS":
            variants.append({**attributes, item.name: ScaleBias(2, 1)})
        elif item.type == "ENUM":
            variants += [{**attributes, item.name: name} for name in item.enumerators[:-1]]
    for variant in variants:
        yield OperatorDesc(table.operator, case.operator.tensors, variant)


def two_neighbours(bench: Bench, case: Case) -> list[OperatorDesc]:
    """The operator with other attributes and another operator, both on equal tensors, where there are such."""
    mine = bench.tables.operator(case.operator.name)
    telling = _most_telling_first(mine, _takers(bench, mine, case), case)[:_MOST_OTHERS]
    start = zlib.crc32(repr(case.operator).encode()) % max(1, len(telling))  # each of them has its turn
    others = (one for table in [*telling[start:], *telling[:start]] for one in _judged_variants(bench, table, case))
    return [*_judged_variants(bench, mine, case)[-1:], *itertools.islice(others, 1)]


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
    retyped = (_with_output(mine, replace(odd, tensors=case.operator.tensors), TensorDesc(one, output.sizes))
               for one in types if one is not output.data_type)  # fmt: skip
    unlike = [one for one in retyped if violations(one, bench.level, bench.tables)]
    deep = {name: TensorDesc(one.data_type, (*((1,) * (_TOO_DEEP - one.rank)), *one.sizes))
            for name, one in case.operator.tensors.items()}  # fmt: skip
    return [odd, *unlike[:1], replace(odd, tensors=deep)]


def _with_output(table: OperatorTable, operator: OperatorDesc, output: TensorDesc) -> OperatorDesc:
    return OperatorDesc(operator.name, {**operator.tensors, table.output: output}, operator.attributes)
