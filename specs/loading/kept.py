"""The built-in tables as they were checked last, kept in the user's cache: a process need not check them again.

Reading and checking all tables takes half a second of every process, and a run has many. What is kept belongs to the
bytes of every table and to the code that read it; whatever differs, or is damaged, is read anew.
"""

from __future__ import annotations

import contextlib
import copyreg
import hashlib
import io
import os
import pickle
import platform
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dmlcts.specs.cache import cache_folder
from dmlcts.specs.reading.table_files import TableFile
from dmlcts.specs.tables import Tables

_SPECS = Path(__file__).resolve().parent.parent


def key_of(files: Iterable[TableFile], code: Path = _SPECS) -> str:
    """The SHA-256 of the tables' bytes, and of all that decides what they are read as.

    The code counts by each module's size and time of change, as Python's own cache of compiled modules does.
    """
    digest = hashlib.sha256(f"{platform.python_version()} {version('pydantic')} {code}".encode())
    for module in sorted(code.rglob("*.py")):
        known = module.stat()
        digest.update(f"\n{module.relative_to(code)} {known.st_size} {known.st_mtime_ns}".encode())
    for file in files:
        digest.update(f"\n{file.digest_name} {len(file.data)} ".encode() + file.data)
    return digest.hexdigest()


def read(key: str) -> Tables | None:
    """The tables that were kept under this key, or ``None`` where there are none, or not whole."""
    path = _path(key)
    try:
        content = path.read_bytes() if path is not None else b""
    except OSError:
        return None
    digest, data = content[:32], content[32:]
    if len(digest) < 32 or hashlib.sha256(data).digest() != digest:
        return None
    tables = pickle.loads(data)  # noqa: S301  # the user's own cache, as trustworthy as the compiled modules beside it
    return tables if isinstance(tables, Tables) else None


def keep(key: str, tables: Tables) -> None:
    """Keep the tables for later processes, whole or not at all; not at all where the cache cannot be written."""
    path = _path(key)
    if path is None:
        return
    stream = io.BytesIO()
    _Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(tables)
    data = stream.getvalue()
    with contextlib.suppress(OSError):  # a full or read-only disk costs half a second a process, no more
        path.parent.mkdir(parents=True, exist_ok=True)
        number, unfinished = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(unfinished, path)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise
        for other in path.parent.glob("*.tables"):
            if other != path and path.stat().st_mtime - other.stat().st_mtime > _DAYS:
                other.unlink(missing_ok=True)


_DAYS = 7 * 24 * 3600.0  # seconds that tables of other versions are kept: several checkouts may take turns


def _path(key: str) -> Path | None:
    try:
        return cache_folder() / "tables" / f"{key}.tables"
    except RuntimeError:  # no home folder
        return None


def _unchangeable(values: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(values)


class _Pickler(pickle.Pickler):
    dispatch_table = {**copyreg.dispatch_table, MappingProxyType: lambda value: (_unchangeable, (dict(value),))}  # noqa: RUF012  # the base class reads it so
