"""The checks of one operator's table: struct, attributes, formulas, support, clauses and examples."""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.specs.checking.common_checks import Loaded, clause_faults, repeated
from dmlcts.specs.checking.formula_checks import accuracy_faults, formula_faults, permitted_faults
from dmlcts.specs.checking.statement_checks import statement_faults
from dmlcts.specs.checks import OWN
from dmlcts.specs.errors import Fault
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.models import Clause, Example, OperatorTable, SupportTable
from dmlcts.specs.reading.mends import closest
from dmlcts.specs.reading.yaml_source import Document, KeyPath, shown
from dmlcts.specs.tables.fusing import FUSED

MOST_DIMENSIONS = 8  # DML_TENSOR_DIMENSION_COUNT_MAX1


def operator_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    """What is wrong with an operator's table, looked at by itself."""
    yield from _struct_faults(loaded)
    yield from _tensor_faults(loaded)
    yield from formula_faults(loaded)
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
        yield from _grade_faults(document, path, clause, [source.id for source in table.sources])
    yield from _check_faults(loaded)
    yield from accuracy_faults(document, table.accuracy, [source.id for source in table.sources])
    yield from permitted_faults(loaded)
    yield from statement_faults(document, table)
    for index, example in enumerate(table.examples):
        yield from _example_faults(loaded, ("examples", index), example)


def _grade_faults(document: Document, path: KeyPath, clause: Clause, known: list[str]) -> Iterator[Fault]:
    """The rule of precedence: what the operator's own newest page, the first source, says holds, whoever disagrees."""
    page = known[0]
    cited = [*([clause.quotation.source] if clause.quotation else []), *clause.sources]
    others = [item.source for item in clause.disagreements if item.source != page]
    if not cited or not set(cited) <= set(known):
        return  # which is a fault of its own
    if clause.obligation == "required" and page not in cited:
        cause = f"the required clause {clause.id} does not rest on {page!r}, the first source, the operator's own page"
        yield document.fault((*path, "obligation"), cause, "cite it, or write `obligation: implied`")
    elif clause.obligation == "unspecified" and cited[0] == page and others:
        cause = f"{clause.id} is unspecified because {others[0]!r} disagrees, and the operator's own page wins"
        yield document.fault((*path, "obligation"), cause, "write `obligation: required`")


def _check_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    """What checks the clauses: each of them something, and no two the same under the same circumstances."""
    document, table = loaded.document, loaded.table
    enumerations = {item.name: item.enumerators for item in table.attributes if item.type in ("ENUM", FUSED)}
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
        several = clause.id if clause.check in ("silent", "relation") else ""
        key = (clause.check, clause.level, several, *sorted(clause.when.items()), *sorted(clause.types.items()))
        for variable in clause.types:
            if variable not in table.type_variables[1:]:
                cause = f"{variable} is no type variable beside the first"
                mend = closest(variable, table.type_variables[1:])
                yield document.fault((*path, "types", variable), cause, mend, at_key=True)
        about = (clause.data_types,) if clause.data_types in ("floating", "integer") else ("floating", "integer")
        known = next((first[kind, *key] for kind in about if (kind, *key) in first), None)
        if known is not None:
            cause = f"{clause.check!r} checks {known} already, and would not look at {clause.id}"
            mend = "join the two clauses, or distinguish them by `when:`, or as floating and integer"
            yield document.fault((*path, "check"), cause, mend)
        for kind in about:
            first.setdefault((kind, *key), clause.id)


def _struct_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    """The struct's fields, and the attributes among them."""
    document, table = loaded.document, loaded.table
    fields = [field.name for field in table.struct]
    yield from repeated(document, ("struct",), fields, "field", "name")
    yield from repeated(document, ("attributes",), [item.name for item in table.attributes], "attribute", "name")
    # Which members an attribute of each type needs, and which it may not have.
    needs = {
        "FLOAT": "cast",
        "DML_SCALE_BIAS": "formula",
        "ENUM": "enumerators",
        "DML_SCALAR_UNION": "data_type",
        "DML_TENSOR_DATA_TYPE": "same_as",
    }
    kinds = [item.name for item in table.attributes if item.type == "DML_TENSOR_DATA_TYPE"]
    for index, attribute in enumerate(table.attributes):
        path: KeyPath = ("attributes", index)
        if attribute.name not in fields:
            cause = f"the attribute {attribute.name!r} is not a field of the struct"
            yield document.fault((*path, "name"), cause, closest(attribute.name, fields))
        for owner, member in needs.items():
            value = getattr(attribute, member)
            if owner == attribute.type and not value:
                cause = f"the {owner} attribute {attribute.name!r} has no {member}"
                yield document.fault((*path, member), cause, f"add `{member}:`")
            elif owner != attribute.type and value:
                cause = f"the {attribute.type} attribute {attribute.name!r} has {member}"
                yield document.fault((*path, member), cause, f"remove it: it belongs to {owner}", at_key=True)
        yield from repeated(document, (*path, "enumerators"), attribute.enumerators, "enumerator")
        if attribute.data_type is not None and attribute.data_type not in kinds:
            cause = f"the operator has no DML_TENSOR_DATA_TYPE attribute {attribute.data_type!r}"
            yield document.fault((*path, "data_type"), cause, closest(attribute.data_type, kinds))
        if attribute.same_as is not None and attribute.same_as not in table.tensors:
            cause = f"there is no tensor {attribute.same_as!r}"
            yield document.fault((*path, "same_as"), cause, closest(attribute.same_as, table.tensors))
        number = attribute.is_number
        if number and attribute.role is None:
            cause = f"the number {attribute.name!r} has no role"
            yield document.fault((*path, "role"), cause, "add `role:` with one of low, high, other")
        elif not number and attribute.role is not None:
            yield document.fault((*path, "role"), f"{attribute.name} is no number", "remove it", at_key=True)


