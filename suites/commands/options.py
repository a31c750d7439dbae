"""Options that several commands share, and the exit codes that their help names."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

import click

from dmlcts.suites.console import exit_codes

USAGE, UNAVAILABLE, NOT_CONFORMANT, INCOMPLETE = 2, 3, 1, 4
EXIT_CODES = (
    "Exit codes: 0 conformant, 1 not conformant, 2 usage or table error, 3 backend unavailable, 4 incomplete. "
    + exit_codes.NO_VERDICT
)
_BACKEND_HELP = (
    "The implementation: a name from `dmlcts backends`, package.module:attribute, path/to/file.py:attribute, or a "
    "runner in any language: exec:COMMAND, tcp:HOST:PORT."
)


Command = TypeVar("Command", bound=Callable[..., Any])


def proof_of_the_suite() -> ModuleType | None:
    """What ``dmlcts selftest`` runs; ``None`` in an installed copy, which lacks the catalogues of a checkout."""
    try:
        return importlib.import_module("dmlcts.suites.selftest.proof.prove")
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("dmlcts.suites.selftest"):
            raise
        return None


def backend_options(command: Command) -> Command:
    """Give a command the options that say which implementation, and how it is judged."""
    resumable = command.__name__ == "run"  # a resumed run knows its backend
    for option in (
        click.option("--backend", required=not resumable, metavar="BACKEND", help=_BACKEND_HELP),
        click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE",
                     help="An option of the backend; repeatable."),
        click.option("--feature-level", metavar="LEVEL", help="Judge at this level (default: the one claimed)."),
        click.option("--strict", "--strict-ieee", is_flag=True, help="Leave no latitude: IEEE 754 behaviour only."),
        click.option("--tables", multiple=True, type=click.Path(), metavar="PATH",
                     help="A file or folder of further operator tables; repeatable."),
    ):  # fmt: skip
        command = option(command)
    return command


def process_options(command: Command) -> Command:
    """Give a command the options of the process in which the implementation runs."""
    for option in (
        click.option("--isolation", type=click.Choice(["process", "none"]),
                     help="Run the implementation in a process of its own, or in this one for debugging "
                     "(default: process for every backend but cpu)."),
        click.option("--timeout", default="30", show_default=True, metavar="SECONDS",
                     help="How long one call of an isolated implementation may take."),
    ):  # fmt: skip
        command = option(command)
    return command


def selection_options(command: Command) -> Command:
    """Give a command the options that select operators, types and clauses."""
    for option in (
        click.option("--operator", "operators", multiple=True, metavar="NAME",
                     help="Only these operators and groups (CLIP,rounding); repeatable."),
        click.option("--data-type", "data_types", multiple=True, metavar="TYPE",
                     help="Only these (FLOAT16,INT8); repeatable."),
        click.option("--clause", "clauses", multiple=True, metavar="GLOB",
                     help="Only these ('clip.cast.*,clip.nan.*'); repeatable."),
    ):  # fmt: skip
        command = option(command)
    return command
