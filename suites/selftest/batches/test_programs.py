"""A history in a batch does, finds and counts what judging its case alone does, finds and counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, Region, TensorDesc
from dmlcts.suites.batches.programs import Close, Create
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import elements
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.recipe import Recipe
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.findings import reversed_values, turned_values
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.judging.together import _HISTORIES, program_of
from dmlcts.suites.mutants.reference import Array, Kernel, Reference
from dmlcts.suites.selftest.descriptions import clip
from dmlcts.suites.selftest.judging.scripted import Device, bench, rounding, threshold
from dmlcts.suites.selftest.looped_cases import looped

STRIDED = TensorDesc(DataType.FLOAT32, (3, 5), (12, 2))
PACKED = TensorDesc(DataType.FLOAT32, (3, 5))
VALUES = (-100, -2, 0, 3, 100, 7, -1, 2.5, 4, -3, 1, 6, 8, -9, 11)


def history(expectation: str, operator: OperatorDesc) -> Case:
    clause = {"CLIP": "clip.formula", "ROUND": "round.nearest-even", "THRESHOLD": "threshold.formula"}
    short = operator.name.removeprefix("ELEMENT_WISE_")
    layout = "execution.repeatable" if "again" in expectation or "times" in expectation else "execution.independent"
    return Case(operator, Values.of(VALUES, DataType.FLOAT32), clause[short], layout, expectation)


def cases() -> list[Case]:
    operators = [make(tensor_desc) for make in (clip, threshold, rounding) for tensor_desc in (PACKED, STRIDED)]
    beside = (clip(PACKED, Max=np.float32(2)), clip(PACKED), threshold(PACKED))
    among = replace(history("beside others", clip(PACKED)), beside=beside)
    return [history(expectation, operator) for expectation in sorted(_HISTORIES) for operator in operators] + [among]


@pytest.mark.parametrize("count", [1, 7, 5000])
def test_values_are_backwards_of_as_many_elements_as_a_tensor_has(count: int) -> None:
    operator = clip(TensorDesc(DataType.FLOAT32, (count,)))
    for values in (Values.of(VALUES, DataType.FLOAT32), Values.bulk(DataType.FLOAT32, 3)):
        case = Case(operator, values, "clip.formula")
        assert reversed_values(case) == turned_values(case, lambda item: item[::-1])
        assert reversed_values(case)["InputTensor"].array(count).tolist() == values.array(count)[::-1].tolist()


def test_a_case_is_changed_as_a_dataclass_is() -> None:
    case = Case(
        clip(PACKED),
        Values.of(VALUES, DataType.FLOAT32),
        "clip.formula",
        "tensor.position",
        "oracle",
        earlier=(history("again", clip(PACKED)),),
        beside=(clip(PACKED),),
        recipe=Recipe((("rank", "2"),), 3),
    )
    value = {"operator": clip(STRIDED), "values": reversed_values(case), "placement": Placement(front=16)}
    changed = case.changed(**value, expectation="again")
    assert vars(changed) == vars(replace(case, **value, expectation="again"))
    assert vars(case.changed()) == vars(case)


class Seeing(Reference):
    """Right; it writes down what is asked of it."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.addresses: list[int] = []

    def create(self, operator: OperatorDesc) -> Any:
        self.asked.append(("create", operator))
        super().create(operator)  # which refuses what has to be refused
        return _Closing(self, operator)

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        data = [elements(memory, bindings[name], item).tobytes() for name, item in operator.inputs.items()]
        self.asked.append(("dispatch", operator, data, dict(bindings), memory.size))
        self.addresses.append(memory.ctypes.data)
        super().dispatch(operator, memory, bindings)


class _Closing(Kernel):
    def close(self) -> None:
        self.device.asked.append(("close", self.operator))  # type: ignore[attr-defined]


class RefusingNothing(Reference):
    """A device that takes every description."""

    def refuses(self, operator: OperatorDesc) -> str:
        return ""


class StumblingOverSizes(Reference):
    """A device that raises another exception than a refusal where sizes are unlike."""

    def create(self, operator: OperatorDesc) -> Kernel:
        if len({tensor.sizes for tensor in operator.tensors.values()}) > 1:
            raise RuntimeError("sizes")
        return super().create(operator)


