"""The formulas of a page against those of its table, as written and as the oracles understand them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dmlcts.specs.errors import FormulaError
from dmlcts.specs.formula import Call, Expression, parse
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.pages.page import Difference, Page, PageFormula, Subject
from dmlcts.specs.pages.words import compact

_MODULI = {"modulus_truncate": "trunc", "modulus_floor": "floor"}
_DEFINITIONS = {"max": "larger", "min": "smaller"}


def _parsed(text: str, names: Sequence[str]) -> Expression | str:
    """The expression, or why the expression language has none for it."""
    try:
        return _written_out(parse(text, names))
    except FormulaError as error:
        return error.cause


def _written_out(expression: Expression) -> Expression:
    """The expression with each modulus as the pages print it: a - b * trunc(a / b), or with floor."""
    if not isinstance(expression, Call):
        return expression
    arguments = tuple(map(_written_out, expression.arguments))
    if expression.function in _MODULI:
        a, b = arguments
        quotient = Call(_MODULI[expression.function], (Call("divide", (a, b)),))
        return Call("subtract", (a, Call("multiply", (b, quotient))))
    return Call(expression.function, arguments)


def _compare_text(
    formula: PageFormula, subject: Subject, expected: str, meaning: str, names: Sequence[str]
) -> Iterator[Difference]:
    """The formula against the text ``expected``, and against the expression ``meaning`` of the oracle."""
    if compact(formula.text) != compact(expected):
        here = _parsed(formula.right, names)
        if isinstance(here, str):
            text = f"{formula.text} ({here})"
        elif here == _parsed(meaning, names):
            text = f"{formula.text} (it means the same)"
        else:
            text = formula.text
        yield Difference(formula.line, subject, "formula", text, expected)
        return
    here, there = _parsed(formula.right, names), _parsed(meaning, names)
    if not isinstance(here, str) and not isinstance(there, str) and here != there:
        oracle = f"{meaning} to the oracle"
        yield Difference(formula.line, subject, "meaning of the formula", formula.text, oracle)


def compare_formula(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """The page's formulas of the operator itself, and what it says that min and max return."""
    formulas = [formula for formula in page.formulas if formula.function != "g"]
    if table.page_formula is None:
        for formula in formulas:
            yield Difference(formula.line, "formula", "formula", formula.text, "that the page has none")
        return
    if not formulas:
        yield Difference(0, "formula", "formula", "nothing", table.page_formula)
    first, *more = table.page_formula.split("; ")
    for formula in formulas:
        names = (*table.formula_names, *table.numbers)
        whole = formula.text.count("; ") == len(more)
        expected = table.page_formula if whole else first
        meaning = table.formula if not more else ""
        yield from _compare_text(formula, "formula", expected, meaning, names)
        if not whole:
            yield from _compare_cases(page, formula.line, more)
    yield from _compare_definitions(page, table.page_formula)


def _compare_cases(page: Page, line: int, cases: Sequence[str]) -> Iterator[Difference]:
    """The further lines of a formula that distinguishes cases, each on a line of its own after the first."""
    for offset, case in enumerate(cases, 1):
        here = page.lines[line - 1 + offset] if line - 1 + offset < len(page.lines) else "nothing"
        if compact(here).rstrip(".") != compact(case).rstrip("."):
            yield Difference(line + offset, "formula", f"case {offset + 1} of the formula", here, case)


def _compare_definitions(page: Page, formula: str) -> Iterator[Difference]:
    """What an English page says min and max return: each that the formula uses, once it says it of one."""
    text = page.flow.text
    if page.locale != "en" or not any(f"{name}(a,b)" in text for name in _DEFINITIONS):
        return
    for name, word in _DEFINITIONS.items():
        if f"{name}(" not in formula:
            continue
        matches = [*re.finditer(rf"\b{name}\(a,b\) returns the (\w+)", text)]
        if not matches:
            yield Difference(0, "formula", f"meaning of {name}", "nothing", f"the {word} value")
        for match in matches:
            if match[1] != word:
                line, item = page.flow.line(match.start()), f"meaning of {name}"
                yield Difference(line, "formula", item, f"the {match[1]} value", f"the {word} value")


def compare_scale_bias(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """The page's formulas ``g(x) = ...`` of ScaleBias."""
    formulas = [formula for formula in page.formulas if formula.function == "g"]
    attribute = next((item for item in table.attributes if item.type == "DML_SCALE_BIAS"), None)
    if attribute is None or attribute.formula is None:
        for formula in formulas:
            yield Difference(formula.line, "scale-bias", "formula", formula.text, "no ScaleBias")
        return
    if not formulas:
        yield Difference(0, "scale-bias", "formula", "nothing", f"g(x) = {attribute.formula}")
    for formula in formulas:
        expected = f"g(x) = {attribute.formula}"
        yield from _compare_text(formula, "scale-bias", expected, attribute.formula, ("x", "scale", "bias"))
