"""Values, scales and bounds of a level, drawn so that what they do can be seen.

A bound that clamps everything hides a scale that was forgotten; so the stream is drawn first, then a scale that
keeps most of it within the type, then bounds that cut off a tenth of the scaled values at either end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, ScaleBias
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.cases.values import Array
from dmlcts.suites.combinations.classifying import kind_of, shown_by
from dmlcts.suites.combinations.magnitudes import magnitudes, needs_rounding
from dmlcts.suites.generation import edge_values

LENGTH = 1021  # a prime: a stream that repeats never falls in step with sizes and strides
_FACTORS = (2.0, 3.0, 0.5, 1.5, 0.75, 5.0, 0.25, 1.25)
_WHOLE_FACTORS = (2.0, 3.0, 5.0)
_LEAST_DISTINGUISHING = 13  # the integers below are in every stream
_SPRINKLED = 16  # of so many elements one is special, whatever the level: what only such show needs no third factor
Generator = np.random.Generator


def exponent(generator: Generator, data_type: DataType, scale_bias: str, *, fractions: bool) -> int:
    """Two to what most values of an ordinary stream are below, so that the scale's level can be seen on them.

    Args:
        generator: draws it.
        data_type: the type.
        scale_bias: the level of ``scale-bias``.
        fractions: whether the operator looks at fractions, which large values have none of.
    """
    known = magnitudes(data_type)
    if not data_type.is_floating:
        if scale_bias == "overflowing":
            return 3
        if scale_bias == "large":
            return known.most - known.large - 2
        return int(generator.integers(min(5, known.most - 3), known.most - 2))
    if scale_bias == "overflowing":
        return known.most - known.overflowing + 2
    if scale_bias == "large":
        return int(generator.integers(-6, 3))
    if scale_bias == "tiny":
        return int(generator.integers(4, 8))
    if fractions or generator.integers(2):
        return int(generator.integers(1, 8))
    # where half of the numbers are ties, none would be ordinary
    choices = {
        DataType.FLOAT16: (-8, -6, -4, -2, -1, 0, 12, 13),
        DataType.FLOAT32: (*range(-90, 18), *range(26, 90)),
        DataType.FLOAT64: (*range(-90, 46), *range(55, 90)),
    }[data_type]
    return int(generator.choice(choices))


def _ordinary(generator: Generator, data_type: DataType, power: int) -> Array:
    """Numbers of both signs below two to ``power``; for floats one in eight a tie, if there are any."""
    if not data_type.is_floating:
        sizes = generator.integers(0, 1 << power, LENGTH).astype(data_type.numpy)
        return np.where(generator.integers(0, 2, LENGTH) == 1, sizes, -sizes) if data_type.is_signed else sizes
    drawn = (generator.uniform(-1, 1, LENGTH) * 2.0**power).astype(data_type.numpy)
    if power >= 1:
        ties = generator.integers(-(1 << min(power, 8)), 1 << min(power, 8), LENGTH) + 0.5
        drawn = np.where(np.arange(LENGTH) % 8 == 5, ties.astype(data_type.numpy), drawn)
    return drawn


def stream(generator: Generator, data_type: DataType, level: str, power: int) -> Array:
    """The elements of an explicit stream of a level of ``input``, the first one typical of it.

    A few are special at every level: a fault of infinite values that needs two other things, such as bounds and a
    place, would else hide in three factors.

    Args:
        generator: draws them.
        data_type: the type.
        level: the level; "bulk" is a recipe and no stream.
        power: two to what ordinary values are below.
    """
    x = _ordinary(generator, data_type, power)
    if level == "distinct":
        return _sprinkled(generator, x, data_type)
    if level == "lattice":
        chosen = edge_values.inputs(data_type)
        if not data_type.is_floating:
            wide = chosen.astype(np.float64)
            chosen = chosen[np.abs(wide) >= _LEAST_DISTINGUISHING]
        share = 4
    elif level == "ties":
        low = max(1, min(power, 8))
        chosen = (generator.integers(-(1 << low), 1 << low, LENGTH) + 0.5).astype(data_type.numpy)
        share = 2
    elif level == "subnormals":
        chosen = edge_values.subnormals(data_type)
        chosen = chosen[np.abs(chosen) < np.finfo(data_type.numpy).smallest_normal]
        share = 2
    else:
        infinite = np.array([np.inf, -np.inf, 0.0, -0.0], data_type.numpy)
        chosen = np.concatenate([edge_values.nans(data_type)[:10], infinite, infinite])
        share = 2
    picked = chosen[generator.integers(0, chosen.size, LENGTH)]
    mine = np.arange(LENGTH) % share != share - 1  # three of four, or every second one, the first among them
    return _sprinkled(generator, np.where(mine, picked, x), data_type)


def _sprinkled(generator: Generator, x: Array, data_type: DataType) -> Array:
    """The stream with one special value in sixteen: infinite, NaN, a zero, subnormal, or a limit of the type."""
    if data_type.is_floating:
        information = np.finfo(data_type.numpy)
        small = information.smallest_subnormal
        special = np.array(
            [np.inf, -np.inf, np.nan, 0.0, -0.0, small, -small, information.max, information.min], data_type.numpy
        )
    else:
        limits = np.iinfo(data_type.numpy)
        special = np.array([limits.min, limits.max, limits.min + 1, limits.max - 1], data_type.numpy)
    order = np.concatenate([generator.permutation(special) for _ in range(LENGTH // _SPRINKLED // special.size + 1)])
    y = x.copy()
    places = np.arange(_SPRINKLED - 3, LENGTH, _SPRINKLED)  # not the first of eight, where a short tensor begins
    y[places] = order[: places.size]
    return y


def scale_bias(generator: Generator, data_type: DataType, level: str, power: int) -> ScaleBias | None:
    """A scale and a bias of a level of ``scale-bias``, for ordinary values below two to ``power``."""
    if level == "none":
        return None
    known = magnitudes(data_type)
    floating = data_type.is_floating
    factors = _FACTORS if floating else _WHOLE_FACTORS

    def pick() -> float:
        return float(factors[int(generator.integers(len(factors)))])

    scale = pick()
    room = max(power, -6) if data_type is DataType.FLOAT16 else power
    most = 1 << max(1, min(power, 20) - 1)
    bias = pick() * 2.0 ** (room - 2) if floating else float(generator.integers(1, most + 1))
    if level == "both":
        return ScaleBias(scale, bias)
    if level == "scale-only":
        return ScaleBias(scale, 0.0)
    if level == "bias-only":
        return ScaleBias(1.0, bias)
    if level == "identity":
        return ScaleBias(1.0, 0.0 if generator.integers(2) else -0.0)
    if level == "zero":
        return ScaleBias(0.0 if generator.integers(2) else -0.0, bias)
    if level == "negative":
        choices = [(scale, -bias), (1.0, -bias)]
        if data_type.is_signed:
            choices += [(-scale, bias), (-1.0, 0.0), (-scale, -bias)]
        return ScaleBias(*choices[int(generator.integers(len(choices)))])
    if level == "inexact":
        full = float(np.float32(generator.uniform(0.5, 4.0))) if floating else float(generator.integers(1, 4)) + 0.5
        added = float(np.float32(generator.uniform(0.5, 2.0) * 2.0 ** (room - 2))) if floating else bias + 0.25
        full = full if needs_rounding(full, DataType.FLOAT32) or not floating else full + 2.0**-20
        sign = -1.0 if data_type.is_signed and generator.integers(2) else 1.0
        return ScaleBias(sign * full, added) if generator.integers(3) else ScaleBias(sign * full, 0.0)
    if level == "large":
        return ScaleBias(2.0**known.large * (1.0 if not floating else 1.5), bias if generator.integers(2) else 0.0)
    if level == "tiny":
        small = 2.0 ** (known.tiny - int(generator.integers(0, 3)))
        return ScaleBias(small * (0.75 if floating else 1.0), 0.0 if generator.integers(2) else bias * small)
    return ScaleBias(2.0**known.overflowing, bias if generator.integers(2) else 0.0)


def scaled(x: Array, scaling: ScaleBias | None, data_type: DataType) -> Array:
    """The finite x * scale + bias within the type's range, in FLOAT64: where bounds can be seen to act."""
    with np.errstate(all="ignore"):  # signalling NaNs are cast as well
        wide = x.astype(np.float64)
        wide = wide[np.isfinite(wide)]
        if scaling is not None:
            wide = wide * float(scaling.scale) + float(scaling.bias)
    if data_type.is_floating:
        low, high = -float(np.finfo(data_type.numpy).max), float(np.finfo(data_type.numpy).max)
    else:
        least, most = edge_values.limits_as_float(data_type)
        low, high = float(least), float(most)
    kept = wide[(wide >= low) & (wide <= high)]
    return kept if kept.size else np.array([0.0 if low < 0 else 1.0])