class RememberingRefusals(Reference):
    """A device whose kernels, made after it has refused one, leave their first element out."""

    def __init__(self) -> None:
        self.refused = False

    def create(self, operator: OperatorDesc) -> Kernel:
        self.refused = self.refused or bool(self.refuses(operator))
        return super().create(operator)

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        view = elements(memory, bindings["OutputTensor"], operator.output)
        first = view[(0,) * view.ndim].copy()
        super().dispatch(operator, memory, bindings)
        if self.refused:
            view[(0,) * view.ndim] = first


class Keeping(Reference):
    """A device that gives the last element of the kernel that ran before, where that was another one."""

    def __init__(self) -> None:
        self.before: tuple[OperatorDesc, Any] | None = None

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        super().dispatch(operator, memory, bindings)
        view = elements(memory, bindings["OutputTensor"], operator.output)
        before, self.before = self.before, (operator, view[(-1,) * view.ndim].copy())
        if before is not None and before[0] != operator and before[1].dtype == view.dtype:
            view[(-1,) * view.ndim] = before[1]


class ByAddress(Reference):
    """A device that keeps what it read at an address."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, int, OperatorDesc], Array] = {}

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        place = bindings["InputTensor"].offset
        view = elements(memory, bindings["InputTensor"], operator.input)
        known = self.kept.setdefault((memory.ctypes.data, place, operator), view.copy())
        values = view.copy()
        if bindings["InputTensor"] != bindings["OutputTensor"]:
            view[...] = known
        super().dispatch(operator, memory, bindings)
        if bindings["InputTensor"] != bindings["OutputTensor"]:
            view[...] = values


class PastTheEndAtTheThird(Reference):
    """A device whose every third dispatch writes behind its output."""

    count = 0

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        super().dispatch(operator, memory, bindings)
        self.count += 1
        if self.count % 3 == 0:
            memory[bindings["OutputTensor"].offset + operator.output.total_size_in_bytes] ^= 1


class RefusingThresholds(Reference):
    """Another operator is wrong by itself: it is refused."""

    def refuses(self, operator: OperatorDesc) -> str:
        return "none" if operator.name.endswith("THRESHOLD") else super().refuses(operator)


class WrongThresholds(Reference):
    """Another operator is wrong by itself: it gives zeros."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        super().dispatch(operator, memory, bindings)
        if operator.name.endswith("THRESHOLD"):
            elements(memory, bindings["OutputTensor"], operator.output)[...] = 0


def summary(backend: Any, *, dispatches: bool, some: list[Case]) -> tuple[Any, ...]:
    judge = Judge(bench(backend), raising=False)
    seen = judge.all(some, dispatches=dispatches)
    tallies = {row: (tally.cases, tally.elements, tally.failures) for row, tally in judge.ledger.tallies.items()}
    report = [
        [(finding.clause, finding.outcome, finding.case.expectation) for finding in judgement.findings]
        for judgement in seen
    ]
    return tallies, report, judge.ledger.refused, None if any(report) else judge.seen.records()


@looped("case", cases, ids=lambda case: f"{case.operator.name[13:]} {case.expectation}")
def test_a_program_does_what_its_judge_does(case: Case) -> None:
    result = program_of(bench(Reference()), case)
    assert result is not None
    assert result[0].dispatches
    together, alone = Seeing(), Seeing()
    assert not Judge(bench(together)).all([case])[0].executions
    assert Judge(bench(alone)).all([case], dispatches=True)[0].executions
    assert together.asked == alone.asked
    assert len(set(together.addresses)) <= 3  # one memory, and that of the dispatch by itself


def test_a_right_history_is_counted_as_by_itself() -> None:
    together, alone = (summary(Reference(), dispatches=literal, some=cases()) for literal in (False, True))
    assert together == alone
    assert not any(together[1])


@pytest.mark.parametrize("backend", [RefusingThresholds, WrongThresholds])
def test_what_is_wrong_with_another_operator_by_itself_is_not_blamed_on_a_history(backend: Any) -> None:
    some = [case for case in cases() if not case.operator.name.endswith("THRESHOLD")]
    together, alone = (summary(backend(), dispatches=literal, some=some)[:3] for literal in (False, True))
    assert together == alone
    assert not any(together[1])


