"""The folder of a site on disk: written whole or not at all, and nothing of anybody else's replaced."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.validation import DocumentError, load_document
from dmlcts.reports.documents.writing import TEMPORARY, reason
from dmlcts.specs import UsageError

INDEX = "site.json"
"""The file that marks a folder as a site, and lists the files that it is made of (``schemas/site-1.json``)."""

SCHEMA = "dmlcts-site/1"
_MEND = "choose a folder that does not exist, or an earlier site"


def site_index(files: Mapping[str, bytes], more: Mapping[str, Any]) -> bytes:
    """The text of :data:`INDEX`: what the site holds, and the names of all its files.

    Args:
        files: the other files, by name.
        more: the other members of the document.
    """
    document = {"schema": SCHEMA, **more, "files": sorted([*files, INDEX])}
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode()


def check_place(folder: Path) -> None:
    """Refuse a folder that a site must not replace.

    Raises:
        UsageError: it is no folder, it is no site, or files stand in it that no site wrote.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder} is not a folder", _MEND)
    if not folder.is_dir():
        return
    present = sorted(_files(folder))
    if not present:
        return
    if INDEX not in present:
        raise UsageError(f"{folder} is not a site: it has no {INDEX}, and holds {present[0]}", _MEND)
    try:
        listed = set(load_document(folder / INDEX, "site-1", _MEND)["files"])
    except DocumentError as error:
        raise UsageError(f"{folder} is not a site: {error.document} {error.cause}", _MEND) from None
    others = [name for name in present if name not in listed]
    if others:
        mend = "move it away, or write the site into a folder of its own and copy it"
        raise UsageError(f"{folder / others[0]} belongs to no site; writing would remove it", mend)


def _files(folder: Path) -> Iterator[str]:
    """The files below a folder, by their names from it; links are files, and are not followed."""
    for around, folders, names in os.walk(folder):
        linked = [name for name in folders if (Path(around) / name).is_symlink()]
        for name in (*names, *linked):
            yield (Path(around) / name).relative_to(folder).as_posix()


def write_site(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write a site into a temporary folder beside its place, then move it there.

    Args:
        folder: its place; an earlier site there is replaced.
        files: the text of every file, by its name from the folder, :data:`INDEX` among them.

    Raises:
        UsageError: the place is refused (:func:`check_place`), or a file cannot be written; then all is as it was.
    """
    check_place(folder)
    place = Path(os.path.abspath(folder))
    unique = secrets.token_hex(4)
    fresh, former = (place.with_name(f".{place.name}.{unique}.{kind}{TEMPORARY}") for kind in ("new", "old"))
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        _move(fresh, place, former)
    except (OSError, ValueError) as error:
        mend = "free some space or choose another folder with -o"
        raise UsageError(f"cannot write {folder}: {reason(error)}", mend) from error
    finally:
        for leftover in (fresh, former):
            with contextlib.suppress(OSError):
                shutil.rmtree(leftover)


def _move(fresh: Path, place: Path, former: Path) -> None:
    """Move the new folder to its place; if that fails or is interrupted, the former one stands there again."""
    if not place.is_dir():
        os.rename(fresh, place)
        return
    try:
        os.rename(place, former)
        os.rename(fresh, place)
    except BaseException:
        if former.is_dir() and not place.exists():
            os.rename(former, place)
        raise
