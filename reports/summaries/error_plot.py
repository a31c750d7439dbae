"""Errors over the first input, drawn as inline SVG: both axes logarithmic, with the bounds that the law sets as lines.

The input's axis has a place for each bucket that results are counted in, narrow around 1 and wide far from it, the
negative ones mirrored on the left. A bucket's largest error is a stem with a dot; the judged bound is a solid line, the
strict one a dashed line, and both are named where they end, so that nothing depends on colour. The error's axis ends a
little above the largest error: a bound beyond stands at its end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from markupsafe import Markup, escape

from dmlcts.specs.accuracy.places import BUCKETS, OF_ONE_SIGN, described

WIDTH, HEIGHT = 1000, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 96, 12, 34
_LEAST = -6
"""The lowest binary exponent of an error that is drawn; what is exact stands on the axis."""
_ABOVE = 4
"""How many binary exponents above the largest error the axis may end, where a bound is there."""
_MINUS = "\N{MINUS SIGN}"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLACES = {(sign, exponent): number for number in range(BUCKETS) for sign, exponent in [described(number)]}


def power(exponent: int) -> str:
    """A power of two as people write it: "½", "4", "2²⁰"."""
    return {0: "1", -1: "½", 1: "2", 2: "4", 3: "8", 4: "16"}.get(
        exponent, "2" + str(exponent).translate(_SUPERSCRIPTS)
    )


class _Axes:
    """Where buckets and errors stand."""

    def __init__(self, places: Sequence[int], errors: Sequence[float], bounds: Sequence[float]) -> None:
        self.first, self.last = min(places), max(places)
        largest = math.ceil(math.log2(max([error for error in errors if error > 0], default=1.0)))
        widest = math.ceil(math.log2(max([bound for bound in bounds if bound > 0], default=1.0)))
        self.highest = max(1, largest, min(widest, largest + _ABOVE))
        self.step = (WIDTH - _LEFT - _RIGHT) / (self.last - self.first + 1)

    def x(self, place: float) -> float:
        return round(_LEFT + self.step * (place - self.first), 1)

    def y(self, error: float) -> float:
        exponent = _LEAST if error <= 0 else min(max(_LEAST, math.log2(error)), self.highest)
        share = (exponent - _LEAST) / (self.highest - _LEAST)
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 1)


def _line(axes: _Axes, places: Sequence[int], bounds: Sequence[float | None]) -> str:
    """A bound as steps over the buckets, with gaps where there is none."""
    drawn, before = "", None
    for place, bound in zip(places, bounds, strict=True):
        if bound is None:
            before = None
            continue
        y = axes.y(bound)
        joined = before == place
        drawn += (f"V{y}" if joined else f"M{axes.x(place)} {y}") + f"H{axes.x(place + 1)}"
        before = place + 1
    return drawn


def _ticks(axes: _Axes) -> str:
    base = HEIGHT - _BOTTOM
    drawn = ""
    every = max(1, math.ceil((axes.highest - _LEAST) / 8))
    for exponent in range(axes.highest, _LEAST, -every):
        y = axes.y(2.0**exponent)
        drawn += f'<path class="grid" d="M{_LEFT} {y}H{WIDTH - _RIGHT}"/>'
        drawn += f'<text class="value" x="{_LEFT - 8}" y="{y + 4}">{power(exponent)}</text>'
    drawn += f'<text class="value" x="{_LEFT - 8}" y="{base + 4}">0</text>'
    free = 0.0
    for place in sorted(range(axes.first, axes.last + 2), key=lambda place: place != OF_ONE_SIGN):
        label = _starting(place)
        x = axes.x(place)
        if label is not None and (place == OF_ONE_SIGN or abs(x - axes.x(OF_ONE_SIGN)) >= _ROOM) and x - free >= _ROOM:
            free = free if place == OF_ONE_SIGN else x
            drawn += f'<path class="grid" d="M{x} {base}v5"/><text class="tick" x="{x}" y="{base + 18}">{label}</text>'
    return drawn


def _starting(place: int) -> str | None:
    """What stands at the left edge of a bucket, for some of them."""
    if place == OF_ONE_SIGN:
        return "0"
    inner = place if place > OF_ONE_SIGN else place - 1
    if not 0 <= inner < BUCKETS:
        return None
    sign, exponent = described(inner)
    if exponent not in (-64, -16, -8, -4, 0, 4, 8, 32):
        return None
    return (_MINUS if sign < 0 else "") + power(exponent)


def error_drawing(row: Mapping[str, Any], title: str) -> Markup:
    """A row's errors over its first input as one ``<svg>``, styled by the page's ``.plot`` rules.

    Args:
        row: a row of ``accuracy`` in the results, whose ``range`` is not empty.
        title: what the drawing shows, for those who cannot see it.
    """
    known = sorted(
        (_PLACES[sign, exponent], bucket) for sign, exponent, *bucket in row["range"] if (sign, exponent) in _PLACES
    )
    places = [place for place, _ in known]
    errors = [bucket[1] for _, bucket in known]
    judged, strict = ([bucket[which] for _, bucket in known] for which in (2, 3))
    axes = _Axes(places, errors, [bound for bound in (*judged, *strict) if bound is not None])
    base = HEIGHT - _BOTTOM
    tops = [(axes.x(place + 0.5), axes.y(error)) for place, error in zip(places, errors, strict=True)]
    stems, dots = "".join(f"M{x} {base}V{y}" for x, y in tops), "".join(f"M{x} {y}h0" for x, y in tops)
    parts = [f'<svg class="plot errors" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    parts += [_ticks(axes), f'<path class="axis" d="M{_LEFT} {base}H{WIDTH - _RIGHT}"/>']
    parts += [f'<path class="stem" d="{stems}"/>', f'<path class="dot" d="{dots}"/>']
    labels = []
    for name, bounds in (("judged", judged), ("strict", strict)):
        line = _line(axes, places, bounds)
        if line:
            parts.append(f'<path class="bound {name}" d="{line}"/>')
            last = next(bound for bound in reversed(bounds) if bound is not None)
            labels.append((axes.y(last) + 4, name))
    parts += [f'<text x="{WIDTH - _RIGHT + 6}" y="{y}">{name}</text>' for y, name in _apart(labels)]
    parts.append("</svg>")
    return Markup("".join(parts))  # noqa: S704  # what came from outside went through escape above


def _apart(labels: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Labels moved so far down that none lies on another."""
    positions = sorted(labels)
    for place, ((upper, _), (lower, name)) in enumerate(pairwise(positions)):
        if lower - upper < _LETTER:
            positions[place + 1] = (upper + _LETTER, name)
    return positions


_LETTER, _ROOM = 14, 44
