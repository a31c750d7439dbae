"""A batch says of each case what judging it alone says, whatever an implementation does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.suites.batches.plans import Plans
from dmlcts.suites.batches.spots import Spots
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, elements
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import Values
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.judging.losses import Hazards
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.selftest.descriptions import clip, tensor
from dmlcts.suites.selftest.judging.scripted import bench, threshold
from dmlcts.suites.selftest.looped_cases import looped

LAYOUTS = (None, (15, 5, 1), (1, 2, 8), (17, 6, 1), (0, 5, 1), (0, 0, 0))
SIZES = (2, 3, 5)
PLACES = (
    Placement(),
    Placement(front=528, gap=0),
    Placement(output_first=True, slack=32),
    Placement(in_place=True),
)
VALUES = (-100, -2, 0, 3, 100, 7, -1)


def redirected(
    make: Callable[[TensorDesc], OperatorDesc], data_type: DataType, strides: Any, target: Any, larger: int = 0
) -> OperatorDesc:
    source = TensorDesc(data_type, SIZES, strides)
    output = TensorDesc(data_type, SIZES, target)
    made = make(source)
    tensors = {
        "InputTensor": source,
        "OutputTensor": TensorDesc(data_type, SIZES, target, output.total_size_in_bytes + larger),
    }
    return OperatorDesc(made.name, tensors, made.attributes)


def cases() -> list[Case]:
    result = []
    for make in (clip, threshold):
        for data_type in (DataType.INT8, DataType.FLOAT32, DataType.INT64):
            for strides in LAYOUTS:
                for target in LAYOUTS[:4]:
                    for place in PLACES:
                        if place.in_place and (strides != target or 0 in (strides or ())):
                            continue
                        operator = redirected(make, data_type, strides, target, 0 if place.in_place else 8)
                        if place.in_place:
                            operator = redirected(make, data_type, strides, target)
                        clause = "clip.formula" if make is clip else "threshold.formula"
                        result.append(
                            Case(
                                operator, Values.of(VALUES, data_type), clause, "tensor.strides.padded", placement=place
                            )
                        )
    return result


class Spoiling(Reference):
    """Right, but for what it does to the memory at some dispatches."""

    every = 7

    def __init__(self) -> None:
        self.count = 0

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        super().dispatch(operator, memory, bindings)
        self.count += 1
        if self.count % self.every == 3:
            self.spoil(operator, memory, bindings)

    def spoil(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        raise AssertionError("a subclass says what")


class Right(Spoiling):
    def spoil(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        pass


class WrongElement(Spoiling):
    def spoil(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        view = elements(memory, bindings["OutputTensor"], operator.output)
        view[-1, -1, -1] += 1


class PastTheEnd(Spoiling):
    def spoil(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        memory[bindings["OutputTensor"].offset + operator.output.total_size_in_bytes] ^= 1


class LastByteOfTheMemory(Spoiling):
    def spoil(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        memory[-1] ^= 1


class InputChanged(Spoiling):
    def spoil(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        if bindings["InputTensor"] != bindings["OutputTensor"]:
            memory[bindings["InputTensor"].offset] ^= 1


class Padding(Spoiling):
    """Permitted: bytes within the output's total size that hold no element."""

    def spoil(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        if bindings["InputTensor"] != bindings["OutputTensor"]:
            memory[bindings["OutputTensor"].offset + operator.output.total_size_in_bytes - 1] ^= 1


class OtherZeros(Spoiling):
    """Permitted: a zero of the other sign."""

    every = 1

    def spoil(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        view = elements(memory, bindings["OutputTensor"], operator.output)
        if operator.output.data_type.is_floating:
            view[view == 0] = -0.0


class Raising(Reference):
    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        if operator.output.strides == LAYOUTS[3]:
            raise RuntimeError("no such strides")
        super().dispatch(operator, memory, bindings)


class Unwritten(Reference):
    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        view = elements(memory, bindings["OutputTensor"], operator.output)
        kept = view[1].copy()
        super().dispatch(operator, memory, bindings)
        if bindings["InputTensor"] != bindings["OutputTensor"]:
            view[1] = kept


class Refusing(Reference):
    def create(self, operator: OperatorDesc) -> Any:
        if operator.output.strides == LAYOUTS[2]:
            raise type("InvalidArgument", (Exception,), {})("no such strides")
        return super().create(operator)


def summary(opened: Bench, *, dispatches: bool) -> tuple[Any, ...]:
    judge = Judge(opened, raising=False)
    seen = judge.all(cases(), dispatches=dispatches)
    tallies = {
        row: (tally.cases, tally.elements, tally.failures, tally.types) for row, tally in judge.ledger.tallies.items()
    }
    report = [
        [
            (finding.clause, finding.outcome, finding.title, finding.wrong, finding.details)
            for finding in judgement.findings
        ]
        for judgement in seen
    ]
    # where something is wrong a case is dispatched again, which the next one has before it, or not yet
    return tallies, report, judge.ledger.refused, None if any(report) else judge.seen.records()


BACKENDS = pytest.mark.parametrize(
    "backend, wrong",
    [
        (Right, False),
        (Padding, False),
        (OtherZeros, False),
        (WrongElement, True),
        (PastTheEnd, True),
        (LastByteOfTheMemory, True),
        (InputChanged, True),
        (Raising, True),
        (Unwritten, True),
        (Refusing, True),
    ],
)


@BACKENDS
@pytest.mark.size("thorough", brief=2)
def test_a_batch_judges_as_each_case_alone_does(backend: Any, wrong: bool) -> None:
    together, alone = (summary(bench(backend()), dispatches=dispatches) for dispatches in (False, True))
    assert together == alone
    assert any(together[1]) == wrong


@BACKENDS
@pytest.mark.size("all", brief=1, thorough=4)
def test_a_batch_of_an_isolated_implementation_judges_the_same(backend: Any, wrong: bool) -> None:
    result = []
    for dispatches in (False, True):
        isolated = bench(IsolatedBackend(f"dmlcts.suites.selftest.batches.test_batches:{backend.__name__}"))
        isolated.hazards = Hazards()
        calls = count_messages(isolated)
        result.append(summary(isolated, dispatches=dispatches))
        assert (calls["lives"] > 0) is not dispatches
        isolated.close()
    assert result[0] == result[1]
    assert any(result[0][1]) == wrong


def count_messages(isolated: Bench) -> Counter[str]:
    """Counts what an isolated implementation is asked from now on, by what it is asked for."""
    host, counted = isolated._device.host, Counter[str]()
    call = host.call

    def counting(do: str, *arguments: Any, **fields: Any) -> dict[str, Any]:
        counted[do] += 1
        answer: dict[str, Any] = call(do, *arguments, **fields)
        return answer

    host.call = counting
    return counted


@looped("case", lambda: cases()[::5], ids=str)
def test_a_plan_knows_where_elements_stand(case: Case) -> None:
    plan = Plans().of(case.operator, case.placement)
    assert plan is not None
    arena = Arena.prepare(case)
    for name, value in case.operator.tensors.items():
        here = elements(arena.memory, arena.bindings[name], value).reshape(-1)
        spots = Spots([plan.read[name]], np.array([0]), value.data_type.numpy)
        assert spots.read(arena.memory).tobytes() == here.tobytes()
    assert (plan.regions, plan.size) == case.placement.regions(case.operator)


FEW_AND_MANY = [(2, 7), (31, 47), (15, 17), (16, 16), (1, 257), (3, 1000)]
_SLOT = 1 << 15


@pytest.mark.parametrize("chosen", [(0, 1, 2, 3, 4, 5), (1, 4, 5), (0, 2)], ids=str)
def test_elements_of_many_cases_are_read_and_written_where_they_stand(chosen: tuple[int, ...]) -> None:
    """Of tensors with few elements the places are listed, of those with many views are taken; columns run fastest."""
    placed = []
    for number, (rows, columns) in enumerate(FEW_AND_MANY):
        tensor_desc = tensor((rows, columns), DataType.FLOAT32, strides=(1, rows))
        plan = Plans().of(clip(tensor_desc), Placement())
        assert plan is not None
        placed.append((plan, tensor_desc, number * _SLOT))
    starts = np.array([start for _, _, start in placed])
    spots = Spots([plan.read["InputTensor"] for plan, _, _ in placed], starts, DataType.FLOAT32.numpy)
    memory = np.zeros(len(placed) * _SLOT, np.uint8)
    values = np.arange(sum(plan.count for plan, _, _ in placed), dtype=np.float32) + 1
    some = np.isin(np.arange(len(placed)), chosen)
    spots.write(memory, values, None if some.all() else some)
    end = 0
    for number, (plan, tensor_desc, start) in enumerate(placed):
        own = values[end : (end := end + tensor_desc.element_count)]
        here = elements(memory[start:], plan.regions["InputTensor"], tensor_desc).reshape(-1)
        assert here.tolist() == (own if number in chosen else np.zeros_like(own)).tolist()
        assert spots.read(memory)[end - own.size : end].tolist() == here.tolist()


def test_plans_are_shared_by_types_of_one_width_and_forgotten_when_they_are_many() -> None:
    plans = Plans(most_bytes=3000)
    first = plans.of(clip(tensor(data_type=DataType.INT8)), Placement())
    assert plans.of(clip(tensor(data_type=DataType.UINT8)), Placement()) is first
    for size in range(1, 40):
        plans.of(clip(tensor((size,))), Placement())
    assert plans.of(clip(tensor(data_type=DataType.INT8)), Placement()) is not first


@pytest.mark.parametrize("types", [("FLOAT32", "FLOAT32"), ("FLOAT32", "INT32"), ("FLOAT32", "FLOAT16")])
def test_a_plan_of_one_region_is_that_of_the_types(types: tuple[str, str]) -> None:
    plans, place = Plans(), Placement(one_region=True)
    for text, other in (("INT32", "INT32"), types, ("INT32", "FLOAT32")):
        tensors = {
            name: tensor((3,), data_type=DataType[kind]) for name, kind in (("ATensor", text), ("BTensor", other))
        }
        operator = OperatorDesc("ELEMENT_WISE_POW", {**tensors, "OutputTensor": tensor((3,), data_type=DataType[text])})
        plan = plans.of(operator, place)
        assert plan is not None
        assert (plan.regions, plan.size) == place.regions(operator)
        assert (plan.regions["ATensor"] == plan.regions["BTensor"]) is (text == other)


def test_cases_too_large_for_a_batch_have_no_plan() -> None:
    most = tensor((1 << 16,), data_type=DataType.INT8)
    assert Plans().of(clip(most), Placement()) is not None
    assert Plans().of(clip(tensor((1 + (1 << 16),), data_type=DataType.INT8)), Placement()) is None
    assert Plans().of(clip(most), Placement(gap=1 << 18)) is None


def test_what_the_iterable_raises_comes_after_the_cases_before_it() -> None:
    def some() -> Any:
        yield from cases()[:5]
        raise LookupError("no more")

    judge = Judge(bench(Right()))
    with pytest.raises(LookupError, match="no more"):
        judge.all(some())
    assert judge.ledger.tallies["clip.formula", "ELEMENT_WISE_CLIP", "INT8"].cases == 5


def test_a_fault_that_needs_the_case_before_is_found_in_a_batch() -> None:
    class Keeping(Reference):
        """Keeps the first element of the dispatch before."""

        kept: Any = None

        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
            super().dispatch(operator, memory, bindings)
            view = elements(memory, bindings["OutputTensor"], operator.output)
            kept, self.kept = self.kept, np.array(view[0, 0, 0])
            if kept is not None and kept.dtype == view.dtype:
                view[0, 0, 0] = kept

    judge = Judge(bench(Keeping()), raising=False)
    case = cases()[0]
    other = Case(case.operator, Values.of([3, 2, 1, 0, -1], DataType.INT8), "clip.formula")
    assert [bool(judgement.findings) for judgement in judge.all([case, other, case, other])] == [
        False,
        True,
        True,
        True,
    ]
