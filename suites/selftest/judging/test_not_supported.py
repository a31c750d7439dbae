"""What a backend says it cannot express is listed as such: neither passed nor failed, and never complete."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dmlcts.backends.contract import NotSupported, error_kind
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, ItemRecord
from dmlcts.reports.documents.writing import dump_yaml
from dmlcts.specs import DataType, OperatorDesc, ScaleBias, TensorDesc
from dmlcts.suites.cases.outcomes import Refusal, Unsupported
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Judgement
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.mutants.reference import Kernel, Reference
from dmlcts.suites.running.replay import replay
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.descriptions import case, clip, tensor
from dmlcts.suites.selftest.judging.scripted import threshold
from dmlcts.suites.selftest.judging.test_judging import bench
from dmlcts.suites.selftest.running.test_results import results_of, row_of


class NoStrides(Reference):
    """Has packed tensors only, and says so before it looks at anything else."""

    def create(self, operator: OperatorDesc) -> Kernel:
        if any(tensor.strides is not None for tensor in operator.tensors.values()):
            raise NotSupported("no strides here")
        return super().create(operator)


class NoInt8(Reference):
    def create(self, operator: OperatorDesc) -> Kernel:
        if operator.input.data_type is DataType.INT8:
            raise NotSupported("no INT8 here")
        return super().create(operator)


class AtDispatch(Reference):
    def dispatch(self, *_: object) -> None:
        raise NotSupported("too late to say so")


STRIDED = clip(tensor(strides=(2,)))


def test_the_error_is_known_by_its_name() -> None:
    foreign = type("NotSupported", (Exception,), {})
    assert error_kind(foreign()) == error_kind(NotSupported()) == "not_supported"
    assert error_kind(type("Unsupported", (Exception,), {})()) is None


def test_only_a_valid_description_is_unsupported() -> None:
    on = bench(NoStrides())
    assert on.create(STRIDED) == Unsupported("no strides here", False)
    invalid = on.create(clip(tensor((0,), strides=(2,), total_size_in_bytes=4)))
    assert invalid == Refusal("no strides here", False)
    assert not isinstance(invalid, Unsupported)


def test_an_invalid_description_counts_as_refused() -> None:
    zero = clip(tensor((0,), strides=(2,), total_size_in_bytes=4))
    judgement = judge_case(bench(NoStrides()), case(zero, expectation="refused", clause="tensor.size.zero"))
    assert (judgement.findings, judgement.unsupported) == ((), None)
    assert judgement.clauses == ("tensor.size.zero", "tensor.position")


@pytest.mark.parametrize(
    "expectation",
    [
        "oracle",
        "idempotent",
        "monotone",
        "contained",
        "again",
        "beside others",
        "plain layout",
        "harmless",
        "left open",
        "accepted",
        "either",
        "refused",
    ],
)
def test_every_expectation_stops_at_what_cannot_be_expressed(expectation: str) -> None:
    judgement = judge_case(bench(NoStrides()), case(STRIDED, expectation=expectation))
    assert (judgement.findings, judgement.refused, judgement.executions) == ((), False, ())
    assert judgement.unsupported == "no strides here"
    assert judgement.clauses == ("tensor.strides.padded",), "strides are what it lacks, not the values or positions"
    control = judge_case(bench(NoStrides()), case(clip(), expectation=expectation))
    assert control.unsupported is None
    assert bool(control.findings) == (expectation == "refused")  # a packed tensor is accepted, rightly


def test_a_kernel_among_named_others_stops_there_too() -> None:
    """The others may be expressed; of the kernel itself nothing was seen, so it did not hold."""
    among = replace(case(STRIDED, expectation="beside others"), beside=(clip(), STRIDED))
    judgement = judge_case(bench(NoStrides()), among)
    assert (judgement.findings, judgement.unsupported, judgement.elements) == ((), "no strides here", 0)
    control = judge_case(bench(Reference()), among)
    assert (control.findings, control.unsupported) == ((), None)
    assert control.elements


def test_where_the_packed_tensor_cannot_be_expressed_either_the_values_are_to_blame() -> None:
    judgement = judge_case(bench(NoInt8()), case(STRIDED))
    assert judgement.clauses == ("clip.formula",)
    assert "tensor.position" in judgement.unreached
    assert "tensor.output.complete" in judgement.unreached


class Bare(Reference):
    """Has neither strides nor ScaleBias."""

    def create(self, operator: OperatorDesc) -> Kernel:
        if operator.attributes.get("ScaleBias") is not None or operator.input.strides or operator.output.strides:
            raise NotSupported("only the bare operator")
        return super().create(operator)


@pytest.mark.parametrize(
    "strides, target, scaled, layout, clause",
    [
        ((2, 1), None, False, "clip.in-place", "tensor.strides.packed"),
        ((4, 1), None, False, "clip.in-place", "tensor.strides.output"),
        ((4, 1), (4, 1), False, "clip.in-place", "tensor.strides.padded"),
        ((1, 2), None, False, "tensor.position", "tensor.strides.permuted"),
        ((0, 1), None, True, "tensor.position", "tensor.strides.broadcast"),
        ((1, 2), None, True, "tensor.strides.output", "tensor.strides.output"),
        (None, None, True, "tensor.position", "clip.scale-bias.integer"),
    ],
)
def test_a_case_is_lacking_for_the_sake_of_what_the_backend_lacks(
    strides: tuple[int, ...] | None, target: tuple[int, ...] | None, scaled: bool, layout: str, clause: str
) -> None:
    tensors = {
        "InputTensor": TensorDesc(DataType.INT8, (2, 2), strides),
        "OutputTensor": TensorDesc(DataType.INT8, (2, 2), target),
    }
    attributes = {**clip().attributes, "ScaleBias": ScaleBias(2, 1) if scaled else None}
    operator = OperatorDesc("ELEMENT_WISE_CLIP", tensors, attributes)
    judgement = judge_case(bench(Bare()), case(operator, layout_clause=layout))
    assert judgement.clauses == (clause,)
    assert set(judgement.unreached) >= {"clip.formula"}
    assert judge_case(bench(Reference()), case(operator, layout_clause=layout)).unsupported is None


def test_what_is_lacking_is_found_out_once_in_a_test() -> None:
    """Each attempt is a message to an isolated implementation, and thousands of cases are of descriptions alike."""

    class Counting(NoStrides):
        asked = 0

        def create(self, operator: OperatorDesc) -> Kernel:
            Counting.asked += 1
            return super().create(operator)

    on = bench(Counting())
    first = judge_case(on, case(STRIDED))
    assert Counting.asked == 2, "the description itself once, and the packed one"
    assert judge_case(on, case(STRIDED)) == first
    assert Counting.asked == 3
    assert judge_case(on, case(STRIDED, layout_clause="tensor.strides.padded")).clauses == first.clauses
    assert Counting.asked == 4, "the packed one is known"
    other = case(clip(tensor((4,), strides=(3,))))
    assert judge_case(on, other).clauses == first.clauses
    assert Counting.asked == 5, "and of like sizes too"
    assert judge_case(on, case(clip(tensor((1, 4), strides=(20, 3))))).clauses == first.clauses
    assert Counting.asked == 7, "of more dimensions it may not be expressed packed"
    on.forget()
    assert judge_case(on, case(STRIDED)) == first
    assert Counting.asked == 8, "a later test asks for the description alone"


def test_an_operator_that_is_expressed_in_no_layout_is_not_asked_for_again() -> None:
    """A runtime lacks operators, and asking for each of their cases took longer than judging what it has."""

    class Counting(NoInt8):
        asked = 0

        def create(self, operator: OperatorDesc) -> Kernel:
            Counting.asked += 1
            return super().create(operator)

    cases = [case(clip(tensor((rows, 3), strides=(4, 1)))) for rows in range(1, 9)]
    judge = Judge(bench(Counting()), raising=False)
    judge.all([cases[0]])
    asked = Counting.asked
    judge.all(cases)
    assert Counting.asked == asked, "the first case was asked for, and a packed one"
    row = judge.ledger.tallies["clip.formula", "ELEMENT_WISE_CLIP", "INT8"]
    assert (row.cases, row.unsupported) == (0, len(cases) + 1)
    invalid = case(clip(tensor((0,), strides=(1,), total_size_in_bytes=4)), expectation="refused")
    judge.all([invalid])
    assert Counting.asked == asked + 1, "what must be refused is always asked for"
    halves = case(clip(tensor((2,), data_type=DataType.FLOAT16)))
    assert judge(halves).unsupported is None, "another type is another operator"


class FewDimensions(Reference):
    def create(self, operator: OperatorDesc) -> Kernel:
        if len(operator.output.sizes) > 1:
            raise NotSupported("one dimension alone")
        return super().create(operator)


class WholeGroups(Reference):
    def create(self, operator: OperatorDesc) -> Kernel:
        if operator.output.element_count % 8:
            raise NotSupported("groups of eight elements alone")
        return super().create(operator)


class Small(Reference):
    def create(self, operator: OperatorDesc) -> Kernel:
        if operator.output.element_count > 9:
            raise NotSupported("nine elements at most")
        return super().create(operator)


@pytest.mark.parametrize(
    "device, lacking, taken",
    [(FewDimensions(), (2, 3), (6,)), (WholeGroups(), (5,), (16,)), (Small(), (99,), (9,))],
    ids=["dimensions", "groups", "small"],
)
def test_sizes_that_a_backend_takes_are_judged_after_those_that_it_does_not(
    device: Reference, lacking: tuple[int, ...], taken: tuple[int, ...]
) -> None:
    judge = Judge(bench(device), raising=False)
    assert judge(case(clip(tensor(lacking)))).unsupported
    assert judge(case(clip(tensor(taken)))).unsupported is None


def test_an_operator_that_only_strides_cannot_be_expressed_with_is_asked_for_again() -> None:
    judge = Judge(bench(NoStrides()), raising=False)
    assert judge(case(STRIDED)).unsupported
    assert judge(case(clip())).unsupported is None


def test_a_neighbour_that_cannot_be_expressed_does_not_matter() -> None:
    class OnlyClip(Reference):
        def create(self, operator: OperatorDesc) -> Kernel:
            if operator.name != "ELEMENT_WISE_CLIP":
                raise NotSupported(f"no {operator.name}")
            return super().create(operator)

    beside = case(clip(), expectation="beside others", layout_clause="execution.independent")
    judgement = judge_case(bench(OnlyClip()), beside)
    assert (judgement.findings, judgement.unsupported) == ((), None)
    assert "execution.independent" in judgement.clauses


@pytest.mark.parametrize("own_first", [True, False])
def test_of_kernels_that_a_case_names_only_its_own_has_to_be_expressed(own_first: bool) -> None:
    def named(inexpressible: str) -> Judgement:
        class Lacking(Reference):
            def create(self, operator: OperatorDesc) -> Kernel:
                if operator.name == inexpressible:
                    raise NotSupported(f"no {operator.name}")
                return super().create(operator)

        beside = (clip(), threshold()) if own_first else (threshold(), clip())
        return judge_case(bench(Lacking()), case(clip(), expectation="beside others", beside=beside))

    assert named("ELEMENT_WISE_THRESHOLD").unsupported is None
    assert named("ELEMENT_WISE_THRESHOLD").executions
    assert named("ELEMENT_WISE_CLIP").unsupported is not None
    assert not named("ELEMENT_WISE_CLIP").executions


def test_dispatch_may_not_report_it() -> None:
    judgement = judge_case(bench(AtDispatch()), case())
    assert {finding.outcome for finding in judgement.findings} == {"fail"}


def test_the_ledger_counts_what_ran_and_what_could_not() -> None:
    judge = Judge(bench(NoStrides()))
    judge.all([case(STRIDED), case(clip()), case(STRIDED)])
    row = ("ELEMENT_WISE_CLIP", "INT8")
    clauses = ("tensor.strides.padded", "tensor.position", "clip.formula")
    counts = [
        (judge.ledger.tallies[clause, *row].cases, judge.ledger.tallies[clause, *row].unsupported) for clause in clauses
    ]
    assert counts == [(0, 2), (1, 0), (1, 0)]
    assert judge.ledger.unsupported == "no strides here"
    assert not judge.ledger.is_empty


def tally(clause: str, cases: int, unsupported: int) -> ClauseTally:
    outcome = Outcome.PASS if cases else Outcome.NOT_SUPPORTED
    return ClauseTally(clause, "ELEMENT_WISE_CLIP", "FLOAT32", outcome, cases, 10 * cases, 0, unsupported)


@pytest.mark.parametrize(
    "cases, unsupported, outcome",
    [
        (3, 0, "pass"),
        (3, 1, "not_supported"),
        (0, 1, "not_supported"),
        (0, 0, "not_supported"),
    ],
)
def test_a_required_row_with_a_case_that_could_not_run_is_not_supported(
    cases: int, unsupported: int, outcome: str
) -> None:
    items = [ItemRecord("test", Outcome.PASS, 0.1, (tally("a.required", cases, unsupported),))]
    results = results_of(*items, obligations=[("a.required", "ELEMENT_WISE_CLIP", "FLOAT32", "required")])
    assert (row_of(results, "a.required")["outcome"], row_of(results, "a.required")["cases"]) == (outcome, cases)
    assert results["verdict"] == ("CONFORMANT" if outcome == "pass" else "INCOMPLETE")


def test_a_test_that_could_not_run_takes_nothing_from_a_row_that_another_ran() -> None:
    items = [
        ItemRecord("one", Outcome.PASS, 0.1, (tally("a.required", 4, 0),)),
        ItemRecord("other", Outcome.NOT_SUPPORTED, 0.1, (tally("a.required", 0, 0),)),
    ]
    results = results_of(*items, obligations=[("a.required", "ELEMENT_WISE_CLIP", "FLOAT32", "required")])
    assert row_of(results, "a.required")["outcome"] == "pass"
    assert results["verdict"] == "CONFORMANT"


def test_what_is_not_required_is_characterised_or_absent() -> None:
    seen = replace(tally("a.silent", 2, 1), outcome=Outcome.CHARACTERISED)
    never = tally("a.implied", 0, 3)  # not required below
    items = [ItemRecord("test", Outcome.PASS, 0.1, (seen, never, tally("a.required", 1, 0)))]
    results = results_of(*items, obligations=[("a.required", "ELEMENT_WISE_CLIP", "FLOAT32", "required")])
    outcomes = {row["id"]: row["outcome"] for row in results["clauses"]}
    assert outcomes == {"a.silent": "characterised", "a.required": "pass"}
    assert results["verdict"] == "CONFORMANT"


def test_replaying_states_so() -> None:
    replay_result = replay(bench(NoStrides()), case(STRIDED), "again")
    assert not replay_result.failed
    assert not replay_result.supported
    assert replay_result.text == "ELEMENT_WISE_CLIP on INT8: not supported by the backend: no strides here"
    assert replay(bench(NoStrides()), case(clip()), "again").supported


BACKEND = """
from dmlcts.backends.cpu import CpuBackend, CpuDevice

