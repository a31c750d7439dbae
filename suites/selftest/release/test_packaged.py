"""``.ci/packaged.py``: a wheel and a source archive hold the suite's files alone; ``.ci/run`` asks it of real ones."""

from __future__ import annotations

import re
import runpy
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from dmlcts.reports.certification.files import suite_files
from dmlcts.suites.selftest.installing import HOUSE

CI = HOUSE / ".ci"
pytestmark = pytest.mark.skipif(not CI.is_dir(), reason="only a checkout has it")
FILES = frozenset(suite_files(HOUSE))
BESIDE = ("LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg", "dmlcts.egg-info/SOURCES.txt")


def archives(folder: Path, wheel: Iterable[str], source: Iterable[str]) -> Path:
    """A folder with a wheel and a source archive of empty files."""
    with zipfile.ZipFile(folder / "d.whl", "w") as archive:
        for name in (*(f"dmlcts/{name}" for name in wheel), "dmlcts-1.dist-info/RECORD"):
            archive.writestr(name, "")
    with tarfile.open(folder / "d.tar.gz", "w:gz") as archive:
        for name in (*source, *BESIDE):
            archive.addfile(tarfile.TarInfo(f"dmlcts-1/{name}"))
    return folder


@pytest.mark.parametrize(
    "less, more, text",
    [
        (set(), set(), ""),
        ({"suites/plugin.py"}, set(), "d.whl: suites/plugin.py is missing\nd.tar.gz: suites/plugin.py is missing\n"),
        (
            set(),
            {"suites/selftest/sizes.py"},
            "d.whl: suites/selftest/sizes.py should not be there\n"
            "d.tar.gz: suites/selftest/sizes.py should not be there\n",
        ),
    ],
    ids=["as it should be", "a file less", "a selftest more"],
)
def test_archives_hold_the_files_of_the_suite(
    less: set[str], more: set[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = FILES - less | more
    code = runpy.run_path(str(CI / "packaged.py"))["main"]([str(archives(tmp_path, names, names))])
    assert (code, capsys.readouterr().out) == (bool(text), text)


def test_no_selftest_and_no_guide_is_of_the_suite() -> None:
    assert not [name for name in FILES if "selftest" in Path(name).parts or name.endswith(".md")]


def test_the_first_command_of_the_readme_can_be_given_to_a_wheel() -> None:
    """What .ci/steps/wheel.sh replaces in it, and adds to it."""
    (first, *_) = re.findall(r"^```sh\n(.*?)^```$", (HOUSE / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert first.count("-e '.[dev]'") == 1
    assert re.search(r"&& \.venv/bin/dmlcts run [^\n&]*\n\Z", first)
