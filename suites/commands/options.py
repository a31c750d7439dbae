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
    "The implementation to judge: a name from `dmlcts backends`, package.module:attribute, path/to/file.py:attribute, "
    "or a runner in any language: exec:COMMAND, tcp:HOST:PORT."
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
        click.option(
            "-o",
            "--option",
            "options",
            multiple=True,
            metavar="KEY=VALUE",
            help="An option of the backend; repeatable.",
        ),
        judging_options,
    )


def judging_options(command: Command) -> Command:
    """Give a command the options that say by what measure implementations are judged, one or several."""
    return _with(
        level_and_table_options(command),
        click.option("--strict", "--strict-ieee", is_flag=True, help="Permit IEEE 754 behaviour only."),
    )


def level_and_table_options(command: Command) -> Command:
    """Give a command the options of the feature level and of further tables."""
    return _with(
        command,
        click.option(
            "--feature-level", metavar="LEVEL", help="Judge at this feature level (default: the one the device claims)."
        ),
        click.option(
            "--tables",
            "extra_tables",
            multiple=True,
            type=click.Path(),
            metavar="PATH",
            help="A file or folder with additional operator tables; repeatable.",
        ),
    )


def generation_options(command: Command) -> Command:
    """Give a command the options that say how much is generated, and from which seed."""
    return _with(
        command,
        seed_option,
        click.option(
            "--profile",
            type=click.Choice(["quick", "full", "certification"]),
            default="quick",
            show_default=True,
            help="How many cases to generate: quick checks every clause in minutes, full takes longer.",
        ),
    )


def seed_option(command: Command) -> Command:
    """Give a command the option of the seed."""
    help_text = "Seed of all random values."
    return click.option("--seed", default="0", show_default=True, metavar="N", help=help_text)(command)


def digest_option(command: Command) -> Command:
    """Give a command the option that prints the digest of its results."""
    return _with(
        command,
        click.option(
            "--digest",
            is_flag=True,
            help="Print the SHA-256 of the results in the last line, so that later "
            "changes to the file can be detected.",
        ),
    )


def process_options(command: Command) -> Command:
    """Give a command the options of the process in which the implementation runs."""
    return _with(
        command,
        click.option(
            "--isolation",
            type=click.Choice(["process", "none"]),
            help="Run the implementation in its own process, or in this one. Use `none` only with code you "
            "trust (default: process for every backend but cpu).",
        ),
        click.option(
            "--timeout",
            default="30",
            show_default=True,
            metavar="SECONDS",
            help="Time limit for one call of an isolated implementation.",
        ),
    )


def selection_options(command: Command) -> Command:
    """Give a command the options that select operators, types and clauses."""
    clause = click.option(
        "--clause",
        "clauses",
        multiple=True,
        metavar="GLOB",
        help="Only these clauses ('clip.cast.*,clip.nan.*'); repeatable.",
    )
    return _with(operator_options(command), clause)


def operator_options(command: Command) -> Command:
    """Give a command the options that select operators and types."""
    return _with(
        command,
        click.option(
            "--operator",
            "operators",
            multiple=True,
            metavar="NAME",
            help="Only these operators and groups (CLIP,rounding); repeatable.",
        ),
        click.option(
            "--data-type",
            "data_types",
            multiple=True,
            metavar="TYPE",
            help="Only these data types (FLOAT16,INT8); repeatable.",
        ),
    )
