"""An exit code says a verdict where there is one that was said, and nothing that could be taken for one elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dmlcts.suites.console.exit_codes import BROKEN, INTERRUPTED, UNSAID, exit_code_of
from dmlcts.suites.selftest.reports.report_samples import conformant, failing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="closed pipes and full devices as POSIX has them")
DMLCTS = [sys.executable, "-m", "dmlcts.suites.commands.entry"]
RUN = ["run", "--backend", "cpu", "--operator", "ROUND", "--data-type", "FLOAT16", "--clause", "round.toward-zero"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two results that differ by a regression, and a case that passes."""
    for name, document in (("good", conformant()), ("bad", failing())):
        (tmp_path / name).mkdir()
        (tmp_path / name / "results.json").write_text(json.dumps(document), encoding="utf-8")
    return tmp_path


def ended(words: list[str], folder: Path, stdout: int) -> tuple[int, str]:
    """The exit code of a command and what it said on standard error."""
    done = subprocess.run(
        [*DMLCTS, *words], cwd=folder, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=300, check=False
    )
    return done.returncode, done.stderr


def closed_pipe() -> int:
    """The writing end of a pipe that nobody reads."""
    source, target = os.pipe()
    os.close(source)
    return target


JUDGING = [
    (["diff", "good", "bad"], 1),
    (["diff", "good", "good"], 0),
    (["verify", "good/results.json"], 1),
    (["backends", "--check", "cpu", "--operator", "ROUND", "--data-type", "FLOAT16"], 0),
    (RUN, 0),
]
JUDGING_NOTHING = [
    ["report", "bad", "--markdown", "-"],
    ["findings", "bad"],
    ["spec", "show"],
    ["spec", "show", "CLIP"],
    ["spec", "show", "clip.*"],
    ["spec", "lint"],
    ["spec", "coverage"],
    ["backends"],
    ["directml", "list"],
    ["challenge"],
    ["--help"],
    ["--version"],
    ["run", "--help"],
    ["spec", "show", "--help"],
]
COMMANDS = [*JUDGING, *((words, 0) for words in JUDGING_NOTHING)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("words, code", COMMANDS, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
@pytest.mark.size("all", thorough=2)
def test_nobody_reads_a_verdict_that_could_not_be_printed(words: list[str], code: int, folder: Path) -> None:
    """A command that judges nothing ends as it would have, without a word; each reports a full disk."""
    assert ended(words, folder, subprocess.DEVNULL)[0] == code
    target = closed_pipe()
    try:
        number, text = ended(words, folder, target)
    finally:
        os.close(target)
    if words in JUDGING_NOTHING:
        assert (number, text) == (0, "")
    else:
        assert (number, "Traceback" in text) == (UNSAID, False), text
    if not Path("/dev/full").exists():
        return
    with open("/dev/full", "wb") as full:
        number, text = ended(words, folder, full.fileno())
    assert (number, "Traceback" in text) == (UNSAID, False), text
    assert "could not be written" in text


@pytest.mark.size("thorough")
def test_what_nobody_reads_is_done_to_its_end(folder: Path) -> None:
    """The files that were asked for are there, and an exit code other than 0 is what it would have been."""
    (folder / "wrong.yaml").write_text("operator: [", encoding="utf-8")
    for words, code in (
        (["report", "bad", "--markdown", "-", "--badge", "badge.json"], 0),
        (["spec", "lint", "wrong.yaml"], 2),
    ):
        target = closed_pipe()
        try:
            assert ended(words, folder, target)[0] == code
        finally:
            os.close(target)
    assert (folder / "badge.json").exists()


@pytest.mark.size("all")
def test_replay_through_a_closed_pipe(folder: Path) -> None:
    (folder / "wrong.py").write_text(
        "from dmlcts.suites.mutants.reference import Reference\n"
        "import numpy as np\n"
        "class Backend(Reference):\n"
        "    def half_away(self, x):\n"
        "        return np.floor(x + np.asarray(0.5, x.dtype))\n",
        encoding="utf-8",
    )
    chosen = ["--operator", "ROUND", "--data-type", "FLOAT32", "--clause", "round.toward-infinity"]
    assert ended(["run", "--backend", "wrong.py:Backend", *chosen], folder, subprocess.DEVNULL)[0] == 1
    failure = str(next((folder / "results" / "failures").glob("*.yaml")))
    words = ["replay", failure, "--backend", "wrong.py:Backend"]
    assert ended(words, folder, subprocess.DEVNULL)[0] == 1
    target = closed_pipe()
    try:
        assert ended(words, folder, target)[0] == UNSAID
    finally:
        os.close(target)


INTERRUPTING = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from dmlcts.suites.commands.entry import main
sys.argv = ["dmlcts", *{words!r}]
main()
"""


@pytest.mark.parametrize(
    "name",
    [
        "click",
        "dmlcts.suites.commands.main",
        "dmlcts.specs",
        "numpy",
        "pytest",
        "pydantic",
        "dmlcts.suites.running.pytest_run",
        "dmlcts.suites.selftest",
        "rich.console",
    ],
)
@pytest.mark.size("all", thorough=3)
def test_ctrl_c_before_anything_ran_is_no_verdict(name: str, folder: Path) -> None:
    program = INTERRUPTING.format(name=name, words=RUN)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    if name == "dmlcts.suites.selftest":
        assert done.returncode == 0, done.stderr  # the control: nothing of that name is imported
        return
    assert done.returncode == INTERRUPTED, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "interrupted: no verdict" in done.stderr


@pytest.mark.parametrize("second", [ValueError("closed file"), OSError(9, "Bad file: a closed file")])
def test_what_fails_because_of_a_second_ctrl_c_is_an_interruption(
    second: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def tidying(first: type[BaseException]) -> None:
        try:
            try:
                raise first
            finally:
                {}["closed"]
        finally:
            raise second

    assert exit_code_of(lambda: tidying(RuntimeError)) == BROKEN
    assert "closed file" in capsys.readouterr().err
    second.__context__ = None
    assert exit_code_of(lambda: tidying(KeyboardInterrupt)) == INTERRUPTED
    assert capsys.readouterr().err == "dmlcts: interrupted: no verdict\n"
    second.__context__ = None
    assert exit_code_of(lambda: tidying(RuntimeError)) == BROKEN
    assert "closed file" in capsys.readouterr().err


def test_a_fault_of_the_suite_is_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    def raises(error: BaseException) -> None:
        raise error

    assert exit_code_of(lambda: raises(ZeroDivisionError("\x1b[2J"))) == BROKEN
    text = capsys.readouterr().err
    assert "a fault of dmlcts itself" in text
    assert "\x1b" not in text
    assert exit_code_of(lambda: raises(MemoryError())) == BROKEN
    assert exit_code_of(lambda: raises(OSError(5, "Input/output error"))) == UNSAID
    assert exit_code_of(lambda: raises(OSError(13, "Permission denied"))) == BROKEN
    assert exit_code_of(lambda: raises(KeyboardInterrupt())) == INTERRUPTED
    for code in (0, 1, 2, 3, 4):
        assert exit_code_of(lambda code=code: sys.exit(code)) == code
    assert exit_code_of(lambda: None) == 0


def test_the_codes_are_reported() -> None:
    help_text = subprocess.run([*DMLCTS, "--help"], capture_output=True, text=True, check=False).stdout
    manual = (Path(__file__).resolve().parents[2] / "MANUAL.md").read_text(encoding="utf-8")
    text = " ".join(help_text.split())
    for code, words in (
        (UNSAID, "output could not be written"),
        (BROKEN, "fault of dmlcts itself"),
        (INTERRUPTED, "interrupted"),
    ):
        assert f"{code} " in text
        assert words in text
        assert f"| {code} |" in manual


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.size("thorough")
def test_a_pipeline_sees_it(folder: Path) -> None:
    line = f"{sys.executable} -m dmlcts.suites.commands.entry diff good bad | true; exit ${{PIPESTATUS[0]}}"
    for _ in range(3):
        done = subprocess.run([shutil.which("bash") or "", "-c", line], cwd=folder, capture_output=True, check=False)
        assert done.returncode in (1, UNSAID), done  # `true` may end before or after the difference is written
        assert done.returncode != 0
