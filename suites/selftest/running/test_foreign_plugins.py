"""What `dmlcts run` judges follows from its own options, whatever else is installed for pytest or set for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dmlcts.reports.documents.validation import load_results

SELECTED = ("--backend", "cpu", "--operator", "SIGN", "--data-type", "INT8", "--clause", "sign.formula")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One in which a plugin is installed that leaves no test, and in which an option asks for none either."""
    installed = tmp_path / "installed"
    (installed / "foreign-1.0.dist-info").mkdir(parents=True)
    (installed / "foreign.py").write_text(
        "import sys\n\n\ndef pytest_collection_modifyitems(items):\n"
        "    print('met', file=sys.stderr)\n    items.clear()\n",
        encoding="utf-8",
    )
    described = installed / "foreign-1.0.dist-info"
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n", encoding="utf-8")
    (described / "entry_points.txt").write_text("[pytest11]\nforeign = foreign\n", encoding="utf-8")
    path = os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH", "")]))
    return os.environ | {"PYTHONPATH": path, "PYTEST_ADDOPTS": "-k nothing"}


def ran(tmp_path: Path, environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "two processes"])
@pytest.mark.size("all", thorough=1)
def test_a_run_loads_no_foreign_plugin_and_takes_no_foreign_option(
    processes: tuple[str, ...], tmp_path: Path, environment: dict[str, str]
) -> None:
    if processes:
        pytest.importorskip("xdist")
    done = ran(tmp_path, environment, "dmlcts.suites.commands.main", "run", *SELECTED, *processes)
    assert (done.returncode, "met" in done.stderr) == (0, False), done.stdout + done.stderr
    (row,) = load_results(tmp_path / "results" / "results.json")["clauses"]
    assert (row["id"], row["outcome"]) == ("sign.formula", "pass")


@pytest.mark.size("thorough")
def test_pytest_takes_both(tmp_path: Path, environment: dict[str, str]) -> None:
    """The control: started by hand, pytest meets them."""
    words = ("pytest", "-q", "-p", "dmlcts.suites.plugin", "--pyargs", "dmlcts.suites", *SELECTED)
    done = ran(tmp_path, environment, *words)
    assert (done.returncode, "met" in done.stderr) == (pytest.ExitCode.NO_TESTS_COLLECTED, True), done.stdout[-2000:]


@pytest.mark.parametrize(
    "arguments, written",
    [
        (("-o", "feature_level=3.0"), "--option feature_level=3.0"),
        (("--strict",), "--strict-ieee"),
        (("--strict-markers",), ""),
    ],
    ids=["-o", "--strict", "an option of pytest"],
)
def test_pytest_takes_no_option_that_was_meant_for_the_suite(
    arguments: tuple[str, ...], written: str, tmp_path: Path
) -> None:
    """It has a `-o` and a `--strict` of its own, and would judge without them."""
    words = ("pytest", "-q", "-p", "dmlcts.suites.plugin", "--pyargs", "dmlcts.suites", *SELECTED, *arguments)
    done = ran(tmp_path, dict(os.environ), *words)
    assert done.returncode == (4 if written else 0), done.stdout + done.stderr
    assert f"write {written}" in done.stderr or not written
