"""The options of a run that is to be continued: those of its journal, and none that differ from them.

A journal names the backend, and with it code that is run. What another user made, or could have changed, is not
believed in that: there the backend is named again by whoever resumes.

The run itself is continued in :mod:`.run`: :meth:`.run.Run.begin` takes over the records of the journal, and
:meth:`.run.Run.is_left` is true of the tests that are still to run.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.journal import read_journal
from dmlcts.specs import UsageError
from dmlcts.suites.options.option import OptionTable
from dmlcts.suites.options.table import OPTIONS
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.run import difference


def resumed_settings(
    folder: str, mapping: Mapping[str, Any], named: set[str], table: OptionTable = OPTIONS
) -> Settings:
    """The settings of the run that stopped in ``folder``.

    Args:
        folder: its results folder.
        mapping: what the command line says, as arguments of :meth:`Settings.read`.
        named: the options that were written on the command line; the others are defaults.
        table: the table of options.

    Raises:
        DocumentError: there is no journal in the folder, or it is broken.
        UsageError: an option that was written differs from what the run was begun with, or the journal names code to
            run, and others than this user may have written it.
    """
    content = read_journal(folder)
    wanted = named
    _check_trust(folder, content.path, content.header, wanted)
    known = Settings.of(content.header, folder, str(content.path), table)
    if "results" in wanted and mapping["results"] != folder:
        raise UsageError(
            f"--results {mapping['results']} and --resume {folder} name two folders", "give --resume alone"
        )
    arguments = {row.name: content.header[row.name] for row in table.journal}
    arguments |= {row.name: mapping[row.name] for row in table.settings if row.name in wanted & mapping.keys()}
    asked = Settings.read(table, **(arguments | {"results": folder}))
    differs = difference(known.described(), asked.described(), table=table)
    if differs:
        raise UsageError(f"{folder} is of a run that differs in {differs}", "leave the option out, or begin a new run")
    return asked


def _check_trust(folder: str, journal: Path, header: Mapping[str, Any], wanted: set[str]) -> None:
    """Refuse code that only a journal names, where somebody else may have written it.

    A registered name without options is code that this user installed; anything else may be any file.
    """
    backend, options = header.get("backend"), header.get("options")
    asked = [] if isinstance(backend, str) and ":" not in backend and not options else ["backend"]
    asked += ["options"] if options else []
    missing = [name for name in asked if name not in wanted]
    if not missing:
        return
    text = _others(Path(folder)) or _others(journal)
    if text:
        value = " ".join([f"--backend {backend!a}", *(f"-o {word!a}" for word in _words(options))])
        raise UsageError(
            f"{text}, and its journal names the code to run: {value}",
            "if that is what shall run, write it yourself, beside --resume",
        )


def _words(options: object) -> list[str]:
    return [f"{key}={value}" for key, value in options.items()] if isinstance(options, Mapping) else []


def _others(place: Path) -> str:
    """Who else may have written a file or folder, in words; "" for nobody but this user."""
    if sys.platform == "win32":
        return f"who wrote {place} is not known here"
    others = place.stat()
    if others.st_uid != os.geteuid():
        return f"{place} is another user's (number {others.st_uid})"
    mode = others.st_mode
    if mode & stat.S_IWOTH and not (stat.S_ISDIR(mode) and mode & stat.S_ISVTX):
        return f"every user may change {place}"
    if mode & stat.S_IWGRP and others.st_gid != os.getegid():
        return f"the users of group {others.st_gid} may change {place}"
    return ""
