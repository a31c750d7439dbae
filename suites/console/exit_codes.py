"""How a command ends: the exit codes that are no verdict, and what is made of an exception that nobody caught.

0, 1 and 4 are verdicts (:func:`dmlcts.reports.documents.outcomes.exit_code`), 2 and 3 say that there is none because of
what was asked for (both are named in :mod:`dmlcts.suites.commands.options`). A command that could not say its verdict,
or reached none, must end with none of these:

- 5: what it had to say could not be written (a closed pipe, a full disk); a command that judges nothing goes on to its
  end where its reader has gone (:mod:`.listeners`);
- 6: a fault of dmlcts itself, or somebody ended its processes;
- 130: it was interrupted (Ctrl-C), as shells count it.
"""

from __future__ import annotations

import contextlib
import errno
import sys
import traceback
from collections.abc import Callable

from dmlcts.reports.summaries.characters import as_text
from dmlcts.suites.console.listeners import silence

UNSAID, BROKEN, INTERRUPTED = 5, 6, 130
NO_VERDICT = (
    "Without a verdict: 5 the output could not be written (closed pipe, full disk), "
    "6 a fault of dmlcts itself, or all processes of the run were killed; 130 interrupted."
)
_NO_OUTPUT = (
    (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EDQUOT)
    if hasattr(errno, "EDQUOT")
    else (errno.EPIPE, errno.ENOSPC, errno.EIO)
)


class Unsaid(Exception):  # noqa: N818  # it says what happened
    """Output that could not be written.

    Args:
        error: what the system said.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or str(error))


def exit_code_of(command: Callable[[], object]) -> int:
    """Run a command to its end; gives its exit code.

    What it printed is written out before the code is believed: a verdict that nobody could read is none.

    Args:
        command: does the work, and ends by returning, or with ``SystemExit`` and its code.
    """
    try:
        code = _code(command)
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except KeyboardInterrupt:
        return _interrupted()
    except MemoryError:
        return _last("there is not enough memory: no verdict", BROKEN)
    except Unsaid as error:
        return _unsaid(error)
    except OSError as error:
        return _unsaid(Unsaid(error)) if error.errno in _NO_OUTPUT else _broken(error)
    except Exception as error:  # the last place that can say what happened
        return _broken(error)
    return code


def _came_of_interruption(error: BaseException) -> bool:
    """Whether an exception came while an interruption was dealt with: a second Ctrl-C meets code that tidies up."""
    errors_seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in errors_seen:
        if isinstance(following, KeyboardInterrupt):
            return True
        errors_seen.append(following)
        following = following.__cause__ or following.__context__
    return False


def _code(command: Callable[[], object]) -> int:
    try:
        command()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{as_text(str(end.code))}\n")
        return 1
    return 0


def _unsaid(error: Unsaid) -> int:
    return _last(f"what there was to say could not be written ({error}): no verdict", UNSAID)


def _interrupted() -> int:
    return _last("interrupted: no verdict", INTERRUPTED)


def _broken(error: Exception) -> int:
    if _came_of_interruption(error):
        return _interrupted()
    text = as_text("".join(traceback.format_exc()).rstrip())
    return _last(f"{text}\ndmlcts: this is a fault of dmlcts itself, please report it: no verdict", BROKEN, name="")


def _last(words: str, code: int, name: str = "dmlcts: ") -> int:
    """Say some last words where that can still be done; gives the code."""
    with contextlib.suppress(Exception):
        sys.stderr.write(f"{name}{words}\n")
        sys.stderr.flush()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
            continue
        silence(stream)  # what is left in its buffer would fail again when Python ends
    return code
