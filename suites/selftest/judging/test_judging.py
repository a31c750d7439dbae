"""The judge and the arena: every planted fault is found, under the clause it breaks, and nothing else is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias, TensorDesc, UsageError
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, Masks
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Values, text, text_with_bits
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.running.accounts import account
from dmlcts.suites.selftest.descriptions import case, clip, tensor
from dmlcts.suites.selftest.first_three import first_three

f32 = np.float32


def bench(backend: Any) -> Bench:
    return Bench("planted", backend, {}, first_three())


class After(Reference):
    """Does everything right, then something to the memory."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        super().dispatch(operator, memory, bindings)
        self.spoil(memory, bindings)

    def spoil(self, memory: Array, bindings: Mapping[str, Region]) -> None:
        raise AssertionError("a subclass says what")


class PastTheEnd(After):
    def spoil(self, memory: Array, bindings: Mapping[str, Region]) -> None:
        memory[bindings["OutputTensor"].offset + 8] ^= 1  # five INT8 elements have a total size of 8


class BeforeTheStart(After):
    def spoil(self, memory: Array, bindings: Mapping[str, Region]) -> None:
        memory[bindings["OutputTensor"].offset - 1] ^= 1


class FarAway(After):
    def spoil(self, memory: Array, bindings: Mapping[str, Region]) -> None:
        memory[-1] ^= 1


class InTheInput(After):
    def spoil(self, memory: Array, bindings: Mapping[str, Region]) -> None:
        memory[bindings["InputTensor"].offset + 4] ^= 1


class InThePadding(After):
    def spoil(self, memory: Array, bindings: Mapping[str, Region]) -> None:
        memory[bindings["OutputTensor"].offset + 5] ^= 1


class OneMissing(Reference):
    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        self.view(memory, region, tensor)[:-1] = values[:-1]


class OneWrong(Reference):
    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        return np.where(x == 3, np.asarray(2, x.dtype), super().compute(operator, x))


class WrongFromTheThirdOn(Reference):
    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        y.reshape(-1)[3:] = 0
        return y


class Raises(Reference):
    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        raise ZeroDivisionError("on purpose")


class RefusesInt8(Reference):
    def refuses(self, operator: OperatorDesc) -> str:
        return "no INT8" if operator.input.data_type is DataType.INT8 else ""


class AcceptsAll(Reference):
    def refuses(self, operator: OperatorDesc) -> str:
        return ""


FAULTS = [
    (PastTheEnd, "tensor.output.bounds"),
    (BeforeTheStart, "tensor.output.bounds"),
    (FarAway, "tensor.output.bounds"),
    (InTheInput, "tensor.input.unchanged"),
    (OneMissing, "tensor.output.complete"),
    (OneWrong, "tensor.position"),
    (RefusesInt8, "clip.support.level-3-0"),
]


def failures_of(backend: Any, judged: Case) -> list[tuple[str, str]]:
    return [(finding.clause, finding.outcome) for finding in judge_case(bench(backend), judged).findings]


@pytest.mark.parametrize("fault, clause", FAULTS, ids=lambda value: getattr(value, "__name__", value))
def test_a_planted_fault_breaks_its_clause_alone(fault: type[Reference], clause: str) -> None:
    assert failures_of(fault(), case()) == [(clause, "fail")]
    assert failures_of(Reference(), case()) == []


def test_padding_inside_the_total_size_is_nobodys_business() -> None:
    assert failures_of(InThePadding(), case()) == []


