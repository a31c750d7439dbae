"""A line that is drawn over itself on a terminal; elsewhere the same words as a line of their own, now and then.

Both go to standard error: what a run has to say in the end is alone on standard output.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TextIO, cast

from dmlcts.reports.summaries.characters import as_text, one_line

REDRAWN_EVERY = 0.5
"""Seconds between two looks at the words of a line on a terminal."""
PRINTED_EVERY = 30.0
"""Seconds between two lines where there is no terminal."""
_ERASE = "\r\x1b[K"
_NARROWEST = 20


def on_terminal(stream: TextIO) -> bool:
    """Whether a line on this stream can be drawn over itself."""
    with contextlib.suppress(Exception):  # a closed stream, or an object that only writes
        return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return False


class StatusLine:
    """A line about work under way, kept up to date by a thread of its own.

    Args:
        words: gives the line as it is now; "" for nothing to show yet.
        live: draw it over itself; by default where standard error is a terminal.
        every: seconds between two looks; by default :data:`REDRAWN_EVERY` or :data:`PRINTED_EVERY`.
    """

    def __init__(self, words: Callable[[], str], *, live: bool | None = None, every: float | None = None) -> None:
        self._words = words
        self._live = on_terminal(sys.stderr) if live is None else live
        self._every = every or (REDRAWN_EVERY if self._live else PRINTED_EVERY)
        self._stream = _own(sys.stderr)
        self._shown = ""
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="dmlcts-progress", daemon=True)

    @property
    def live(self) -> bool:
        """Whether it is drawn over itself."""
        return self._live

    def start(self) -> None:
        """Begin to show it."""
        self._thread.start()

    def stop(self) -> None:
        """Take it away for good."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        with self._lock:
            self._erase()
            if self._stream is not sys.stderr:
                with contextlib.suppress(OSError, ValueError):
                    self._stream.close()

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Take it away while something else is printed."""
        with self._lock:
            self._erase()
            yield

    def print_text(self, text: str) -> None:
        """Print a text on standard error, beside the line; characters that are no text are shown as code points."""
        with self.aside():
            self._write(f"{as_text(text)}\n")

    def refresh(self) -> None:
        """Show the words as they are now."""
        words = one_line(self._words())
        with self._lock:
            if not words or self._ended.is_set():
                return
            if not self._live:
                self._write(f"{words}\n")
            elif (line := _fitted(words, self._width())) != self._shown:
                self._write(f"{_ERASE}{line}")
                self._shown = line

    def _watch(self) -> None:
        while not self._ended.wait(self._every):
            self.refresh()

    def _erase(self) -> None:
        if self._shown:
            self._write(_ERASE)
            self._shown = ""

    def _width(self) -> int:
        try:
            return max(_NARROWEST, os.get_terminal_size(self._stream.fileno()).columns)
        except (OSError, ValueError):
            return 80

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody reads it: the run goes on, and its results are written
            self._stream.write(text)
            self._stream.flush()


def _fitted(words: str, width: int) -> str:
    return words if len(words) < width else f"{words[: width - 2]}…"


def _own(stream: TextIO) -> TextIO:
    """The stream by a descriptor of its own: pytest takes the other one away while a test runs."""
    try:
        copy = os.dup(stream.fileno())
    except (OSError, ValueError, AttributeError):  # an object that only writes
        return stream
    return cast(TextIO, open(copy, "w", encoding=stream.encoding or "utf-8", errors="replace"))
