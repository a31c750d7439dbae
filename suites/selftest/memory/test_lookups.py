"""What is found once for elements that are alike: tables of few patterns, and elements that stand there again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.arithmetic.lookups import Lookup, distinct_elements
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.oracles import oracle_of

TABLES = load_tables()


def _operator(name: str, data_type: DataType, inputs: tuple[str, ...], **attributes: Any) -> OperatorDesc:
    tensors = {member: TensorDesc(data_type, (4,)) for member in (*inputs, "OutputTensor")}
    return OperatorDesc(f"ELEMENT_WISE_{name}", tensors, attributes)


ONE, TWO = ("InputTensor",), ("ATensor", "BTensor")


@pytest.mark.parametrize(
    "operator, tabulated",
    [
        (_operator("EXP", DataType.FLOAT16, ONE, ScaleBias=None), True),
        (_operator("ABS", DataType.FLOAT16, ONE, ScaleBias=None), True),
        (_operator("SIGN", DataType.INT8, ONE), True),
        (_operator("SUBTRACT", DataType.INT8, TWO), True),
        (_operator("MODULUS_FLOOR", DataType.INT8, TWO), True),
        (_operator("BIT_NOT", DataType.UINT16, ONE), True),
        (_operator("SUBTRACT", DataType.INT16, TWO), False),
    ],
)
def test_expected_outputs_are_the_same_once_they_are_looked_up(operator: OperatorDesc, tabulated: bool) -> None:
    oracle: Any = oracle_of(TABLES, operator, strict=False)
    kind, generator = operator.data_type, np.random.default_rng(3)
    bits = {name: generator.integers(0, 1 << 8 * kind.itemsize, 1 << 15, kind.bits_dtype) for name in operator.inputs}
    inputs = {name: array.view(kind.numpy) for name, array in bits.items()}
    plain = oracle.expected(inputs)
    for _ in range(4):
        again = oracle.expected(inputs)
    few = oracle.expected({name: array[:1] for name, array in inputs.items()})
    assert (oracle._looked_up._table is not None) is tabulated
    assert again.dtype == plain.dtype == operator.output.data_type.numpy
    same = again.view(kind.bits_dtype) == plain.view(kind.bits_dtype)
    assert np.all(same)
    assert few.tobytes() == again[:1].tobytes()
    if tabulated:
        again[:] = 0  # of a caller alone
        assert oracle.expected(inputs).tobytes() == plain.tobytes()


def test_a_table_is_made_when_as_many_elements_were_asked_for() -> None:
    asked = []

    def function(inputs: Mapping[str, Any]) -> Any:
        asked.append(max(array.size for array in inputs.values()))
        return -inputs["InputTensor"]

    lookup = Lookup({"InputTensor": DataType.INT16}, function)
    named_inputs = {"InputTensor": np.arange(1 << 15, dtype=np.int16)}
    results = [lookup(named_inputs).tolist() for _ in range(4)]
    assert results == [(-named_inputs["InputTensor"]).tolist()] * 4
    assert asked == [1 << 15, 1 << 15, 1 << 16]


@pytest.mark.parametrize("period, repeats", [(300, True), (1 << 20, False)])
def test_elements_that_stand_there_again_are_found_by_all_arrays(period: int, repeats: bool) -> None:
    place = np.arange(20_000) % period
    arrays = [place.astype(np.int32), (place * 7).astype(np.float64), (place % 3).astype(np.uint8)]
    arrays[2][17_003] = 9  # one that differs in the last array alone
    repetition = distinct_elements(arrays)
    assert (repetition is not None) is repeats
    if repetition is not None:
        first, inverse = repetition
        assert first.size == period + 1
        for array in arrays:
            assert np.array_equal(array[first][inverse], array)
    assert distinct_elements([array[:1000] for array in arrays]) is None


@pytest.mark.parametrize("place", [0, 4_099, 39_999])
def test_one_wrong_element_among_those_that_repeat_is_found(place: int) -> None:
    """This output is rounded once, which is acceptable; what is expected is rounded after each step."""
    tensors = {
        "InputTensor": TensorDesc(DataType.INT32, (40_000,)),
        "ScaleTensor": TensorDesc(DataType.FLOAT32, (40_000,)),
        "OutputTensor": TensorDesc(DataType.FLOAT32, (40_000,)),
    }
    oracle = oracle_of(TABLES, OperatorDesc("ELEMENT_WISE_DEQUANTIZE_LINEAR", tensors, {}), strict=False)
    x = np.resize(np.arange(100, dtype=np.int32) * 21_474_801 + 12_345, 40_000)
    scale = np.resize(np.array([0.3, 1.7, 0.011], np.float32), 40_000)
    output = (x.astype(np.float64) * scale).astype(np.float32)
    inputs = {"InputTensor": x, "ScaleTensor": scale}
    assert np.count_nonzero(output != oracle.expected(inputs)) > 5_000
    assert oracle.judge(inputs, output).size == 0
    output[place] *= np.float32(1.001)
    assert oracle.judge(inputs, output).tolist() == [place]
