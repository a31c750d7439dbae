"""The group that holds all commands: the project's own errors become lines and exit codes here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from dmlcts.suites.commands.options import UNAVAILABLE, USAGE
from dmlcts.suites.console import exit_codes, listeners
from dmlcts.suites.console.printing import Commands, complain, print_line, print_text
from dmlcts.suites.options.command_line import TableOption

_MOST_FAULTS = 100


class Group(Commands):
    """Turns the project's own errors into one line and an exit code, whichever command raises them."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command; an error of the project becomes its line and exit code.

        Raises:
            Unsaid: the reader of the output went away after something was printed.
        """
        from dmlcts.specs.errors import DmlctsError

        try:
            return super().invoke(context)
        except DmlctsError as error:
            _stop(error)
        except BrokenPipeError as error:
            if listeners.has_begun(context):
                raise exit_codes.Unsaid(error) from None  # click would end with 1, which is a verdict
            _leave()

    def make_context(self, *arguments: Any, **more: Any) -> click.Context:
        """Read the words; `--help` and `--version` print here."""
        try:
            return super().make_context(*arguments, **more)
        except BrokenPipeError:  # `--help` prints here
            _leave()

    def main(self, *arguments: Any, **more: Any) -> NoReturn:
        """Run the command line and end with one of the exit codes of :mod:`dmlcts.suites.console.exit_codes`."""
        run = super().main

        def command() -> None:
            try:
                code = run(*arguments, **{**more, "standalone_mode": False})
            except click.Abort:
                raise KeyboardInterrupt from None
            except click.exceptions.NoArgsIsHelpError as error:  # a group without a command: its help is the answer
                print_text(error.format_message(), err=True)
                sys.exit(error.exit_code)
            except click.ClickException as error:
                complain_of(error)
                sys.exit(error.exit_code)
            sys.exit(code if isinstance(code, int) else 0)

        sys.exit(exit_codes.exit_code_of(command))


def _leave() -> NoReturn:
    """End without a word: nobody reads the help any more, and there was nothing else to do."""
    for stream in (sys.stdout, sys.stderr):
        listeners.silence(stream)
    sys.exit(0)


def complain_of(error: click.ClickException) -> None:
    """Say what is wrong with a command's words, and where its help is."""
    context = getattr(error, "ctx", None)
    if isinstance(error, click.NoSuchOption) and error.possibilities and context is not None:
        error = click.NoSuchOption(
            error.option_name, possibilities=_listed(error.possibilities, context.command), ctx=context
        )
    if context is not None:
        print_text(context.get_usage(), err=True)
        print_line(f"Try '{context.command_path} --help' for help.", err=True)
        print_line("", err=True)
    print_line(f"Error: {error.format_message()}", err=True)


def _listed(spellings: Sequence[str], command: click.Command) -> list[str]:
    """Spellings of options as the help lists them: an earlier spelling gives way to that of today."""
    today = {
        old: option.row.spelling
        for option in command.params
        if isinstance(option, TableOption)
        for old in option.row.old
    }
    return list(dict.fromkeys(today.get(spelling, spelling) for spelling in spellings))


def _stop(error: Exception) -> NoReturn:
    from dmlcts.specs.errors import TableError

    unavailable = type(error).__name__ == "BackendUnavailable"
    lines = [str(fault) for fault in error.faults] if isinstance(error, TableError) else [str(error)]
    lines += getattr(error, "__notes__", [])  # during which job of many it was
    for line in lines[:_MOST_FAULTS]:
        complain(f"dmlcts: {line}")
    if len(lines) > _MOST_FAULTS:
        complain(f"dmlcts: and {len(lines) - _MOST_FAULTS:,} more faults; mend these first")
    sys.exit(exit_codes.BROKEN if type(error).__name__ == "NoVerdict" else UNAVAILABLE if unavailable else USAGE)
