"""What ``.ci/run`` leaves out because it passed before, and how it compares departures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).resolve().parents[3] / ".ci"
pytestmark = pytest.mark.skipif(not CI.is_dir(), reason="only a checkout has it")

TELLING = "-p passed_before --tell-passed passed.txt"
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
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=["one process", "two"])
@pytest.mark.size("all", thorough=1)
def test_what_passed_is_left_out_and_nothing_else(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "wrong").touch()
    first = ran(tmp_path, TELLING, *words)
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
    ran(tmp_path, TELLING)
    assert (tmp_path / "passed.txt").read_text(encoding="ascii") == "'test_some.py::test_b'\n"


def compared(folder: Path, one: list[tuple[str, str, str]], other: list[tuple[str, str, str]]) -> tuple[int, str]:
    for name, rows in (("one", one), ("other", other)):
        clauses = [dict(zip(("operator", "data_type", "outcome"), row, strict=True)) for row in rows]
        (folder / f"{name}.json").write_text(json.dumps({"clauses": clauses}), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(CI / "departing.py"), "one.json", "other.json", "CLIP,IF"],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert not done.stderr
    return done.returncode, done.stdout


def test_departures_are_compared_by_operator_and_type(tmp_path: Path) -> None:
    clip, other = ("ELEMENT_WISE_CLIP", "INT64", "fail"), ("ELEMENT_WISE_IF", "INT8", "fail")
    held, besides = ("ELEMENT_WISE_IF", "INT8", "pass"), ("ELEMENT_WISE_CLIP1", "INT8", "fail")
    assert compared(tmp_path, [clip, clip, held], [clip, besides]) == (0, "")
    assert compared(tmp_path, [clip, other], [clip, held]) == (1, "< IF INT8\n")
    assert compared(tmp_path, [clip], [clip, other]) == (1, "> IF INT8\n")
    assert compared(tmp_path, [held], [besides]) == (1, "no departure of CLIP,IF in one.json nor in other.json\n")


def test_a_baseline_tells_what_its_departures_are(tmp_path: Path) -> None:
    baseline = str(CI.parent / "backends" / "baselines" / "directml.yaml")
    for other, code in ((baseline, 0), (str(CI.parent / "reports" / "examples" / "torch.results.json"), 1)):
        done = subprocess.run(
            [sys.executable, str(CI / "departing.py"), baseline, other, "ROUND"],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (code, "< ROUND FLOAT32\n" * code), done.stderr