def bounds(
    generator: Generator, data_type: DataType, level: str, table: OperatorTable, g: Array
) -> Mapping[str, np.float32]:
    """FLOAT attributes of a level of ``bounds``.

    Args:
        generator: draws them.
        data_type: the type.
        level: the level.
        table: the operator's; its FLOAT attributes are a lower bound, an upper one, or both.
        g: the values that they act on, see :func:`scaled`.
    """
    share = float(generator.uniform(0.05, 0.2))
    one_end, other_end = (_of_type(float(end), data_type) for end in np.quantile(g, (share, 1 - share)))
    low, high = _ordered(one_end, other_end, data_type)
    names, lower, upper = table.float_attributes, table.lower, table.upper
    pair = {lower: low, upper: high}
    values = {name: pair.get(name, high if generator.integers(2) else low) for name in names}
    bound_name = names[int(generator.integers(len(names)))]
    from_above = bound_name == upper
    edges = (
        edge_values.limits_as_float(data_type)
        if not data_type.is_floating
        else (np.float32(-np.finfo(data_type.numpy).max), np.float32(np.finfo(data_type.numpy).max))
    )
    if level == "equal":
        middle = _of_type(float(np.median(g)), data_type)
        return dict.fromkeys(names, middle + np.float32(0))  # never -0
    if level == "inverted":
        turned = {lower: high, upper: low}
        return {name: turned.get(name, values[name]) for name in names}
    if level == "infinite":
        sides = {lower: np.float32(-np.inf), upper: np.float32(np.inf)}
        chosen = names if generator.integers(3) == 0 else (bound_name,)
        return {name: sides.get(name, np.float32(np.inf)) if name in chosen else values[name] for name in names}
    if level == "inexact":
        near = {name: _between(generator, values[name], data_type, up=name == upper) for name in names}
        return dict(zip((lower, upper), sorted(near.values()), strict=True)) if lower and upper else near
    if level == "extreme":
        edge = edges[1] if from_above else edges[0]
        values[bound_name] = edge if edge != 0 else values[bound_name]
        if edge == 0:  # an unsigned type's least value is an ordinary one
            values[upper or bound_name] = edges[1]
        return values
    if level == "negative-zero":
        zero = np.float32(-0.0)
        if upper and values[upper] <= 0 and (not lower or values[lower] < 0):
            return {**values, upper: zero}
        if lower and upper and values[upper] <= 0:
            values[upper] = np.float32(1)
        return {**values, lower or bound_name: zero}
    if level == "beyond":
        return {**values, **_beyond(generator, data_type, bound_name, upper=from_above)}
    if level == "no-number":
        bits = np.uint32(0x7FC00000 | int(generator.integers(0, 1 << 20)) | (int(generator.integers(2)) << 31))
        return {**values, bound_name: bits.view(np.float32)}
    return values


