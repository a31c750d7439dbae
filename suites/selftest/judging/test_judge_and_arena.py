"""The judge and the arena, looked at closely: what the mutants of their code have shown to be untested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import DeviceLost
from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.attribution.shrink import Effort, shrink
from dmlcts.suites.attribution.shrink import smaller as smaller_cases
from dmlcts.suites.cases import memory as arenas
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, aligned_memory
from dmlcts.suites.cases.outcomes import Mishap
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, Judgement, attribute_text, filled_with
from dmlcts.suites.judging.judge import ConformanceFailure, Judge, Ledger, Tally
from dmlcts.suites.judging.losses import Hazards, is_wanted, judge_surviving, survey
from dmlcts.suites.judging.outputs import marks
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.running.accounts import account
from dmlcts.suites.selftest.descriptions import case, clip, tensor

f32 = np.float32
TABLES = load_tables()


def bench(backend: Any, **changes: Any) -> Bench:
    return Bench("planted", backend, {}, TABLES, **changes)


def threshold() -> OperatorDesc:
    return OperatorDesc("ELEMENT_WISE_THRESHOLD", clip().tensors, {"ScaleBias": None, "Min": f32(-2)})


class Counting(Reference):
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.created = 0
        self.dispatched = 0

    def create(self, operator: OperatorDesc) -> Any:
        self.created += 1
        return super().create(operator)

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        self.dispatched += 1
        super().dispatch(operator, memory, bindings)


class PastTheEnd(Counting):
    """Writes the byte after the output's total size."""

    def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
        super().dispatch(operator, memory, bindings)
        memory[bindings["OutputTensor"].offset + operator.output.total_size_in_bytes] ^= 1


