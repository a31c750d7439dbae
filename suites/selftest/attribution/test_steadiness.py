"""What does not go wrong every time is reported as that: by chance, or because of what ran before."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, ItemRecord
from dmlcts.reports.documents.selecting import besides, within
from dmlcts.specs import OperatorDesc, UsageError
from dmlcts.suites.attribution.blame import smallest
from dmlcts.suites.attribution.steadiness import dependent
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Values
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, Judgement
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.mutants.rare import OneElementInTenThousandAtRandom
from dmlcts.suites.mutants.reference import Array, Reference
from dmlcts.suites.mutants.state import AttributesMissingInTheCacheKey
from dmlcts.suites.proof.probes import probes
from dmlcts.suites.running.item_record import _tallies
from dmlcts.suites.running.replay import replay
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.descriptions import case, clip, tensor
from dmlcts.suites.selftest.first_three import first_three
from dmlcts.suites.selftest.judging.test_judging import bench, f32
from dmlcts.suites.selftest.reports.report_samples import failure


class Transient(Reference):
    """The last element of every ``period``-th dispatch is 77; other devices of the same kind do not begin anew."""

    period = 40
    ran = 0

    def open(self, period: str = "") -> Transient:
        self.period = int(period or self.period)
        return self

    def compute(self, operator: OperatorDesc, x: Array) -> Array:
        y = super().compute(operator, x).copy()
        type(self).ran += 1
        if type(self).ran % self.period == 0:
            y.reshape(-1)[-1:] = 77
        return y


def transient(period: int, ran: int = 0) -> type[Transient]:
    """A kind of its own, so that tests do not count each other's dispatches."""
    return type("Planted", (Transient,), {"period": period, "ran": ran})


def first_wrong(on: Bench, example: Case) -> Finding:
    """What is wrong the first time that something is."""
    for _ in range(60):
        findings = judge_case(on, example).findings
        if findings:
            return findings[0]
    raise AssertionError("nothing goes wrong")


def test_one_transient_element_is_not_repeatable() -> None:
    on = bench(transient(40)())
    finding = smallest(on, first_wrong(on, case(layout_clause="tensor.strides.padded")))
    assert (finding.clause, finding.outcome, finding.repeat) == ("execution.repeatable", "fail", 100)
    assert finding.title == "input 100 gives 77, wrong 1 time of 9: not repeatable"
    assert dict(finding.details)["input"] == "100 (0x64) at index [4]"
    assert dict(finding.details)["again"] == "wrong 1 time of 9, the same case on the same device"


def test_how_often_is_stated() -> None:
    on = bench(transient(3)())
    finding = smallest(on, first_wrong(on, case()))
    assert finding.clause == "execution.repeatable"
    assert dict(finding.details)["again"].startswith("wrong 3 times of 9")


def test_what_is_wrong_another_way_each_time_is_not_repeatable() -> None:
    on = bench(OneElementInTenThousandAtRandom())
    many = case(clip(tensor((400_000,))), values=Values.bulk(clip().input.data_type, 1))
    finding = smallest(on, judge_case(on, many).findings[0])
    assert finding.clause == "execution.repeatable"
    assert "never in the same way twice" in dict(finding.details)["again"]


def test_what_is_wrong_every_time_is_repeatable() -> None:
    on = bench(transient(1)())
    finding = smallest(on, judge_case(on, case(values=Values.of([5], clip().input.data_type))).findings[0])
    assert (finding.clause, finding.repeat) == ("clip.formula", 0)


def bounded(low: float) -> OperatorDesc:
    return OperatorDesc("ELEMENT_WISE_CLIP", clip().tensors, {"ScaleBias": None, "Min": f32(low), "Max": f32(50)})


def test_what_ran_before_is_named_and_minimal() -> None:
    on = bench(AttributesMissingInTheCacheKey())
    culprit, victim = case(bounded(-2)), case(bounded(-5))
    others = [case(clip(tensor((length,)))) for length in range(6, 40)]
    for other in (*others[:17], culprit, *others[17:]):
        assert not judge_case(on, other).findings
    finding = smallest(on, judge_case(on, victim).findings[0])
    assert finding.clause == "execution.independent"
    assert finding.case.earlier == (culprit,)
    assert dict(finding.details)["after"] == "ELEMENT_WISE_CLIP on INT8"
    assert judge_case(bench(AttributesMissingInTheCacheKey()), finding.case).findings, "the case shows it by itself"
    assert not judge_case(bench(AttributesMissingInTheCacheKey()), victim).findings
    assert Case.from_json(finding.case.to_json()) == finding.case


