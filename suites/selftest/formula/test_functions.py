"""The table of functions: both meanings of each agree, and say what is written by hand here."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType
from dmlcts.specs.arithmetic.binary_format import BINARY16, BINARY32, BINARY64
from dmlcts.specs.arithmetic.integer_range import IntegerRange
from dmlcts.specs.arithmetic.value_sets import Arithmetic
from dmlcts.specs.arithmetic.vector_arithmetic import Rounding
from dmlcts.specs.functions import FUNCTIONS, SYMBOLS, Function, in_arrays
from dmlcts.specs.latitudes import NONE, Latitudes
from dmlcts.suites.selftest.looped_cases import looped

FORMATS = {DataType.FLOAT16: BINARY16, DataType.FLOAT32: BINARY32, DataType.FLOAT64: BINARY64}
LENIENT: Latitudes = frozenset({"zero-sign", "nan"})


def rows(part: str) -> list[Any]:
    """The functions with a meaning of that kind."""
    functions = [function for function in FUNCTIONS.values() if getattr(function.exact, part) is not None]
    return [pytest.param(function, id=function.name) for function in functions]


def test_every_function_has_both_meanings_or_neither() -> None:
    for function in FUNCTIONS.values():
        exact, arrays = function.exact, function.arrays
        for part in ("floating", "integers", "truth", "compared", "real"):
            assert (getattr(exact, part) is None) == (getattr(arrays, part) is None) or part == "real", function.name
        if function.arrays.real is not None:
            assert exact.real is not None
        assert function.exact.floating or function.exact.integers or function.exact.truth or function.exact.compared
    assert set(SYMBOLS.values()) <= set(FUNCTIONS)


@pytest.mark.parametrize("function", rows("integers"))
@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.UINT8])
def test_on_every_pair_of_bytes(function: Function, data_type: DataType) -> None:
    integers = IntegerRange.of(data_type)
    limits = np.iinfo(data_type.numpy)
    every = np.arange(int(limits.min), int(limits.max) + 1)
    grids = np.meshgrid(*[every] * len(function.takes), indexing="ij")
    operands = [grid.ravel().astype(data_type.numpy) for grid in grids]
    assert function.arrays.integers is not None
    assert function.exact.integers is not None
    with np.errstate(all="ignore"):
        result = function.arrays.integers(*operands)
    values, undefined = result if isinstance(result, tuple) else (result, np.zeros(operands[0].shape, bool))
    columns = [item.tolist() for item in (values, undefined, *operands)]
    for got, nothing, *value in zip(*columns, strict=True):
        wanted = function.exact.integers(integers, *value)
        assert nothing == (wanted is None), (function.name, value)
        assert nothing or integers.wrapped(wanted) == got, (function.name, value)  # type: ignore[arg-type]


def inputs(data_type: DataType, count: int) -> np.ndarray:
    """Seeded patterns, and every special value."""
    generator = np.random.Generator(np.random.PCG64(11))
    bits = generator.integers(0, 1 << 8 * data_type.itemsize - 1, count, np.uint64)
    sign = generator.integers(0, 2, count, np.uint64) << np.uint64(8 * data_type.itemsize - 1)
    special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -7.5, np.inf, -np.inf, np.nan]
    information = np.finfo(data_type.numpy)
    special += [float(information.max), float(information.smallest_subnormal), -float(information.smallest_normal)]
    value = (bits | sign).astype(data_type.bits_dtype).view(data_type.numpy)
    middle = generator.normal(0, 3, count).astype(data_type.numpy)
    return np.concatenate([value, middle, np.array(special).astype(data_type.numpy)])


def members(array: np.ndarray, data_type: DataType) -> list[int | None]:
    return [None if np.isnan(value) else int(value.view(data_type.bits_dtype)) for value in array]


def is_half_way(function: Function, arithmetic: Arithmetic, patterns: tuple[int | None, ...]) -> bool:
    """Whether the result of a function with an error in FLOAT64 is known to lie half way between two numbers."""
    data = [None if bits is None else arithmetic.form.decode(bits) for bits in patterns]
    if not function.arrays.error or function.exact.real is None or None in data:
        return False
    real = function.exact.real(*data)
    if real is None or real.low != real.high or real.low.infinite:
        return False
    ends = [arithmetic.form.decode(bits) for bits in arithmetic.form.neighbours(real.low)]
    return ends[0] != ends[1] and 2 * real.low.fraction == sum(end.value for end in ends if end is not None)


@looped("function", rows("floating"))
@pytest.mark.parametrize("data_type", [DataType.FLOAT16, DataType.FLOAT32])
@pytest.mark.parametrize("latitudes", [NONE, LENIENT, LENIENT | {"subnormals"}], ids=["none", "zeros, NaN", "flushed"])
def test_on_floating_point_numbers(function: Function, data_type: DataType, latitudes: Latitudes) -> None:
    arithmetic, rounding = Arithmetic(FORMATS[data_type], latitudes), Rounding(data_type, latitudes)
    x = inputs(data_type, 60)
    operands = [x] if len(function.takes) == 1 else [x, np.roll(x, 7)]
    if len(operands) == 2:  # every pair of special values
        pairs = np.array(list(itertools.product(x[-15:], repeat=2)), data_type.numpy).T
        operands = [np.concatenate([operand, other]) for operand, other in zip(operands, pairs, strict=True)]
    floating, exactly = function.arrays.floating, function.exact.floating
    assert floating is not None
    assert exactly is not None
    with np.errstate(all="ignore"):
        numbers = [
            members(np.broadcast_to(values, operands[0].shape), data_type)
            for values in rounding.closed(floating(rounding, *operands))
        ]
    value = [members(operand, data_type) for operand in operands]
    for index, patterns in enumerate(zip(*value, strict=True)):
        zeros = [
            arithmetic.closed({pattern})
            if pattern is not None and arithmetic.form.is_zero(pattern)
            else frozenset({pattern})
            for pattern in patterns
        ]
        wanted = arithmetic.apply(lambda *operands: exactly(arithmetic, *operands), *zeros)
        got = arithmetic.closed(column[index] for column in numbers)
        at = [operand[index] for operand in operands]
        assert got >= wanted, (function.name, at)
        # At the smallest normal number, at half of the smallest one, and halfway between two numbers (the root of the
        # greatest one nearly is) FLOAT64 cannot decide on which side a real function's result lies.
        limits = np.finfo(data_type.numpy)
        edge = function.arrays.error and abs(at[0]) in (limits.smallest_normal, limits.smallest_subnormal, limits.max)
        assert got == wanted or edge or is_half_way(function, arithmetic, patterns), (function.name, at)


@looped("function", rows("compared"))
@pytest.mark.parametrize("data_type", [DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64])
def test_comparisons_of_floating_point_numbers(function: Function, data_type: DataType) -> None:
    arithmetic = Arithmetic(FORMATS[data_type], NONE)
    pairs = np.array(list(itertools.product(inputs(data_type, 5), repeat=2)), data_type.numpy).T
    assert function.arrays.compared is not None
    assert function.exact.compared is not None
    operands = pairs[: len(function.takes)]
    got = function.arrays.compared(*operands)
    for index, value in enumerate(zip(*(members(operand, data_type) for operand in operands), strict=True)):
        flags = set(function.exact.compared(arithmetic, *value))
        assert bool(got[index]) in flags, (function.name, pairs[:, index])
        # The sign of a NaN is all that the exact meaning does not know.
        assert len(flags) == 1 or (function.name, value) == ("is_negative", (None,))


@pytest.mark.parametrize("function", rows("truth"))
def test_on_truth_values(function: Function) -> None:
    assert function.arrays.truth is not None
    assert function.exact.truth is not None
    for flags in itertools.product((False, True), repeat=len(function.takes)):
        assert bool(function.arrays.truth(*map(np.asarray, flags))) == function.exact.truth(*flags)


@looped(
    "name, operands, wanted",
    [
        ("divide", (-7, 2), -3),
        ("divide", (7, -2), -3),
        ("divide", (1, 0), None),
        ("divide", (-128, -1), None),
        ("modulus_truncate", (-7, 3), -1),
        ("modulus_truncate", (7, -3), 1),
        ("modulus_floor", (-7, 3), 2),
        ("modulus_floor", (7, -3), -2),
        ("bit_and", (12, 10), 8),
        ("bit_or", (12, 10), 14),
        ("bit_xor", (12, 10), 6),
        ("bit_not", (0,), -1),
        ("bit_count", (-1,), 8),
        ("shift_left", (1, 7), 128),
        ("shift_left", (1, 8), None),
        ("shift_right", (-1, 7), 1),
        ("abs", (-128,), 128),
        ("round_half_even", (3,), 3),
    ],
)
def test_integers_by_hand(name: str, operands: tuple[int, ...], wanted: int | None) -> None:
    meaning = FUNCTIONS[name].exact.integers
    assert meaning is not None
    assert meaning(IntegerRange.of(DataType.INT8), *operands) == wanted


@looped(
    "name, operands, wanted",
    [
        ("divide", (1.0, 3.0), 0.333251953125),
        ("divide", (1.0, 0.0), np.inf),
        ("divide", (1.0, -0.0), -np.inf),
        ("divide", (0.0, 0.0), np.nan),
        ("divide", (1.0, -np.inf), -0.0),
        ("sqrt", (2.0,), 1.4140625),
        ("sqrt", (-0.0,), -0.0),
        ("sqrt", (-1.0,), np.nan),
        ("sqrt", (np.inf,), np.inf),
        ("exp", (1.0,), 2.71875),
        ("exp", (-np.inf,), 0.0),
        ("exp", (12.0,), np.inf),
        ("log", (0.0,), -np.inf),
        ("log", (-1.0,), np.nan),
        ("atan", (np.inf,), 1.5703125),
        ("atanh", (1.0,), np.inf),
        ("sin", (np.inf,), np.nan),
        ("sin", (-0.0,), -0.0),
        ("acosh", (0.5,), np.nan),
        ("modulus_floor", (-7.5, 2.0), 0.5),
        ("modulus_truncate", (-7.5, 2.0), -1.5),
        ("modulus_floor", (-1.0, np.inf), np.inf),
        ("modulus_truncate", (-1.0, np.inf), -1.0),
        ("pow", (0.5, np.inf), 0.0),
        ("pow", (0.5, -np.inf), np.inf),
        ("pow", (-2.0, np.inf), np.inf),
        ("pow", (2.0, -np.inf), 0.0),
        ("pow", (-1.0, np.inf), 1.0),
        ("pow", (-0.0, -3.0), -np.inf),
    ],
)
def test_numbers_by_hand(name: str, operands: tuple[float, ...], wanted: float) -> None:
    meaning = FUNCTIONS[name].exact.floating
    assert meaning is not None
    half = DataType.FLOAT16
    numbers = members(np.array(operands, np.float16), half)
    assert set(meaning(Arithmetic(BINARY16, NONE), *numbers)) == set(members(np.array([wanted], np.float16), half))


def test_the_error_function_is_that_of_every_element_however_many() -> None:
    x = np.linspace(-3, 3, 2 * in_arrays._PIECE + 3)
    places = [0, in_arrays._PIECE - 1, in_arrays._PIECE, 2 * in_arrays._PIECE, x.size - 1]
    error_function = in_arrays._error_function(x.reshape(1, -1))
    assert error_function.shape == (1, x.size)
    assert error_function[0, places].tolist() == [math.erf(x[place]) for place in places]


@pytest.mark.parametrize(
    "base, exponent, wanted",
    [(3.0, 2.0, 9.0), (-3.0, 3.0, -27.0), (2.0, -3.0, 0.125), (0.25, 0.5, 0.5), (2.25, 1.5, 3.375)],
)
def test_a_power_that_may_lie_on_an_edge_is_known(base: float, exponent: float, wanted: float) -> None:
    """No enclosure, however narrow, decides on which side of a number, or of the middle of two, such a power lies."""
    real = FUNCTIONS["pow"].exact.real
    assert real is not None
    result = real(*(BINARY64.decode(int(np.float64(value).view(np.uint64))) for value in (base, exponent)))
    assert result is not None
    assert result.low == result.high
    assert float(result.low.fraction) == wanted


@looped(
    "data_type, base, exponent, wanted",
    [
        (DataType.INT64, 2, 62, 2**62),
        (DataType.INT64, 2, 63, None),
        (DataType.INT64, -2, 63, -(2**63)),
        (DataType.INT64, -2, 64, None),
        (DataType.INT64, 3, 39, 3**39),
        (DataType.INT64, 3, 40, None),
        (DataType.INT64, 2**63 - 1, 1, 2**63 - 1),
        (DataType.INT64, -(2**63), 1, -(2**63)),
        (DataType.INT64, -(2**63), 0, 1),
        (DataType.UINT64, 2, 63, 2**63),
        (DataType.UINT64, 2, 64, None),
        (DataType.INT64, 1, -3, 1),
        (DataType.INT64, -1, -3, -1),
        (DataType.INT64, -1, -4, 1),
        (DataType.INT64, 2, -1, None),
        (DataType.INT64, 0, -1, None),
        (DataType.INT64, -2, -1, None),
        (DataType.UINT64, 3, 40, 3**40),
        (DataType.UINT64, 2**32, 2, None),
        (DataType.UINT64, 2**64 - 1, 1, 2**64 - 1),
    ],
)
def test_powers_at_the_limits_of_64_bits(data_type: DataType, base: int, exponent: int, wanted: int | None) -> None:
    power = FUNCTIONS["pow"]
    assert power.exact.integers is not None
    assert power.arrays.integers is not None
    assert power.exact.integers(IntegerRange.of(data_type), base, exponent) == wanted
    result, undefined = power.arrays.integers(*(np.array([number], data_type.numpy) for number in (base, exponent)))
    assert bool(undefined[0]) == (wanted is None)
    assert wanted is None or int(result[0]) == wanted


@pytest.mark.parametrize("data_type", [data_type for data_type in DataType if not data_type.is_floating])
def test_a_power_next_to_a_limit_is_known_to_fit_or_not(data_type: DataType) -> None:
    power = FUNCTIONS["pow"].arrays.integers
    assert power is not None
    least, most = int(np.iinfo(data_type.numpy).min), int(np.iinfo(data_type.numpy).max)
    pairs = []
    for exponent in range(1, min(most, 140) + 1):
        roots = [round(limit ** (1 / exponent)) for limit in (most, -least)]
        bases = {sign * root + step for root in roots for sign in (1, -1) for step in range(-3, 4)}
        pairs += [(base, exponent) for base in bases | {least, most} if least <= base <= most]
    columns = (np.array(column, data_type.numpy) for column in zip(*pairs, strict=True))
    result, undefined = power(*columns)
    wanted = [base**exponent for base, exponent in pairs]
    assert undefined.tolist() == [not least <= number <= most for number in wanted]
    assert all(undefined[place] or int(result[place]) == number for place, number in enumerate(wanted))


def test_powers_are_c_s_however_the_exponent_is_stored() -> None:
    """Numpy makes roots of powers with a single exponent of 0.5."""
    power = FUNCTIONS["pow"].arrays.real
    assert power is not None
    x = np.array([-np.inf, -0.0, 0.0, 4.0, np.inf])
    for exponent, wanted in (
        (0.5, "inf 0.0 0.0 2.0 inf"),
        (-0.5, "0.0 inf inf 0.5 0.0"),
        (2.0, "inf 0.0 0.0 16.0 inf"),
        (3.0, "-inf -0.0 0.0 64.0 inf"),
        (1.0, "-inf -0.0 0.0 4.0 inf"),
        (-1.0, "-0.0 -inf inf 0.25 0.0"),
    ):
        for stored in (np.array(exponent), np.broadcast_to(exponent, x.shape), np.full(x.shape, exponent)):
            with np.errstate(all="ignore"):
                assert " ".join(map(str, power(x, stored).tolist())) == wanted, exponent


@pytest.mark.parametrize("factor", [1 - 2.0**-48, 1 + 2.0**-48])
def test_powers_at_the_limits_are_exact_whatever_numpy_errs_by(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_arrays, "_power", lambda a, b: np.power(a, b) * factor)
    power = FUNCTIONS["pow"].arrays.integers
    assert power is not None
    for data_type in (kind for kind in DataType if not kind.is_floating):
        limits = np.iinfo(data_type.numpy)
        most, root, bits = int(limits.max), math.isqrt(limits.max), limits.bits
        for base, exponent in (
            (most, 1),
            (int(limits.min), 1),
            (root, 2),
            (root + 1, 2),
            (2, bits - 2),
            (2, bits - 1),
            (2, bits),
            *(((-2, bits - 1), (-2, bits), (-root, 2), (-root - 1, 2)) if limits.min else ()),
        ):
            result, undefined = power(*(np.array([item], data_type.numpy) for item in (base, exponent)))
            fits = limits.min <= base**exponent <= most
            assert bool(undefined[0]) is not fits, (data_type, base, exponent)
            assert not fits or int(result[0]) == base**exponent


def test_arrays_of_integers_by_hand() -> None:
    for name, data_type, operands, wanted in (  # None: any value may come out
        ("shift_left", DataType.INT8, ([1, 1, 1, 1, 1], [-1, 0, 1, 7, 8]), [None, 1, 2, -128, None]),
        ("shift_right", DataType.UINT8, ([128, 128, 128, 128], [0, 1, 7, 8]), [128, 64, 1, None]),
        ("bit_count", DataType.INT16, ([0, -1, 255, 256],), [0, 16, 8, 1]),
        ("divide", DataType.INT8, ([-7, 7, 0, 1, -128], [2, -2, -3, 0, -1]), [-3, -3, 0, None, None]),
        ("floor", DataType.INT8, ([-3, 3],), [-3, 3]),
    ):
        meaning = FUNCTIONS[name].arrays.integers
        assert meaning is not None
        result = meaning(*(np.array(operand, data_type.numpy) for operand in operands))
        values, undefined = result if isinstance(result, tuple) else (result, np.zeros(len(wanted), bool))
        assert [None if nothing else int(value) for value, nothing in zip(values, undefined, strict=True)] == wanted, (
            name
        )


def test_whole_numbers_by_hand() -> None:
    values = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], np.float16)
    for name, wanted in (
        ("floor", [-3, -2, -1, 0, 1, 2]),
        ("ceil", [-2, -1, 0, 1, 2, 3]),
        ("trunc", [-2, -1, 0, 0, 1, 2]),
        ("round_half_even", [-2, -2, 0, 0, 2, 2]),
        ("round_half_away", [-3, -2, -1, 1, 2, 3]),
    ):
        floating, real = FUNCTIONS[name].arrays.floating, FUNCTIONS[name].exact.real
        assert floating is not None
        assert real is not None
        assert [item.tolist() for item in floating(Rounding(DataType.FLOAT16, NONE), values)] == [wanted]
        exact = [real(BINARY16.decode(int(item.view(np.uint16)))) for item in values]
        assert [None if item is None else item.low.value for item in exact] == wanted


def test_what_an_integer_is_and_how_two_compare() -> None:
    """No integer is a NaN, infinite or subnormal; both meanings say so."""
    least, zero, number = -128, 0, 1
    for name, wanted in (
        ("is_nan", (False, False, False)),
        ("is_infinite", (False, False, False)),
        ("is_subnormal", (False, False, False)),
        ("is_negative", (True, False, False)),
        ("less", (False, False, True)),
        ("equal", (False, True, False)),
        ("greater", (True, False, False)),
        ("less_equal", (False, True, True)),
        ("not_equal", (True, False, True)),
        ("greater_equal", (True, True, False)),
    ):
        function = FUNCTIONS[name]
        value = (
            [(least,), (zero,), (number,)]
            if len(function.takes) == 1
            else [(zero, least), (zero, zero), (zero, number)]
        )
        assert function.exact.ordered is not None
        assert function.arrays.compared is not None
        assert tuple(function.exact.ordered(*operands) for operands in value) == wanted, name
        assert tuple(function.arrays.compared(*np.array(value, np.int8).T).tolist()) == wanted, name
