"""Windows' library is fetched only where its terms are accepted, whole or not at all, and chosen by name or version."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.loading import fetching, library, windows_releases
from dmlcts.specs import UsageError
from dmlcts.suites.commands.main import main

CONTENT = b"MZ pretend to be DirectML.dll"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
FILES = {
    "onnxruntime_directml-1.data/purelib/onnxruntime/capi/DirectML.dll": CONTENT,
    "onnxruntime_directml-1.data/purelib/onnxruntime/LICENSE": b"MIT",
    "onnxruntime/capi/onnxruntime.dll": b"not wanted",
}
RELEASES = tuple(replace(release, digest=DIGEST) for release in windows_releases.RELEASES)


class Pip:
    """A pip that leaves a wheel of our own making."""

    def __init__(self, files: dict[str, bytes] = FILES) -> None:
        self.files = files
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        folder = Path(command[command.index("--dest") + 1])
        folder.mkdir()
        with zipfile.ZipFile(folder / "made.whl", "w") as archive:
            for name, content in self.files.items():
                archive.writestr(name, content)
        return subprocess.CompletedProcess(command, 0, "", "")


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Pip:
    made = Pip()
    monkeypatch.setattr(windows_releases, "RELEASES", RELEASES)
    monkeypatch.setattr(fetching, "run_command", made)
    monkeypatch.setenv("DMLCTS_CACHE", str(tmp_path / "cache"))
    return made


def test_the_terms_are_shown_and_nothing_is_fetched_before_they_are_accepted(pip: Pip, tmp_path: Path) -> None:
    refused = CliRunner().invoke(main, ["directml", "fetch", "--windows"])
    assert refused.exit_code == 2
    assert "MICROSOFT SOFTWARE LICENSE TERMS" in refused.output
    assert "--accept-terms" in str(refused.output) + str(refused.exception)
    assert not pip.commands
    assert not (tmp_path / "cache").exists()
    done = CliRunner().invoke(main, ["directml", "fetch", "--windows", "--accept-terms"])
    assert done.exit_code == 0, done.output
    assert "MICROSOFT SOFTWARE LICENSE TERMS" in done.output
    (command,) = pip.commands
    newest = RELEASES[-1]
    assert {f"{newest.distribution}=={newest.wheel}", "win_amd64", newest.python, "--no-deps"} <= set(command)
    folder = newest.library(tmp_path / "cache").parent
    assert sorted(path.name for path in folder.iterdir()) == ["DirectML.dll", "LICENSE"]
    assert "there already" in CliRunner().invoke(main, ["directml", "fetch", "--windows"]).output
    assert len(pip.commands) == 1


def test_a_version_can_be_chosen_and_an_unknown_one_names_those_there_are(pip: Pip, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["directml", "fetch", "--windows", "1.13.1", "--accept-terms"])
    assert done.exit_code == 0, done.output
    assert "torch-directml==0.2.5.dev240914" in pip.commands[0]
    with pytest.raises(UsageError, match=r"DirectML 9.9 for Windows; write one of 1.8.0, .*1.15.4"):
        windows_releases.release("9.9")
    listed = CliRunner().invoke(main, ["directml", "list"]).output.splitlines()
    (line,) = [line for line in listed if line.startswith("1.13.1")]
    assert str(tmp_path) in line
    assert sum("not fetched" in line for line in listed) == len(RELEASES)


def test_another_library_than_the_pinned_one_is_refused_and_not_kept(pip: Pip, tmp_path: Path) -> None:
    for files, words in (
        ({**FILES, next(iter(FILES)): CONTENT + b"!"}, "has the SHA-256 .*nothing was kept"),
        ({"onnxruntime/LICENSE": b"MIT"}, "holds no DirectML.dll"),
    ):
        with pytest.raises(BackendUnavailable, match=words):
            windows_releases.fetch(RELEASES[0], tmp_path, lambda line: None, accepted=True, run=Pip(files))
        assert list(tmp_path.iterdir()) == []


def test_a_library_is_chosen_by_name_or_version(pip: Pip, tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailable, match=r"1.15.4 for Windows is not here; run `dmlcts directml fetch"):
        library.find("windows", tmp_path)
    with pytest.raises(BackendUnavailable, match=r"DirectML 1.8.0 for Windows is not here; run .*--windows 1.8.0"):
        library.find("1.8.0", tmp_path)
    with pytest.raises(UsageError, match="hold DirectML 1"):
        library.find("1.7.0", tmp_path)
    for version in ("1.9.1", "1.8.0"):
        windows_releases.fetch(windows_releases.release(version), tmp_path, lambda line: None, accepted=True)
    assert library.find("windows", tmp_path).path == windows_releases.release("1.9.1").library(tmp_path)
    location = library.find("1.8.0", tmp_path)
    assert location.path == windows_releases.release("1.8.0").library(tmp_path)
    assert "onnxruntime-directml 1.11.1" in location.origin
    assert library.is_for_windows(location.path)
    location.path.write_bytes(CONTENT[::-1])
    with pytest.raises(BackendUnavailable, match=r"damaged; run `.*--windows 1.8.0 --accept-terms`"):
        library.find("1.8.0", tmp_path)


def test_the_linux_library_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "DIGEST", DIGEST)
    place = fetching.fetched_library(tmp_path)
    place.parent.mkdir()
    place.write_bytes(CONTENT)
    assert library.find("linux", tmp_path) == library.find("", tmp_path)


def test_every_release_is_written_in_order_with_a_digest_of_its_own() -> None:
    releases = windows_releases.RELEASES
    assert [release.version for release in releases] == sorted(
        (release.version for release in releases), key=lambda version: tuple(map(int, version.split(".")))
    )
    assert len({release.digest for release in releases}) == len(releases)
    assert all(len(release.digest) == 64 for release in releases)
    assert releases[-1].digest == "b73972115320e906a49602f2027a3266622881b0d325ba685e0f165a9482a8d7"
