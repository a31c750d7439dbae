"""No verdict leaves a test out: one that is lost with its process runs again, and is named where it is lost again."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dmlcts.reports.documents.journal import Collection, read_journal
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.suites.rerunning import rerun as rerunning
from dmlcts.suites.rerunning.collecting import Collector
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.pytest_run import CONFORMANCE
from dmlcts.suites.selftest.conftest import Ran

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")

SELECTED = ("--operator", "IS_NAN", "--data-type", "FLOAT32", "--clause", "tensor.output.complete")
TESTS = 3
AT = "test_memory.py::memory[IS_NAN]"
ONE_SIZE = """
import os, signal
from pathlib import Path
from dmlcts.backends import BackendUnavailable
from dmlcts.suites.mutants.reference import Reference

HERE = Path(__file__).parent

class Right(Reference):
    def dispatch_exact(self, operator, table, memory, bindings):
        if operator.tensors["InputTensor"].sizes != (129,) or not self.at_one_size():
            super().dispatch_exact(operator, table, memory, bindings)

    def at_one_size(self):
        return False

class Wrong(Right):
    def at_one_size(self):
        return True  # and nothing is written

class Kills(Wrong):
    def at_one_size(self):
        os.kill(os.getppid(), signal.SIGKILL)
        return True

class KillsOnce(Right):
    def at_one_size(self):
        if not (HERE / "killed").exists():
            (HERE / "killed").touch()
            os.kill(os.getppid(), signal.SIGKILL)

class Aborts(Right):
    def at_one_size(self):
        os.abort()

class Terminates(Reference):
    def compute_exact(self, operator, inputs):
        if not (HERE / "enough").exists():
            os.kill(os.getppid(), signal.SIGTERM)
        return super().compute_exact(operator, inputs)

class TakenOnce(Reference):
    def open(self, **options):
        if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
            raise BackendUnavailable("the device is taken", "wait")
        return super().open(**options)
