"""What a run shows while it runs: one line, the first failure at once, and after Ctrl-C how to continue."""

from __future__ import annotations

import io
import itertools
import re
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord
from dmlcts.suites.progress.estimate import duration, left
from dmlcts.suites.progress.status_line import StatusLine
from dmlcts.suites.progress.watching import Progress
from dmlcts.suites.selftest.conftest import Ran

WRONG = """
import os
import time

import numpy as np
from dmlcts.suites.mutants.reference import Reference

class HalfUp(Reference):
    def half_away(self, x):
        time.sleep(float(os.environ.get("SECONDS_A_CALL", "0")))
        return np.floor(x + np.asarray(0.5, x.dtype))
"""
FEW = ("--operator", "ROUND", "--data-type", "FLOAT32", "--clause", "round.toward-infinity")
TESTS = [f"suites/conformance/values/test_some.py::some[{name}]" for name in ("CLIP", "ROUND", "ABS", "ADD")]


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def wrong(test: str, outcome: Outcome = Outcome.FAIL) -> ItemRecord:
    row = ("round.odd", "ELEMENT_WISE_ROUND", "FLOAT32")
    failure = FailureRecord(*row, outcome, test, "0.5 gives 0.0", "the whole account", {})
    return ItemRecord(test, outcome, 0.5, (ClauseTally(*row, outcome, 1, 1, 1),), failures=(failure,))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def following(clock: Clock) -> Progress:
    """Follows four tests, the first two under way."""
    made = Progress("cpu, level 5.0", "quick", clock=clock)
    made._learned(TESTS)
    for test in TESTS[:2]:
        made.pytest_runtest_logstart(test)
    return made


