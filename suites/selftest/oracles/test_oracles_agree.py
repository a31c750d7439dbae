"""The exact and the vectorised oracle, written apart, accept the same, on all narrow inputs and on chosen others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.suites.generation import edge_values
from dmlcts.suites.selftest.descriptions import clip

TABLES = load_tables()
NARROW = (DataType.FLOAT16, DataType.INT16, DataType.INT8, DataType.UINT16, DataType.UINT8)
WIDE = (DataType.FLOAT32, DataType.FLOAT64, DataType.INT32, DataType.UINT32, DataType.INT64, DataType.UINT64)
MODES = ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")
f32 = np.float32


def describe(name: str, data_type: DataType, **attributes: Any) -> OperatorDesc:
    tensor = TensorDesc(data_type, (1,))
    return OperatorDesc(name, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)


def bounded(data_type: DataType, low: Any, high: Any, scale_bias: ScaleBias | None = None) -> OperatorDesc:
    return clip(data_type, ScaleBias=scale_bias, Min=f32(low), Max=f32(high))


def threshold(data_type: DataType, low: Any, scale_bias: ScaleBias | None = None) -> OperatorDesc:
    return describe("ELEMENT_WISE_THRESHOLD", data_type, ScaleBias=scale_bias, Min=f32(low))


def rounding(data_type: DataType, mode: str) -> OperatorDesc:
    return describe("ELEMENT_WISE_ROUND", data_type, RoundingMode=mode)


def assert_same_sets(operator: OperatorDesc, x: Any, *, strict: bool) -> None:
    """Both oracles accept the same patterns for every element of ``x``, and the quick answer is among them."""
    table = TABLES.operator(operator.name)
    law = TABLES.law(table)
    vectorised = VectorOracle(law, operator, strict=strict)
    try:
        exact = ExactOracle(law, operator, strict=strict)
    except Unconstrained:
        with pytest.raises(Unconstrained):
            vectorised.acceptance(x)
        return
    acceptance = vectorised.acceptance(x)
    bits = x.view(operator.input.data_type.bits_dtype)
    for pattern, element in zip(bits.tolist(), acceptance.elements(), strict=True):
        wanted = exact.acceptable(pattern)
        assert element == wanted, f"{operator!r} of 0x{pattern:x}, strict {strict}: {element} is not {wanted}"
    assert acceptance.admits(vectorised.expected(x)).all()


def bounded_operators() -> list[OperatorDesc]:
    """Every cast of a bound and every comparison, without ScaleBias, on the narrow types."""
    operators = [rounding(DataType.FLOAT16, mode) for mode in MODES]
    tiny = 2.0**-24
    floats = [
        (-1.5, 2.5),
        (3, -3),
        (0.1, 65519.996),
        (-65520, 1e9),
        (-0.0, 0.0),
        (3 * tiny, 900 * tiny),
        (-900 * tiny, -0.0),
        (-np.inf, np.inf),
        (np.nan, 1),
        (-1, np.nan),
        (np.nan, np.nan),
        (2.0**-149, 2),
    ]
    operators += [bounded(DataType.FLOAT16, *bounds) for bounds in floats]
    operators += [threshold(DataType.FLOAT16, low) for low in (0.5, 0.1, -65519, 65510, tiny / 2, -0.0, np.nan)]
    for data_type in NARROW[1:]:
        operators += [bounded(data_type, 2.9, 99.99), bounded(data_type, 100.5, 7.5), threshold(data_type, 7.5)]
        operators += [bounded(data_type, 1e9, 5), threshold(data_type, np.nan)]
        if data_type.is_signed:
            operators += [bounded(data_type, -2.9, 2.9), threshold(data_type, -0.5)]
    return operators


def named(operator: OperatorDesc | int) -> str:
    if isinstance(operator, int):
        return str(operator)
    values = [str(value) for value in operator.attributes.values() if value is not None]
    return "-".join([operator.name.removeprefix("ELEMENT_WISE_"), operator.input.data_type.name, *values])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("place, operator", list(enumerate(bounded_operators())), ids=named)
@pytest.mark.size("thorough", brief=4)
def test_every_narrow_input(place: int, operator: OperatorDesc) -> None:
    """Every input under every rounding mode; under bounds every 8-bit input, and each 16-bit one under a fifth."""
    x = edge_values.every_pattern(operator.input.data_type, nan=True)
    some = x if x.size == 256 else np.concatenate([x[place % 5 :: 5], edge_values.inputs(operator.input.data_type)])
    assert_same_sets(operator, x if operator.name.endswith("ROUND") else some, strict=False)
    assert_same_sets(operator, some, strict=True)


# ScaleBias: pairs of scale and bias of every class, each class for what a slip in the oracle would leave unseen.

EPS = 2.0**-23
FLOAT_FACTORS = {
    "plain": [(1, 0), (1, -0.0), (-1, 0), (2, 0), (3, 2), (0, -0.0), (0.5, -0.25), (1024, -5), (1, -1)],
    "every bit of the significand": [(1 + EPS, -1), (2 - EPS, EPS - 2), (0.1, 0.7), (1.1, -0.3), (-2 / 3, 1 / 3)],
    "rounded up or cut off": [(1 + 0.75 * 2.0**-10, -1024), (1 + 2.0**-11, -1 - 2.0**-11), (1 - 2.0**-12, 2049)],
    "beside ties": [(1 + 2.0**-11, 2.0**-24), (33, 2.0**-24), (683 / 2048, 2.0**-24), (1, 2.0**-13 - 2.0**-36)],
    "large": [(65504, 0), (65519.996, 1), (65520, -65520), (70000, -1), (1e30, -1e30), (3.4e38, 1), (-3e38, 3e38)],
    "tiny": [
        (2.0**-24, 2.0**-24),
        (2.0**-25, -(2.0**-24)),
        (1.5 * 2.0**-25, 2.0**-14),
        (-(2.0**-14), 2.0**-15),
        (2.0**-126, 2.0**-126),
        (2.0**-126, 0),
        (2.0**-140, 2.0**-149),
        (1, 2.0**-149),
        (2.0**-149, 1),
    ],
    "overflowing": [(4, 1), (2, 65504), (2.0**127, -(2.0**127)), (2.0**64, -1)],
    "not finite": [(np.inf, 1), (1, np.nan), (0, np.inf), (np.inf, -np.inf), (np.nan, 0)],
}
INTEGER_FACTORS = {
    "plain": [(1, 0), (1, -0.0), (1, -3), (-1, 0), (2, 0), (3, 2), (0, 7), (1, 100), (2, -200), (-2, 255)],
    "fractions": [(0.5, 0), (0.5, 1.75), (-0.5, 0.25), (1.1, -0.3), (0.1, 0.7), (1, 0.75), (0, -77.5), (1 / 3, 1 / 3)],
    "every bit of the significand": [(1 + EPS, 0), (2 - EPS, EPS - 2), (16777215, 16777213), (1.5, 65536.5)],
    "large": [(255, -65000), (1e5, 0), (3e9, -1), (1e10, -5), (2.0**127, -(2.0**127)), (-3e38, 3e38), (2.0**100, 1)],
    "tiny": [(1e-30, 1), (2.0**-149, 0), (-(2.0**-149), 2.0**33), (2.0**-24, -(2.0**-24))],
    "at the limits of types": [
        (1, 2.0**31),
        (-1, -(2.0**31)),
        (1, 2.0**32),
        (1, -(2.0**63)),
        (-1, 2.0**64),
        (0, -1e38),
        (1, 2.0**15),
        (-1, 127),
    ],
    "not finite": [(np.inf, 0), (1, np.nan)],
}


def factors_of(data_type: DataType) -> list[tuple[str, float, float]]:
    """Every pair with its class."""
    classes = FLOAT_FACTORS if data_type.is_floating else INTEGER_FACTORS
    return [(name, scale, bias) for name, pairs in classes.items() for scale, bias in pairs]


def scaled_operators(data_type: DataType) -> list[OperatorDesc]:
    """Each pair in turn before bounds that change nothing and before bounds that change much."""
    low, high = edge_values.limits_as_float(data_type) if not data_type.is_floating else (-np.inf, np.inf)
    operators = []
    for place, (_, scale, bias) in enumerate(factors_of(data_type)):
        scale_bias = ScaleBias(scale, bias)
        operators.append(
            bounded(data_type, 3, 99, scale_bias) if place % 8 == 7 else threshold(data_type, low, scale_bias)
        )
    operators.append(bounded(data_type, low, high, ScaleBias(1.7, 3)))
    return operators


@pytest.mark.sampled(2)
@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.UINT8], ids=lambda kind: kind.name)
def test_every_8_bit_input_under_every_scale_and_bias(data_type: DataType) -> None:
    for operator in scaled_operators(data_type):
        assert_same_sets(operator, edge_values.every_pattern(data_type), strict=False)


@pytest.mark.size("all")
@pytest.mark.parametrize("data_type", [DataType.FLOAT16, DataType.INT16, DataType.UINT16], ids=lambda kind: kind.name)
def test_every_16_bit_input_under_scale_and_bias(data_type: DataType) -> None:
    """Every input under one pair, dealt out so that each pair gets inputs of every size and sign, and all specials."""
    x = edge_values.every_pattern(data_type, nan=True)
    operators = scaled_operators(data_type)
    dealt = np.random.Generator(np.random.PCG64(17)).integers(0, len(operators), x.size)
    edges = edge_values.subnormals(data_type)[::5] if data_type.is_floating else edge_values.inputs(data_type)[::9]
    for place, operator in enumerate(operators):
        share = np.concatenate([x[dealt == place], edges])
        assert_same_sets(operator, share, strict=False)
        assert_same_sets(operator, share[:: 8 if data_type.is_floating else 40], strict=True)


def close_inputs(data_type: DataType, scale: float, bias: float) -> Any:
    """Inputs whose product or sum lies next to where rounding, flushing or storing changes."""
    numpy, limits = data_type.numpy, []
    if data_type.is_floating:
        information = np.finfo(np.float32)
        limits = [float(information.smallest_normal), float(information.max), 1.0, 2.0**-24, -bias]
    else:
        own = np.iinfo(numpy)
        limits = [float(own.min), float(own.max), 2.0**24, 2.0**53, -(2.0**31), 2.0**32, 0.5, -0.5]
    with np.errstate(all="ignore"):
        reached = [np.float64(limit - shift) / np.float64(np.float32(scale)) for limit in limits for shift in (0, bias)]
        kept = [
            number
            for number in reached
            if np.isfinite(number) and abs(number) < (1e300 if data_type.is_floating else 2.0**62)
        ]
        if data_type.is_floating:
            neighbours = edge_values.neighbours(np.array(kept).astype(numpy), data_type)
        else:
            whole = {int(number) + step for number in kept for step in (-1, 0, 1)} | {int(own.min), int(own.max)}
            neighbours = np.array(sorted(number for number in whole if int(own.min) <= number <= int(own.max)), numpy)
    return np.unique(neighbours)


@pytest.mark.parametrize("data_type", WIDE, ids=lambda kind: kind.name)
@pytest.mark.size("thorough", brief=1)
def test_wide_inputs_beside_every_limit_under_every_scale_and_bias(data_type: DataType) -> None:
    drawn = np.random.Generator(np.random.PCG64(23))
    for operator, (_, scale, bias) in zip(scaled_operators(data_type), factors_of(data_type), strict=False):
        close = close_inputs(data_type, scale, bias)
        others = np.frombuffer(drawn.bytes(6 * data_type.itemsize), data_type.numpy)
        assert_same_sets(operator, np.concatenate([close, others]), strict=False)
        assert_same_sets(operator, close[::5], strict=True)


@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.FLOAT64], ids=lambda kind: kind.name)
@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
def test_nan_and_subnormal_bounds_of_wide_floats(data_type: DataType, strict: bool) -> None:
    tiny, small = 2.0**-149, 2.0**-126
    x = np.concatenate(
        [
            edge_values.subnormals(data_type),
            edge_values.nans(data_type),
            np.array([-3, 0.0, -0.0, 2, np.inf], data_type.numpy),
            edge_values.neighbours([small, -small], data_type),
        ]
    )
    pairs = [
        (np.nan, 2),
        (-1, np.nan),
        (np.nan, np.nan),
        (np.nan, -tiny),
        (tiny, np.nan),
        (tiny, 3 * tiny),
        (-tiny, 0.0),
        (-small, tiny),
        (3 * tiny, -tiny),
        (small, small - tiny),
        (0.0, -0.0),
    ]
    for low, high in pairs:
        assert_same_sets(bounded(data_type, low, high), x, strict=strict)
        assert_same_sets(threshold(data_type, low), x[::3], strict=strict)
    assert_same_sets(bounded(data_type, np.nan, 2, ScaleBias(1, -tiny)), x[::3], strict=strict)


def patterns(data_type: DataType) -> st.SearchStrategy[Any]:
    """Small arrays of any bit patterns, boundary values among them."""
    width = 8 * data_type.itemsize
    known = [int(value.view(data_type.bits_dtype)) for value in edge_values.inputs(data_type)]
    bit_patterns = st.integers(0, (1 << width) - 1) | st.sampled_from(known)
    return st.lists(bit_patterns, min_size=1, max_size=12).map(
        lambda bits: np.array(bits, data_type.bits_dtype).view(data_type.numpy)
    )


def factors() -> st.SearchStrategy[Any]:
    """Any FLOAT, evenly over the binades, whole numbers, and those of the classes."""
    scaled = st.builds(
        lambda bits, exponent: np.ldexp(float(bits), exponent), st.integers(-(1 << 24), 1 << 24), st.integers(-173, 103)
    )
    known = sorted({factor for _, *pair in factors_of(DataType.FLOAT32) for factor in pair if np.isfinite(factor)})
    return st.floats(width=32) | scaled | st.integers(-300, 300).map(float) | st.sampled_from(known)


FACTORS = factors()
BOUNDS = st.floats(width=32) | st.integers(-(1 << 64), 1 << 64).map(float)


@pytest.mark.parametrize("data_type", [*WIDE, *NARROW], ids=lambda data_type: data_type.name)
@settings(max_examples=60)
@given(data=st.data())
@pytest.mark.size("thorough", brief=3)
def test_drawn_operators(data_type: DataType, data: st.DataObject) -> None:
    x = data.draw(patterns(data_type), label="x")
    scale_bias = data.draw(st.none() | st.builds(ScaleBias, FACTORS, FACTORS), label="ScaleBias")
    low, high = data.draw(BOUNDS, label="Min"), data.draw(BOUNDS, label="Max")
    operators = [bounded(data_type, low, high, scale_bias), threshold(data_type, low, scale_bias)]
    if data_type.is_floating:
        operators += [rounding(data_type, mode) for mode in MODES]
    for operator in operators:
        for strict in (False, True):
            assert_same_sets(operator, x, strict=strict)


@pytest.mark.parametrize("mode", MODES)
def test_every_float32_tie_and_neighbour(mode: str) -> None:
    x = np.concatenate([edge_values.ties(DataType.FLOAT32), edge_values.near_ties(DataType.FLOAT32)])
    assert_same_sets(rounding(DataType.FLOAT32, mode), x, strict=True)


def differing(vector_oracle: VectorOracle, other: OperatorDesc, x: Any, *, strict: bool = False) -> bool:
    """Whether the vectorised oracle of one description and the exact one of another accept something else."""
    law = TABLES.law(TABLES.operator(other.name)).with_expression(vector_oracle.expression)
    exact = ExactOracle(law, other, strict=strict)
    wanted = [exact.acceptable(pattern) for pattern in x.view(vector_oracle.data_type.bits_dtype).tolist()]
    return list(vector_oracle.acceptance(x).elements()) != wanted


@pytest.mark.parametrize(
    "data_type", [DataType.FLOAT16, DataType.FLOAT32, DataType.FLOAT64, DataType.INT32], ids=lambda kind: kind.name
)
def test_a_planted_difference_is_seen(data_type: DataType) -> None:
    table = TABLES.operator("ELEMENT_WISE_CLIP")
    x = np.array([1.5, 3], data_type.numpy)
    good = bounded(data_type, -1, 8, ScaleBias(1.1, 1))
    oracle = VectorOracle(TABLES.law(table), good)
    assert not differing(oracle, good, x)
    assert differing(oracle, bounded(data_type, -1, 2, ScaleBias(1.1, 1)), x)
    assert differing(oracle, bounded(data_type, -1, 8, ScaleBias(1.5, 1)), x)
    assert differing(oracle, bounded(data_type, -1, 8, ScaleBias(1.1, -1)), x)
    if data_type.is_floating:
        zero, plain = np.zeros(1, data_type.numpy), bounded(data_type, -1, 8)
        assert differing(VectorOracle(TABLES.law(table), plain), plain, zero, strict=True)
        assert differing(oracle, bounded(data_type, np.nan, 8, ScaleBias(1.1, 1)), x)
