"""Large memory: it is judged in pieces, not held for long, and what quick leaves to full for its sake is seen there."""

from __future__ import annotations

import pytest

from dmlcts.specs import DataType, FeatureLevel, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.conformance.tensors.test_strides import test_wide_elements_far_apart as judge_wide_elements
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.judging.outputs import PIECE
from dmlcts.suites.selftest.judging.test_judging import bench
from dmlcts.suites.selftest.judging.test_judging_closely import case, clip, tensor
from dmlcts.suites.selftest.mutants.combined.positions import WideByteOffsetsIn26Bits
from dmlcts.suites.selftest.mutants.combined.shortcuts import WideByteOffsetsIn27Bits
from dmlcts.suites.selftest.mutants.reference import Array, Reference


@pytest.mark.parametrize(
    "implementation, thorough, seen",
    [
        (Reference, False, False), (WideByteOffsetsIn26Bits, False, True), (WideByteOffsetsIn27Bits, False, False),
        (Reference, True, False), (WideByteOffsetsIn26Bits, True, True), (WideByteOffsetsIn27Bits, True, True),
    ],
)  # fmt: skip
def test_byte_offsets_of_27_bits_are_for_full(implementation: type[Reference], thorough: bool, seen: bool) -> None:
    subject = Subject.on(load_tables().operator("CLIP"), DataType.INT64, FeatureLevel("5.0"), 0, thorough)
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
    found = {finding.clause: (finding.wrong, finding.title) for finding in judgement.findings}
    assert found["tensor.output.complete"][0] == 1, found
    assert (found["tensor.position"][0], judgement.findings[-1].index) == (1, place - 1), found
    assert judge_case(bench(Reference()), large).findings == ()


@pytest.mark.parametrize("strides, kept", [(None, True), ((1 << 15,), False)], ids=["small", "far apart"])
def test_many_judgements_hold_the_dispatches_of_little_memory_alone(
    strides: tuple[int, ...] | None, kept: bool
) -> None:
    some = case(clip(tensor(strides=strides), tensor()))
    judge = Judge(bench(Reference()))
    assert [bool(one.executions) for one in judge.all([some, some])] == [kept, kept]
    assert judge.run(some) is not None  # one has its dispatch, however large
