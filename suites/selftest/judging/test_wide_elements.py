"""What quick leaves to full for the sake of memory is seen there."""

from __future__ import annotations

import pytest

from dmlcts.specs import DataType, FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.suites.conformance.tensors.test_strides import test_wide_elements_far_apart as judge_wide_elements
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.selftest.judging.test_judging import bench
from dmlcts.suites.selftest.mutants.combined.positions import WideByteOffsetsIn26Bits
from dmlcts.suites.selftest.mutants.combined.shortcuts import WideByteOffsetsIn27Bits
from dmlcts.suites.selftest.mutants.reference import Reference


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
