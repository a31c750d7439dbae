"""The exact and the vectorised oracle, written apart, accept the same, on all narrow inputs and on drawn others."""

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
from dmlcts.suites import lattice

TABLES = load_tables()
NARROW = (DataType.FLOAT16, DataType.INT16, DataType.INT8, DataType.UINT16, DataType.UINT8)
WIDE = (DataType.FLOAT32, DataType.INT32, DataType.UINT32, DataType.INT64, DataType.UINT64)
MODES = ("HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY")
f32 = np.float32


def describe(name: str, data_type: DataType, **attributes: Any) -> OperatorDesc:
    tensor = TensorDesc(data_type, (1,))
    return OperatorDesc(name, {"InputTensor": tensor, "OutputTensor": tensor}, attributes)


def clip(data_type: DataType, low: Any, high: Any, scale_bias: ScaleBias | None = None) -> OperatorDesc:
    return describe("ELEMENT_WISE_CLIP", data_type, ScaleBias=scale_bias, Min=f32(low), Max=f32(high))


def threshold(data_type: DataType, low: Any, scale_bias: ScaleBias | None = None) -> OperatorDesc:
    return describe("ELEMENT_WISE_THRESHOLD", data_type, ScaleBias=scale_bias, Min=f32(low))


def rounding(data_type: DataType, mode: str) -> OperatorDesc:
    return describe("ELEMENT_WISE_ROUND", data_type, RoundingMode=mode)


def assert_same_sets(operator: OperatorDesc, x: Any, *, strict: bool) -> None:
    """Both oracles accept the same patterns for every element of ``x``, and the quick answer is among them."""
    table = TABLES.operator(operator.name)
    formula = TABLES.formula(table)
    vectorised = VectorOracle(table, formula, operator, strict=strict)
    try:
        exact = ExactOracle(table, formula, operator, strict=strict)
    except Unconstrained:
        with pytest.raises(Unconstrained):
            vectorised.acceptance(x)
        return
    acceptance = vectorised.acceptance(x)
    bits = x.view(operator.input.data_type.bits_dtype)
    for pattern, found in zip(bits.tolist(), acceptance.elements(), strict=True):
        wanted = exact.acceptable(pattern)
        assert found == wanted, f"{operator!r} of 0x{pattern:x}, strict {strict}: {found} is not {wanted}"
    assert acceptance.admits(vectorised.expected(x)).all()


def narrow_operators() -> list[OperatorDesc]:
    found = [rounding(DataType.FLOAT16, mode) for mode in MODES]
    tiny = 2.0**-24
    floats = [(-1.5, 2.5), (3, -3), (0.1, 65519.996), (-65520, 1e9), (-0.0, 0.0), (3 * tiny, 900 * tiny),
              (-np.inf, np.inf), (np.nan, 1), (-1, np.nan)]  # fmt: skip
    found += [clip(DataType.FLOAT16, *bounds) for bounds in floats]
    found += [threshold(DataType.FLOAT16, low) for low in (0.5, 0.1, -65519, 65510, tiny / 2, -0.0, np.nan)]
    found.append(clip(DataType.FLOAT16, -3, 70, ScaleBias(1.1, -0.3)))
    for data_type in NARROW[1:]:
        found += [clip(data_type, 2.9, 99.99), clip(data_type, 100.5, 7.5), threshold(data_type, 7.5)]
        found += [clip(data_type, 1, 120, ScaleBias(3, 2)), clip(data_type, 1, 120, ScaleBias(0.5, 2))]
        found += [clip(data_type, 1e9, 5), threshold(data_type, np.nan)]
        if data_type.is_signed:
            found += [clip(data_type, -2.9, 2.9), threshold(data_type, -0.5), clip(data_type, -9, 9, ScaleBias(-2, 1))]
    return found


def named(operator: OperatorDesc) -> str:
    values = [str(value) for value in operator.attributes.values() if value is not None]
    return "-".join([operator.name.removeprefix("ELEMENT_WISE_"), operator.input.data_type.name, *values])


@pytest.mark.parametrize("strict", [False, True], ids=["lenient", "strict"])
@pytest.mark.parametrize("operator", narrow_operators(), ids=named)
def test_every_narrow_input(operator: OperatorDesc, strict: bool) -> None:
    assert_same_sets(operator, lattice.every_pattern(operator.input.data_type, nan=True), strict=strict)


def patterns(data_type: DataType) -> st.SearchStrategy[Any]:
    """Small arrays of any bit patterns, boundary values among them."""
    width = 8 * data_type.itemsize
    known = [int(value.view(data_type.bits_dtype)) for value in lattice.inputs(data_type)]
    one = st.integers(0, (1 << width) - 1) | st.sampled_from(known)
    return st.lists(one, min_size=1, max_size=12).map(
        lambda bits: np.array(bits, data_type.bits_dtype).view(data_type.numpy)
    )


FACTORS = st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, 2.0**-126, 2.0**-149, 2.0**-14, 1e30])
BOUNDS = st.floats(width=32) | st.integers(-(1 << 64), 1 << 64).map(float)


@pytest.mark.parametrize("data_type", [*WIDE, *NARROW], ids=lambda data_type: data_type.name)
@settings(max_examples=150)
@given(data=st.data())
def test_drawn_operators(data_type: DataType, data: st.DataObject) -> None:
    x = data.draw(patterns(data_type), label="x")
    scale_bias = data.draw(st.none() | st.builds(ScaleBias, FACTORS, FACTORS), label="ScaleBias")
    low, high = data.draw(BOUNDS, label="Min"), data.draw(BOUNDS, label="Max")
    operators = [clip(data_type, low, high, scale_bias), threshold(data_type, low, scale_bias)]
    if data_type.is_floating:
        operators += [rounding(data_type, mode) for mode in MODES]
    for operator in operators:
        for strict in (False, True):
            assert_same_sets(operator, x, strict=strict)


@pytest.mark.parametrize("mode", MODES)
def test_every_float32_tie_and_neighbour(mode: str) -> None:
    x = np.concatenate([lattice.ties(DataType.FLOAT32), lattice.near_ties(DataType.FLOAT32)])
    assert_same_sets(rounding(DataType.FLOAT32, mode), x, strict=True)


def test_a_planted_difference_is_seen() -> None:
    operator = clip(DataType.FLOAT16, -1, 1)
    table = TABLES.operator(operator.name)
    swapped = VectorOracle(table, TABLES.formula(table), clip(DataType.FLOAT16, -1, 2), strict=True)
    exact = ExactOracle(table, TABLES.formula(table), operator, strict=True)
    x = np.array([1.5], np.float16)
    assert swapped.acceptance(x).element(0) != exact.acceptable(int(x.view(np.uint16)[0]))
