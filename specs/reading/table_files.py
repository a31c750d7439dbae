"""The files that hold tables: those built in, and those the user names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from dmlcts.specs.errors import UsageError
from dmlcts.specs.files import read_bounded
from dmlcts.specs.reading.yaml_source import MAX_BYTES

FOLDERS = ("operators", "shared")
"""The folders of this package that hold the built-in tables."""


@dataclass(frozen=True)
class TableFile:
    """A table file: the name that faults use, the name of its digest, and its bytes."""

    name: str
    digest_name: str
    data: bytes


def builtin_files() -> list[TableFile]:
    """The tables of this package, by folder and name."""
    root = resources.files("dmlcts.specs")
    files = []
    for folder in FOLDERS:
        try:
            entries = sorted((root / folder).iterdir(), key=lambda entry: entry.name)
        except OSError as error:
            raise _unreadable(f"specs/{folder}", error, "reinstall dmlcts") from None
        for entry in entries:
            if entry.name.endswith(".yaml"):
                name = f"{folder}/{entry.name}"
                files.append(TableFile(f"specs/{name}", name, _read(entry, name, "reinstall dmlcts")))
    return files


def extra_files(extra: Iterable[Path]) -> list[TableFile]:
    """The tables that the given files and folders are, each once.

    Raises:
        UsageError: one does not exist, holds no table, or cannot be read.
    """
    paths: dict[Path, Path] = {}
    for location in map(Path, extra):
        for path in _yaml_files(location):
            paths.setdefault(path.resolve(), path)  # a file that is named twice is read once
    table_files: list[TableFile] = []
    for path in paths.values():
        namesakes = sum(file.digest_name.partition("#")[0] == path.name for file in table_files)
        digest_name = f"{path.name}#{namesakes + 1}" if namesakes else path.name
        table_files.append(TableFile(str(path), digest_name, _read(path, str(path), "make it readable")))
    return table_files


def _yaml_files(path: Path) -> list[Path]:
    try:
        if path.is_file():
            return [path]
        paths = sorted(path.glob("*.yaml")) if path.is_dir() else None
    except (OSError, ValueError) as error:
        raise _unreadable(str(path), error, "give a folder of *.yaml tables, or one such file") from None
    if paths is None:
        raise UsageError(f"there is no table file or folder {str(path)!r}", "give one that exists")
    if not paths:
        raise UsageError(f"the folder {str(path)!r} holds no *.yaml file", "give a folder of tables")
    return paths


def _read(file: Traversable, name: str, mend: str) -> bytes:
    try:
        if isinstance(file, Path):
            return read_bounded(file, MAX_BYTES)  # one byte more than allowed, which decode() refuses
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(name, error, mend) from None


def _unreadable(name: str, error: OSError | ValueError, mend: str) -> UsageError:
    reason = getattr(error, "strerror", None) or str(error)
    return UsageError(f"{name!r} cannot be read: {reason}", mend)