def test_a_wrong_value_that_equals_the_poison_is_still_a_wrong_value() -> None:
    class Complement(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            return ~super().compute(operator, x)

    assert failures_of(Complement(), case()) == [("tensor.position", "fail")]


def test_a_refusal_breaks_the_clause_of_what_is_refused() -> None:
    class NoEqualBounds(Reference):
        def refuses(self, operator: OperatorDesc) -> str:
            return "equal" if operator.attributes["Min"] == operator.attributes["Max"] else ""

    class NoStrides(Reference):
        def refuses(self, operator: OperatorDesc) -> str:
            return "strides" if operator.input.strides is not None else ""

    equal = OperatorDesc("ELEMENT_WISE_CLIP", clip().tensors, {"ScaleBias": None, "Min": f32(1), "Max": f32(1)})
    judged = case(equal, clause="clip.bounds.equal", layout_clause=None)
    assert failures_of(NoEqualBounds(), judged) == [("clip.bounds.equal", "fail")]
    strided = case(clip(tensor(strides=(2,))), layout_clause="tensor.strides.padded")
    assert failures_of(NoStrides(), strided) == [("tensor.strides.padded", "fail")]


def test_the_other_kernels_are_closed_when_one_is_refused() -> None:
    class Counting(Reference):
        made = closed = 0

        def refuses(self, operator: OperatorDesc) -> str:
            beside = self.made > self.closed
            return "no rounding beside others" if beside and operator.name == "ELEMENT_WISE_ROUND" else ""

        def create(self, operator: OperatorDesc) -> Any:
            kernel = super().create(operator)
            self.made += 1
            kernel.close = self.count_closed  # type: ignore[method-assign]  # counts in place of doing nothing
            return kernel

        def count_closed(self) -> None:
            self.closed += 1

    device = Counting()
    floats = clip(tensor(data_type=DataType.FLOAT32))
    judged = case(floats, expectation="beside others", layout_clause="execution.independent")
    assert failures_of(device, judged) == [("execution.independent", "fail")]
    assert device.made == device.closed > 2


def test_an_exception_is_a_crash() -> None:
    assert failures_of(Raises(), case()) == [("clip.formula", "crash")]


@pytest.mark.parametrize("name, outcome", [("DeviceLost", "device_lost"), ("ExecutionFailed", "fail")])
def test_errors_are_known_by_their_names(name: str, outcome: str) -> None:
    error = type(name, (Exception,), {})

    class Failing(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            raise error("as the contract has it")

    assert failures_of(Failing(), case()) == [("clip.formula", outcome)]


def test_out_of_memory_is_a_resource_error() -> None:
    class Greedy(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            raise MemoryError

    assert failures_of(Greedy(), case()) == [("clip.formula", "resource_error")]


def test_what_must_be_refused_is_missed_when_accepted() -> None:
    zero = case(clip(tensor((0,), total_size_in_bytes=4)), expectation="refused", clause="tensor.size.zero")
    assert failures_of(AcceptsAll(), zero) == [("tensor.size.zero", "fail")]
    assert failures_of(Reference(), zero) == []


def test_a_wrong_value_is_reduced_to_one_element_and_to_the_formula() -> None:
    judged = case(clip(tensor((2, 5), DataType.INT8, strides=(7, 1))), placement=Placement(slack=16))
    planted = bench(OneWrong())
    finding = smallest(planted, judge_case(planted, judged).findings[0])
    assert (finding.clause, finding.case.operator.input.sizes) == ("clip.formula", (1,))
    assert finding.case.values.first.array(1)[0] == 3
    message = account(planted.tables, finding, "again")
    for words in (
        "input 3 gives 2",
        "3 (0x03) at index [0]",
        "acceptable   3 (0x03)",
        "got          2 (0x02)",
        "Min          -2.0 (0xc0000000)",
        "clip.formula (required)",
        "replay       again",
    ):
        assert words in message


def test_a_fault_of_position_keeps_as_many_elements_as_it_needs() -> None:
    planted = bench(WrongFromTheThirdOn())
    judged = case(clip(tensor((3, 40))), values=Values.of([2], DataType.INT8))
    finding = smallest(planted, judge_case(planted, judged).findings[0])
    assert finding.clause == "tensor.position"
    assert finding.case.operator.input.element_count == 4


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.FLOAT16, DataType.UINT64])
def test_regions_never_overlap_and_are_aligned(data_type: DataType, in_place: bool) -> None:
    for sizes in ((1,), (3,), (5, 7)):
        for slack in (0, 4, 60):
            placement = Placement(front=16, gap=0, tail=16, in_place=in_place, slack=slack)
            tensor = TensorDesc(data_type, sizes)
            tensors = {"InputTensor": tensor, "OutputTensor": tensor}
            regions, size = placement.regions(OperatorDesc("ELEMENT_WISE_CLIP", tensors))
            read, written = regions["InputTensor"], regions["OutputTensor"]
            assert read.offset % 16 == written.offset % 16 == 0
            assert (read == written) if in_place else (read.end <= written.offset)
            assert max(read.end, written.end) + 16 <= size


def test_the_poison_is_what_the_output_must_not_become() -> None:
    judged = case()
    arena = Arena.prepare(judged)
    expected = np.array([-2, -2, 0, 3, 3], np.int8)
    mask = Masks().mask(5, arena.x)
    poisoned = arena.poisoned(judged, mask.over(expected))
    assert (poisoned.poison(judged) != expected).all()
    assert (mask.over(poisoned.poison(judged)) == expected).all()
    assert arena.memory.ctypes.data % 4096 == 0


def cases() -> Iterator[Case]:
    yield case()
    yield case(
        clip(tensor((2, 3), DataType.FLOAT16, strides=(0, 1))),
        placement=Placement(16, 32, 48, output_first=True, slack=4),
    )
    yield case(values=Values.bulk(DataType.INT8, 7), expectation="refused", layout_clause=None)
    described = TensorDesc(DataType.FLOAT32, (1,))
    payload = np.array(0x7FC12345, np.uint32).view(f32)[()]
    yield Case(
        OperatorDesc(
            "ELEMENT_WISE_CLIP",
            {"InputTensor": described, "OutputTensor": described},
            {"ScaleBias": ScaleBias(-0.0, 2.5), "Min": payload, "Max": f32(-0.0)},
        ),
        Values.of([np.nan, -0.0], DataType.FLOAT32),
        "clip.nan.bound",
    )


@pytest.mark.parametrize("written", list(cases()), ids=lambda written: written.clause)
def test_a_case_survives_being_written_down(written: Case) -> None:
    assert Case.from_json(written.to_json()) == written


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data())
def test_a_case_of_strangers_is_read_or_refused(data: st.DataObject) -> None:
    document = case().to_json()
    paths = [
        "operator",
        "tensors",
        "tensors/InputTensor",
        "tensors/InputTensor/sizes",
        "attributes",
        "attributes/Min",
        "values",
        "placement",
        "placement/front",
        "expectation",
    ]
    *parents, last = data.draw(st.sampled_from(paths)).split("/")
    place = document
    for key in parents:
        place = place[key]
    place[last] = data.draw(PLAIN)
    with contextlib.suppress(UsageError):  # anything else would be a traceback for the user
        Case.from_json(document)


@pytest.mark.parametrize(
    "value, expected_text",
    [
        (f32(0.1), "0.1"),
        (f32(8388609), "8388609.0"),
        (f32(np.inf), "inf"),
        (f32(-0.0), "-0.0"),
        (f32(np.nan), "NaN"),
        (np.float16(65504), "65504.0"),
        (f32(1e-40), "1e-40"),
        (np.int8(-3), "-3"),
        (np.uint64(2**64 - 1), str(2**64 - 1)),
    ],
)
def test_numbers_are_written_as_people_write_them(value: Any, expected_text: str) -> None:
    assert text(value) == expected_text


def test_bits_are_shown_in_full_width() -> None:
    assert text_with_bits(np.float16(-1)) == "-1.0 (0xbc00)"
    assert text_with_bits(np.int8(-1)) == "-1 (0xff)"
