"""Fetching Microsoft's DirectML for Linux out of the wheel in which it is published on PyPI.

pip does the downloading, so its indexes, proxies and certificates apply; only the library and its licence are kept.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.interpreter import own_python, safe_environment

DISTRIBUTION = "torch-directml"
VERSION = "0.2.5.dev240914"
LICENCE = "MIT"
LIBRARY = "libdirectml.so"
# Of libdirectml.so inside the wheel; the same in the wheels for all Python versions.
DIGEST = "fd54a8c578630f62a31d6d971d1f7e758e8497df8afccefe5efb1517d791692c"
COMMAND = "dmlcts directml fetch"

_INFO = f"torch_directml-{VERSION}.dist-info"
_MEMBERS = {
    LIBRARY: f"torch_directml/{LIBRARY}",
    "LICENSE": f"{_INFO}/LICENSE",
    "NOTICE": f"{_INFO}/NOTICE",
}
_PIP = (
    "download",
    "--no-deps",
    "--only-binary=:all:",
    "--implementation",
    "cp",
    "--disable-pip-version-check",
    "--quiet",
)

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Fetched:
    """The fetched library.

    Args:
        library: its path.
        downloaded: whether it was downloaded now, or was there already.
    """

    library: Path
    downloaded: bool


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal; of a file that has not changed it is computed once."""
    state = path.stat()
    return _digest(path, state.st_mtime_ns, state.st_size, state.st_ino)


@cache
def _digest(path: Path, *_: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fetched_library(folder: Path) -> Path:
    """Where :func:`fetch` puts the library, whether it is there or not."""
    return folder / f"{DISTRIBUTION}-{VERSION}" / LIBRARY


def fetch(folder: Path, print_line: Callable[[str], object], run: Run | None = None) -> Fetched:
    """Make sure that the library is in ``folder``, downloading it with pip where it is not.

    The library's own folder appears whole or not at all, however the fetching ends.

    Args:
        folder: the cache folder; made where it is missing.
        print_line: called with each line that states what is done, and under which licence.
        run: runs a command; for tests.

    Raises:
        BackendUnavailable: pip failed, or what it brought is not the library that is meant.
    """
    library = fetched_library(folder)
    if library.is_file():
        if digest_of(library) == DIGEST:
            print_line(f"{library} is there already (SHA-256 {DIGEST})")
            return Fetched(library, downloaded=False)
        print_line(f"{library} is damaged and is fetched again")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=folder) as work:
        print_line(
            f"downloading {DISTRIBUTION} {VERSION} with pip, without its dependencies (by Microsoft, licence {LICENCE})"
        )
        wheel = downloaded(Path(work), run or run_command, DISTRIBUTION, VERSION, "manylinux2010_x86_64", "3.11")
        made = Path(work) / "made"
        made.mkdir()
        _extract(wheel, made)
        put(made, library, DIGEST)
    print_line(f"{LIBRARY} is in {library.parent}, with its LICENSE and NOTICE (SHA-256 {DIGEST})")
    return Fetched(library, downloaded=True)


def run_command(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command and keep what it says."""
    return subprocess.run(  # noqa: S603 - our own pip command
        command, capture_output=True, text=True, check=False, env=safe_environment()
    )


def downloaded(work: Path, run: Run, distribution: str, version: str, platform: str, python: str) -> Path:
    """The wheel that pip brings, in a folder below ``work``.

    Args:
        work: a folder of the caller's.
        run: runs a command.
        distribution: the package.
        version: of it.
        platform: as a wheel's name says it.
        python: the version of Python that the wheel is for, as "3.11".

    Raises:
        BackendUnavailable: pip failed, or brought another number of wheels than one.
    """
    folder = work / "wheel"
    tags = ("--platform", platform, "--python-version", python)
    command = own_python("-m", "pip", *_PIP, *tags, "--dest", str(folder), f"{distribution}=={version}")
    mend = "see that pip works and reaches PyPI (or a mirror of it), then run it again"
    try:
        done = run(command)
    except OSError as error:
        raise BackendUnavailable(f"pip cannot be run: {error}", mend) from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")]
        cause = (errors or lines or ["no message"])[-1].removeprefix("ERROR:").strip()
        raise BackendUnavailable(f"pip could not download {distribution} {version}: {cause}", mend)
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise BackendUnavailable(f"pip left {len(wheels)} wheels where one was asked for", mend)
    return wheels[0]


def _extract(wheel: Path, target: Path) -> None:
    mend = f"the wheel is not the one that Microsoft published as {DISTRIBUTION} {VERSION}; nothing was kept of it"
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name, member in _MEMBERS.items():
                with archive.open(member) as source, (target / name).open("wb") as made:
                    shutil.copyfileobj(source, made, 1 << 20)
    except (KeyError, zipfile.BadZipFile) as error:
        raise BackendUnavailable(f"{wheel.name} cannot be used: {error.args[0]}", mend) from error
    digest = digest_of(target / LIBRARY)
    if digest != DIGEST:
        raise BackendUnavailable(f"{LIBRARY} in {wheel.name} has the SHA-256 {digest}, not {DIGEST}", mend)


def put(made: Path, library: Path, digest: str) -> None:
    """Move a folder to where ``library`` is in it.

    A damaged folder may lie there, or one just put there by another process.
    """
    place = library.parent
    try:
        made.rename(place)
    except OSError:
        if library.is_file() and digest_of(library) == digest:
            return
        place.rename(made.parent / "damaged")
        made.rename(place)
