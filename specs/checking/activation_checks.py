"""The checks of the table of activations: by itself, and fused to every operator that takes one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dmlcts.specs.checking.common_checks import Loaded, repeated
from dmlcts.specs.checking.formula_checks import accuracy_faults, fused_formula_fault
from dmlcts.specs.errors import Fault
from dmlcts.specs.models import Activation, ActivationsTable, OperatorTable
from dmlcts.specs.reading.mends import closest
from dmlcts.specs.reading.yaml_source import Document, KeyPath
from dmlcts.specs.tables.fusing import fused_attribute, fused_table


def activation_faults(loaded: Loaded[ActivationsTable]) -> Iterator[Fault]:
    """What is wrong with the table of activations, looked at by itself."""
    document, table = loaded.document, loaded.table
    names = [entry.operator for entry in table.activations]
    yield from repeated(document, ("activations",), names, "activation", "operator")
    codes = [str(entry.code) for entry in table.activations]
    yield from repeated(document, ("activations",), codes, "code", "code")
    for index, activation in enumerate(table.activations):
        path: KeyPath = ("activations", index)
        yield from repeated(document, (*path, "numbers"), activation.numbers, "number")
        yield from _tried_faults(document, path, activation)
        yield from accuracy_faults(document, activation.accuracy, [source.id for source in table.sources], path)


def _tried_faults(document: Document, path: KeyPath, activation: Activation) -> Iterator[Fault]:
    if activation.numbers and not activation.tried:
        cause = f"no numbers of {activation.short_name} are tried"
        yield document.fault((*path, "numbers"), cause, "add `tried:` with sets of them")
    for index, numbers in enumerate(activation.tried):
        where = (*path, "tried", index)
        for name in activation.numbers:
            if name not in numbers:
                yield document.fault(where, f"the set gives no {name}", f"add `{name}:`")
        for name in numbers:
            if name not in activation.numbers:
                cause = f"{activation.short_name} has no number {name!r}"
                yield document.fault((*where, name), cause, closest(name, activation.numbers), at_key=True)


def fused_faults(
    operators: Iterable[tuple[Document, OperatorTable]], tables: Sequence[tuple[Document, ActivationsTable]]
) -> Iterator[Fault]:
    """What is wrong with activations and the operators that take one, together."""
    known = {
        entry.operator: (document, ("activations", index), entry)
        for document, table in tables
        for index, entry in enumerate(table.activations)
    }
    for document, table in operators:
        attribute = fused_attribute(table)
        if attribute is None:
            continue
        spoken_of = set()
        for index, clause in enumerate(table.clauses):
            name = clause.when.get(attribute.name)
            spoken_of.add(name)
            if name is not None and name not in known:
                where: KeyPath = ("clauses", index, "when", attribute.name)
                yield document.fault(where, f"no table has the activation {name}", closest(name, [*known]))
            if clause.check == "activation" and name is None:
                cause = f"the clause {clause.id} does not say which activation it is about"
                yield document.fault(("clauses", index, "check"), cause, f"add `when:` with {attribute.name}")
        for name, (written, path, activation) in known.items():
            if name not in spoken_of:
                cause = f"no clause of {table.short_name} speaks of {activation.short_name}, which may be fused to it"
                mend = f"add one with `check: activation` and `when: {{{attribute.name}: {name}}}`"
                yield document.fault(("attributes",), cause, mend, at_key=True)
            yield from _formula_faults(written, path, table, activation)


def _formula_faults(document: Document, path: KeyPath, table: OperatorTable, activation: Activation) -> Iterator[Fault]:
    """An activation's numbers and formulas where it is fused to an operator."""
    taken = [*table.formula_names, *(item.name for item in table.attributes)]
    for index, name in enumerate(activation.numbers):
        if name in taken:
            cause = f"{table.short_name} has a {name!r} of its own"
            yield document.fault((*path, "numbers", index), cause, "name the operator's otherwise")
            return
    stated = {(rule.function, name) for rule in table.accuracy for name in rule.data_types}
    for index, rule in enumerate(activation.accuracy):
        if any((rule.function, name) in stated for name in rule.data_types):
            cause = f"{table.short_name} has an accuracy rule for {rule.function} already"
            yield document.fault((*path, "accuracy", index), cause, "remove this one")
            return
    fault = fused_formula_fault(fused_table(table, activation))
    if fault is not None:
        cause = f"fused to {table.short_name}, {fault.cause}"
        yield document.fault((*path, "formula"), cause, fault.mend)
