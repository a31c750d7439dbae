"""The judge, its ledger and its words, one decision at a time: what code mutation showed no other test to notice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.backends import NotSupported
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.oracles import oracle_of
from dmlcts.suites.cases.outcomes import Execution, Mishap
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.values import BULK_PERIOD, Streams, Values
from dmlcts.suites.judging import losses
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, Judgement, attribute_text, inputs_text
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.judging.losses import Hazards, is_wanted, judge_surviving
from dmlcts.suites.judging.outputs import PIECE, _by_silent_point, _distinguishing_poison, expected_outputs, marks
from dmlcts.suites.judging.refusals import judge_refused, stride_clause, wrongly_accepted
from dmlcts.suites.mutants.reference import Array, Kernel, Reference
from dmlcts.suites.running.accounts import evidence
from dmlcts.suites.selftest.descriptions import case, clip

f32 = np.float32
TABLES = load_tables()
F32 = DataType.FLOAT32


def bench(backend: Any, level: str = "6.4") -> Bench:
    return Bench("planted", backend, {}, TABLES, FeatureLevel(level))


def value_case(source: TensorDesc | None = None, **changes: Any) -> Case:
    """A case about the value alone."""
    return case(clip(source or TensorDesc(F32, (5,))), **{"layout_clause": None, **changes})


def of_two(name: str, source: TensorDesc, other: TensorDesc | None = None, **attributes: Any) -> OperatorDesc:
    tensors = {"ATensor": source, "BTensor": other or source, "OutputTensor": TensorDesc(F32, source.sizes)}
    return OperatorDesc(f"ELEMENT_WISE_{name}", tensors, attributes)


class Flipped(Reference):
    """Every bit of the input turned over."""

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        bits = operator.output.data_type.bits_dtype
        return np.asarray((~np.ascontiguousarray(x).view(bits)).view(x.dtype))


# ---------------------------------------------------------------------------------------------- the judge


def test_a_judge_counts_what_ran_before_it_as_another_tests() -> None:
    test_bench = bench(Reference())
    before = test_bench.histories
    Judge(test_bench)
    assert test_bench.histories is not before


def test_what_an_implementation_in_this_process_does_wrong_leaves_nothing_out() -> None:
    """Only where the process was lost is no other example tried."""
    judge = Judge(bench(Flipped()), raising=False)
    for values in ((1, 2), (3, 4), (5, 6)):
        assert judge(value_case(values=values)).findings
    assert judge.ledger.left_out == 0


@pytest.mark.parametrize(
    "outcomes, left",
    [
        (["crash"] * 3, 0),
        (["crash"] * 4, 1),
        (["timeout"], 0),
        (["timeout"] * 2, 1),
    ],
)
def test_after_four_losses_or_two_hangs_a_test_tries_nothing_more(outcomes: list[str], left: int) -> None:
    judge = Judge(bench(Reference()))
    judge._unexpected = outcomes
    judge(value_case())
    assert judge.ledger.left_out == left


def test_a_loss_that_no_test_explains_is_counted_under_its_clause() -> None:
    test_bench = bench(Reference())
    test_bench.unexplained.append((value_case(), Mishap("crash", "gone", "the process ended")))
    judge = Judge(test_bench, raising=False)
    judge.all([])
    assert [(row[0], tally.failures) for row, tally in judge.ledger.tallies.items()] == [("execution.independent", 1)]


@pytest.mark.parametrize(
    "changes, measured",
    [
        ({}, True),
        ({"layout_clause": "tensor.position"}, False),
        ({"expectation": "again"}, False),
    ],
)
def test_errors_are_measured_on_ordinary_tensors_alone(changes: dict[str, Any], measured: bool) -> None:
    tensor = TensorDesc(F32, (3,))
    operator = OperatorDesc("ELEMENT_WISE_EXP", {"InputTensor": tensor, "OutputTensor": tensor}, {"ScaleBias": None})
    judge = Judge(bench(Reference()))
    judge(replace(Case(operator, Values.of([0.1, 0.7, 1.3], F32), "exp.accuracy"), **changes))
    assert bool(judge.measured.records()) is measured


def test_a_tally_names_the_types_of_an_operator_that_has_several() -> None:
    tensor = TensorDesc(F32, (2,))
    tensors = {"ATensor": tensor, "BTensor": tensor, "OutputTensor": TensorDesc(DataType.UINT8, (2,))}
    operator = OperatorDesc("ELEMENT_WISE_LOGICAL_EQUALS", tensors, {})
    streams = Streams.of({"ATensor": [1, 2], "BTensor": [1, 3]}, operator)
    judge = Judge(bench(Reference()))
    judge(Case(operator, streams, "logical-equals.formula"))
    judge(value_case())
    types = {row[1]: tally.types for row, tally in judge.ledger.tallies.items()}
    assert types == {"ELEMENT_WISE_LOGICAL_EQUALS": {"FLOAT32 to UINT8"}, "ELEMENT_WISE_CLIP": set()}


# ---------------------------------------------------------------------------------------------- what is lost


@pytest.mark.parametrize(
    "clauses, wanted",
    [
        (("clip.support.level-3-0", None), True),
        (("clip.formula", None), False),
        (("clip.formula", "clip.support.level-3-0"), True),
        (("clip.formula", "tensor.position"), False),
    ],
)
def test_under_a_hazard_a_case_of_the_support_table_is_wanted(clauses: tuple[str, str | None], wanted: bool) -> None:
    asked = value_case(clause=clauses[0], layout_clause=clauses[1])
    assert is_wanted(Hazards(), asked, 0) is wanted
    assert is_wanted(Hazards(), asked, 1) is False
    assert is_wanted(Hazards(first=frozenset({("ELEMENT_WISE_CLIP", F32)})), asked, 1) is wanted


def test_a_loss_beside_another_finding_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class Isolated(Bench):
        isolated = True  # a property there

    isolated_bench = Isolated("planted", Reference(), {}, TABLES)
    asked = value_case()
    wrong = Finding("clip.formula", "fail", asked, "wrong")
    answers = [Judgement((wrong, Finding("clip.formula", "crash", asked, "gone"))), Judgement(())]

    def answered(bench: Bench, case: Case) -> Judgement:
        bench.losses += len(answers) - 1
        return answers.pop(0)

    monkeypatch.setattr(losses, "judge_case", answered)
    findings = judge_surviving(isolated_bench, asked).findings
    assert [finding.clause for finding in findings] == ["clip.formula", "execution.independent"]
    assert answers == []


# ---------------------------------------------------------------------------------------------- outputs


@pytest.mark.parametrize("count", [5, PIECE + 3])
@pytest.mark.parametrize("in_place", [True, False])
def test_an_input_turned_over_bit_by_bit_is_no_result_in_place_either(count: int, in_place: bool) -> None:
    """Of many elements the mask of the poison gives what is expected; in place there is none."""
    asked = value_case(TensorDesc(DataType.INT8, (count,)), placement=Placement(in_place=in_place))
    assert judge_case(bench(Reference()), asked).findings == ()
    (finding,) = judge_case(bench(Flipped()), asked).findings
    assert (finding.clause, finding.outcome) == ("clip.formula", "fail")


@pytest.mark.parametrize(
    "data_type, values",
    [
        (DataType.UINT8, [1, 2, 3, 5, 0, 7, 50, 100, 0, 255, 85]),
        (DataType.INT8, [1, 2, 3, 5, 0, 7, 50, 100, -1, -2, -7, -128, 127, 42]),
    ],
)
def test_what_is_put_where_it_must_not_be_read_is_plain(data_type: DataType, values: list[int]) -> None:
    assert marks(data_type).tolist() == values


@pytest.mark.parametrize("held", [0x00, 0x55, 0x11, 0x2A, 0x7F])
def test_another_poison_differs_in_every_element(held: int) -> None:
    """Where every value is acceptable no mark decides, and other bits must suffice."""
    tensor = TensorDesc(DataType.INT8, (3,))
    attributes = {"ScaleBias": ScaleBias(float("inf"), 0), "Min": f32(-2), "Max": f32(3)}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", {"InputTensor": tensor, "OutputTensor": tensor}, attributes)
    poison = np.full(3, held, np.int8)
    execution = Execution({"InputTensor": np.ones(3, np.int8)}, poison.copy(), poison, (), (), None)
    other = _distinguishing_poison(oracle_of(TABLES, operator, strict=False), execution, np.array([1]))
    assert (other != poison).all()


@pytest.mark.parametrize(
    "sizes, strides, first, second",
    [
        ((40,), None, 3, 5),
        ((40,), None, 5, 3),
        ((2, 20), (0, 1), 7, 7),
        ((2, 20), (20, 1), 7, 7),
        ((20, 2), (2, 0), 3, 3),
    ],
)
def test_what_is_expected_of_two_inputs_repeats_where_both_do(
    sizes: tuple[int, ...], strides: tuple[int, ...] | None, first: int, second: int
) -> None:
    """Streams of unlike lengths, and one input broadcast along two elements, repeat as a whole nowhere or later."""
    assert BULK_PERIOD > 40
    for operator in (
        of_two("ADD", TensorDesc(F32, sizes, strides), TensorDesc(F32, sizes)),
        of_two("ADD", TensorDesc(F32, sizes), TensorDesc(F32, sizes, strides)),
    ):
        named_inputs = {"ATensor": np.arange(first) + 0.5, "BTensor": 10 * np.arange(second)}
        asked = Case(operator, Streams.of(named_inputs, operator), "add.formula")
        oracle, inputs = oracle_of(TABLES, operator, strict=False), Arena.prepare(asked).inputs
        assert expected_outputs(oracle, asked, inputs).tobytes() == oracle.expected(inputs).tobytes()


@pytest.mark.parametrize("clause", ["logical-equals.nan", "logical-equals.subnormal"])
def test_an_element_at_two_silent_points_is_reported_under_the_one_that_its_case_is_about(clause: str) -> None:
    tensor = TensorDesc(F32, (1,))
    tensors = {"ATensor": tensor, "BTensor": tensor, "OutputTensor": TensorDesc(DataType.UINT8, (1,))}
    operator = OperatorDesc("ELEMENT_WISE_LOGICAL_EQUALS", tensors, {})
    inputs = {"ATensor": np.array([np.nan], f32), "BTensor": np.array([1e-40], f32)}
    asked = Case(operator, Streams.of(inputs, operator), clause)
    pairs = _by_silent_point(bench(Reference()), asked, inputs, np.array([0]))
    assert [(test_case.clause, part.tolist()) for test_case, part in pairs] == [(clause, [0])]


class FailsOnZeros(Reference):
    """DIVIDE raises where a divisor is zero."""

    def dispatch_exact(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Any) -> None:
        if not self.read(memory, bindings["BTensor"], operator.tensors["BTensor"]).all():
            raise RuntimeError("division by zero")
        super().dispatch_exact(operator, table, memory, bindings)


@pytest.mark.parametrize("expectation", ["oracle", "again", "dispatched again"])
def test_what_stops_on_zeros_is_shown_with_the_expectation_of_its_case(expectation: str) -> None:
    tensor = TensorDesc(DataType.INT32, (3,))
    tensors = {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}
    operator = OperatorDesc("ELEMENT_WISE_DIVIDE", tensors, {})
    streams = Streams.of({"ATensor": [6, 7, 8], "BTensor": [2, 0, 4]}, operator)
    asked = Case(operator, streams, "divide.formula", expectation=expectation)
    findings = judge_case(bench(FailsOnZeros()), asked).findings
    assert [(finding.clause, finding.case.expectation) for finding in findings] == [("divide.zero", expectation)]


# ---------------------------------------------------------------------------------------------- refusals


class WithoutActivations(Reference):
    """Cannot express a fused operator."""

    def create(self, operator: OperatorDesc) -> Kernel:
        if operator.activation is not None:
            raise NotSupported("no fused operator")
        return super().create(operator)


def test_an_activation_that_cannot_be_expressed_is_lacking_for_its_own_clause() -> None:
    operator = of_two("ADD1", TensorDesc(F32, (2,)), FusedActivation=OperatorDesc("ACTIVATION_RELU", {}, {}))
    streams = Streams.of({"ATensor": [1, 2], "BTensor": [3, 4]}, operator)
    judgement = judge_case(bench(WithoutActivations()), Case(operator, streams, "add1.activation.relu"))
    assert judgement.clauses == ("add1.activation.relu",)
    assert judgement.unsupported == "no fused operator"


def test_one_input_that_is_broadcast_or_permuted_names_the_strides() -> None:
    sizes = (2, 3)
    plain = TensorDesc(F32, sizes)
    for strides, named in (((0, 1), "broadcast"), ((1, 2), "permuted"), ((3, 1), "packed")):
        other = TensorDesc(F32, sizes, strides)
        assert stride_clause(of_two("ADD", other, plain)) == f"tensor.strides.{named}"
        assert stride_clause(of_two("ADD", plain, other)) == f"tensor.strides.{named}"


@pytest.mark.parametrize(
    "output, level, refused",
    [
        (DataType.UINT8, "1.0", True),
        (DataType.UINT32, "1.0", False),
        (DataType.UINT8, "2.0", False),
        (DataType.FLOAT64, "1.0", False),
    ],
)
def test_a_type_of_a_later_level_may_be_refused_for_that_alone(output: DataType, level: str, refused: bool) -> None:
    """One of an output is enough, although the inputs' is listed: nothing is learnt of the sizes."""
    tensors = {
        "ATensor": TensorDesc(F32, (1, 1, 1, 2)),
        "BTensor": TensorDesc(F32, (1, 1, 1, 3)),
        "OutputTensor": TensorDesc(output, (1, 1, 1, 2)),
    }
    operator = OperatorDesc("ELEMENT_WISE_LOGICAL_EQUALS", tensors, {})
    streams = Streams.of({"ATensor": [1], "BTensor": [1]}, operator)
    asked = Case(operator, streams, "descriptions.sizes", None, "refused")
    judgement = judge_refused(bench(Reference(), level), asked)
    assert (judgement.findings, judgement.refused) == ((), refused)


