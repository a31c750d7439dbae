"""The checks of one operator's table: struct, attributes, formulas, support, clauses and examples."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

from dmlcts.specs.checks import OWN
from dmlcts.specs.common_checks import Loaded, clause_faults, repeated
from dmlcts.specs.errors import Fault, FormulaError
from dmlcts.specs.formula import multiply_add, parse
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.mends import closest
from dmlcts.specs.models import Example, OperatorTable, SupportTable
from dmlcts.specs.yaml_source import Document, KeyPath, shown

MOST_DIMENSIONS = 8  # DML_TENSOR_DIMENSION_COUNT_MAX1


def operator_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    """What is wrong with an operator's table, looked at by itself."""
    yield from _struct_faults(loaded)
    yield from _formula_faults(loaded)
    yield from _support_faults(loaded)
    document, table = loaded.document, loaded.table
    levels = [support.level for support in table.support]
    listed = [data_type.name for data_type in table.data_types]
    for index, clause in enumerate(table.clauses):
        path: KeyPath = ("clauses", index)
        if not clause.id.startswith(f"{table.prefix}."):
            cause = f"the clause id {clause.id!r} does not begin with {table.prefix!r}"
            mend = f"write {table.prefix}.{clause.id.partition('.')[2]}"
            yield document.fault((*path, "id"), cause, mend)
        if clause.level is not None and clause.level not in levels:
            cause = f"the operator has no support table for level {clause.level}"
            yield document.fault((*path, "level"), cause, closest(clause.level, levels))
        if isinstance(clause.data_types, tuple):
            for item, name in enumerate(clause.data_types):
                if name not in listed:
                    cause = f"no support table lists {name}, so the clause says nothing about it"
                    yield document.fault((*path, "data_types", item), cause, closest(name, listed))
        yield from clause_faults(document, path, clause)
    yield from _check_faults(loaded)
    for index, example in enumerate(table.examples):
        yield from _example_faults(loaded, ("examples", index), example)


def _check_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    """What checks the clauses: each of them something, and no two the same under the same circumstances."""
    document, table = loaded.document, loaded.table
    enumerations = {item.name: item.enumerators for item in table.attributes if item.type == "ENUM"}
    first: dict[object, str] = {}
    for index, clause in enumerate(table.clauses):
        path: KeyPath = ("clauses", index)
        if clause.check not in OWN:
            cause = f"{clause.check!r} checks a clause of the shared rules, and this one is an operator's"
            yield document.fault((*path, "check"), cause, closest(clause.check, OWN))
        for name, enumerator in clause.when.items():
            if name not in enumerations:
                cause = f"the operator has no enumeration {name!r}"
                yield document.fault((*path, "when", name), cause, closest(name, enumerations), at_key=True)
            elif enumerations[name] and enumerator not in enumerations[name]:
                cause = f"{name} has no enumerator {enumerator!r}"
                yield document.fault((*path, "when", name), cause, closest(enumerator, enumerations[name]))
        key = (clause.check, clause.level, *sorted(clause.when.items()))
        if key in first:
            cause = f"{clause.check!r} checks {first[key]} already, and would not look at {clause.id}"
            yield document.fault((*path, "check"), cause, "join the two clauses, or tell them apart by `when:`")
        first.setdefault(key, clause.id)


def _struct_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    """The struct's fields, and the attributes among them."""
    document, table = loaded.document, loaded.table
    fields = [field.name for field in table.struct]
    yield from repeated(document, ("struct",), fields, "field", "name")
    yield from repeated(document, ("attributes",), [item.name for item in table.attributes], "attribute", "name")
    # Which members an attribute of each type needs, and which it may not have.
    needs = {"FLOAT": "cast", "DML_SCALE_BIAS": "formula", "ENUM": "enumerators"}
    for index, attribute in enumerate(table.attributes):
        path: KeyPath = ("attributes", index)
        if attribute.name not in fields:
            cause = f"the attribute {attribute.name!r} is not a field of the struct"
            yield document.fault((*path, "name"), cause, closest(attribute.name, fields))
        for owner, member in needs.items():
            given = getattr(attribute, member)
            if owner == attribute.type and not given:
                cause = f"the {owner} attribute {attribute.name!r} has no {member}"
                yield document.fault((*path, member), cause, f"add `{member}:`")
            elif owner != attribute.type and given:
                cause = f"the {attribute.type} attribute {attribute.name!r} has {member}"
                yield document.fault((*path, member), cause, f"remove it: it belongs to {owner}", at_key=True)
        yield from repeated(document, (*path, "enumerators"), attribute.enumerators, "enumerator")


