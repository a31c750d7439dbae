"""The checks of formulas, of the accuracy of their functions, and of the ways in which they may be computed besides."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence

from dmlcts.specs.checking.common_checks import Loaded
from dmlcts.specs.errors import Fault, FormulaError
from dmlcts.specs.formula import kind_of, multiply_add, parse
from dmlcts.specs.functions import FUNCTIONS
from dmlcts.specs.models import AccuracyRule, OperatorTable, PermittedFormula
from dmlcts.specs.reading.mends import closest
from dmlcts.specs.reading.yaml_source import Document, KeyPath
from dmlcts.specs.tables.formula_types import misplaced_approximation, result_fault
from dmlcts.specs.tables.signatures import signatures

BOUND_NAMES = ("x", "y", "t", "ulp")
"""What a bound of an accuracy rule may be an expression of: arguments, real result, spacing of numbers there."""


def formula_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    """What is wrong with an operator's formula, and with what its ScaleBias does."""
    document, table = loaded.document, loaded.table
    enumerations = {item.name: item.enumerators for item in table.attributes if item.type == "ENUM"}
    names = (*table.formula_names, *table.numbers)
    yield from faults_of(document, ("formula",), lambda: _checked(table, names, enumerations))
    for index, attribute in enumerate(table.attributes):
        if attribute.formula is not None:
            path = ("attributes", index, "formula")
            yield from faults_of(document, path, functools.partial(multiply_add, attribute.formula))


def _checked(table: OperatorTable, names: Sequence[str], enumerations: Mapping[str, Sequence[str]]) -> None:
    """Parse the formula, and see that it gives the output's type on every signature.

    Raises:
        FormulaError: it is no formula, or gives something else.
    """
    expression = parse(table.formula, names, enumerations, table.type_variables)
    misplaced = misplaced_approximation(expression, {rule.function for rule in table.accuracy})
    if misplaced is not None:
        raise FormulaError(misplaced, "round the value first, or state no accuracy of what it comes from")
    if any(row.kind == "output" for row in table.tensors.values()):
        for signature in signatures(table):
            if len(signature.types) == len(table.type_variables):
                cause = result_fault(expression, table, signature)
                if cause is not None:
                    raise FormulaError(cause, "cast the result, as in cast(U, ...), or correct the types")


def accuracy_faults(
    document: Document, rules: Sequence[AccuracyRule], sources: Sequence[str], place: KeyPath = ()
) -> Iterator[Fault]:
    """The accuracy rules: of functions that are approximate, each type once, and with a bound.

    Args:
        document: where they stand.
        rules: the rules.
        sources: the ids of the sources that they may name.
        place: the path of what has them.
    """
    approximate = [name for name, function in FUNCTIONS.items() if function.arrays.real is not None]
    first: set[tuple[str, str]] = set()
    for index, rule in enumerate(rules):
        path: KeyPath = (*place, "accuracy", index)
        if rule.function not in approximate:
            cause = f"no accuracy can be stated of {rule.function!r}"
            yield document.fault((*path, "function"), cause, closest(rule.function, approximate))
        for item, name in enumerate(rule.data_types):
            if (rule.function, name) in first:
                cause = f"{rule.function} on {name} has a rule already"
                yield document.fault((*path, "data_types", item), cause, "keep one of them")
            first.add((rule.function, name))
        if rule.source not in sources:
            yield document.fault((*path, "source"), f"undefined source {rule.source!r}", closest(rule.source, sources))
        for member, tolerance in (("judged", rule.judged), ("strict", rule.strict)):
            stated = [
                bound for bound in ("ulp", "relative", "absolute", "factor") if getattr(tolerance, bound) is not None
            ]
            if not stated and not tolerance.neighbours:
                yield document.fault((*path, member), "the tolerance has no bound", "add `ulp:`", at_key=True)
            for amount in (*stated, "within"):
                text = getattr(tolerance, amount)
                if isinstance(text, str):
                    parsed = functools.partial(_checked_bound, text, "truth" if amount == "within" else "T")
                    yield from faults_of(document, (*path, member, amount), parsed)


def _checked_bound(text: str, wanted: str) -> None:
    """Parse a bound or a condition of an accuracy rule.

    Raises:
        FormulaError: it is neither, or not the one that is wanted.
    """
    if kind_of(parse(text, BOUND_NAMES)) != wanted:
        description = "a condition" if wanted == "truth" else "a number"
        raise FormulaError(f"{text!r} is not {description}", f"write {description} of {', '.join(BOUND_NAMES)}")


def permitted_faults(loaded: Loaded[OperatorTable]) -> Iterator[Fault]:
    """The permitted formulas: each a formula of the output's type, with a condition on the inputs, and a source."""
    document, table = loaded.document, loaded.table
    names = (*table.formula_names, *table.numbers)
    sources = [source.id for source in table.sources]
    for index, permitted in enumerate(table.permitted_formulas):
        path: KeyPath = ("permitted_formulas", index)
        yield from faults_of(document, (*path, "formula"), functools.partial(_checked_way, table, permitted))
        if permitted.where is not None:
            yield from faults_of(document, (*path, "where"), functools.partial(parse, permitted.where, names))
        if permitted.source not in sources:
            yield document.fault(
                (*path, "source"), f"undefined source {permitted.source!r}", closest(permitted.source, sources)
            )


def _checked_way(table: OperatorTable, permitted: PermittedFormula) -> None:
    """Parse a permitted formula, and see that it gives the output's type on every floating-point signature.

    Raises:
        FormulaError: it is no formula, or gives something else.
    """
    expression = parse(permitted.formula, (*table.formula_names, *table.numbers), types=table.type_variables)
    for signature in signatures(table):
        if any(data_type.is_floating for _, data_type in signature.types):
            cause = result_fault(expression, table, signature)
            if cause is not None:
                raise FormulaError(cause, "cast the result, as in cast(U, ...), or correct the types")


def faults_of(document: Document, path: KeyPath, parsed: Callable[[], object]) -> Iterator[Fault]:
    """The fault of the formula at ``path``, if parsing it raises one."""
    try:
        parsed()
    except FormulaError as error:
        # Only there does a character of the formula stand in the file at the same distance.
        offset = error.offset if path in document.plain else 0
        yield document.fault(path, error.cause, error.mend, offset=offset)


def fused_formula_fault(table: OperatorTable) -> FormulaError | None:
    """Why the formulas of an operator with an activation fused to it cannot be, or ``None``."""
    names = (*table.formula_names, *table.numbers)
    try:
        _checked(table, names, {})
        for permitted in table.permitted_formulas:
            _checked(table.model_copy(update={"formula": permitted.formula}), names, {})
            if permitted.where is not None:
                parse(permitted.where, names)
    except FormulaError as error:
        return error
    return None