def test_of_a_description_with_several_faults_one_is_reported() -> None:
    tensors = {"InputTensor": TensorDesc(F32, (2, 3)), "OutputTensor": TensorDesc(DataType.FLOAT16, (3,))}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", tensors, clip(TensorDesc(F32, (1,))).attributes)
    values = Streams.of({"InputTensor": [1]}, operator)
    assert len(wrongly_accepted(bench(Reference()), operator, values)) == 1


# ---------------------------------------------------------------------------------------------- words


def test_elements_of_several_inputs_are_reported_with_their_tensors_names() -> None:
    inputs = {"ATensor": np.array([1, 2], f32), "BTensor": np.array([3, 4], f32)}
    assert inputs_text(inputs, 1) == "ATensor 2.0, BTensor 4.0"
    assert inputs_text({"InputTensor": inputs["ATensor"]}, 1) == "2.0"


def test_a_finding_is_about_no_element_unless_it_states_so() -> None:
    finding = Finding("clip.formula", "fail", value_case(), "wrong")
    assert (finding.wrong, finding.index, finding.repeat) == (0, -1, 0)


def test_a_float_beside_integers_is_reported_in_full_from_a_hundred_million_on() -> None:
    assert attribute_text(f32(1e8), DataType.INT64) == "100000000 (0x4cbebc20)"
    assert attribute_text(f32(99999992), DataType.INT64) == "99999990.0 (0x4cbebc1f)"  # the shortest that is read as it
    assert attribute_text(f32(1e8)) != attribute_text(f32(1e8), DataType.INT64)


@pytest.mark.parametrize(
    "placement, text",
    [
        (Placement(one_region=True), "inputs with equal descriptions share one region"),
        (Placement(overlapping=True), "each input begins 16 bytes behind the one before, in its region"),
        (Placement(), None),
    ],
)
def test_evidence_states_where_inputs_share_memory(placement: Placement, text: str | None) -> None:
    operator = of_two("ADD", TensorDesc(F32, (2,)))
    streams = Streams.of({"ATensor": [1, 2], "BTensor": [3, 4]}, operator)
    asked = Case(operator, streams, "add.accuracy", placement=placement)
    assert evidence(Finding("add.accuracy", "fail", asked, "wrong")).get("placement") == text