"""


@pytest.fixture
def judged(tmp_path: Path, dmlcts: Callable[..., Ran]) -> Callable[..., Ran]:
    """Judges one of the implementations above, in two processes where no other number is given."""
    pytest.importorskip("xdist")
    (tmp_path / "one.py").write_text(ONE_SIZE, encoding="utf-8")

    def run(name: str, *more: str, processes: int = 2) -> Ran:
        ran = dmlcts("run", "--backend", f"one.py:{name}", *SELECTED, "-n", str(processes), *more)
        assert "Traceback" not in ran.out + ran.err, ran.out + ran.err
        assert "INTERNALERROR" not in ran.out + ran.err, ran.out + ran.err
        return ran

    return run


@pytest.mark.size("thorough")
def test_a_test_whose_process_dies_once_runs_again(tmp_path: Path, judged: Callable[..., Ran]) -> None:
    ran = judged("KillsOnce")
    assert ran.code == 0, ran.out + ran.err
    assert (tmp_path / "killed").exists()
    assert "running again in a fresh one" in ran.out
    journal_content = read_journal(tmp_path / "results")
    assert (len(journal_content.records), journal_content.collection, journal_content.ended) == (
        TESTS,
        Collection(TESTS, TESTS),
        True,
    )
    shutil.move(tmp_path / "results", tmp_path / "first")
    control = judged("Right", processes=1)  # test_interrupted_runs.py has one of two processes
    assert (control.code, "running again" in control.out) == (0, False)
    assert {record.test for record in journal_content.records} == {
        record.test for record in read_journal(tmp_path / "results").records
    }
    known = [
        (record.test, record.outcome) for record in sorted(journal_content.records, key=lambda record: record.test)
    ]
    assert all(outcome is Outcome.PASS for _, outcome in known)


@pytest.mark.size("thorough")
def test_a_process_without_a_device_leaves_its_tests_to_the_others(
    judged: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # this test's own process may be called gw1 as well
    ran = judged("TakenOnce", "--isolation", "none")
    assert ran.code == 0, ran.out + ran.err
    assert "a process cannot open the device, so others run its tests: the device is taken; wait" in ran.out


@pytest.mark.size("thorough")
def test_who_kills_the_judge_where_it_would_be_convicted_is_not_conformant(
    tmp_path: Path, judged: Callable[..., Ran]
) -> None:
    ran = judged("Kills")
    assert ran.code == 4, ran.out + ran.err
    assert f"dmlcts: 1 test ended its process twice and is not judged: {AT}" in ran.err.replace("tensors/", "")
    journal_content = read_journal(tmp_path / "results")
    assert (len(journal_content.records), journal_content.ended) == (TESTS, True)
    lost = [record for record in journal_content.records if record.outcome is Outcome.HARNESS_ERROR]
    assert [record.test.endswith(AT) for record in lost] == [True]
    assert "was ended by SIGKILL" in lost[0].failures[0].title
    assert (lost[0].failures[0].operator, lost[0].failures[0].data_type) == ("ELEMENT_WISE_IS_NAN", "FLOAT32")
    assert judged("Wrong", processes=1).code == 1, "the control: who lets itself be judged is convicted"


@pytest.mark.size("all")
def test_who_ends_a_shared_process_is_blamed_in_one_of_its_own(judged: Callable[..., Ran]) -> None:
    ran = judged("Aborts", "--isolation", "none")
    assert ran.code == 1, ran.out + ran.err
    assert ran.outcomes("is-nan.formula") == {"crash"}, ran.out
    assert "1 test lost" in ran.out or "tests lost" in ran.out, "it was lost first"


@pytest.mark.size("thorough")
def test_a_run_whose_processes_are_all_ended_has_no_verdict_and_continues(
    tmp_path: Path, judged: Callable[..., Ran], dmlcts: Callable[..., Ran]
) -> None:
    ran = judged("Terminates")
    assert (ran.code, ran.results) == (6, None), ran.out + ran.err
    assert ran.err.count("\n") == 1, ran.err
    assert "all 2 processes of this run ended by SIGTERM, before all tests had run: no verdict; " in ran.err
    (tmp_path / "enough").touch()
    again = dmlcts("run", "--resume", "results") if "--resume" in ran.err else judged("Terminates", processes=1)
    assert again.code == 0, again.out + again.err
    assert len(read_journal(tmp_path / "results").records) == TESTS


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name, code, message", [("Kills", 4, "INCOMPLETE"), ("Right", 0, "CONFORMANT")])
@pytest.mark.size("all")
def test_pytest_alone_reports_the_same(tmp_path: Path, name: str, code: int, message: str) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "one.py").write_text(ONE_SIZE, encoding="utf-8")
    modules = [str(CONFORMANCE / "tensors" / module) for module in ("test_memory.py", "test_sizes.py")]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "dmlcts.suites.plugin",
            "-p",
            "no:cacheprovider",
            "-n",
            "2",
            "-c",
            str(CONFORMANCE / "run.ini"),
            "--backend",
            "one.py:" + name,
            *SELECTED,
            *modules,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stdout.rstrip().splitlines()[-1].startswith(message), done.stdout
    assert "INTERNALERROR" not in done.stdout


@pytest.mark.size("thorough")
def test_the_judge_alone_takes_no_verdict_with_it(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    (tmp_path / "one.py").write_text(ONE_SIZE, encoding="utf-8")
    ran = dmlcts("run", "--backend", "one.py:KillsOnce", *SELECTED)
    assert (ran.code, ran.results) == (-9, None)
    assert not read_journal(tmp_path / "results").ended
    again = dmlcts("run", "--resume", "results")
    assert again.code == 0, again.out + again.err
    assert len(read_journal(tmp_path / "results").records) == TESTS


# What is decided of a process that died, without one ---------------------------------------------------------


class _Known:
    """A run that keeps its records, and nothing else."""

    def __init__(self, isolation: str) -> None:
        self.settings = Settings.read(operators=["IS_NAN"], isolation=isolation)
        self.collection: Collection | None = Collection(9, 9)
        self.records: list[ItemRecord] = []

    def add(self, record: ItemRecord) -> None:
        self.records.append(record)


def again(
    monkeypatch: pytest.MonkeyPatch,
    dies: Callable[[str, str], bool],
    tests: Sequence[str],
    begun: Sequence[str] = (),
    isolation: str = "process",
) -> tuple[rerunning.Rerun, dict[str, Outcome]]:
    """Run tests again in processes that die of those of which ``dies`` says so."""

    def sitting(run: Any, left: Sequence[str], isolation: str) -> Any:
        done: list[ItemRecord] = []
        for key in left:
            if dies(key, isolation):
                return rerunning._Sitting(tuple(done), None, key, False, "was ended by SIGKILL")
            done.append(ItemRecord(key, Outcome.PASS, 0.0))
        return rerunning._Sitting(tuple(done), None, "", True, "ended")

    monkeypatch.setattr(rerunning, "_sitting", sitting)
    run = _Known(isolation)
    rerun = rerunning.rerun(run, {key: f"values/{key}" for key in tests}, set(begun))  # type: ignore[arg-type]
    return rerun, {record.test: record.outcome for record in run.records}


def test_each_lost_test_runs_or_is_lost_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = [f"t.py::{name}" for name in "abcd"]
    rerun, seen = again(monkeypatch, lambda key, how: key.endswith("b"), tests)
    assert (rerun.interrupted, len(rerun.reported)) == (False, 1)
    assert {name[-1]: outcome for name, outcome in seen.items()} == {
        "a": Outcome.PASS,
        "b": Outcome.HARNESS_ERROR,
        "c": Outcome.PASS,
        "d": Outcome.PASS,
    }
    assert again(monkeypatch, lambda key, how: False, tests)[0] == rerunning.Rerun(False, ()), "the control"


def test_what_shares_the_judges_process_gets_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rerun, seen = again(monkeypatch, lambda key, how: how == "none", ["t.py::a"], ["t.py::a"], "none")
    assert (rerun.reported, list(seen.values())) == ((), [Outcome.PASS])


def test_processes_that_all_die_are_not_started_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    tests = [f"t.py::{number}" for number in range(40)]
    rerun, seen = again(monkeypatch, lambda key, how: True, tests, tests)
    assert (rerun.interrupted, len(seen)) == (True, rerunning.MOST_DEATHS)
    assert rerun.reported[1].startswith("32 tests did not run, for 8 processes died: values/t.py::8, ")
    assert "and 28 more; continue with `dmlcts run --resume results`" in rerun.reported[1]


@pytest.mark.parametrize("fallen", [True, False])
def test_what_breaks_over_a_dead_process_is_no_traceback(fallen: bool) -> None:
    config = SimpleNamespace(getoption=lambda name: "x.py:X")
    collector = Collector(config, SimpleNamespace(error=None))  # type: ignore[arg-type]
    collector._fallen = {"gw0": -9} if fallen else {}
    loop = collector.pytest_runtestloop(SimpleNamespace(Interrupted=RecursionError, Failed=EOFError))  # type: ignore[arg-type]
    next(loop)
    ends = pytest.raises(StopIteration) if fallen else pytest.raises(KeyError)
    with ends as ended:
        loop.throw(KeyError("gw0"))
    assert not fallen or ended.value.value is True
    with contextlib.suppress(StopIteration):
        next(loop)
