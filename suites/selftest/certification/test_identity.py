"""Which suite judged: the digest of its files, the same for a wheel and a checkout; a modified file is named."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="signing needs the extra `certify`")

from dmlcts.reports.certification import identity
from dmlcts.reports.certification.files import changed_files, digest_of, suite_files
from dmlcts.reports.certification.verdict import Standing, Status
from dmlcts.suites.selftest.certification.submissions import COMMIT, Parts, build
from dmlcts.suites.selftest.installing import HOUSE, installed

CLEAN = {"version": "0.1.0", "commit": COMMIT, "modified": False, "tagged": True}

in_a_checkout = pytest.mark.skipif(not (HOUSE / "pyproject.toml").is_file(), reason="only a checkout makes a wheel")


@pytest.fixture(scope="module")
def parts() -> Parts:
    return build()


@pytest.mark.parametrize(
    "changed, texts",
    [
        ({}, ()),
        ({"tagged": False}, ()),
        ({"version": "0.2.0.dev3"}, ()),
        ({"commit": None, "modified": None, "tagged": None}, ()),
        ({"commit": None, "tagged": None}, ()),
        ({"version": "unknown"}, ("the version of the suite is unknown: it is not installed",)),
        ({"modified": True}, ("the suite is modified",)),
        ({"modified": None}, ("whether the suite is modified is unknown",)),
        ({"modified": True, "changed": ["a", "b"]}, ("the suite is modified: a, b",)),
        ({"modified": True, "changed": list("abcde")}, ("the suite is modified: a, b, c and 2 more files",)),
    ],
)
def test_what_keeps_a_suite_from_certifying(changed: dict[str, Any], texts: tuple[str, ...]) -> None:
    assert identity.modifications(CLEAN | changed) == texts


@pytest.mark.parametrize(
    "changed, text",
    [
        ({}, "commit 0123456789ab, tag v0.1.0"),
        ({"tagged": False}, "commit 0123456789ab, no tag"),
        ({"commit": None}, "not from a checkout"),
    ],
)
def test_a_commit_and_its_tag_are_reported(changed: dict[str, Any], text: str) -> None:
    assert identity.origin(CLEAN | changed) == text


@pytest.mark.parametrize("change", [{"tagged": False}, {}])
def test_a_submission_of_an_untagged_commit_passes(change: dict[str, Any], parts: Parts) -> None:
    mine = parts.copy()
    mine.statement["suite"].update(change)
    untagged = replace(mine.verifier, reference=replace(mine.verifier.reference, tagged=False, commit="f" * 40))
    verification = untagged.verify(mine.packed())
    assert verification.standing is Standing.PASS, "\n".join(verification.text())


def test_a_verifier_whose_suite_is_modified_accepts_nothing(parts: Parts) -> None:
    changed = replace(parts.verifier.reference, modified=True, changed=("suites/plugin.py",))
    verification = replace(parts.verifier, reference=changed).verify(parts.packed())
    assert verification.standing is Standing.INCOMPLETE
    (line,) = [line for line in verification.lines if line.status is Status.OPEN]
    assert line.check == "unmodified"
    assert line.wording == "this dmlcts cannot accept anything: the suite is modified: suites/plugin.py"


# The files of a checkout and of a wheel.


def git(folder: Path, *words: str) -> None:
    texts = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false"]
    program = shutil.which("git") or "git"
    subprocess.run([program, *texts, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout of a small suite."""
    home = tmp_path / "house"
    packages = [f"dmlcts.{room}" for room in ("specs", "backends", "reports", "suites")]
    for package in packages:
        folder = home / package.removeprefix("dmlcts.")
        (folder / "selftest").mkdir(parents=True)
        (folder / "selftest" / "test_a.py").write_bytes(b"")
        (folder / "README.md").write_bytes(b"read me")
        for name in ("a.py", "b.yaml"):
            (folder / name).write_bytes(b"one\ntwo\n")
    (home / "pyproject.toml").write_text(
        f"[tool.setuptools]\npackages = {packages}\n[tool.setuptools.package-data]\n'*' = ['*.yaml']\n",
        encoding="utf-8",
    )
    git(tmp_path, "init", "-q", "house")
    git(home, "add", ".")
    git(home, "commit", "-qm", "all")
    return home


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git")


@needs_git
def test_the_digest_is_of_what_a_wheel_gets(checkout: Path) -> None:
    first = suite_files(checkout)
    assert sorted(first) == sorted(
        f"{room}/{name}" for room in ("specs", "backends", "reports", "suites") for name in ("a.py", "b.yaml")
    )
    for name in ("suites/a.py", "specs/b.yaml"):
        (checkout / name).write_bytes(b"one\r\ntwo\r\n")
    (checkout / "suites" / "selftest" / "test_a.py").write_bytes(b"other")
    (checkout / "reports" / "README.md").write_bytes(b"other")
    assert suite_files(checkout) == first
    (checkout / "backends" / "a.py").write_bytes(b"one\ntwo")
    second = suite_files(checkout)
    assert [name for name in first if first[name] != second[name]] == ["backends/a.py"]
    assert digest_of(second) != digest_of(first)


@needs_git
def test_git_names_the_modified_files_of_a_checkout(checkout: Path) -> None:
    assert changed_files(suite_files(checkout), checkout) == []
    (checkout / "suites" / "selftest" / "test_a.py").write_bytes(b"other")
    (checkout / "reports" / "README.md").write_bytes(b"other")
    assert changed_files(suite_files(checkout), checkout) == []
    (checkout / "suites" / "a.py").write_bytes(b"other")
    (checkout / "suites" / "b.yaml").unlink()
    (checkout / "specs" / "c.yaml").write_bytes(b"new")
    git(checkout, "add", "suites/b.yaml")
    assert changed_files(suite_files(checkout), checkout) == ["specs/c.yaml", "suites/a.py", "suites/b.yaml"]


@needs_git
def test_outside_git_nothing_states_what_was_modified(checkout: Path) -> None:
    shutil.rmtree(checkout / ".git")
    assert changed_files(suite_files(checkout), checkout) is None


@in_a_checkout
def test_a_wheel_has_the_digest_of_its_checkout_and_names_a_modified_file(tmp_path: Path) -> None:
    home = installed(tmp_path)
    assert suite_files(home) == suite_files(HOUSE)
    asked = (
        "from dmlcts.reports.certification.files import changed_files, suite_files\n"
        "print(changed_files(suite_files()))\n"
    )

    def changed() -> str:
        words = [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(tmp_path)!r}]\n{asked}"]
        ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    assert changed() == "[]"
    (home / "specs" / "more.yaml").write_bytes(b"")
    (home / "suites" / "plugin.py").write_bytes(b"# nothing\n")
    (home / "backends" / "contract.py").unlink()
    assert changed() == "['backends/contract.py', 'specs/more.yaml', 'suites/plugin.py']"
