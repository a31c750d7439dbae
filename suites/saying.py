"""Where the commands speak: whatever they print passes here, and none of it is more than text.

A device's name, an error's words or a test's name may come from a stranger. On a terminal, control characters
could paint a verdict that nobody gave; in a log, a line of its own could be a command. The functions here show such
characters as code points (:func:`~dmlcts.reports.characters.one_line`). Tables and colours are printed by
:mod:`.consoles`, by the same rule.
"""

from __future__ import annotations

import click

from dmlcts.reports.characters import as_text, one_line


def say(line: object, *, err: bool = False) -> None:
    """Print one line; whatever would break it is shown as its code point.

    Args:
        line: what to say.
        err: on standard error instead of standard output.
    """
    click.echo(one_line(line), err=err)


def complain(line: object) -> None:
    """Print one line on standard error, as :func:`say`."""
    say(line, err=True)


def tell(text: str, *, err: bool = False) -> None:
    """Print a text of several lines as it stands, its last line ended; characters that are no text are shown."""
    click.echo(as_text(text.removesuffix("\n")), err=err)