class OneWrong(Reference):
    """Gives 2 for 3."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        return np.where(x == 3, np.asarray(2, x.dtype), super().compute(operator, x))


# ---------------------------------------------------------------------------------------------- arena


def test_memory_holds_the_pattern_from_its_first_byte_to_its_last() -> None:
    period = arenas._PATTERN_BYTES
    assert period % 2 == 1
    assert period > 1 << 20
    memory = aligned_memory(2 * period + 5)
    assert memory.shape == (2 * period + 5,)
    assert memory.ctypes.data % 4096 == 0
    assert (memory[:period] == memory[period : 2 * period]).all()
    assert (memory[:5] == memory[2 * period :]).all()
    assert (memory[:99] == aligned_memory(99)).all()
    assert np.unique(memory).tolist() == list(range(1, 255))  # a byte of 0 or 255 could be an output's
    shares = np.bincount(memory[:period]) / period
    assert shares[1:].max() < 0.006


def test_the_pattern_cannot_be_spoiled() -> None:
    with pytest.raises(ValueError, match="read-only"):
        arenas._pattern()[0] = 0


@pytest.mark.parametrize("data_type", [DataType.INT8, DataType.INT16, DataType.INT64])
def test_repeated_elements_take_one_value_of_the_stream(data_type: DataType) -> None:
    arena = Arena.prepare(case(clip(tensor((3, 2), data_type, strides=(0, 1))), (1, 2, 3, 4, 5)))
    assert arena.x.tolist() == [1, 2, 1, 2, 1, 2]
    arena = Arena.prepare(case(clip(tensor((2, 3), data_type, strides=(5, 2))), (1, 2, 3, 4)))
    assert arena.x.tolist() == [1, 2, 3, 4, 1, 2]


@pytest.mark.parametrize("strides", [None, (2,), (1,)])
@pytest.mark.parametrize("in_place", [False, True])
def test_the_inputs_of_a_dispatch_do_not_follow_the_memory(strides: tuple[int, ...] | None, in_place: bool) -> None:
    judged = case(clip(tensor(strides=strides)), placement=Placement(in_place=in_place))
    arena = Arena.prepare(judged).poisoned(judged, np.array([9, 9, 9, 9, 9], np.int8))
    arena.memory[:] = 0
    assert arena.x.tolist() == [-100, -2, 0, 3, 100]


def strayed(judged: Case, *offsets: int) -> tuple[list[int], list[int]]:
    arena = Arena.prepare(judged).poisoned(judged, None)
    for offset in offsets:
        arena.memory[offset] ^= 1
    return arena.strays(judged)


def test_strays_are_distinguished_to_the_byte() -> None:
    judged = case(placement=Placement(front=16, gap=0, tail=16, slack=16))  # input 16..24, output 48..56, 96 bytes
    arena = Arena.prepare(judged)
    assert (arena.bindings["InputTensor"].offset, arena.bindings["OutputTensor"].offset) == (16, 48)
    assert arena.memory.size == 96
    assert strayed(judged) == ([], [])
    assert strayed(judged, *range(48, 56)) == ([], [])
    assert strayed(judged, *range(96)) == (list(range(16, 24)), [*range(16), *range(24, 48), *range(56, 96)])
    for offset in (0, 15, 24, 47, 56, 95):
        assert strayed(judged, offset) == ([], [offset])
    for offset in (16, 23):
        assert strayed(judged, offset) == ([offset], [])


def test_in_place_nothing_is_the_inputs_alone() -> None:
    judged = case(placement=Placement(front=16, tail=16, in_place=True))
    assert strayed(judged, 16) == ([], [])
    assert strayed(judged, 15, 24) == ([], [15, 24])


@pytest.mark.parametrize(
    "described, padding",
    [
        (tensor((3,), DataType.INT32, strides=(3,)), [*range(4, 12), *range(16, 24)]),
        (tensor((2, 2), DataType.INT16, strides=(4, 1)), [4, 5, 6, 7]),
        (tensor((5,)), [5, 6, 7]),
        (tensor((2, 2), strides=(0, 1)), [2, 3]),
    ],
)
def test_padding_is_every_byte_that_holds_no_element(described: TensorDesc, padding: list[int]) -> None:
    judged = case(clip(described))
    for offset in range(described.total_size_in_bytes):
        arena = Arena.prepare(judged).poisoned(judged, None)
        assert arena.padding_changed(judged) is False
        arena.memory[arena.bindings["OutputTensor"].offset + offset] ^= 1
        assert arena.padding_changed(judged) is (offset in padding)
    arena = Arena.prepare(judged).poisoned(judged, None)
    for offset in padding:
        arena.memory[arena.bindings["OutputTensor"].offset + offset] ^= 1
    assert arena.padding_changed(judged) is True


def test_a_tensor_without_padding_has_none_to_change() -> None:
    judged = case(clip(tensor((4,))))
    assert Arena.prepare(judged).poisoned(judged, None).padding_changed(judged) is None


# ---------------------------------------------------------------------------------------------- ledger


def finding(clause: str, judged: Case | None = None, **changes: Any) -> Finding:
    return replace(Finding(clause, "fail", judged or case(), "it is wrong"), **changes)


def test_a_ledger_is_empty_until_a_case_is_judged() -> None:
    ledger = Ledger()
    assert ledger.is_empty
    ledger.tallies["clip.formula", "ELEMENT_WISE_CLIP", "INT8"] = Tally(unsupported=1)
    assert ledger.is_empty  # what could not be expressed was not judged
    ledger.tallies["clip.nan", "ELEMENT_WISE_CLIP", "FLOAT32"] = Tally(cases=1)
    assert not ledger.is_empty


def test_the_ledger_counts_every_clause_once_a_case() -> None:
    ledger = Ledger()
    broken = (finding("tensor.output.bounds"), finding("tensor.position"))
    ledger.count(case(), Judgement(broken, ("clip.formula", "tensor.position", "tensor.position"), 5))
    ledger.count(case(), Judgement((), ("clip.formula",), 7))
    row = ("ELEMENT_WISE_CLIP", "INT8")
    assert ledger.tallies == {
        ("clip.formula", *row): Tally(cases=2, elements=12, failures=0),
        ("tensor.position", *row): Tally(cases=1, elements=5, failures=1),
        ("tensor.output.bounds", *row): Tally(cases=1, elements=5, failures=1),
    }
    assert ledger.refused == 0
    assert (Tally().cases, Tally().elements, Tally().failures) == (0, 0, 0)


def test_what_a_relation_shows_of_another_operator_counts_in_that_operators_row() -> None:
    ledger = Ledger()
    for _ in range(2):
        ledger.count(case(), Judgement((finding("threshold.formula", case(threshold())),), ("clip.formula",), 5))
    assert ledger.tallies == {
        ("clip.formula", "ELEMENT_WISE_CLIP", "INT8"): Tally(cases=2, elements=10),
        ("threshold.formula", "ELEMENT_WISE_THRESHOLD", "INT8"): Tally(cases=2, failures=2),
    }


def test_a_clause_of_this_operator_that_breaks_beside_the_checked_ones_counts_in_its_own_row() -> None:
    ledger = Ledger()
    ledger.count(case(), Judgement((finding("clip.nan"),), ("clip.formula",), 5))
    assert ledger.tallies["clip.nan", "ELEMENT_WISE_CLIP", "INT8"] == Tally(cases=1, elements=5, failures=1)


def test_a_failure_shown_by_a_kernel_of_another_operator_is_counted_beside_it() -> None:
    ledger = Ledger()
    for shown in (threshold(), clip()):
        ledger.count(case(), Judgement((finding("tensor.position", case(shown)),), ("tensor.position",), 5))
    (tally,) = ledger.tallies.values()
    assert (tally.failures, +tally.beside) == (2, Counter({("ELEMENT_WISE_THRESHOLD", "INT8"): 1}))


def test_of_two_findings_about_a_clause_the_first_states_where_it_was_shown() -> None:
    ledger = Ledger()
    both = (finding("tensor.position", case(threshold())), finding("tensor.position"))
    ledger.count(case(), Judgement(both, ("tensor.position",), 5))
    (tally,) = ledger.tallies.values()
    assert (tally.failures, +tally.beside) == (1, Counter({("ELEMENT_WISE_THRESHOLD", "INT8"): 1}))


def test_the_signatures_of_the_cases_are_gathered_where_they_are_reported() -> None:
    ledger = Ledger()
    for types in ("INT8", "", "UINT8"):
        ledger.count(case(), Judgement((), ("clip.formula",), 5), types)
    (tally,) = ledger.tallies.values()
    assert tally.types == {"INT8", "UINT8"}


def test_a_legitimate_refusal_counts_for_no_clause() -> None:
    ledger = Ledger()
    for _ in range(2):
        ledger.count(case(), Judgement((), ("clip.formula",), 5, refused=True))
    assert (ledger.refused, ledger.tallies) == (2, {})


def test_the_judge_raises_once_with_all_that_is_wrong() -> None:
    judge = Judge(bench(OneWrong()))
    with pytest.raises(ConformanceFailure, match=r"^tensor\.position: input 3 gives 2$") as raised:
        judge.all([case(), case(values=[1, 2]), case(values=[3])])
    assert [item.wrong for item in raised.value.findings] == [1, 5]
    assert judge.ledger.findings == raised.value.findings
    assert judge.ledger.tallies["tensor.position", "ELEMENT_WISE_CLIP", "INT8"] == Tally(3, 15, 2)
    with pytest.raises(ConformanceFailure):
        judge(case())


def test_the_first_finding_names_the_failure() -> None:
    failure = ConformanceFailure((finding("clip.formula", title="first"), finding("tensor.position", title="second")))
    assert str(failure) == "clip.formula: first"
    assert [item.title for item in failure.findings] == ["first", "second"]


def test_a_judge_that_does_not_raise_notes_what_is_wrong() -> None:
    judge = Judge(bench(OneWrong()), raising=False)
    assert [len(judgement.findings) for judgement in judge.all([case(), case(values=[1])])] == [1, 0]
    assert [item.clause for item in judge.ledger.findings] == ["tensor.position"]
    judge = Judge(bench(Reference()))
    assert judge(case()).findings == ()
    assert judge.ledger.findings == ()


def test_the_judge_gives_the_first_dispatch_or_none_where_there_was_none() -> None:
    judge = Judge(bench(Reference()))
    execution = judge.run(case())
    assert execution is not None
    assert execution.output.tolist() == [-2, -2, 0, 3, 3]
    twice = judge.run(case(expectation="idempotent", layout_clause=None))
    assert twice is not None
    assert twice.x.tolist() == [-100, -2, 0, 3, 100]
    strange = case(clip(tensor((2,), DataType.INT64)))
    assert Judge(bench(Refusing(level="3.0"))).run(strange) is None


class Refusing(Reference):
    """Refuses everything."""

    def __init__(self, level: str = "5.0") -> None:
        self.level = level

    def refuses(self, operator: OperatorDesc) -> str:
        return "on principle"


def test_behaviours_are_gathered_each_once() -> None:
    judge = Judge(bench(Reference()))
    row = ("clip.nan.bound", "ELEMENT_WISE_CLIP", "INT8")
    judge.characterise("clip.nan.bound", clip(), "as 0", "first")
    assert judge.ledger.behaviours == {row: ("as 0", "first")}
    judge.characterise("clip.nan.bound", clip(), "as 0", "again")
    assert judge.ledger.behaviours[row][0] == "as 0"
    judge.characterise("clip.nan.bound", clip(), "saturated", "second")
    assert judge.ledger.behaviours == {row: ("as 0; saturated", "first")}
    assert judge.ledger.tallies == {row: Tally(cases=1)}


def test_a_behaviour_seen_again_does_not_drop_the_others() -> None:
    judge = Judge(bench(Reference()))
    for behaviour in ("as 0", "saturated", "as 0"):
        judge.characterise("clip.nan.bound", clip(), behaviour)
    ((behaviours, _),) = judge.ledger.behaviours.values()
    assert behaviours == "as 0; saturated"


class Isolated(Bench):
    """A bench that says of its implementation that it runs in a process of its own."""

    isolated = True  # type: ignore[assignment]  # a property there


def test_wrong_values_of_an_implementation_in_a_process_of_its_own_are_no_losses() -> None:
    judge = Judge(Isolated("planted", OneWrong(), {}, TABLES), raising=False)
    many = [case(values=[3, number]) for number in range(9)]
    assert [bool(judgement.findings) for judgement in (*judge.all(many), *judge.all(many[:1]))] == [True] * 10
    assert judge.ledger.left_out == 0


@pytest.mark.parametrize(("made", "message"), [(Isolated, "the same"), (Bench, "")])
def test_a_loss_beside_wrong_values_is_tried_again_where_it_cost_a_process(made: type[Bench], message: str) -> None:
    class LosesOnNaN(Reference):
        level = "6.4"

        def compute_exact(self, operator: OperatorDesc, inputs: list[Array]) -> Array:
            if np.isnan(inputs[0]).any():
                raise DeviceLost("gone")
            return super().compute_exact(operator, inputs) * 5

    floats = tensor((3,), DataType.FLOAT32)
    operator = OperatorDesc("ELEMENT_WISE_SIGN", {"InputTensor": floats, "OutputTensor": floats}, {})
    test_case = case(operator, [np.nan, 2, 3], clause="sign.formula", layout_clause=None)
    findings = judge_surviving(made("planted", LosesOnNaN(), {}, TABLES), test_case).findings
    outcomes = [(it.outcome, dict(it.details).get("again", "")[:8]) for it in findings]
    assert outcomes == [("fail", ""), ("device_lost", message)]


@pytest.mark.parametrize("strays", [False, True])
def test_values_are_measured_where_no_byte_is_written_astray(strays: bool) -> None:
    class WrongOfExp(Reference):
        level = "6.4"

        def dispatch_exact(self, operator: OperatorDesc, table: Any, memory: Array, bindings: Any) -> None:
            super().dispatch_exact(operator, table, memory, bindings)
            memory[bindings["OutputTensor"].offset + 3] ^= 1
            memory[bindings["OutputTensor"].offset - 1] ^= strays

    floats = tensor((5,), DataType.FLOAT32)
    operator = OperatorDesc("ELEMENT_WISE_EXP", {"InputTensor": floats, "OutputTensor": floats}, {"ScaleBias": None})
    judge = Judge(bench(WrongOfExp()), raising=False)
    findings = judge(case(operator, [1, 2], clause="exp.accuracy", layout_clause=None)).findings
    assert [reported_finding.clause for reported_finding in findings] == ["tensor.output.bounds"] * strays + [
        "exp.accuracy"
    ]
    assert bool(judge.measured.records()) is not strays


def test_what_runs_between_judgements_is_not_counted_as_judged() -> None:
    judge = Judge(bench(Reference()))
    judge(case())
    seen = {subject: set(rows) for subject, rows in judge.seen.rows.items()}
    assert seen
    judge.bench.run(case(clip(tensor((300,)))))
    assert judge.seen.rows == seen
    judge(case(clip(tensor((300,)))))
    assert judge.seen.rows != seen, "the control"


def test_the_judge_gives_outputs_that_are_acceptable() -> None:
    judge = Judge(bench(Reference()))
    subject = Subject.on(TABLES.operator("CLIP"), DataType.INT8, judge.bench.level)
    attributes = {"ScaleBias": None, "Min": f32(-2), "Max": f32(3)}
    elements = subject.elements(np.array([-100, -2, 0, 3, 100], np.int8))
    assert judge.expected(subject, attributes, elements).tolist() == [-2, -2, 0, 3, 3]


def test_an_implementation_that_raises_keeps_its_process() -> None:
    class Raising(Reference):
        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
            raise ZeroDivisionError("always")

    hazards = survey(bench(Raising()))
    assert not hazards.operators | hazards.data_types | hazards.ranks


def test_a_rank_that_loses_the_device_is_a_hazard_of_its_operator() -> None:
    class LosesAtRank8(Reference):
        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
            if len(operator.output.sizes) == 8 and operator.name == "ELEMENT_WISE_CLIP":
                raise DeviceLost("gone")
            super().dispatch(operator, memory, bindings)

    hazards = survey(bench(LosesAtRank8()))
    assert (hazards.operators, hazards.data_types, hazards.ranks) == (
        frozenset(),
        frozenset(),
        {("ELEMENT_WISE_CLIP", 8)},
    )


@pytest.mark.parametrize(
    "clause, data_type, tried, wanted",
    [
        ("clip.support.float32", DataType.FLOAT32, 0, True),
        ("clip.support.float32", DataType.FLOAT32, 1, True),
        ("clip.support.int8", DataType.INT8, 0, True),
        ("clip.support.int8", DataType.INT8, 1, False),
        ("clip.formula", DataType.FLOAT32, 0, False),
    ],
)
def test_of_hazards_the_first_type_is_tried_and_one_case_of_each_other(
    clause: str, data_type: DataType, tried: int, wanted: bool
) -> None:
    hazards = Hazards(first=frozenset({("ELEMENT_WISE_CLIP", DataType.FLOAT32)}))
    test_case = case(clip(tensor((1,), data_type)), [1], clause=clause, layout_clause=None)
    assert is_wanted(hazards, test_case, tried) is wanted


def test_of_cases_that_are_hazards_a_test_of_supported_types_tries_one() -> None:
    judge = Judge(Isolated("planted", Reference(), {}, TABLES))
    judge.bench.hazards = Hazards(operators=frozenset({"ELEMENT_WISE_CLIP"}))
    judge.all(case(values=[number], clause="clip.support.int8", layout_clause=None) for number in range(3))
    tally = judge.ledger.tallies["clip.support.int8", "ELEMENT_WISE_CLIP", "INT8"]
    assert (tally.cases, judge.ledger.left_out) == (1, 2)


@pytest.mark.parametrize(
    "title, expected_title", [("", "the device was lost"), ("the process ended", "the process ended")]
)
def test_what_was_lost_before_any_test_is_reported_once(title: str, expected_title: str) -> None:
    judge = Judge(bench(Reference()), raising=False)
    judge.bench.unexplained.append((case(), Mishap("crash", "words", title)))
    judge.all([])
    (hazard_finding,) = judge.ledger.findings
    assert (hazard_finding.title, hazard_finding.clause) == (
        f"{expected_title}, not again in a fresh process",
        "execution.independent",
    )
    judge.all([])
    assert judge.bench.unexplained == []


def test_streams_of_a_dispatch_hold_its_elements() -> None:
    for values in ([5], [5, 7], [5, 7, 9]):
        inputs = {"InputTensor": np.array(values, np.int8)}
        stream = filled_with(case(clip(tensor((len(values),)))), inputs).first
        assert (len(stream), stream.array(len(values)).tolist()) == (len(values), values)


@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.FLOAT16])
def test_marks_of_floats_have_zero_fractions_and_both_signs(data_type: DataType) -> None:
    mark_values = marks(data_type).tolist()
    greatest = float(np.finfo(data_type.numpy).max)
    assert {0, 0.25, 2.5} <= set(mark_values)
    assert {-number for number in (1, 2, 7, 0.5, 1000, greatest)} == {mark for mark in mark_values if mark < 0}
    assert {1, 2, 3, 5, 7, 50, 0.5, 1000, greatest} <= set(mark_values)


@pytest.mark.parametrize("data_type, few", [(DataType.INT8, [1, 2, -7, 100]), (DataType.UINT8, [1, 2, 7, 100])])
def test_marks_are_plain_numbers_of_the_type_and_its_limits(data_type: DataType, few: list[int]) -> None:
    limits, mark_values = np.iinfo(data_type.numpy), marks(data_type).tolist()
    assert {*few, int(limits.min), int(limits.max)} <= set(mark_values)
    assert 1000 not in mark_values


# ------------------------------------------------------------------------------------------- shrinking


class WrongWhereLong(Counting):
    """Wrong in the last element of tensors of more than 30 elements."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        if y.size > 30:
            y.reshape(-1)[-1] ^= 1
        return y


