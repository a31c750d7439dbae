"""Expected outputs that are computed once a period are those that the oracle gives for every element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.cases.values import BULK_PERIOD, Values
from dmlcts.suites.judging.outputs import expected_outputs

TABLES = load_tables()
STREAMS = {"seven values": Values.of(np.arange(-3.5, 3.5), DataType.FLOAT32), "bulk": Values.bulk(DataType.FLOAT32, 5)}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize("sizes, strides", [
    ([40], None), ([4, 10], [20, 2]), ([4, 10], [1, 4]), ([4, 10], [0, 1]), ([4, 10], [1, 0]),
    ([BULK_PERIOD * 2 + 9], None),
])  # fmt: skip
def test_repeated_inputs_have_repeated_outputs(
    stream: str, sizes: Sequence[int], strides: Sequence[int] | None
) -> None:  # fmt: skip
    """Packed, padded, permuted, and broadcast, where the stream is not in the elements' order."""
    source, target = TensorDesc(DataType.FLOAT32, sizes, strides), TensorDesc(DataType.FLOAT32, sizes)
    attributes = {"ScaleBias": None, "Min": np.float32(-1), "Max": np.float32(2)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": source, "OutputTensor": target}, attributes)
    case = Case(operator, STREAMS[stream], "clip.formula")
    oracle, inputs = oracle_of(TABLES, operator, strict=False), Arena.prepare(case).inputs
    assert expected_outputs(oracle, case, inputs).tobytes() == oracle.expected(inputs).tobytes()


def test_bulk_values_repeat_after_a_prime_number_of_elements() -> None:
    values = Values.bulk(DataType.INT32, 3).array(BULK_PERIOD + 1000)
    assert np.array_equal(values[BULK_PERIOD:], values[:1000])
    assert not np.array_equal(values[BULK_PERIOD - 1000 : BULK_PERIOD], values[:1000])
