"""What ``.ci/run`` is made of: steps and what runs beside them, tests left out, departures and verdicts compared."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dmlcts.specs.loading import load_tables

CI = Path(__file__).resolve().parents[3] / ".ci"
pytestmark = pytest.mark.skipif(not CI.is_dir(), reason="only a checkout has it")

DISTINGUISHING_COUNT = "-p passed_before --list-passed passed.txt"
TESTS = """
import os, subprocess, sys
import pytest

def test_right(): pass
@pytest.mark.parametrize("name", ["\\u00e4\\n", "b"])
def test_named(name): pass
def test_skipped(): pytest.skip("needs more")
def test_wrong(): assert not os.path.exists("wrong")
def test_what_a_test_starts_has_no_such_options(): assert "PYTEST_ADDOPTS" not in os.environ
@pytest.mark.skipif(not os.path.exists("more"), reason="is not there without more")
class TestMore:
    def test_more(self): pass
"""


def ran(folder: Path, options: str, *words: str) -> str:
    """What pytest says of the tests in a folder, with options that its command line does not name."""
    environment = os.environ | {"PYTHONPATH": str(CI), "PYTEST_ADDOPTS": options}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", "-q", *words, "test_some.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["one process", "two"])
@pytest.mark.size("all", thorough=1)
def test_what_passed_is_left_out_and_nothing_else(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "wrong").touch()
    first = ran(tmp_path, DISTINGUISHING_COUNT, *words)
    assert "1 failed, 4 passed, 2 skipped" in first, first
    (tmp_path / "wrong").unlink()
    (tmp_path / "more").touch()
    second = ran(tmp_path, "", "-p", "passed_before", "--but-passed", "passed.txt", *words)
    assert "2 passed, 1 skipped" in second, second
    for name in ("test_wrong", "test_more"):
        assert f"::{name}\n" in second, second


def test_a_failing_teardown_is_tried_again(tmp_path: Path) -> None:
    text = (
        "import pytest\n@pytest.fixture\ndef x():\n    yield\n    assert 0\ndef test_a(x): pass\ndef test_b(): pass\n"
    )
    (tmp_path / "test_some.py").write_text(text, encoding="utf-8")
    ran(tmp_path, DISTINGUISHING_COUNT)
    assert (tmp_path / "passed.txt").read_text(encoding="ascii") == "'test_some.py::test_b'\n"


def compared(
    folder: Path, first_rows: list[tuple[str, str, str]], other: list[tuple[str, str, str]]
) -> tuple[int, str]:
    for name, rows in (("one", first_rows), ("other", other)):
        clauses = [dict(zip(("operator", "data_type", "outcome"), row, strict=True)) for row in rows]
        (folder / f"{name}.json").write_text(json.dumps({"clauses": clauses}), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(CI / "departing.py"), "one.json", "other.json", "CLIP,IF"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert not done.stderr
    return done.returncode, done.stdout


def test_departures_are_compared_by_operator_and_type(tmp_path: Path) -> None:
    clip, other = ("ELEMENT_WISE_CLIP", "INT64", "fail"), ("ELEMENT_WISE_IF", "INT8", "fail")
    held, besides = ("ELEMENT_WISE_IF", "INT8", "pass"), ("ELEMENT_WISE_CLIP1", "INT8", "fail")
    assert compared(tmp_path, [clip, clip, held], [clip, besides]) == (0, "")
    assert compared(tmp_path, [clip, other], [clip, held]) == (1, "< IF INT8\n")
    assert compared(tmp_path, [clip], [clip, other]) == (1, "> IF INT8\n")
    assert compared(tmp_path, [held], [besides]) == (1, "no departure of CLIP,IF in one.json nor in other.json\n")


def test_a_baseline_states_what_its_departures_are(tmp_path: Path) -> None:
    baseline = str(CI.parent / "backends" / "baselines" / "directml.yaml")
    for other, code in ((baseline, 0), (str(CI.parent / "reports" / "examples" / "torch.results.json"), 1)):
        done = subprocess.run(
            [sys.executable, str(CI / "departing.py"), baseline, other, "ROUND"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stdout) == (code, "< ROUND FLOAT32\n" * code), done.stderr


def test_departures_on_a_page_of_findings_are_read_too(tmp_path: Path) -> None:
    linked = "[INT64](models/clip-int64-clip.formula.json), UINT8"
    page = f"| operator | types |\n|---|---|\n| CLIP | {linked} | `c` |\n| CLIP | INT64 | `d` |\n| IF | INT8 | `e` |\n"
    earlier = "| CLIP | INT64 | `c` | none |\n| CLIP | UINT8 | `c` | none |\n| IF | INT8 | `e` |\n"
    other, fewer = page.replace("| IF | INT8 ", "| IF | INT16 "), page.replace(", UINT8", "")
    for name, text in (("one.md", page), ("other.md", other), ("earlier.md", earlier), ("fewer.md", fewer)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for words, code, message in (
        (("one.md", "one.md"), 0, ""),
        (("one.md", "earlier.md"), 0, ""),
        (("one.md", "fewer.md", "CLIP"), 1, "< CLIP UINT8\n"),
        (("one.md", "other.md"), 1, "> IF INT16\n< IF INT8\n"),
        (("one.md", "other.md", "CLIP"), 0, ""),
    ):
        done = in_ci(tmp_path, "departing.py", *words)
        assert (done.returncode, done.stdout) == (code, message), done.stderr


def in_ci(folder: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A finished program of ``.ci``."""
    words = (sys.executable, str(CI / program), *words)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    ("changes", "words", "message"),
    [
        ({}, ("--every-operator", "--every-row"), ""),
        ({"selection": {"data_types": ["INT8"]}}, ("--every-operator",), ""),
        ({"verdict": "INCOMPLETE"}, (), "the verdict is INCOMPLETE"),
        ({"selection": {"clauses": ["a"]}}, ("--every-operator",), "only a selection ran: clauses"),
        ({"selection": {"clauses": ["a"]}}, ("--every-row",), ""),
        ({"shard": "1/2"}, ("--every-operator",), "only shard 1/2 ran"),
        ({"clauses": 1}, ("--every-operator",), "not judged: "),
        ({"clauses": 1}, ("--every-row",), ""),
        ({"outcome": "characterised"}, ("--every-row",), ""),
        ({"outcome": "skipped"}, ("--every-row",), "ELEMENT_WISE_ABS INT8 abs.formula: skipped"),
        ({"outcome": "skipped"}, ("--every-operator",), ""),
    ],
)
def test_results_hold_what_is_required(
    changes: dict[str, Any], words: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"operator": operator, "data_type": "INT8", "id": "abs.formula", "outcome": changes.get("outcome", "pass")}
        for operator in sorted(load_tables().operators)
    ]
    results = {"verdict": "CONFORMANT", "shard": None, "selection": {}} | changes
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results | {"clauses": rows[: changes.get("clauses")]}), encoding="utf-8")
    code = runpy.run_path(str(CI / "conformant.py"))["main"]([str(file), *words])
    out = capsys.readouterr().out
    assert (code, bool(out)) == (bool(message), bool(message)), out
    assert message in out