def test_the_line_has_tests_operators_failing_clauses_and_the_time_left(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = following(clock)
    assert progress.words() == "dmlcts: 0/4 tests · ROUND, CLIP · 0 failing clauses"
    clock.now += 10
    progress.record(ItemRecord(TESTS[0], Outcome.PASS, 0.1))
    progress.pytest_runtest_logfinish(TESTS[0])
    assert progress.words() == "dmlcts: 1/4 tests · ROUND · 0 failing clauses · about 30 s left"
    progress.record(wrong(TESTS[1]))
    assert "2/4 tests · ROUND · 1 failing clause · about 10 s left" in progress.words()
    progress.line.stop()
    shown = capsys.readouterr()
    assert shown.out == "dmlcts: cpu, level 5.0: 4 tests of 4 operators\n"
    assert shown.err.count("the whole account") == 1


def test_the_first_failure_is_printed_once_and_what_does_not_count_never(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    waiving = Progress(
        "cpu", "quick", lambda record: wrong(record.test, Outcome.WAIVED), clock=clock, line=StatusLine(lambda: "")
    )
    waiving._learned(TESTS)
    waiving.record(wrong(TESTS[0]))
    assert ("the whole account" in capsys.readouterr().err, "0 failing" in waiving.words()) == (False, True)
    control = Progress("cpu", "quick", clock=clock)
    control._learned(TESTS)
    for test in TESTS:
        control.record(wrong(test))
    assert capsys.readouterr().err.count("the whole account") == 1
    resumed = Progress("cpu", "quick", clock=clock)
    resumed.already([wrong(TESTS[0])])
    resumed._learned(TESTS[1:])
    resumed.record(wrong(TESTS[1]))
    assert ("the whole account" in capsys.readouterr().err, "2/4 tests" in resumed.words()) == (False, True)
    for each in (waiving, control, resumed):
        each.line.stop()


def test_the_first_failure_names_no_file_that_a_smaller_case_may_replace(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "dmlcts replay results/failures/round.odd-round-float32-00000000.yaml --backend cpu"
    failing = wrong(TESTS[0])
    text = f"0.5 gives 0.0\n  got          0.0\n  replay       {command}"
    progress = following(clock)
    progress.record(replace(failing, failures=(replace(failing.failures[0], text=text),)))
    progress.line.stop()
    shown = capsys.readouterr().err
    assert "0.5 gives 0.0\n  got          0.0\n" in shown
    assert "replay  " not in shown
    assert "the summary names the file" in shown


def test_a_log_gets_a_line_now_and_then_and_a_terminal_one_that_is_drawn_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: dict[bool, str] = {}
    for live in (False, True):
        shown = io.StringIO()
        monkeypatch.setattr(sys, "stderr", shown)
        words = map("at {}".format, itertools.count())
        line = StatusLine(words.__next__, live=live, every=0.01)
        line.start()
        deadline = time.monotonic() + 20
        while "at 3" not in shown.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        line.stop()
        written[live] = shown.getvalue()
    assert written[False].startswith("at 0\nat 1\nat 2\nat 3\n")
    assert "\x1b" not in written[False]
    assert written[True].startswith("\r\x1b[Kat 0\r\x1b[Kat 1")
    assert "\n" not in written[True]
    assert written[True].endswith("\r\x1b[K"), "nothing of it stays"


def test_the_line_holds_no_characters_of_a_strangers_and_is_no_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    line = StatusLine(lambda: "a\x1b[2J" + "b" * 200, live=True)
    line.refresh()
    shown = stream.getvalue().removeprefix("\r\x1b[K")
    assert ("\x1b" in shown, len(shown), shown[-1]) == (False, 79, "…")


@pytest.mark.parametrize(
    "seconds, words",
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min"), (89, "1 min"), (3600, "1 h"), (3599, "1 h"), (7800, "2 h 10 min")],
)
def test_a_duration_is_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_time_left_follows_the_pace_and_is_not_guessed_too_early() -> None:
    weights = {"a": 1.0, "b": 3.0}
    assert left(weights, [], 10) is None
    assert left(weights, ["a"], 1) is None, "so soon it says nothing"
    assert left(weights, ["a"], 10) == 30
    assert left(weights, ["a", "b"], 10) == 0


@pytest.mark.size("thorough")
def test_a_run_prints_the_first_failure_at_once_and_ends_with_what_to_open(
    tmp_path: Path, dmlcts: Callable[..., Ran]
) -> None:
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    ran = dmlcts("run", "--backend", "wrong.py:HalfUp", *FEW, "-n", "2")
    assert ran.code == 1, ran.out + ran.err
    assert ran.err.count("The first failure") == 1
    assert "dmlcts replay" not in ran.err, "which case stands for the fault is known when the run ends"
    assert "ELEMENT_WISE_ROUND on FLOAT32: input -0.5 gives 0.0\n" in ran.err
    lines = ran.out.splitlines()
    assert re.fullmatch(r"dmlcts: wrong.py:HalfUp, level 5.0, profile quick, seed 0: \d+ tests of 1 operator", lines[0])
    assert lines[-2] == "open results/results.html · dmlcts replay results --backend wrong.py:HalfUp"
    assert lines[-1].startswith("NOT CONFORMANT: 1 clause fails")
    assert not [words for words in ("bringing up", "pytest", "passed", "%]", "gw0") if words in ran.out + ran.err]
    verbose = dmlcts("run", "--backend", "wrong.py:HalfUp", *FEW, "-v")
    assert "  pytest -p dmlcts.suites.plugin" in verbose.out
    assert (verbose.err, verbose.out.count("\nfail ") > 1, "gw0" in verbose.out) == ("", True, False)
    quiet = dmlcts("run", "--backend", "wrong.py:HalfUp", *FEW, "-q")
    assert (quiet.err, "The first failure" in quiet.out, "open " in quiet.out) == ("", False, False)


def test_quiet_and_verbose_together_are_refused(dmlcts: Callable[..., Ran]) -> None:
    ran = dmlcts("run", "--backend", "cpu", *FEW, "-q", "-v")
    assert (ran.code, ran.out) == (2, "")
    assert "-q prints less than usual, and -v prints more; give one of the two" in ran.err


@pytest.mark.size("thorough")
@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell here")
def test_a_terminal_shows_one_line_and_ctrl_c_shows_how_to_continue(tmp_path: Path) -> None:
    pytest.importorskip("pyte", reason="the emulated terminal is of the extra `dev`")
    pytest.importorskip("pty", reason="there are no pseudo-terminals here")
    from dmlcts.suites.selftest.commands.screens import frames_of

    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    selected = "--operator ROUND --data-type FLOAT32 --clause 'round.*'"
    slow = "SECONDS_A_CALL=0.02"  # or the run may have ended when the key arrives
    frames = frames_of(
        [f"{slow} dmlcts run --backend wrong.py:HalfUp {selected}", "dmlcts run --resume results"],
        tmp_path,
        interrupted_at=r"tests · ROUND · 1 failing clause",
    )
    screens = ["\n".join("".join(part.text for part in line) for line in frame.lines) for frame in frames]
    during = [screen for screen in screens if "tests · ROUND · " in screen]
    assert during
    assert all(screen.count("tests · ROUND · ") == 1 for screen in during), "one line, drawn over itself"
    assert any("The first failure" in screen for screen in during), "while it runs"
    stopped = [screen for screen in screens if "dmlcts: interrupted after" in screen]
    assert re.search(
        r"dmlcts: interrupted after \d+ of \d+ tests, 1 failing clause; continue with: dmlcts run --resume results",
        stopped[0].replace("\n", ""),
    ), stopped[0]
    last = screens[-1]
    assert "tests · ROUND" not in last, "nothing of the line stays"
    assert "open results/results.html · dmlcts replay results --backend wrong.py:HalfUp" in last
    assert "KeyboardInterrupt" not in "\n".join(screens)
