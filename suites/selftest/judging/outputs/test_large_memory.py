"""Large memory: judged in pieces, not held for long, expected once where it repeats; what quick leaves to full."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, Mask, period_of
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import BULK_PERIOD, Streams, Values
from dmlcts.suites.conformance.tensors.test_strides import test_wide_elements_far_apart as judge_wide_elements
from dmlcts.suites.generation.profiles import FULL, QUICK, Profile
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.judging.outputs import PIECE, expected_outputs
from dmlcts.suites.mutants.combined.positions import WideByteOffsetsIn26Bits
from dmlcts.suites.mutants.combined.shortcuts import WideByteOffsetsIn27Bits
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.selftest.descriptions import case, clip, tensor
from dmlcts.suites.selftest.judging.test_judging import bench

TABLES = load_tables()
MASK = Mask(np.arange(1, 6, dtype=np.uint64) * np.uint64(0x0A1B_3C5D_7E9F))
STREAMS = {"seven values": Values.of(np.arange(-3.5, 3.5), DataType.FLOAT32), "bulk": Values.bulk(DataType.FLOAT32, 5)}


@pytest.mark.parametrize(
    "implementation, profile, seen",
    [
        (Reference, QUICK, False),
        (WideByteOffsetsIn26Bits, QUICK, True),
        (WideByteOffsetsIn27Bits, QUICK, False),
        (Reference, FULL, False),
        (WideByteOffsetsIn26Bits, FULL, True),
        (WideByteOffsetsIn27Bits, FULL, True),
    ],
)
def test_byte_offsets_of_27_bits_are_for_full(implementation: type[Reference], profile: Profile, seen: bool) -> None:
    subject = Subject.on(TABLES.operator("CLIP"), DataType.INT64, FeatureLevel("5.0"), 0, profile)
    judge = Judge(bench(implementation()), raising=False)
    judge_wide_elements(subject, judge)
    assert bool(judge.ledger.findings) is seen
    assert not judge.ledger.is_empty


class OneUnwritten(Reference):
    """Leaves the element at ``place`` as it was, and gives 5 at the one before it."""

    def __init__(self, place: int) -> None:
        self.place = place

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        view = self.view(memory, region, tensor)
        held = view[self.place]
        view[...] = values
        view[self.place], view[self.place - 1] = held, 5


@pytest.mark.parametrize("place", [1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 2])
def test_every_element_of_an_output_judged_in_pieces_is_looked_at(place: int) -> None:
    large = case(clip(tensor((2 * PIECE + 3,))), values=[0, 1, 2, 3, -1])
    judgement = judge_case(bench(OneUnwritten(place)), large)
    wrong_by_clause = {finding.clause: (finding.wrong, finding.title) for finding in judgement.findings}
    assert wrong_by_clause["tensor.output.complete"][0] == 1, wrong_by_clause
    assert (wrong_by_clause["tensor.position"][0], judgement.findings[-1].index) == (1, place - 1), wrong_by_clause
    assert judge_case(bench(Reference()), large).findings == ()


@pytest.mark.parametrize(
    "wrong",
    [
        [0],
        [7],
        [PIECE],
        [2 * PIECE + 2],
        [3, PIECE + 4, 2 * PIECE],
        list(range(0, 2 * PIECE, 5)),
    ],
)
@pytest.mark.parametrize("values", [[0, 1, 2, 3, -1], [0.5, 0.25]])
def test_every_wrong_element_among_those_that_repeat_is_found(wrong: list[int], values: list[float]) -> None:
    """Of those in the first periods, and of those far behind, where the like before them is right or wrong."""

    class SomeWrong(Reference):
        def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
            view = self.view(memory, region, tensor)
            view[...] = values
            view[wrong] = 9

    large = case(clip(tensor((2 * PIECE + 3,))), values=values)
    assert 0 < period_of(large) < PIECE
    (finding,) = judge_case(bench(SomeWrong()), large).findings
    assert finding.wrong == len(wrong)
    assert finding.index in wrong


@pytest.mark.parametrize("strides, kept", [(None, True), ((1 << 15,), False)], ids=["small", "far apart"])
def test_many_judgements_hold_the_dispatches_of_little_memory_alone(
    strides: tuple[int, ...] | None, kept: bool
) -> None:
    some = case(clip(tensor(strides=strides), tensor()))
    judge = Judge(bench(Reference()))
    assert [bool(judgement.executions) for judgement in judge.all([some, some])] == [kept, kept]
    assert judge.run(some) is not None  # one has its dispatch, however large


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(
    "sizes, strides",
    [
        ([40], None),
        ([4, 10], [20, 2]),
        ([4, 10], [1, 4]),
        ([4, 10], [0, 1]),
        ([4, 10], [1, 0]),
        ([BULK_PERIOD * 2 + 9], None),
    ],
)
def test_repeated_inputs_have_repeated_outputs(
    stream: str, sizes: Sequence[int], strides: Sequence[int] | None
) -> None:
    """Packed, padded, permuted, and broadcast, where the stream is not in the elements' order."""
    source, target = TensorDesc(DataType.FLOAT32, sizes, strides), TensorDesc(DataType.FLOAT32, sizes)
    attributes = {"ScaleBias": None, "Min": np.float32(-1), "Max": np.float32(2)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": source, "OutputTensor": target}, attributes)
    test_case = Case(operator, STREAMS[stream], "clip.formula")
    oracle, inputs = oracle_of(TABLES, operator, strict=False), Arena.prepare(test_case).inputs
    assert expected_outputs(oracle, test_case, inputs).tobytes() == oracle.expected(inputs).tobytes()


def test_repeated_inputs_are_looked_at_once_beside_a_tensor_of_one_element() -> None:
    tensors = {
        "InputTensor": TensorDesc(DataType.INT8, (40,)),
        "ScaleTensor": TensorDesc(DataType.FLOAT32, (1,)),
        "ZeroPointTensor": TensorDesc(DataType.INT8, (1,)),
        "OutputTensor": TensorDesc(DataType.FLOAT32, (40,)),
    }
    operator = OperatorDesc("ELEMENT_WISE_DEQUANTIZE_LINEAR", tensors, {})
    values = {"InputTensor": [1, 2, 3], "ScaleTensor": [0.5, 9.0], "ZeroPointTensor": [7]}
    test_case = Case(operator, Streams.of(values, operator), "dequantize-linear.formula")
    oracle, inputs = oracle_of(TABLES, operator, strict=False), Arena.prepare(test_case).inputs
    assert {name: array.size for name, array in inputs.items()} == dict.fromkeys(values, 40)
    wanted, asked = oracle.expected(inputs).tobytes(), []
    usual = oracle.expected
    oracle.expected = lambda some: (asked.append(len(some["InputTensor"])), usual(some))[1]  # type: ignore[method-assign]
    assert expected_outputs(oracle, test_case, inputs).tobytes() == wanted
    assert asked == [3]


def test_bulk_values_repeat_after_a_prime_number_of_elements() -> None:
    values = Values.bulk(DataType.INT32, 3).array(BULK_PERIOD + 1000)
    assert np.array_equal(values[BULK_PERIOD:], values[:1000])
    assert not np.array_equal(values[BULK_PERIOD - 1000 : BULK_PERIOD], values[:1000])


@pytest.mark.parametrize("count", [3, 7, 40, 1 << 18, (1 << 18) + 1, BULK_PERIOD, BULK_PERIOD * 2 + 9])
@pytest.mark.parametrize("stream", [*STREAMS.values(), Values.patterns(DataType.FLOAT32, 0xFFFF_FFF0)])
def test_a_stream_stores_the_elements_that_it_gives(stream: Values, count: int) -> None:
    stored = np.zeros(count, np.float32)
    stream.fill(stored)
    assert stored.tobytes() == stream.array(count).tobytes()


@pytest.mark.parametrize("strides", [None, (2,)])
@pytest.mark.parametrize("period, piece", [(40, 16), (17, 16), (7, 16), (40, 64), (7, 64)])
def test_expected_outputs_that_repeat_are_masked_as_if_each_were_given(
    period: int, piece: int, strides: Sequence[int] | None
) -> None:
    test_case = case(clip(tensor((40,)), tensor((40,), strides=strides)), values=[1])
    results = []
    for outputs in (np.arange(period, dtype=np.int8), np.arange(40, dtype=np.int8) % np.int8(period)):
        arena = Arena.prepare(test_case)
        arena.mask_output(test_case, MASK, outputs, piece)
        results.append(arena.output(test_case).tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("placement", [Placement(), Placement(in_place=True), Placement(output_first=True)])
@pytest.mark.parametrize("strides", [None, (2,)])
def test_only_elements_that_are_filled_afterwards_may_hold_anything_before(
    placement: Placement, strides: Sequence[int] | None
) -> None:
    count = 1 << 17
    laid = tensor((count,), strides=strides)
    test_case = case(clip(laid, laid), values=[1, 2, 3], placement=placement)
    outputs, results = np.arange(count).astype(np.int8), []
    for poisoned in (False, True):
        arena = Arena.prepare(test_case, lambda size: np.full(size, 0xFF, np.uint8), poisoned=poisoned)
        if not placement.in_place:
            arena.mask_output(test_case, MASK, outputs, count)
        results.append(arena.memory.tobytes())
    assert results[0] == results[1]