def shrunk_long(size: int, effort: Effort = Effort()) -> tuple[int, int]:  # noqa: B008  # frozen
    """To how many elements the fault is reduced, and after how many dispatches."""
    backend = WrongWhereLong()
    planted = bench(backend)
    first = judge_case(planted, case(clip(tensor((size,))), [2])).findings[0]
    backend.dispatched = 0
    shrunk_finding = shrink(planted, replace(first, suspects=()), effort)
    assert shrunk_finding.clause == "tensor.position"
    return shrunk_finding.case.operator.input.element_count, backend.dispatched


@pytest.mark.parametrize("size, left, dispatches", [(60, 40, 60), (120, 41, 60), (33, 31, 9), (31, 31, 3)])
def test_shrinking_ends_at_the_smallest_case_or_when_its_budget_is_spent(size: int, left: int, dispatches: int) -> None:
    # each element less costs three dispatches: one element, half of them, all but one
    assert shrunk_long(size) == (left, dispatches)


@pytest.mark.parametrize("budget, left, dispatches", [(100, 59, 5), (91, 59, 4), (90, 59, 3), (32, 59, 3), (31, 60, 2)])
def test_shrinking_ends_when_many_elements_were_judged(budget: int, left: int, dispatches: int) -> None:
    assert shrunk_long(60, Effort(elements=budget)) == (left, dispatches)


