"""Reads outside the input, a neighbour's elements and elements never written are distinguished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Streams, Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding
from dmlcts.suites.mutants.combined.several_inputs import SecondTakenForPackedBesidePackedFirst
from dmlcts.suites.mutants.layout import InputStridesIgnored
from dmlcts.suites.mutants.memory import InputOffsetIgnored
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.running.accounts import evidence
from dmlcts.suites.selftest.descriptions import case, clip
from dmlcts.suites.selftest.judging.test_judging import OneWrong, bench, f32


class ReadsTheOutput(Reference):
    """Reads its input where the output stands."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        super().dispatch(operator, memory, {**bindings, "InputTensor": bindings["OutputTensor"]})


class ReadsTheNext(Reference):
    """The last but one element gets the last one's value."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        if y.size > 1:
            y.reshape(-1)[-2] = y.reshape(-1)[-1]
        return y


class LeavesTheLast(Reference):
    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        kept = self.view(memory, region, tensor)[..., -1].copy()
        super().write(memory, region, tensor, values)
        self.view(memory, region, tensor)[..., -1] = kept


def clip_case(data_type: DataType, sizes: tuple[int, ...] = (6,), source: Any = None, **changes: Any) -> Case:
    low, high = (-2048, 2046) if data_type.is_floating else (-100, 100)
    operator = clip(TensorDesc(data_type, sizes, source), TensorDesc(data_type, sizes), Min=f32(low), Max=f32(high))
    return case(operator, **{"values": [-90, 7, 55, -31, 12, 3], **changes})


def least(backend: type[Reference], example: Case) -> Finding:
    assert not judge_case(bench(Reference()), example).findings, "the control"
    on = bench(backend())
    return smallest(on, judge_case(on, example).findings[0])


TYPES = (DataType.INT8, DataType.INT32, DataType.FLOAT16, DataType.FLOAT32)


@pytest.mark.parametrize("data_type", TYPES)
@pytest.mark.parametrize(
    "backend, case, origin",
    [
        (InputOffsetIgnored, {}, "outside both tensors: read outside the input"),
        (InputStridesIgnored, {"source": (3,)}, "of the input that hold no element: read from a gap"),
        (
            InputStridesIgnored,
            {"sizes": (9,), "source": (0,), "layout_clause": "tensor.strides.output"},
            "outside both tensors: read outside the input",
        ),
        (ReadsTheOutput, {}, "what the output held before: read from the output"),
        (ReadsTheNext, {}, "another element's"),
        (OneWrong, {}, None),
    ],
)
def test_where_a_wrong_value_comes_from(
    backend: type[Reference], case: dict[str, Any], origin: str | None, data_type: DataType
) -> None:
    if "sizes" in case and data_type.itemsize < 4:
        origin = "of the input that hold no element: read from a gap"  # a total size is a multiple of 4 bytes
    finding = least(backend, clip_case(data_type, **case))
    text = evidence(finding).get("origin")
    assert finding.clause != "tensor.output.complete"
    assert (text is None) if origin is None else (text is not None and text.endswith(origin)), text


@pytest.mark.parametrize("data_type", TYPES)
def test_what_is_never_written_is_that(data_type: DataType) -> None:
    for example in (clip_case(data_type), clip_case(data_type, placement=Placement(output_first=True))):
        assert least(LeavesTheLast, example).clause == "tensor.output.complete"


@pytest.mark.parametrize("data_type", TYPES)
def test_no_element_that_was_written_is_reported_as_not_written(data_type: DataType) -> None:
    generator = np.random.Generator(np.random.PCG64(3))
    for backend, source in ((ReadsTheOutput, None), (InputOffsetIgnored, None), (InputStridesIgnored, (0,))):
        values = Values.of(generator.integers(-100, 100, 500), data_type)
        findings = judge_case(bench(backend()), clip_case(data_type, (500,), source, values=values)).findings
        assert [finding.clause for finding in findings] == ["tensor.position"]


class Right(Reference):
    level = "6.4"


class SubtractOfOne(Right):
    """1 more than it should be."""

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        return super().compute_exact(operator, inputs) + inputs[0].dtype.type(1)


class ReadsBFromTheGuard(Reference):
    """SUBTRACT reads its second operand 16 bytes too early."""

    level = "6.4"

    def dispatch_exact(
        self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Mapping[str, Region]
    ) -> None:
        region = bindings["BTensor"]
        early = Region(region.offset - 16, region.size)
        super().dispatch_exact(operator, table, memory, {**bindings, "BTensor": early})


class ReadsTheNextOfB(Reference):
    """SUBTRACT takes the last but one element's second operand from the last one."""

    level = "6.4"

    def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
        a, b = inputs
        if b.size > 1:
            b = b.copy()
            b.reshape(-1)[-2] = b.reshape(-1)[-1]
        return super().compute_exact(operator, [a, b])


@pytest.mark.parametrize("data_type", TYPES)
@pytest.mark.parametrize(
    "backend, strides, origin",
    [
        (ReadsBFromTheGuard, None, "it changes with the bytes outside all tensors: read outside the inputs"),
        (
            SecondTakenForPackedBesidePackedFirst,
            (3,),
            "it changes with bytes of BTensor that hold no element: read from a gap",
        ),
        (ReadsTheNextOfB, None, "it changes with BTensor at index [1]: another element's"),
        (SubtractOfOne, None, None),
    ],
)
def test_of_several_inputs_the_one_is_named_that_is_read_wrongly(
    backend: type[Reference], strides: tuple[int, ...] | None, origin: str | None, data_type: DataType
) -> None:
    tensors = {
        "ATensor": TensorDesc(data_type, (6,)),
        "BTensor": TensorDesc(data_type, (6,), strides),
        "OutputTensor": TensorDesc(data_type, (6,)),
    }
    operator = OperatorDesc("ELEMENT_WISE_SUBTRACT", tensors, {})
    elements = {"ATensor": np.array([9, 7, 55, -31, 12, 3]), "BTensor": np.array([1, 2, 4, 8, 16, 32])}
    values = Streams.of(elements, operator)
    example = Case(operator, values, "subtract.formula", "tensor.position")
    assert not judge_case(Bench("x", Right(), {}, load_tables()), example).findings, "the control"
    on = Bench("x", backend(), {}, load_tables())
    finding = smallest(on, judge_case(on, example).findings[0])
    assert evidence(finding).get("origin") == origin


def test_a_neighbour_is_named() -> None:
    assert evidence(least(ReadsTheNext, clip_case(DataType.INT8)))["origin"] == (
        "it changes with the input at index [1]: another element's"
    )


@pytest.mark.parametrize("data_type", TYPES)
def test_a_broadcast_input_with_a_packed_output_is_about_broadcasts(data_type: DataType) -> None:
    seen = clip_case(data_type, (2, 3), (0, 1), layout_clause="tensor.strides.output")
    assert least(InputStridesIgnored, seen).clause == "tensor.strides.broadcast"
    padded = clip_case(data_type, (2, 3), (7, 2), layout_clause="tensor.strides.output")
    assert least(InputStridesIgnored, padded).clause == "tensor.strides.padded"