def _support_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
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
        yield from _level_faults(loaded, path, support)


def _range_fault(document: Document, path: KeyPath, counts: tuple[int, int]) -> Iterator[Fault]:
    """Ranks in their order, and those that there are."""
    low, high = counts
    if low > high:
        cause = f"the lowest rank {low} is greater than the highest {high}"
        yield document.fault(path, cause, f"write [{high}, {low}]")
    elif low < 1:
        cause = f"the lowest rank is {low}; no tensor has fewer than one dimension"
        yield document.fault(path, cause, "write 1 or more")
    elif high > MOST_DIMENSIONS:
        cause = f"the highest rank is {high}; DirectML has no tensor of more than {MOST_DIMENSIONS} dimensions"
        yield document.fault(path, cause, f"write {MOST_DIMENSIONS} or less")


def _level_faults(loaded: Loaded[OperatorTable], path: KeyPath, support: SupportTable) -> Iterator[Fault]:
    """The ranks and types of one level: every type variable has types, and every tensor that is named is there."""
    document, table = loaded.document, loaded.table
    yield from _range_fault(document, (*path, "dimension_counts"), support.dimension_counts)
    for name, counts in support.tensor_dimension_counts.items():
        where: KeyPath = (*path, "tensor_dimension_counts", name)
        if name not in table.tensors:
            yield document.fault(where, f"there is no tensor {name!r}", closest(name, table.tensors), at_key=True)
        yield from _range_fault(document, where, counts)
    for variable, names in support.types.items():
        where = (*path, "types", variable)
        if variable not in table.type_variables:
            cause = f"no tensor has the type {variable}"
            yield document.fault(where, cause, closest(variable, table.type_variables), at_key=True)
        if not names:
            yield document.fault(where, f"{variable} has no data type", "list some")
        yield from repeated(document, where, names, "data type")
    for variable in table.type_variables:
        if variable not in support.types:
            yield document.fault((*path, "types"), f"{variable} has no data types", f"add `{variable}: [...]`")
    optional = [name for name, row in table.tensors.items() if row.optional]
    for member in ("lacks", "requires"):
        for index, name in enumerate(getattr(support, member)):
            if name not in optional:
                yield document.fault((*path, member, index), f"{name!r} is no optional tensor", closest(name, optional))
    for index, name in enumerate(support.requires):
        if name in support.lacks:
            yield document.fault((*path, "requires", index), f"{name} is lacking as well", "keep one of the two")
    for index, row in enumerate(support.together):
        for variable, name in row.items():
            where = (*path, "together", index, variable)
            known = support.types.get(variable, ())
            if variable not in support.types:
                yield document.fault(
                    where, f"no tensor has the type {variable}", closest(variable, support.types), at_key=True
                )
            elif name not in known:
                yield document.fault(where, f"{variable} is never {name} at this level", closest(name, known))


