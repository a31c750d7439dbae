"""A kernel on each of two devices that are open at once."""

from __future__ import annotations

from typing import Any

import pytest

from dmlcts.backends import BackendUnavailable
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Judgement
from dmlcts.suites.mutants import state
from dmlcts.suites.mutants.reference import Reference
from dmlcts.suites.selftest.descriptions import case

TWO = case(layout_clause="execution.independent", expectation="on two devices")


class Counted(Reference):
    """Opens so many devices at a time, and raises at the next one."""

    opened = 0
    most = 2
    error: Exception = BackendUnavailable("one at a time", "close it first")

    def open(self) -> Reference:
        if type(self).opened >= self.most:
            raise self.error
        type(self).opened += 1
        return super().open()

    def close(self) -> None:
        type(self).opened -= 1


def judged(backend: Any) -> tuple[Judgement, Judgement]:
    """On two devices, and what the bench says of the case by itself afterwards."""
    bench = Bench("two", backend, {}, load_tables())
    try:
        return judge_case(bench, TWO), judge_case(bench, case())
    finally:
        bench.close()


def test_a_right_one_passes_and_its_second_device_is_closed() -> None:
    class Right(Counted):
        pass

    judgement, _ = judged(Right())
    assert (judgement.findings, "execution.independent" in judgement.clauses) == ((), True)
    assert len(judgement.executions) == 5
    assert Right.opened == 0


def test_one_that_has_no_second_device_cannot_express_it() -> None:
    class Single(Counted):
        most = 1

    judgement, afterwards = judged(Single())
    assert judgement.unsupported is not None
    assert "one at a time" in judgement.unsupported
    assert (judgement.findings, afterwards.findings, Single.opened) == ((), (), 0)


def test_one_whose_second_device_breaks_while_it_is_opened_is_at_fault() -> None:
    class Breaks(Counted):
        most = 1
        error = OSError("the context is taken")

    judgement, afterwards = judged(Breaks())
    (finding,) = judgement.findings
    assert finding.outcome == "crash"
    assert "the context is taken" in str(finding.details)
    assert afterwards.findings == ()


@pytest.mark.parametrize(
    "mutant", [state.SecondDeviceComputesNothing, state.DeviceOpenedLastIsCurrent, state.ClosingADeviceEndsAll]
)
def test_a_wrong_one_is_reported_and_the_bench_goes_on_with_another_device(mutant: type[Reference]) -> None:
    judgement, afterwards = judged(mutant())
    assert {finding.clause for finding in judgement.findings} == {"execution.independent"}
    assert all(finding.settled and finding.case.expectation == "on two devices" for finding in judgement.findings)
    assert afterwards.findings == ()
