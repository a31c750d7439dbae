"""Reading a page's formulas, ``f(x) = ...`` and ``g(x) = ...``, out of the sentences around them."""

# ruff: noqa: RUF001 - the look-alikes (wide colons, dashes, Cyrillic words) are what the pages hold

from __future__ import annotations

import re
from collections.abc import Iterator

from dmlcts.specs.pages.flow import Flow
from dmlcts.specs.pages.page import PageFormula
from dmlcts.specs.pages.words import IDENTIFIER, normal

_LONGEST = 300
_FUNCTION = re.compile(rf"\b([A-Za-z]) ?\( ?({IDENTIFIER}(?: ?, ?{IDENTIFIER})*) ?\) ?=(?!=) ?", re.ASCII)
_TOKEN = re.compile(
    rf" ?(?:(?P<operand>{IDENTIFIER}|\d+(?:\.\d+)?)|(?P<operator>[-+*/%^<>=!&|?·×÷−]+)|(?P<open>[(\[])"
    r"|(?P<close>[)\]])|(?P<comma>,))",
    re.ASCII,
)


def read_formulas(flow: Flow) -> Iterator[PageFormula]:
    """The formulas of a page, in order, each read only when it is asked for."""
    for match in _FUNCTION.finditer(flow.text):
        end = _expression_end(flow, match.end())
        if match[1] != "g" and flow.begins_line(match.start()):
            end = min(flow.end_of_line(max(match.end(), end) - 1), match.end() + _LONGEST)
        right = flow.text[match.end() : end].strip().rstrip(".,;:。").rstrip()
        left = f"{match[1]}({', '.join(normal(name) for name in match[2].split(','))})"
        yield PageFormula(flow.line(match.start()), match[1], left, right)


def _expression_end(flow: Flow, start: int) -> int:
    """Where the expression that begins at ``start`` ends and the sentence around it goes on."""
    position = end = start
    depth = 0
    operand_due = True
    while (token := _TOKEN.match(flow.text, position)) and position - start < _LONGEST:
        if token["open"]:
            depth += 1
            operand_due = True
        elif token["close"] and depth > 0:
            depth -= 1
            operand_due = False
        elif depth == 0 and (token["close"] or token["comma"] or (token["operand"] and not operand_due)):
            break
        else:
            operand_due = not token["operand"]
        position = token.end()
        if depth == 0 and not operand_due:
            end = position
    if depth > 0:
        return min(flow.end_of_line(start), start + _LONGEST)
    return end