def in_bash(folder: Path, steps: str) -> subprocess.CompletedProcess[str]:
    """Steps of a shell that begins as ``.ci/run`` does."""
    text = f". {CI / 'stepping.sh'}\nbegin\n{steps}"
    (folder / "tmp").mkdir(exist_ok=True)
    environment = os.environ | {"TMPDIR": str(folder / "tmp")}
    words = (BASH, "-euo", "pipefail", "-c", text)
    return subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


BASH = shutil.which("bash") or ""
bash = pytest.mark.skipif(not BASH, reason="there is no bash")
WELL = "ok() { echo here; }\nbeside job ok\nstep one ok\nstep two joined job\n"


@bash
def test_steps_run_in_turn_and_state_at_the_end_how_long_they_took(tmp_path: Path) -> None:
    done = in_bash(tmp_path, WELL)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line == "here"] == ["here"] * 2
    table = done.stdout.partition("how long each step took")[2].splitlines()[1:]
    assert sorted(re.sub(r"^ *\d+ s  ", "", line) for line in table) == ["  beside other steps: job", "one", "two"]
    assert not any((tmp_path / "tmp").iterdir())


@bash
@pytest.mark.parametrize(
    ("steps", "code", "message"),
    [
        ("bad() { false; echo on; }\nstep first bad\n", 1, "first: exit code 1"),
        ("bad() { (exit 3); echo on; }\nbeside job bad\nstep jobs joined job\n", 3, "jobs: exit code 3"),
        ("bad() { quietly file sh -c 'echo shown; exit 4'; echo on; }\nstep quiet bad\n", 1, "shown\n"),
    ],
)
def test_the_first_fault_ends_it(steps: str, code: int, message: str, tmp_path: Path) -> None:
    done = in_bash(tmp_path, f"{steps}echo on\n")
    assert done.returncode == code, done.stdout + done.stderr
    assert message in done.stdout
    assert "on" not in done.stdout.splitlines()
    assert not any((tmp_path / "tmp").iterdir())


@bash
def test_what_runs_beside_ends_with_the_steps(tmp_path: Path) -> None:
    done = in_bash(tmp_path, "long() { exec sleep 1000; }\nbeside job long\nstep bad false\n")
    assert done.returncode == 1, done.stderr


@bash
def test_each_step_is_a_short_function_and_none_is_left_over() -> None:
    parts = sorted((CI / "steps").glob("*.sh"))
    script = "\n".join(part.read_text(encoding="utf-8") for part in parts)
    listed = (CI / "run").read_text(encoding="utf-8")
    named = set(re.findall(r'^step ".*" (?:joined )?(\w+)|^beside \w+ (\w+)', listed, re.MULTILINE))
    steps = {name for pair in named for name in pair if name}
    functions = dict(re.findall(r"^(\w+)\(\) \{(.*?)\}$", script, re.MULTILINE | re.DOTALL))
    assert steps <= functions.keys()
    assert not [name for name in functions.keys() - steps if len(re.findall(rf"\b{name}\b", script)) < 2]
    assert max(body.count("\n") for body in functions.values()) <= 16
    assert not re.search("<<|python -c|import ", script + listed)  # no program within the program
    for part in (CI / "run", CI / "stepping.sh", *parts):
        subprocess.run((BASH, "-n", str(part)), check=True)