def test_every_dimension_gets_its_turn() -> None:
    class WrongInTwoDimensions(Reference):
        """Wrong in the last element where the second and the last but one dimension are both longer than one."""

        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            if x.ndim == 8 and x.shape[1] > 1 and x.shape[6] > 1:
                y[(-1,) * 8] ^= 1
            return y

    planted = bench(WrongInTwoDimensions())
    first = judge_case(planted, case(clip(tensor((3, 2, 5, 2, 3, 2, 2, 3))), [2])).findings[0]
    assert shrink(planted, first, Effort(shrinks=30)).case.operator.input.sizes == (1, 2, 1, 1, 1, 1, 2, 1)


def planted_finding(backend: Any, test_case: Case) -> tuple[Bench, Finding]:
    planted = bench(backend)
    return planted, judge_case(planted, test_case).findings[0]


class WrongWhereSpoilt(Counting):
    """Wrong where it is spoilt; a fresh one is not."""

    spoilt = False

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x)
        if self.spoilt:
            y.reshape(-1)[-1] = 1
        return y


def test_what_a_fresh_device_does_right_is_what_ran_before() -> None:
    backend = WrongWhereSpoilt()
    backend.spoilt = True
    planted, first = planted_finding(backend, case())
    smallest_finding = smallest(planted, first)
    assert (smallest_finding.clause, smallest_finding.case, smallest_finding.suspects) == (
        "execution.independent",
        first.case,
        (),
    )
    assert smallest_finding.title == "input 100 gives 1, only after other kernels"
    reported_already = replace(first, clause="execution.repeatable", suspects=())
    assert smallest(planted, reported_already) == reported_already
    crash = replace(first, outcome="crash", suspects=())
    assert smallest(planted, crash) == crash


