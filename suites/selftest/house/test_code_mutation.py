"""What code mutation goes by still exists: the changes that are explained, and the tests that must notice others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dmlcts.suites.selftest.house.changed_module import Trial, in_processes
from dmlcts.suites.selftest.house.code_changes import ROOT, mutants
from dmlcts.suites.selftest.house.code_mutation import Explanation, chosen_modules, explanations
from dmlcts.suites.selftest.house.covering import FOLDER, Covering, merged
from dmlcts.suites.selftest.house.mutation_targets import TARGETS, modules


def unfitting(known: list[Explanation]) -> list[str]:
    """The explanations of changes that nobody would make."""
    changes = [change for path in modules([target.modules for target in TARGETS]) for change in mutants(path)[1]]
    return [str(explanation) for explanation in known if not any(explanation.fits(change) for change in changes)]


@pytest.mark.size("thorough")
def test_every_explained_change_can_be_made() -> None:
    known = explanations()
    assert known
    gone = Explanation(known[0].module, known[0].within, "a line that is gone", known[0].change, "as before")
    assert unfitting([*known, gone]) == [str(gone)]


def test_every_target_has_modules_and_its_tests_exist() -> None:
    for target in TARGETS:
        assert modules([target.modules]), target.modules
        assert all((ROOT / test).is_file() for test in target.tests if test.startswith("suites/")), target.tests


def test_a_room_is_named_for_its_modules_that_have_changes() -> None:
    """A room's own docstring module has nothing that could be changed, and no tests are named for it."""
    chosen = {module.path.name for module in chosen_modules(modules(["specs/oracle"]), "", (1, 1))}
    assert "__init__.py" not in chosen
    assert {"exact.py", "vectorised.py", "outcome.py"} <= chosen


def recorded(folder: Path, tests: str) -> Covering:
    """What is recorded of some tests."""
    (folder / "test_here.py").write_text(tests, encoding="utf-8")
    plugins = ["no:cacheprovider", "dmlcts.suites.selftest.house.covering"]
    words = ["-q", "--noconftest", *(f"-p{name}" for name in plugins), "test_here.py"]
    subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=folder,
        env=os.environ | {FOLDER: str(folder)},
        check=False,
        capture_output=True,
    )
    return merged(folder)


def test_a_test_that_takes_longer_than_is_left_is_passed_over(tmp_path: Path) -> None:
    took = [["slow", 9.0, [0]], ["a[1]", 0.5, [0]], ["a[2]", 1.0, [0]], ["a[3]", 2.0, [0]]]
    (tmp_path / "alone.json").write_text(json.dumps({"places": ["specs/one.py:7"], "tests": took}), encoding="utf-8")
    assert merged(tmp_path).chosen("specs/one.py", "One", 7, 2.0) == (("a[1]", "a[2]"), 1.5)
    assert merged(tmp_path).chosen("specs/one.py", "One", 7, 9.5) == (("a[1]", "slow"), 9.5)


def test_tests_of_every_kind_come_in_turn_the_quickest_first_until_their_time_is_spent(tmp_path: Path) -> None:
    took = [["a[1]", 3.0, [0]], ["a[2]", 1.0, [0]], ["b", 2.0, [0, 1]], ["c", 0.5, [0]], ["elsewhere", 0.1, []]]
    places = ["specs/one.py:One.two", "specs/one.py:7"]
    (tmp_path / "alone.json").write_text(json.dumps({"places": places, "tests": took}), encoding="utf-8")
    covering = merged(tmp_path)
    assert covering.chosen("specs/one.py", "One.two", 5, 10.0) == (("c", "a[2]", "b", "a[1]"), 6.5)
    assert covering.chosen("specs/one.py", "One.two", 5, 3.5) == (("c", "a[2]", "b"), 3.5)
    assert covering.chosen("specs/one.py", "One.two", 5, 0.1) == (("c",), 0.5)  # one there must be
    assert covering.chosen("specs/one.py", "One.two", 7, 10.0) == (("b",), 2.0)  # the line says more
    assert covering.chosen("specs/one.py", "One", 5, 3.5) == (("c", "a[2]", "b"), 3.5)  # it runs at import
    assert covering.chosen("specs/on", "One", 5, 3.5) == ((), 0.0)


def test_it_is_recorded_which_lines_a_passed_test_executes(tmp_path: Path) -> None:
    path = "suites/selftest/house/code_changes.py"
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    body = next(number for number, line in enumerate(lines, 1) if line.startswith("def _is_none")) + 1
    covering = recorded(
        tmp_path,
        "from dmlcts.suites.selftest.house.code_changes import _is_none, _text\n"
        "def test_one():\n    assert not _is_none(3)\n"
        "def test_two():\n    assert _is_none(3)\n",
    )
    assert [name for name, _ in covering.tests] == ["test_here.py::test_one"]
    assert set(covering.places) == {f"{path}:_is_none", f"{path}:{body}"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="trials are forked")
@pytest.mark.parametrize(("whole", "end"), [(True, "killed"), (False, "survived")])
@pytest.mark.size("thorough")
def test_a_whole_trial_changes_what_the_tests_start_as_well(whole: bool, end: str, tmp_path: Path) -> None:
    changed = ROOT / "suites" / "selftest" / "house" / "code_changes.py"
    code = compile(changed.read_text(encoding="utf-8").replace("parents[3]", "parents[4]"), str(changed), "exec")
    (tmp_path / "test_there.py").write_text(
        "import subprocess, sys\nimport dmlcts.suites.selftest.house.code_changes\n"
        "def test_root():\n"
        "    found = subprocess.run([sys.executable, '-c', 'from dmlcts.suites.selftest.house import code_changes; '\n"
        f"        'print(code_changes.ROOT)'], capture_output=True, text=True).stdout.strip()\n"
        f"    assert found == {str(ROOT)!r}\n"
    )
    trial = Trial(changed, lambda: code, (str(tmp_path / "test_there.py"),), 120.0, whole)
    assert [finished_trial.end for finished_trial in in_processes([trial], 1)] == [end], trial.wording
