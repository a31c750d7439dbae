"""Whether anybody still reads what a command prints, and what becomes of a command whose reader has gone.

A verdict that nobody could read is none: a command that judges stops, see :mod:`.exit_codes`. One that judges nothing
goes on to its end without a word, as for `dmlcts spec show | head`: its files are written and its exit code stays true.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from typing import Any, TextIO, TypeVar

import click

_JUDGES = "dmlcts.judges"
Function = TypeVar("Function", bound=Callable[..., Any])


def judges_nothing(function: Function) -> Function:
    """Say of a command's function that no exit code of it is a verdict on an implementation."""
    function.__dict__[_JUDGES] = False
    return function


def announced(function: Callable[..., Any]) -> Callable[..., Any]:
    """A command's function that first says whether it judges, for :func:`has_begun` and :func:`unread`."""

    @functools.wraps(function)
    def begun(*arguments: Any, **more: Any) -> Any:
        begin(judging=function.__dict__.get(_JUDGES, True))
        return function(*arguments, **more)

    return begun


def begin(*, judging: bool) -> None:
    """Say that the present command has begun, and whether it judges."""
    context = click.get_current_context(silent=True)
    if context is not None:  # as where a function is called and no command
        context.meta[_JUDGES] = judging


def has_begun(context: click.Context) -> bool:
    """Whether a command has begun: before, nothing but help was printed."""
    return _JUDGES in context.meta


def unread(error: BrokenPipeError, stream: TextIO) -> None:
    """Called where nobody reads a stream any more: print nothing further to it.

    Args:
        error: what writing gave.
        stream: standard output or standard error.

    Raises:
        BrokenPipeError: ``error``, where a command judges or there is none.
    """
    context = click.get_current_context(silent=True)
    if context is None or context.meta.get(_JUDGES, True):
        raise error
    silence(stream)


def silence(stream: TextIO) -> None:
    """Let a stream go nowhere, with what is left in its buffer."""
    with contextlib.suppress(Exception):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