def test_a_fresh_device_is_closed_again() -> None:
    closed = []

    class Closing(OneWrong):
        def close(self) -> None:
            closed.append(self)

    planted, first = planted_finding(Closing(), case())
    smallest(planted, first)
    assert len(closed) == 1
    assert closed[0] is not planted.backend


class Leaves(Reference):
    """Writes no element at all, of some tensors."""

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        if not self.leaves(region, tensor):
            super().write(memory, region, tensor, values)

    def leaves(self, region: Region, tensor: TensorDesc) -> bool:
        return True


class LeavesStrided(Leaves):
    def leaves(self, region: Region, tensor: TensorDesc) -> bool:
        return tensor.strides is not None


class LeavesOutputsBeforeInputs(Leaves):
    def leaves(self, region: Region, tensor: TensorDesc) -> bool:
        return region.offset == 512


def test_elements_that_only_a_layout_leaves_out_are_the_layouts() -> None:
    strided = case(clip(tensor(strides=(2,))))
    for backend, test_case, clause in (
        (LeavesStrided(), strided, "tensor.position"),
        (LeavesStrided(), replace(strided, layout_clause=None), "tensor.output.complete"),
        (Leaves(), strided, "tensor.output.complete"),
        (LeavesOutputsBeforeInputs(), case(placement=Placement(output_first=True)), "tensor.output.complete"),
    ):
        planted, first = planted_finding(backend, test_case)
        assert first.clause == "tensor.output.complete"
        assert smallest(planted, first).clause == clause
    planted, first = planted_finding(PastTheEnd(), strided)
    assert smallest(planted, first).clause == "tensor.output.bounds"


