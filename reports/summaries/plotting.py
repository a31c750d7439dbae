"""Where in an element type's range something lies, drawn as inline SVG.

The axis shows every value of the type in its order. Floating-point values stand by their bit patterns, which
gives each power of two the same room; integers stand by the logarithm of their magnitude. NaN has a place of
its own, past the right end. A drawing has a track for each thing drawn, and a track has buckets: a bucket of one
value is a mark, a wider one a bar as tall as the share of its values that is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from dmlcts.specs import DataType

WIDTH, TRACK_HEIGHT, LEFT, RIGHT = 1000, 42, 18, 80
_BAR = 17
_MINUS = "\N{MINUS SIGN}"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Bucket:
    """Neighbouring values of a type, and how many of them are wrong.

    Attributes:
        first: the bit pattern of one end.
        last: the bit pattern of the other; the same for a single value.
        wrong: how many are wrong.
        judged: how many were judged; 0 where only the wrong ones are known.
        label: what to say of it where a pointer rests on it.
    """

    first: int
    last: int
    wrong: int
    judged: int = 0
    label: str = ""


@dataclass(frozen=True)
class Track:
    """One line of a drawing: its title and its buckets."""

    title: str
    buckets: tuple[Bucket, ...]


def position(data_type: DataType, bits: int) -> float | None:
    """Where a value stands from 0, the lowest of its type, to 1, the highest; ``None`` for a NaN.

    Args:
        data_type: the element type.
        bits: the value's bit pattern; bits beyond the type's width are ignored.
    """
    width = 8 * data_type.itemsize
    bits &= (1 << width) - 1
    sign = 1 << (width - 1)
    if data_type.is_floating:
        magnitude, infinity = bits & (sign - 1), _infinity(data_type)
        if magnitude > infinity:
            return None
        return 0.5 + (-0.5 if bits & sign else 0.5) * magnitude / infinity
    if not data_type.is_signed:
        return math.log2(bits + 1) / width
    value = bits - (1 << width) if bits & sign else bits
    return 0.5 + math.copysign(0.5, value) * math.log2(abs(value) + 1) / math.log2(sign + 1)


def _infinity(data_type: DataType) -> int:
    """The bit pattern of +infinity."""
    exponent = {2: 5, 4: 8, 8: 11}[data_type.itemsize]
    mantissa = 8 * data_type.itemsize - 1 - exponent
    return ((1 << exponent) - 1) << mantissa


def _ticks(data_type: DataType) -> list[tuple[float, str]]:
    """Places and labels along the axis."""
    width = 8 * data_type.itemsize

    def power(exponent: int) -> str:
        return "2" + str(exponent).translate(_SUPERSCRIPTS)

    if data_type.is_floating:
        infinity = _infinity(data_type)
        mantissa = (infinity & -infinity).bit_length() - 1
        bias = (infinity >> mantissa) // 2
        half = (bias + 1) // 2
        known = (
            (infinity, "∞"),
            ((bias + half) << mantissa, power(half)),
            (bias << mantissa, "1"),
            ((bias - half) << mantissa, power(-half)),
        )
        up = [(0.5 + 0.5 * bits / infinity, label) for bits, label in known]
        return [(0.5, "0"), *up, *((1 - place, f"{_MINUS}{label}") for place, label in up)]
    if not data_type.is_signed:
        return [(math.log2(2**part + 1) / width, power(part)) for part in (width // 4, width // 2, width)] + [(0, "0")]
    half, top = width // 2, width - 1
    up = [(0.5 + 0.5 * math.log2(2**part + 1) / math.log2(2**top + 1), power(part)) for part in (half, top)]
    return [(0.5, "0"), *up, *((1 - place, f"{_MINUS}{label}") for place, label in up)]


def _across(place: float | None) -> float:
    """A place as an x coordinate; NaN stands past the right end."""
    span = WIDTH - LEFT - RIGHT
    return round(WIDTH - RIGHT / 2 if place is None else LEFT + span * place, 1)


def _drawn(data_type: DataType, bucket: Bucket, base: float) -> str:
    ends = sorted((_across(position(data_type, bucket.first)), _across(position(data_type, bucket.last))))
    share = f"{bucket.wrong:,} of {bucket.judged:,} wrong" if bucket.judged else f"{bucket.wrong:,} wrong"
    title = f"<title>{escape(bucket.label or share)}</title>"
    if bucket.first == bucket.last:
        x = ends[0]
        return (
            f'<g class="mark">{title}<path d="M{x} {base}V{base - _BAR}"/>'
            f'<path d="M{x - 5} {base - _BAR - 5}l10 10m0 -10l-10 10"/></g>'
        )
    height = _BAR if not bucket.judged else max(2.0, round(_BAR * min(1.0, bucket.wrong / bucket.judged), 1))
    wide = max(1.0, round(ends[1] - ends[0], 1))
    return f'<rect class="bar" x="{ends[0]}" y="{base - height}" width="{wide}" height="{height}">{title}</rect>'


def _tick(x: float, label: str, height: int) -> str:
    return f'<path class="grid" d="M{x} 4V{height - 24}"/><text class="tick" x="{x}" y="{height - 8}">{label}</text>'


def drawing(data_type: DataType, tracks: Sequence[Track], title: str) -> Markup:
    """The tracks as one ``<svg>``, self-contained, styled by the page's ``.plot`` rules.

    Args:
        data_type: the element type whose values the axis shows.
        tracks: what to draw, top to bottom.
        title: what the drawing shows, for those who cannot see it.
    """
    height = TRACK_HEIGHT * len(tracks) + 26
    parts = [f'<svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">']
    for place, label in _ticks(data_type):
        x = _across(place)
        parts.append(_tick(x, label, height))
    x = _across(None)
    if data_type.is_floating:
        parts.append(_tick(x, "NaN", height))
    for number, track in enumerate(tracks):
        base = TRACK_HEIGHT * (number + 1)
        parts.append(f'<path class="axis" d="M{LEFT} {base}H{WIDTH - RIGHT}"/>')
        parts += [_drawn(data_type, bucket, base) for bucket in track.buckets if bucket.wrong]
        parts.append(f'<text class="track" x="{LEFT}" y="{base - TRACK_HEIGHT + 14}">{escape(track.title)}</text>')
    parts.append("</svg>")
    return Markup("".join(parts))  # noqa: S704  # what came from outside went through escape above