def _formula_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
    enumerations = {item.name: item.enumerators for item in table.attributes if item.type == "ENUM"}
    names = ("x", *table.float_attributes)
    yield from _faults_of(document, ("formula",), lambda: parse(table.formula, names, enumerations))
    for index, attribute in enumerate(table.attributes):
        if attribute.formula is not None:
            path = ("attributes", index, "formula")
            yield from _faults_of(document, path, functools.partial(multiply_add, attribute.formula))


def _faults_of(document: Document, path: KeyPath, parsed: Callable[[], object]) -> Iterator[Fault]:
    """The fault of the formula at ``path``, if parsing it raises one."""
    try:
        parsed()
    except FormulaError as error:
        # Only there does a character of the formula stand in the file at the same distance.
        offset = error.offset if path in document.plain else 0
        yield document.fault(path, error.cause, error.mend, offset=offset)


def _support_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
    fields = [field.name for field in table.struct]
    introduced = FeatureLevel(table.introduced)
    levels = [support.feature_level for support in table.support]
    for index, support in enumerate(table.support):
        path: KeyPath = ("support", index)
        level = support.feature_level
        if level in levels[:index]:
            cause = f"overlapping feature levels: {level} has two support tables"
            yield document.fault((*path, "level"), cause, "join them, or correct one level")
        elif index and level > levels[index - 1]:
            cause = f"overlapping feature levels: {level} comes after {levels[index - 1]}"
            yield document.fault((*path, "level"), cause, "order the support tables from the highest level down")
        if level < introduced:
            cause = f"level {level} is below {introduced}, which introduced the operator"
            yield document.fault((*path, "level"), cause, "correct the level, or `introduced`")
        yield from _row_faults(document, path, support, fields)


def _row_faults(document: Document, path: KeyPath, support: SupportTable, fields: Sequence[str]) -> Iterator[Fault]:
    yield from repeated(document, (*path, "rows"), [row.tensor for row in support.rows], "tensor", "tensor")
    for index, row in enumerate(support.rows):
        where = (*path, "rows", index)
        if row.tensor not in fields:
            cause = f"the tensor {row.tensor!r} is not a field of the struct"
            yield document.fault((*where, "tensor"), cause, closest(row.tensor, fields))
        low, high = row.dimension_counts
        if low > high:
            cause = f"the lowest rank {low} is greater than the highest {high}"
            yield document.fault((*where, "dimension_counts"), cause, f"write [{high}, {low}]")
        elif low < 1:
            cause = f"the lowest rank is {low}; no tensor has fewer than one dimension"
            yield document.fault((*where, "dimension_counts"), cause, "write 1 or more")
        elif high > MOST_DIMENSIONS:
            cause = f"the highest rank is {high}; DirectML has no tensor of more than {MOST_DIMENSIONS} dimensions"
            yield document.fault((*where, "dimension_counts"), cause, f"write {MOST_DIMENSIONS} or less")
        yield from repeated(document, (*where, "data_types"), row.data_types, "data type")


def _example_faults(loaded: Loaded[OperatorTable], path: KeyPath, example: Example) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
    clauses = [clause.id for clause in table.clauses]
    if example.clause not in clauses:
        cause = f"the table has no clause {example.clause!r}"
        yield document.fault((*path, "clause"), cause, closest(example.clause, clauses))
    if len(example.inputs) != len(example.outputs):
        cause = f"{len(example.outputs)} outputs for {len(example.inputs)} inputs"
        yield document.fault((*path, "outputs"), cause, "give one output for each input")
    elif not example.inputs:
        yield document.fault((*path, "inputs"), "the example has no inputs", "add some, or remove the example")
    settable = [item for item in table.attributes if item.type != "DML_SCALE_BIAS"]
    for name, value in example.attributes.items():
        where = (*path, "attributes", name)
        attribute = next((item for item in settable if item.name == name), None)
        if attribute is None:
            mend = closest(name, [item.name for item in settable])
            yield document.fault(where, f"examples cannot set an attribute {name!r}", mend, at_key=True)
        elif attribute.type == "ENUM" and value not in attribute.enumerators:
            cause = f"{name} has no enumerator {shown(value)}"
            yield document.fault(where, cause, closest(value, attribute.enumerators))
        elif attribute.type == "FLOAT" and isinstance(value, str):
            yield document.fault(where, f"{name} is {shown(value)}, which is not a number", "write a number")
    for attribute in settable:
        if attribute.name not in example.attributes:
            cause = f"the example does not set {attribute.name}"
            yield document.fault((*path, "attributes"), cause, f"add `{attribute.name}: ...`")