def _tensor_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    """The tensors: members of the struct, one output, names for the inputs, aliases and constraints among them."""
    document, table = loaded.document, loaded.table
    fields = [field.name for field in table.struct]
    first: dict[str, str] = {}
    outputs = [name for name, row in table.tensors.items() if row.kind == "output"]
    for name, row in table.tensors.items():
        path: KeyPath = ("tensors", name)
        if name not in fields:
            cause = f"the tensor {name!r} is not a field of the struct"
            yield document.fault(path, cause, closest(name, fields), at_key=True)
        if row.kind == "input":
            if row.name is None:
                yield document.fault(path, f"the input {name} has no name for the formula", "add `name:`", at_key=True)
            elif row.name in first:
                cause = f"{first[row.name]} is {row.name!r} in the formula already"
                yield document.fault((*path, "name"), cause, "give it another name")
            first.setdefault(row.name or "", name)
        elif row.name is not None:
            yield document.fault((*path, "name"), "the formula does not name the output", "remove it", at_key=True)
        if row.optional != (row.absent is not None):
            cause = f"{name} needs `optional: true` and `absent:` together"
            yield document.fault(path, cause, "write both, or neither", at_key=True)
        if row.nonzero and row.kind == "output":
            mend = "remove it: it is about inputs"
            yield document.fault((*path, "nonzero"), f"{name} is an output", mend, at_key=True)
        for index, alias in enumerate(row.may_alias):
            if row.kind == "input" or alias not in table.inputs:
                cause = f"{name} cannot alias {alias!r}: outputs alias inputs"
                yield document.fault((*path, "may_alias", index), cause, closest(alias, table.inputs))
        if row.at_once is None and len(row.may_alias) > 1:
            cause = f"{name} may alias several inputs, and the table does not say how many at once"
            mend = "add `at_once: one` where the page says `one of`, or `at_once: several` for `one or more of`"
            yield document.fault((*path, "may_alias"), cause, mend)
        elif row.at_once is not None and len(row.may_alias) < 2:
            cause = f"{name} has `at_once`, and does not alias several inputs"
            yield document.fault((*path, "at_once"), cause, "remove it", at_key=True)
    for extra in outputs[1:]:
        cause = f"{extra} is an output beside {outputs[0]}"
        yield document.fault(("tensors", extra), cause, "the suite judges one output; make it an input", at_key=True)
    if not outputs:
        yield document.fault(("tensors",), "there is no output", "write `kind: output` for one of them", at_key=True)
    for index, group in enumerate(table.constraints):
        where: KeyPath = ("constraints", index)
        yield from repeated(document, (*where, "same"), group.same, "constraint")
        for item, name in enumerate(group.tensors):
            if name not in table.tensors:
                cause = f"there is no tensor {name!r}"
                yield document.fault((*where, "tensors", item), cause, closest(name, table.tensors))


def _example_faults(loaded: Loaded[OperatorTable], path: KeyPath, example: Example) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
    clauses = [clause.id for clause in table.clauses]
    if example.clause not in clauses:
        cause = f"the table has no clause {example.clause!r}"
        yield document.fault((*path, "clause"), cause, closest(example.clause, clauses))
    inputs = table.example_inputs(example)
    names = [row.name for row in table.tensors.values() if row.kind == "input" and row.name is not None]
    complete = any(row.kind == "output" for row in table.tensors.values())
    for name in names if complete else ():
        if name not in inputs:
            cause = f"the example gives no elements of {name}"
            yield document.fault((*path, "inputs"), cause, f"add `{name}: [...]`")
    for name, values in inputs.items():
        if name not in names:
            mend = closest(name, names)
            yield document.fault((*path, "inputs", name), f"the formula has no input {name!r}", mend, at_key=True)
        elif len(values) != len(example.outputs):
            cause = f"{len(example.outputs)} outputs for {len(values)} inputs"
            yield document.fault((*path, "outputs"), cause, "give one output for each input")
    if not any(inputs.values()) and not example.outputs:
        yield document.fault((*path, "inputs"), "the example has no inputs", "add some, or remove the example")
    for variable, name in example.types.items():
        listed = {type_name for support in table.support for type_name in support.types.get(variable, ())}
        if variable not in table.type_variables:
            mend = closest(variable, table.type_variables)
            yield document.fault((*path, "types", variable), f"no tensor has the type {variable}", mend, at_key=True)
        elif name not in listed:
            yield document.fault((*path, "types", variable), f"no support table lists {name}", closest(name, listed))
    settable = [item for item in table.attributes if item.is_number or item.type == "ENUM"]
    for name, value in example.attributes.items():
        where = (*path, "attributes", name)
        attribute = next((item for item in settable if item.name == name), None)
        if attribute is None:
            mend = closest(name, [item.name for item in settable])
            yield document.fault(where, f"examples cannot set an attribute {name!r}", mend, at_key=True)
        elif attribute.type == "ENUM" and value not in attribute.enumerators:
            cause = f"{name} has no enumerator {shown(value)}"
            yield document.fault(where, cause, closest(value, attribute.enumerators))
        elif attribute.is_number and isinstance(value, str):
            yield document.fault(where, f"{name} is {shown(value)}, which is not a number", "write a number")
    for attribute in settable:
        if attribute.name not in example.attributes:
            cause = f"the example does not set {attribute.name}"
            yield document.fault((*path, "attributes"), cause, f"add `{attribute.name}: ...`")
