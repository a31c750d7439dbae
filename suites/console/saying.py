"""Where the commands speak: whatever they print passes here, and none of it is more than text.

A device's name, an error's words or a test's name may come from a stranger. On a terminal, control characters
could paint a verdict that nobody gave; in a log, a line of its own could be a command. The functions here show such
characters as code points (:func:`~dmlcts.reports.summaries.characters.one_line`). Tables and colours are printed by
:mod:`.plain`, by the same rule.
"""

from __future__ import annotations

import sys

import click

from dmlcts.reports.summaries.characters import as_text, one_line
from dmlcts.suites.console import listeners

_MOST_OF_A_SENTENCE = 200


class Commands(click.Group):
    """A group whose help says the whole first sentence of each command, where click would cut it at the line's end.

    Each command that begins says whether it judges (:mod:`.listeners`).
    """

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, its help's examples kept line by line."""
        # click keeps a paragraph's lines where a backspace stands above it; in a raw docstring that is two characters
        if cmd.help is not None:
            cmd.help = cmd.help.replace("\\b\n", "\b\n")
        if cmd.callback is not None and not isinstance(cmd, click.Group):
            cmd.callback = listeners.announced(cmd.callback)
        super().add_command(cmd, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(_MOST_OF_A_SENTENCE)) for name, command in commands if command]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def say(line: object, *, err: bool = False) -> None:
    """Print one line; whatever would break it is shown as its code point.

    Args:
        line: what to say.
        err: on standard error instead of standard output.
    """
    _print(one_line(line), err=err)


def complain(line: object) -> None:
    """Print one line on standard error, as :func:`say`."""
    say(line, err=True)


def tell(text: str, *, err: bool = False) -> None:
    """Print a text of several lines as it stands, its last line ended; characters that are no text are shown."""
    _print(as_text(text.removesuffix("\n")), err=err)


def _print(text: str, *, err: bool) -> None:
    try:
        click.echo(text, err=err)
    except BrokenPipeError as error:
        listeners.unread(error, sys.stderr if err else sys.stdout)
