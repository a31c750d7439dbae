"""Options that several commands share, and the exit codes that their help names.

Their parameters are called as those of :meth:`~dmlcts.suites.running.options.Settings.read`, so that a command hands on
what it is given.
"""

from __future__ import annotations

from collections.abc import Callable
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


def _with(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in options:
        command = option(command)
    return command


def backend_options(command: Command) -> Command:
    """Give a command the options that say which implementation, and how it is judged."""
    resumable = command.__name__ == "run"  # a resumed run knows its backend
    return _with(
        command,
        click.option("--backend", required=not resumable, metavar="BACKEND", help=_BACKEND_HELP),
        click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE",
                     help="An option of the backend; repeatable."),
        judging_options,
    )  # fmt: skip


def judging_options(command: Command) -> Command:
    """Give a command the options that say by what measure implementations are judged, one or several."""
    return _with(
        level_and_table_options(command),
        click.option("--strict", "--strict-ieee", is_flag=True, help="Leave no latitude: IEEE 754 behaviour only."),
    )


def level_and_table_options(command: Command) -> Command:
    """Give a command the options of the feature level and of further tables."""
    return _with(
        command,
        click.option("--feature-level", metavar="LEVEL", help="Judge at this level (default: the one claimed)."),
        click.option("--tables", "extra_tables", multiple=True, type=click.Path(), metavar="PATH",
                     help="A file or folder of further operator tables; repeatable."),
    )  # fmt: skip


def generation_options(command: Command) -> Command:
    """Give a command the options that say how much is generated, and from which seed."""
    return _with(
        command,
        seed_option,
        click.option("--profile", type=click.Choice(["quick", "full", "certification"]), default="quick",
                     show_default=True,
                     help="How much to generate: quick runs every clause in some minutes, full takes longer."),
    )  # fmt: skip


def seed_option(command: Command) -> Command:
    """Give a command the option of the seed."""
    help_text = "Seed of everything that is drawn."
    return click.option("--seed", default="0", show_default=True, metavar="N", help=help_text)(command)


def digest_option(command: Command) -> Command:
    """Whether the digest of the results is told."""
    return _with(
        command,
        click.option("--digest", is_flag=True, help="Say the SHA-256 of what was written in the last line: what holds "
                     "it tells whether the file was changed since."),
    )  # fmt: skip


def process_options(command: Command) -> Command:
    """Give a command the options of the process in which the implementation runs."""
    return _with(
        command,
        click.option("--isolation", type=click.Choice(["process", "none"]),
                     help="Run the implementation in a process of its own, or in this one for debugging "
                     "(default: process for every backend but cpu)."),
        click.option("--timeout", default="30", show_default=True, metavar="SECONDS",
                     help="How long one call of an isolated implementation may take."),
    )  # fmt: skip


def selection_options(command: Command) -> Command:
    """Give a command the options that select operators, types and clauses."""
    clause = click.option("--clause", "clauses", multiple=True, metavar="GLOB",
                          help="Only these ('clip.cast.*,clip.nan.*'); repeatable.")  # fmt: skip
    return _with(operator_options(command), clause)


def operator_options(command: Command) -> Command:
    """Give a command the options that select operators and types."""
    return _with(
        command,
        click.option("--operator", "operators", multiple=True, metavar="NAME",
                     help="Only these operators and groups (CLIP,rounding); repeatable."),
        click.option("--data-type", "data_types", multiple=True, metavar="TYPE",
                     help="Only these (FLOAT16,INT8); repeatable."),
    )  # fmt: skip
