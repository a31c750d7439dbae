"""The files of the suite: those that a wheel holds, with their digests, and which of them are not as they were made.

In a checkout ``pyproject.toml`` says which files a wheel gets, so that a wheel and the checkout that it was built from
have the same files and the same digests: the selftests and the guides are not among them.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from dmlcts.reports.documents.results import git

ROOMS = ("specs", "backends", "reports", "suites")
_HOME = Path(__file__).resolve().parents[2]
_NAME = "dmlcts"


def suite_files(home: Path = _HOME) -> dict[str, str]:
    """SHA-256 of every file of the suite, by its path below ``dmlcts``, sorted.

    Line ends are counted as LF, so that a checkout on Windows has the digests of every other.

    Args:
        home: the folder that holds the rooms: that of a checkout, or of an installed package.
    """
    names = sorted(_names(home))
    return {name: hashlib.sha256((home / name).read_bytes().replace(b"\r\n", b"\n")).hexdigest() for name in names}


def digest_of(files: Mapping[str, str]) -> str:
    """The digest that is the suite's identity: SHA-256 over its files' names and digests."""
    return hashlib.sha256("".join(f"{name} {files[name]}\n" for name in sorted(files)).encode()).hexdigest()


def changed_files(files: Mapping[str, str], home: Path = _HOME) -> list[str] | None:
    """The files of the suite that differ from what it was made of, added and missing ones included; sorted.

    In a checkout git says so, of its commit; elsewhere the list of digests that is installed with a wheel.

    Args:
        files: the suite's, as :func:`suite_files` gives them.
        home: as there.

    Returns:
        Their names, or ``None`` where nothing says what the suite was made of.
    """
    return _changed_since_commit(files, home) if _project(home).is_file() else _changed_since_installed(files, home)


def _recorded(content: bytes) -> str:
    """A file's digest as the list of an installed wheel writes it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _project(home: Path) -> Path:
    return home / "pyproject.toml"


def _names(home: Path) -> Iterator[str]:
    if _project(home).is_file():
        for folder, patterns in _packaged(home).items():
            for entry in (home / folder).iterdir():
                if entry.is_file() and any(fnmatchcase(entry.name, pattern) for pattern in patterns):
                    yield f"{folder}/{entry.name}"
        return
    for room in ROOMS:
        for path in (home / room).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(home).as_posix()


def _packaged(home: Path) -> dict[str, list[str]]:
    """By folder of a checkout, the patterns of the files that a wheel gets."""
    configuration = tomllib.loads(_project(home).read_text(encoding="utf-8"))["tool"]["setuptools"]
    data, patterns = configuration["package-data"], {}
    for package in configuration["packages"]:
        folder = "/".join(package.split(".")[1:])
        patterns[folder] = ["*.py", *data.get("*", ())]
        for pattern in data.get(package, ()):
            below, _, name = pattern.rpartition("/")
            patterns.setdefault(f"{folder}/{below}" if below else folder, []).append(name)
    return patterns


def _changed_since_commit(files: Mapping[str, str], home: Path) -> list[str] | None:
    differing = git("diff", "--name-only", "--relative", "--no-renames", "-z", "HEAD", "--", *ROOMS, folder=home)
    tracked = git("ls-files", "-z", "--", *ROOMS, folder=home)
    if differing is None or tracked is None:
        return None
    packaged = _packaged(home)

    def counts(name: str) -> bool:
        folder, _, own = name.rpartition("/")
        return any(fnmatchcase(own, pattern) for pattern in packaged.get(folder, ()))

    added = set(files) - set(tracked.split("\0"))
    return sorted(added | {name for name in differing.split("\0") if counts(name)})


def _changed_since_installed(files: Mapping[str, str], home: Path) -> list[str] | None:
    try:
        listed = importlib.metadata.distribution(_NAME).files or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    own = [entry for entry in listed if entry.parts[0] == _NAME and entry.hash is not None and entry.suffix != ".pyc"]
    wanted = {"/".join(entry.parts[1:]): entry.hash.value for entry in own if entry.hash is not None}
    if not wanted:
        return None
    held = {name: (home / name).read_bytes() for name in files}
    digests = {name: _recorded(content) for name, content in held.items()}
    return sorted(name for name in {*wanted, *digests} if wanted.get(name) != digests.get(name))
