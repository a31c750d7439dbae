"""Where the commands speak: whatever they print passes here, and none of it is more than text.

A device's name, an error's words or a test's name may come from a stranger. On a terminal, control characters
could paint a verdict that nobody gave; in a log, a line of its own could be a command. The functions here show such
characters as code points (:func:`~dmlcts.reports.summaries.characters.one_line`). Tables and colours are printed by
:mod:`.plain`, by the same rule.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from dmlcts.reports.summaries.characters import as_text, one_line
from dmlcts.suites.console import listeners

_MOST_OF_A_SENTENCE = 200


class Commands(click.Group):
    """A group whose help says the whole first sentence of each command, where click would cut it at the line's end.

    Each command that begins says whether it judges (:mod:`.listeners`).

    Args:
        sections: names of commands by the heading under which the help lists them; all are listed under one heading
            by default.
    """

    def __init__(self, *arguments: Any, sections: Mapping[str, Sequence[str]] | None = None, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.sections = sections
        if self.help is not None:
            self.help = _with_lines(self.help)

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, its help's examples kept line by line."""
        if cmd.help is not None:
            cmd.help = _with_lines(cmd.help)
        if cmd.callback is not None and not isinstance(cmd, click.Group):
            cmd.callback = listeners.announced(cmd.callback)
        super().add_command(cmd, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists of commands."""
        for heading, names in (self.sections or {"Commands": self.list_commands(ctx)}).items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, command.get_short_help_str(_MOST_OF_A_SENTENCE)) for name, command in commands if command]
            with formatter.section(heading):
                formatter.write_dl(rows)


def _with_lines(text: str) -> str:
    """A help whose examples keep their lines.

    click keeps a paragraph's lines where a backspace stands above it; in a raw docstring that is two characters.
    """
    return text.replace("\\b\n", "\b\n")


def print_line(line: object, *, err: bool = False) -> None:
    """Print one line; whatever would break it is shown as its code point.

    Args:
        line: what to say.
        err: on standard error instead of standard output.
    """
    _print(one_line(line), err=err)


def complain(line: object) -> None:
    """Print one line on standard error, as :func:`print_line`."""
    print_line(line, err=True)


def print_text(text: str, *, err: bool = False) -> None:
    """Print a text of several lines as it stands, its last line ended; characters that are no text are shown."""
    _print(as_text(text.removesuffix("\n")), err=err)


def _print(text: str, *, err: bool) -> None:
    try:
        click.echo(text, err=err)
    except BrokenPipeError as error:
        listeners.unread(error, sys.stderr if err else sys.stdout)
