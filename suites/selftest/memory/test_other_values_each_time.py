"""Where any value is right an implementation may give another at each dispatch, the poison among them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Streams
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.mutants.reference import Array, Reference

COUNT = 1 << 16  # of which, of one byte each, one is the poison in two dispatches by chance, and none in four


class AnyByte(Reference):
    """Shifts by more than the width give random bytes; those that are ``left`` are not written at all."""

    def __init__(self, left: int = 0) -> None:
        self.random = np.random.default_rng(5)
        self.left = left

    def dispatch_exact(
        self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Mapping[str, Region]
    ) -> None:
        start = bindings["OutputTensor"].offset
        memory[start + self.left : start + COUNT] = self.random.integers(0, 256, COUNT - self.left, np.uint8)


def shifted_too_far() -> Case:
    tensor = TensorDesc(DataType.UINT8, (COUNT,))
    operator = OperatorDesc(
        "ELEMENT_WISE_BIT_SHIFT_LEFT", {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}
    )
    values = Streams.of({"ATensor": [1, 2, 3], "BTensor": [200]}, operator)
    return Case(operator, Streams(tuple(values.items())), "bit-shift-left.formula")


@pytest.mark.parametrize("left", [0, 3])
def test_chance_writes_what_stood_there_and_is_no_fault(left: int) -> None:
    bench = Bench("any byte", AnyByte(left), {}, load_tables())
    for _ in range(6):  # one dispatch in two shows it
        titles = [finding.title for finding in judge_case(bench, shifted_too_far()).findings]
        assert titles == ([f"{left} of {COUNT} output elements were not written"] if left else [])