class NotSupported(Exception): ...

class Device(CpuDevice):
    def create(self, operator):
        if operator.attributes.get("RoundingMode") == "TOWARD_INFINITY":
            raise NotSupported("no half away from zero")
        return super().create(operator)

class Backend(CpuBackend):
    def open(self):
        device = super().open()
        device.__class__ = Device
        return device
"""


@pytest.mark.size("thorough")
def test_a_run_without_one_mode_is_incomplete(dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BACKEND, "utf-8")
    ran = dmlcts(
        "run",
        "--backend",
        "mine.py:Backend",
        "--operator",
        "ROUND",
        "--data-type",
        "FLOAT16",
        "--clause",
        "round.*",
        "--clause",
        "tensor.strides.padded",
    )
    assert ran.code == 4, ran.out + ran.err
    assert ran.results is not None
    assert ran.results["verdict"] == "INCOMPLETE"
    assert ran.outcomes("round.toward-infinity") == {"not_supported"}
    assert ran.outcomes("round.nearest-even") == ran.outcomes("tensor.strides.padded") == {"pass"}
    assert ran.outcomes("round.nan") == {"not_supported"}  # some of its cases are about the missing mode
    assert ran.results["failures"] == []


def test_replaying_exits_as_incomplete(dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BACKEND, "utf-8")
    half = TensorDesc(DataType.FLOAT16, (1,))
    attributes = {"RoundingMode": "TOWARD_INFINITY"}
    operator = OperatorDesc("ELEMENT_WISE_ROUND", {"InputTensor": half, "OutputTensor": half}, attributes)
    test_case = replace(case(operator), clause="round.toward-infinity")
    document = {
        "format": "dmlcts/failure/1",
        "title": "t",
        "clause": test_case.clause,
        "operator": operator.name,
        "data_type": "FLOAT16",
        "outcome": "fail",
        "test": "t",
        "suite_version": "0",
        "text": "t",
        "case": test_case.to_json(),
    }
    (tmp_path / "failure.yaml").write_text(dump_yaml(document), "utf-8")
    ran = dmlcts("replay", "failure.yaml", "--backend", "mine.py:Backend")
    assert (ran.code, ran.out.strip()) == (
        4,
        "ELEMENT_WISE_ROUND on FLOAT16: not supported by the backend: no half away from zero",
    )
    assert dmlcts("replay", "failure.yaml", "--backend", "cpu").code == 0