def test_a_fault_of_memory_is_reduced_to_the_smallest_tensor() -> None:
    planted = bench(PastTheEnd())
    first = judge_case(planted, case(clip(tensor((3, 40), strides=(50, 1))), placement=Placement(slack=64))).findings[0]
    smallest_finding = smallest(planted, first)
    assert smallest_finding.clause == "tensor.output.bounds"
    assert smallest_finding.case.operator.input == TensorDesc(DataType.INT8, (1,))
    assert smallest_finding.case.placement == Placement()


def test_another_clause_is_another_fault() -> None:
    class SpoilsLess(Counting):
        """Past the end of large tensors, and into the input of small ones."""

        def dispatch(self, operator: OperatorDesc, memory: Array, bindings: Mapping[str, Region]) -> None:
            super().dispatch(operator, memory, bindings)
            large = operator.output.element_count > 4
            memory[bindings["OutputTensor"].offset + 8 if large else bindings["InputTensor"].offset] ^= 1

    planted = bench(SpoilsLess())
    smallest_finding = smallest(planted, judge_case(planted, case(clip(tensor((8,))))).findings[0])
    assert (smallest_finding.clause, smallest_finding.case.operator.input.element_count) == ("tensor.output.bounds", 5)


def unconstrained(values: Any, **changes: Any) -> Case:
    return case(clip(Min=f32(np.nan)), values, clause="clip.cast.nan", expectation="one value", **changes)


