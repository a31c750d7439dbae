"""The real results of functions over spans, exactly, and what comparisons of spans may give."""

from __future__ import annotations

import itertools
from typing import Any

from dmlcts.specs.approximation.exact_spans import Span, by_value
from dmlcts.specs.errors import FormulaError
from dmlcts.specs.functions import Function

COMPARISONS = ("less", "less_equal", "greater", "greater_equal")
"""The comparisons by which a formula of approximate values may choose."""


class _Open:
    """Any value."""


OPEN = _Open()


def real_ends(function: Function, operands: tuple[Span, ...], bits: int) -> Any:
    """The least and the greatest real result, twice: at most and at least so far apart.

    ``None`` where there is none, :data:`OPEN` where they have no bound.

    Raises:
        FormulaError: the function has no meaning for an approximate value.
    """
    real = function.exact.real
    assert real is not None, f"{function.name} has a real meaning"  # noqa: S101 - lint sees to it
    if all(operand.low == operand.high for operand in operands):
        enclosure = real(*(operand.low for operand in operands), bits=bits)
        return None if enclosure is None else (Span(*enclosure), Span(enclosure.high, enclosure.low))
    low, high = 0, 1
    match function.name:
        case "add":
            corners: list[tuple[int, ...]] = [(low, low), (high, high)]
        case "subtract":
            corners = [(low, high), (high, low)]
        case "multiply" | "divide":
            corners = [*itertools.product((low, high), repeat=2)]
            low_divisor, high_divisor = operands[1].low.value, operands[1].high.value
            if function.name == "divide" and low_divisor != high_divisor and low_divisor <= 0 <= high_divisor:
                return OPEN
            if function.name == "multiply" and any(map(_loses_zero, operands, operands[::-1])):
                return OPEN
        case "neg":
            corners = [(low,), (high,)]
        case _ if function.monotone:
            corners = [(low,) * len(operands), (high,) * len(operands)]
        case _:
            raise FormulaError(f"{function.name} is given an approximate value", "round or cast it first")
    every = [
        real(*(operand[end] for operand, end in zip(operands, corner, strict=True)), bits=bits) for corner in corners
    ]
    there = [corner_result for corner_result in every if corner_result is not None]
    if len(there) < len(every):
        return OPEN if there else None
    lows, highs = zip(*there, strict=True)
    return (
        Span(min(lows, key=by_value), max(highs, key=by_value)),
        Span(min(highs, key=by_value), max(lows, key=by_value)),
    )


def _loses_zero(span: Span, other: Span) -> bool:
    """Whether a zero is inside of one factor, and the other may be infinite: their product, a NaN, is at no corner."""
    return span.low.value < 0 < span.high.value and (other.low.infinite or other.high.infinite)


def truths(comparison: str, operands: tuple[Any, ...], *, lenient: bool) -> set[bool]:
    """What a comparison of two members may give, each a span, ``None`` for any NaN, or :data:`OPEN`.

    Args:
        comparison: one of :data:`COMPARISONS`.
        operands: the two members.
        lenient: whether a comparison with a NaN may hold.
    """
    if OPEN in operands or (None in operands and lenient):
        return {True, False}
    if None in operands:
        return {False}
    left, other = operands if comparison.startswith("less") else operands[::-1]
    low, high = left.low.value, left.high.value
    least, most = other.low.value, other.high.value
    if comparison.endswith("equal"):
        return {held for held, may in ((True, low <= most), (False, high > least)) if may}
    return {held for held, may in ((True, low < most), (False, high >= least)) if may}