def _of_type(value: float, data_type: DataType) -> np.float32:
    """The nearest value of the type that is a FLOAT too; never -0."""
    if data_type.is_floating:
        return np.float32(data_type.numpy.type(value)) + np.float32(0)
    low, high = edge_values.limits_as_float(data_type)
    return np.float32(np.clip(np.float32(np.rint(value)), low, high)) + np.float32(0)


def _ordered(low: np.float32, high: np.float32, data_type: DataType) -> tuple[np.float32, np.float32]:
    """Two different values of the type, neither its limit; the lower one first."""
    if data_type.is_floating:
        most = float(np.finfo(data_type.numpy).max) / 2
        low, high = (np.float32(np.clip(value, -most, most)) for value in (low, high))
        if low < high:
            return low, high
        step = max(abs(float(low)) / 4, 2.0**-10)
        return _of_type(float(low) - step, data_type), _of_type(float(high) + step, data_type)
    least, greatest = (float(value) for value in edge_values.limits_as_float(data_type))
    inner = _below(greatest)
    bottom = least if least == 0 else -_below(-least)
    low, high = np.float32(np.clip(low, bottom, inner)), np.float32(np.clip(high, bottom, inner))
    if low < high:
        return low, high
    step = max(1.0, abs(float(low)) * 2.0**-20)
    if float(low) - step >= bottom:
        low = _of_type(float(low) - step, data_type)
    if low >= high:
        high = _of_type(float(high) + step, data_type)
    if low >= high or high > inner:
        low = _of_type(inner - 2 * max(1.0, inner * 2.0**-20), data_type)
        high = np.float32(inner)
    return low, high


def _below(limit: float) -> float:
    """The FLOAT below a limit, a whole number."""
    single = np.float32(limit)
    return float(min(np.nextafter(single, np.float32(0)), np.float32(np.floor(limit - 1))))