def test_one_value_is_shown_beside_the_limits_of_the_type() -> None:
    planted = bench(OneWrong())
    first = judge_case(planted, unconstrained([-128, 127, 5, 3, 0, 1])).findings[0]
    smallest_finding = smallest(planted, first)
    assert smallest_finding.case.values.first.array(3).tolist() == [-128, 127, 3]
    assert smallest_finding.case.operator.input.sizes == (3,)


def test_a_case_whose_values_belong_together_is_not_shrunk() -> None:
    class WrongFromTheFourthOn(Reference):
        def compute(self, operator: OperatorDesc, x: Array) -> Array:
            y = super().compute(operator, x)
            y.reshape(-1)[3:] = 1
            return y

    planted = bench(WrongFromTheFourthOn())
    first = judge_case(planted, unconstrained([-128, 127, 0, 3, 2])).findings[0]
    smallest_finding = smallest(planted, first)
    assert (smallest_finding.case, smallest_finding.clause, smallest_finding.needs) == (
        first.case,
        "tensor.position",
        ("count",),
    )
    assert dict(smallest_finding.details)["needs"] == "5 elements (right with 3)"
    two_shapes = clip(tensor((5,)), tensor((1, 5)))
    assert list(smaller_cases(case(two_shapes))) == []
    two_types = replace(case(clip(tensor((5,)), tensor((5,), DataType.INT16))), expectation="refused")
    assert list(smaller_cases(two_types)) == []


def shapes(judged: Case) -> list[Any]:
    return [
        (item.operator.input.sizes, item.operator.input.strides, item.operator.output.strides)
        for item in smaller_cases(judged)
    ]


