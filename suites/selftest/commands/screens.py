"""The screens of a real pseudo-terminal in which a shell runs the commands that are typed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sysconfig
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pyte

COLUMNS, ROWS = 100, 34
PROMPT = "$ "
LONGEST = 0.4
"""A screen on which nothing happens is shown for so many seconds at most."""
EACH_KEY = 0.03
READ_IT = 2.5
"""How long the end of a command stays."""
PATIENCE = 300.0


class Part(NamedTuple):
    """Neighbouring characters of one look."""

    column: int
    text: str
    colour: str
    bold: bool


Line = tuple[Part, ...]


@dataclass(frozen=True)
class Frame:
    """One screen, and how many seconds it is shown."""

    lines: tuple[Line, ...]
    seconds: float


class NoPromptError(Exception):
    """The shell did not come back: the command hangs, or waits for an answer."""


def frames_of(commands: Sequence[str], folder: Path, *, interrupted_at: str = "") -> list[Frame]:
    """What the terminal shows while each command is typed and runs.

    Args:
        commands: lines for ``sh``; ``dmlcts`` is that of this environment.
        folder: where the shell stands.
        interrupted_at: press Ctrl-C in the first command, once the screen matches this pattern; "" for never.

    Raises:
        NoPromptError: a command did not end within five minutes.
    """
    with _Terminal(folder) as terminal:
        terminal.wait()
        for number, command in enumerate(commands):
            for key in command:
                terminal.type(key)
            terminal.type("\n")
            terminal.wait("" if number else interrupted_at)
            terminal.hold(READ_IT)
        return terminal.frames


def lasting(frames: Sequence[Frame], seconds: float) -> list[Frame]:
    """The same frames, all of them together as long as asked.

    Raises:
        ValueError: there are none.
    """
    if not frames:
        raise ValueError("no frames")
    factor = seconds / sum(frame.seconds for frame in frames)
    return [replace(frame, seconds=frame.seconds * factor) for frame in frames]


def _of_terminal() -> None:
    """Take the terminal, and Ctrl-C from it: what a shell starts behind `&` ignores that, and hands it on."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class _Terminal:
    def __init__(self, folder: Path) -> None:
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.frames: list[Frame] = []
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))
        environment = {"PATH": path, "TERM": "xterm-256color", "LANG": "C.UTF-8", "PS1": PROMPT, "HOME": str(folder)}
        self.shell = subprocess.Popen(
            [shutil.which("sh") or "/bin/sh", "-i"],
            cwd=folder,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_of_terminal,
        )
        os.close(slave)

    def __enter__(self) -> _Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.master)  # the shell reads the end of its input
        self.shell.kill()
        self.shell.wait()

    def type(self, key: str) -> None:
        """Type one key, and keep the screen that shows it."""
        os.write(self.master, key.encode())
        while self._more(0.02):
            pass
        self._keep(EACH_KEY)

    def wait(self, interrupted_at: str = "") -> None:
        """Keep what is shown until the shell asks for the next command; press Ctrl-C where the screen matches."""
        began = time.monotonic()
        while not self._asks():
            shown = time.monotonic()
            if shown - began > PATIENCE:
                raise NoPromptError("\n".join(self.screen.display))
            self._more(0.1)
            if interrupted_at and re.search(interrupted_at, "\n".join(self.screen.display)):
                os.write(self.master, b"\x03")
                interrupted_at = ""
            self._keep(min(time.monotonic() - shown, LONGEST))

    def hold(self, seconds: float) -> None:
        """Show the last screen longer."""
        self.frames[-1] = replace(self.frames[-1], seconds=self.frames[-1].seconds + seconds)

    def _asks(self) -> bool:
        line = self.screen.display[self.screen.cursor.y].rstrip()
        return line == PROMPT.rstrip() and self.screen.cursor.x == len(PROMPT) and not self._more(0.2)

    def _more(self, seconds: float) -> bool:
        """Read what arrives within the time; whether something did."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.stream.feed(os.read(self.master, 1 << 16))
        return True

    def _keep(self, seconds: float) -> None:
        lines = tuple(_line(self.screen, row) for row in range(ROWS))
        if self.frames and self.frames[-1].lines == lines:
            longer = min(self.frames[-1].seconds + seconds, LONGEST)
            self.frames[-1] = replace(self.frames[-1], seconds=longer)
        else:
            self.frames.append(Frame(lines, seconds))


def _line(screen: pyte.Screen, row: int) -> Line:
    result: list[Part] = []
    for column in range(COLUMNS):
        cell = screen.buffer[row][column]
        last = result[-1] if result else None
        if last and (last.colour, last.bold) == (cell.fg, cell.bold):
            result[-1] = last._replace(text=last.text + cell.data)
        else:
            result.append(Part(column, cell.data, cell.fg, cell.bold))
    return tuple(part._replace(text=part.text.rstrip()) for part in result if part.text.strip())