def test_a_fault_in_a_history_is_found_as_by_itself() -> None:
    for case in cases():
        together, alone = (summary(Keeping(), dispatches=literal, some=[case])[:2] for literal in (False, True))
        assert together == alone


@pytest.mark.parametrize("backend", [RefusingNothing, StumblingOverSizes, RememberingRefusals])
def test_what_comes_of_a_description_that_has_to_be_refused_is_found_as_by_itself(backend: Any) -> None:
    some = [history("after a refusal", operator) for operator in (clip(PACKED), rounding(STRIDED))]
    together, alone = (summary(backend(), dispatches=literal, some=some)[:3] for literal in (False, True))
    assert together == alone
    is_reported = backend is not StumblingOverSizes  # of which other tests report it
    assert [bool(findings) for findings in together[1]] == [is_reported, is_reported]


@pytest.mark.parametrize("backend", [Keeping, ByAddress, PastTheEndAtTheThird])
@pytest.mark.parametrize("expectation", ["again", "many times", "beside others"])
def test_a_fault_in_a_history_is_found(backend: Any, expectation: str) -> None:
    result = summary(backend(), dispatches=False, some=[history(expectation, clip(PACKED))])[1][0]
    by_itself = summary(backend(), dispatches=True, some=[history(expectation, clip(PACKED))])[1][0]
    assert result or not by_itself
    assert result or (backend, expectation) in (
        (Keeping, "again"),  # one kernel alone
        (Keeping, "many times"),
        (ByAddress, "beside others"),  # the same values each time
    )


@pytest.mark.parametrize("expectation", ["again", "many times", "beside others", "dispatched again"])
def test_what_goes_wrong_once_is_found_though_the_case_is_right_by_itself(expectation: str) -> None:
    case = history(expectation, clip(PACKED))
    program = program_of(bench(Reference()), case)
    assert program is not None
    last = len(program[0].dispatches)
    judge = Judge(bench(Device(spoils=(last,))), raising=False)
    (finding,) = judge.all([case])[0].findings
    assert (finding.clause, finding.outcome) == (case.layout_clause, "fail")
    assert judge.ledger.tallies[finding.clause, "ELEMENT_WISE_CLIP", "FLOAT32"].failures == 1
    assert not Judge(bench(Device(spoils=(9999,))), raising=False).all([case])[0].findings


def test_an_exception_that_comes_once_is_found_though_the_case_is_right_by_itself() -> None:
    class RunsOneTime(Reference):
        count = 0

        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
            self.count += 1
            if self.count == 3:
                raise RuntimeError("lost")
            super().dispatch(operator, memory, bindings)

    case = history("dispatched again", clip(PACKED))
    judge = Judge(bench(RunsOneTime()), raising=False)
    (finding,) = judge.all([case])[0].findings
    assert finding.clause == "execution.repeatable"
    assert "lost" in str(finding.details)


def test_kernels_of_a_program_that_stops_are_closed() -> None:
    class Failing(Seeing):
        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
            super().dispatch(operator, memory, bindings)
            raise RuntimeError("no")

    device = Failing()
    Judge(bench(device), raising=False).all([history("beside others", clip(PACKED))])
    kinds = [item[0] for item in device.asked]
    assert kinds.count("create") == kinds.count("close") > 1


def test_a_history_on_tensors_too_large_for_a_batch_is_judged_by_itself() -> None:
    large = clip(TensorDesc(DataType.FLOAT32, (1 << 17,)))
    small = clip(TensorDesc(DataType.FLOAT32, (1 << 4,)))
    values = Values.of(np.arange(16), DataType.FLOAT32)
    made = [Case(described, values, "clip.formula", "execution.repeatable", "again") for described in (large, small)]
    assert [program_of(bench(Reference()), case) is None for case in made] == [True, False]


def test_a_program_makes_what_it_dispatches_and_closes_what_it_made() -> None:
    for case in cases():
        result = program_of(bench(Reference()), case)
        assert result is not None
        made = [step.kernel for step in result[0].steps if isinstance(step, Create)]
        closed = [step.kernel for step in result[0].steps if isinstance(step, Close)]
        assert sorted(made) == sorted(closed) == list(range(len(made)))
        assert {step.kernel for step in result[0].dispatches} <= set(made)