def test_simpler_variants_come_in_order() -> None:
    assert shapes(case(clip(tensor((10,))))) == [((1,), None, None), ((5,), None, None), ((9,), None, None)]
    for size, smaller in ((64, (1, 32, 63)), (65, (1, 32, 57)), (80, (1, 40, 70))):
        assert [sizes for sizes, _, _ in shapes(case(clip(tensor((size,)))))] == [(less,) for less in smaller]
    assert shapes(case(clip(tensor((1, 3))))) == [((1, 1), None, None), ((1, 2), None, None)]
    assert shapes(case(clip(tensor((1,))))) == []
    both = clip(tensor((2,), strides=(3,)), tensor((2,), strides=(4,)))
    assert shapes(case(both)) == [((2,), None, None), ((2,), None, (4,)), ((2,), (3,), None), ((1,), (3,), (4,))]
    source = clip(tensor((2,), strides=(3,)), tensor((2,)))
    assert shapes(case(source)) == [((2,), None, None), ((2,), None, None), ((1,), (3,), None)]
    target = clip(tensor((2,)), tensor((2,), strides=(4,)))
    assert shapes(case(target)) == [((2,), None, None), ((2,), None, None), ((1,), None, (4,))]
    moved, *_ = smaller_cases(case(placement=Placement(front=16, in_place=True)))
    assert moved.placement == Placement(in_place=True)
    in_place = case(clip(tensor((2,), strides=(3,))), placement=Placement(in_place=True))
    for variant in smaller_cases(in_place):
        assert variant.operator.input == variant.operator.output
        assert variant != in_place, "a case that is no simpler would be taken for one, again and again"


# -------------------------------------------------------------------------------------------- accounts


def test_attributes_are_shown_with_their_bits() -> None:
    assert attribute_text(None) == "none"
    assert attribute_text(f32(1)) == "1.0 (0x3f800000)"
    assert attribute_text("TOWARD_ZERO") == "TOWARD_ZERO"
    assert attribute_text(f32(2.0**63)) == "9.223372e+18 (0x5f000000)"
    assert attribute_text(f32(2.0**63), DataType.UINT64) == "9223372036854775808 (0x5f000000)"
    assert attribute_text(f32(-(2.0**63)), DataType.INT64) == "-9223372036854775808 (0xdf000000)"
    assert attribute_text(f32(1), DataType.INT64) == "1.0 (0x3f800000)"
    assert attribute_text(f32("inf"), DataType.INT64) == "inf (0x7f800000)"
    assert attribute_text(ScaleBias(2, -1)) == "scale 2.0 (0x40000000), bias -1.0 (0xbf800000)"


def reported(item: Finding) -> list[str]:
    return account(TABLES, item, "dmlcts replay x").splitlines()


def test_an_account_states_what_there_is_to_state() -> None:
    lines = reported(finding("clip.formula", details=(("got", "2"),)))
    assert lines[:6] == [
        "ELEMENT_WISE_CLIP on INT8: it is wrong",
        "  tensors      INT8 [5], packed, 8 bytes",
        "  ScaleBias    none",
        "  Min          -2.0 (0xc0000000)",
        "  Max          3.0 (0x40400000)",
        "  got          2",
    ]
    clause = TABLES.clause("clip.formula")
    assert lines[6] == f"  clause       clip.formula (required): {clause.text}"
    assert lines[7].startswith('               "f(x) = max(Min, min(x, Max))", DML_ELEMENT_WISE_CLIP_OPERATOR_DESC')
    assert lines[-1] == "  replay       dmlcts replay x"


def test_an_account_distinguishes_two_tensors_and_in_place() -> None:
    operator = clip(tensor(strides=(2,)), tensor((1, 5)))
    lines = reported(finding("clip.formula", case(operator)))
    assert lines[1:3] == [
        "  InputTensor  INT8 [5], strides [2], 12 bytes",
        "  OutputTensor INT8 [1, 5], packed, 8 bytes",
    ]
    placed = Placement(in_place=True)
    assert reported(finding("clip.formula", case(placement=placed)))[1].endswith("8 bytes, in place")
    lines = reported(finding("clip.formula", case(operator, placement=placed)))
    assert [line.endswith(", in place") for line in lines[1:3]] == [False, True]


def test_an_account_of_a_clause_without_words_and_of_one_with_disagreements() -> None:
    clauses = [clause for table in TABLES.operators.values() for clause in table.clauses]
    silent = next(clause for clause in clauses if clause.quotation is None)
    assert f"               {TABLES.source(silent.id).title}" in reported(finding(silent.id))
    disputed = next(clause for clause in clauses if clause.disagreements)
    lines = [line for line in reported(finding(disputed.id)) if line.startswith("               but ")]
    assert len(lines) == len(disputed.disagreements)
    assert all(item.says in line for item, line in zip(disputed.disagreements, lines, strict=True))