def _between(generator: Generator, value: np.float32, data_type: DataType, *, up: bool) -> np.float32:
    """A FLOAT near ``value`` that is none of the type's values, on the side that keeps bounds in order."""
    if data_type.is_floating:
        other = data_type.numpy.type(value)
        away = float(np.nextafter(other, data_type.numpy.type(np.inf if up else -np.inf)))
        part = (0.25, 0.5, 0.75, 2.0**-10, 1 - 2.0**-10)[int(generator.integers(5))]
        return np.float32(float(other) + (away - float(other)) * part)
    whole = float(value)
    if abs(whole) >= 1 << 22:  # a FLOAT has no fractions there
        whole = float(generator.integers(1, 1 << 22))
    part = (0.5, 0.25, 0.75, 2.0**-20, 1 - 2.0**-20)[int(generator.integers(5))]
    sign = 1.0 if up or not data_type.is_signed else -1.0
    number = np.float32(whole + sign * part)
    return number if not float(number).is_integer() else np.float32(whole + sign * 0.5)


def _beyond(generator: Generator, data_type: DataType, name: str, *, upper: bool) -> dict[str, np.float32]:
    if data_type is DataType.FLOAT16:
        size = (65520.0, 65536.0, 70000.0, 1e6, 3e38)[int(generator.integers(5))]
        return {name: np.float32(size if upper else -size)}
    power = 2.0 ** magnitudes(data_type).most
    size = (power, power * 2, power * 4 + 4, 3e38, np.inf)[int(generator.integers(5))]
    if upper or not generator.integers(3):
        return {name: np.float32(size)}
    return {name: np.float32(-min(size * 2, 3.3e38))}


def arranged(
    x: Array,
    data_type: DataType,
    level: str,
    count: int,
    inside: Callable[[Array], NDArray[np.bool_]],
    generator: Generator,
) -> Array:
    """The stream begun elsewhere: also a few elements are of the level, and the first one can be seen to change.

    Args:
        x: the stream.
        data_type: its type.
        level: the level of ``input``.
        count: how many elements there will be.
        inside: whether the bounds let values through, for each.
        generator: draws the places that are tried.
    """
    starts = generator.permutation(LENGTH // 8)[:40] * 8  # where what is typical of the level stands
    best = first = int(starts[0])
    seen = min(count, LENGTH)
    if not inside(x[first : first + 1])[0] or kind_of(_from(x, first, seen), data_type) != level:
        alike = begun(x, data_type, level, seen, starts)
        right = alike & inside(x[starts])
        best = int(starts[np.argmax(right)] if right.any() else starts[alike][-1] if alike.any() else 0)
    return np.roll(x, -best)


def _from(x: Array, start: int, count: int) -> Array:
    return x[start : start + count] if start + count <= x.size else x[np.arange(start, start + count) % x.size]


def begun(x: Array, data_type: DataType, level: str, count: int, starts: NDArray[np.intp]) -> NDArray[np.bool_]:
    """At which of some places so many elements of a stream begin that are of a level.

    Args:
        x: the stream, of any length; it is taken to repeat.
        data_type: its type.
        level: the level of ``input``, one of an explicit stream.
        count: how many elements.
        starts: the places.
    """
    others = np.ones(starts.shape, bool)
    for name, share, shown in shown_by(x, data_type):
        before = np.concatenate([np.zeros(1, np.intp), np.cumsum(shown)])  # how many of the elements before a place
        whole, part = np.divmod(starts + count, x.size)
        here = (whole * before[-1] + before[part] - before[starts]) >= share * count
        if name == level:
            return np.asarray(others & here)
        others &= ~here
    return others & (level == "distinct")


def beginning(x: Array, data_type: DataType, level: str, count: int, generator: Generator) -> NDArray[np.intp]:
    """Where to take ``LENGTH`` elements of a stream from, so that those that are dispatched are of the level.

    Args:
        x: the stream, of any length; it is taken to repeat.
        data_type: its type.
        level: the level of ``input``.
        count: how many elements are dispatched.
        generator: draws the places that are tried.

    Returns:
        ``LENGTH`` indices that follow each other; from the last place tried where the level begins nowhere.
    """
    seen = min(count, LENGTH)
    starts = generator.permutation(max(1, x.size // 8))[:80] * 8
    chosen = starts[0]
    if kind_of(_from(x, int(chosen), seen), data_type) != level:
        alike = begun(x, data_type, level, seen, starts)
        chosen = starts[np.argmax(alike)] if alike.any() else starts[-1]
    return np.arange(chosen, chosen + LENGTH) % x.size


def mostly_numbers(x: Array, numbers: Array, generator: Generator) -> Array:
    """The stream with at most a sixth of zeros, infinities and NaNs: the others become numbers of the second stream.

    An operator that distinguishes NaNs from numbers is shown as many of each: too many for numbers that differ.
    """
    special = ~np.isfinite(x) | (x == 0)
    share = np.count_nonzero(special) / x.size
    kept = generator.random(x.size) * share < 1 / 6
    return np.where(special & ~kept, numbers[: x.size], x)