def clauses_reported(on: Bench) -> list[str]:
    """The clauses under which the tests of kernels that live together report what they find."""
    return [
        smallest(on, finding).clause
        for probe in probes(first_three())
        if "alive_at_the_same_time" in probe.test and "CLIP-INT8" in probe.test
        for finding in probe.run(on, 0).ledger.findings
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ran", [4, 8, 12])
def test_other_kernels_are_not_blamed_for_chance(ran: int) -> None:
    """Every judgement of many kernels meets a thirteenth dispatch, and so does a search for what ran before."""
    assert set(clauses_reported(bench(transient(13, ran)()))) == {"execution.repeatable"}


@pytest.mark.size("thorough")
def test_other_kernels_are_blamed_for_what_they_do_every_time() -> None:
    """The control: a device that keeps one kernel's attributes for the other is no device that errs by chance."""
    assert set(clauses_reported(bench(AttributesMissingInTheCacheKey()))) == {"execution.independent"}


@pytest.mark.parametrize("count, devices", [(5, 16), (1 << 16, 16), ((1 << 16) + 1, 4)])
def test_neighbours_are_tried_on_eight_pairs_of_devices_and_on_two_for_many_elements(count: int, devices: int) -> None:
    opened = []

    class Opening(Reference):
        def open(self) -> Reference:
            opened.append(self)
            return self

    on = bench(Opening())
    large = case(clip(tensor((count,))), earlier=(case(bounded(-5)),))
    dependent(on, Finding("execution.independent", "fail", large, "wrong"), Finding("", "fail", large, ""))
    assert len(opened) == 1 + devices


def test_a_case_before_another_has_none_before_itself() -> None:
    written = replace(case(), earlier=(replace(case(), earlier=(case(),)),)).to_json()
    with pytest.raises(UsageError, match="earlier is not a list"):
        Case.from_json(written)
    with pytest.raises(UsageError, match="earlier is not a list"):
        Case.from_json({**case().to_json(), "earlier": "none"})
    assert "earlier" not in case().to_json(), "old readers know nothing of it"


@pytest.mark.parametrize("ran", range(0, 33, 4))
def test_a_property_based_test_reports_chance_itself(ran: int) -> None:
    (probe,) = [
        candidate for candidate in probes(first_three()) if "test_drawn_bounds_and_values[CLIP-INT8]" in candidate.test
    ]
    on = bench(transient(37, ran)())
    judge = probe.run(on, 0)  # a library that finds an example right when it is run again raises FlakyFailure
    for finding in judge.ledger.findings:
        assert smallest(on, finding).clause == "execution.repeatable"
    quiet = probe.run(bench(Reference()), 0)
    assert not quiet.ledger.findings, "the control"


def test_a_failing_case_is_judged_once_in_a_test() -> None:
    judge = Judge(bench(transient(2)()), raising=False)
    seen = [bool(judgement.findings) for judgement in judge.all([case()] * 4)]
    assert seen == [False, True, True, True]
    assert judge.ledger.tallies["clip.formula", "ELEMENT_WISE_CLIP", "INT8"].cases == 2


def test_replay_counts() -> None:
    replayed = replay(bench(transient(10)()), case(), "dmlcts replay x", 100)
    assert replayed.failed
    assert replayed.text.endswith("wrong 10 of 100 times")
    passing = replay(bench(Reference()), case(), "dmlcts replay x", 5)
    assert (passing.failed, passing.text.splitlines()[-1]) == (False, "wrong 0 of 5 times")


def test_what_chance_decides_counts_whatever_was_selected() -> None:
    """One execution that only other kernels spoil belongs to its own clause, as all else does: the control."""
    wrong = replace(failure("input 5 gives 77", "0x05"), clause="execution.repeatable")
    for clause, outcome, counts in (
        ("execution.repeatable", Outcome.FAIL, True),
        ("execution.repeatable", Outcome.WAIVED, False),
        ("execution.independent", Outcome.FAIL, False),
    ):
        failure_record = replace(wrong, clause=clause, outcome=outcome)
        tally = ClauseTally(clause, failure_record.operator, failure_record.data_type, outcome, 1, 1, 1)
        record = ItemRecord("a", outcome, 1.0, (tally,), (), (failure_record,))
        (seen,) = within([record], {"clauses": ["round.*"]})
        assert (bool(seen.failures), bool(seen.tallies)) == (counts, counts)
        assert bool(besides([record], {"clauses": ["round.*"]})) != counts
    held = replace(tally, clause="execution.repeatable", outcome=Outcome.PASS, failures=0)
    right = replace(record, outcome=Outcome.PASS, failures=(), tallies=(held,))
    assert not within([right], {"clauses": ["round.*"]})[0].tallies, "what held of another clause gives no row"


PLANTED = """
from pathlib import Path

from dmlcts.suites.mutants.reference import Reference

COUNT = Path(__file__).with_name("count")  # a device that was opened anew does not begin anew, as chance does not


class Sometimes(Reference):
    def compute(self, operator, x):
        y = super().compute(operator, x).copy()
        ran = 1 + (int(COUNT.read_text()) if COUNT.exists() else 0)
        COUNT.write_text(str(ran))
        if ran % 61 == 0:
            y.reshape(-1)[-1:] = 77
        return y
"""


@pytest.mark.size("all")
def test_a_run_on_a_nondeterministic_device_states_what_it_is(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    (tmp_path / "sometimes.py").write_text(PLANTED, encoding="utf-8")
    backend = ("--backend", "sometimes.py:Sometimes")
    # In one process, which the faults take a third of the time in; the replays below are in processes of their own.
    ran = dmlcts(
        "run", *backend, "--operator", "CLIP", "--data-type", "INT8", "--clause", "clip.formula", "--isolation", "none"
    )
    assert (ran.code, ran.results is not None) == (1, True), ran.err
    assert "Flaky" not in ran.out + ran.err
    assert "0x7f" not in ran.out.replace("(0x7f", ""), "no representations of objects"
    results: dict[str, Any] = ran.results or {}
    assert {report["clause"] for report in results["failures"]} == {"execution.repeatable"}
    assert {row["id"] for row in results["clauses"] if row["outcome"] == "fail"} == {"execution.repeatable"}
    for text in results["failures"]:
        assert re.match(r"wrong \d+ times? of \d+, the same case on the same device", text["details"]["again"])
        assert "input" in text["details"]
        assert " --repeat 100" in text["replay"]
    first = dmlcts("replay", f"results/failures/{results['failures'][0]['file']}", *backend)
    assert (first.code, "try --repeat 100" in first.out) == (0, True), first.out
    often = dmlcts("replay", f"results/failures/{results['failures'][0]['file']}", *backend, "--repeat", "122")
    assert often.code == 1
    assert re.search(r"wrong [2-9] of 122 times", often.out), "every 61st dispatch, of which a case may take several"


EVERYTHING: Any = SimpleNamespace(selects_clause=lambda clause: True)  # all that is asked of a run's settings


def test_a_neighbour_of_another_operator_that_is_wrong_once_has_a_row_of_its_own() -> None:
    """Its finding moves to another clause, though the case that it stood beside is the only one that was counted."""
    judge = Judge(bench(Reference()))
    other = replace(case(), operator=replace(case().operator, name="ELEMENT_WISE_THRESHOLD"))
    for number, shown in ((3, other), (2, case())):  # the second one shows a fault of its own, which does not move
        finding = Finding("execution.independent", "fail", shown, "wrong")
        judge.ledger.count(case(), Judgement((finding,), clauses=("execution.independent",), elements=number))
    moved = {
        ("execution.independent", "ELEMENT_WISE_THRESHOLD", "INT8"): (
            "execution.repeatable",
            "ELEMENT_WISE_THRESHOLD",
            "INT8",
        )
    }
    rows = {(tally.clause, tally.operator): tally for tally in _tallies(judge, [], moved, EVERYTHING)}
    assert {key: (tally.cases, tally.failures) for key, tally in rows.items()} == {
        ("execution.independent", case().operator.name): (2, 1),
        ("execution.repeatable", "ELEMENT_WISE_THRESHOLD"): (1, 1),
    }
    own = ("execution.independent", case().operator.name, "INT8")
    moved[own] = ("execution.repeatable", *own[1:])
    rows = {(tally.clause, tally.operator): tally for tally in _tallies(judge, [], moved, EVERYTHING)}
    assert rows["execution.independent", case().operator.name].failures == 0
    assert {key: tally.failures for key, tally in rows.items() if tally.failures} == {
        ("execution.repeatable", case().operator.name): 1,
        ("execution.repeatable", "ELEMENT_WISE_THRESHOLD"): 1,
    }
