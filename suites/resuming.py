"""The options of a run that is to be continued: those of its journal, and none that differ from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reports.journal import read_journal
from dmlcts.specs import UsageError
from dmlcts.suites.runs import difference
from dmlcts.suites.settings import Settings

_PARAMETERS = {"strict": "strict", "tables": "extra_tables"}


def resumed_settings(folder: str, given: Mapping[str, Any], named: set[str]) -> Settings:
    """The settings of the run that stopped in ``folder``.

    Args:
        folder: its results folder.
        given: what the command line says, as arguments of :meth:`Settings.read`.
        named: the options that were written on the command line; the others are defaults.

    Raises:
        DocumentError: there is no journal in the folder, or it is broken.
        UsageError: an option that was written differs from what the run was begun with.
    """
    content = read_journal(folder)
    known = Settings.of(content.header, folder, str(content.path))
    wanted = {_PARAMETERS.get(name, name) for name in named}
    if "results" in wanted and given["results"] != folder:
        raise UsageError(f"--results {given['results']} and --resume {folder} name two folders", "give --resume alone")
    arguments = {name: value for name, value in content.header.items() if name in given and name not in wanted}
    arguments["options"] = [f"{key}={value}" for key, value in content.header["options"].items()]
    arguments |= {name: given[name] for name in wanted if name in given}
    asked = Settings.read(**(arguments | {"results": folder}))
    differs = difference(known.described(), asked.described())
    if differs:
        raise UsageError(f"{folder} is of a run that differs in {differs}", "leave the option out, or begin a new run")
    return asked
