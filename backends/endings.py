"""How a process that the suite started ended: its exit code, and the last words of its output."""

from __future__ import annotations

import os
import select
import signal
import threading
from typing import Literal

_MOST_LINES = 16
_FATAL = ("Fatal Python error", "Windows fatal exception")
_MOST_CHARACTERS = 4096
_MOST_KEPT = 1 << 18  # bytes of standard error
_GRACE_SECONDS = 2.0
_LOOK_SECONDS = 0.2  # how often a pipe that somebody else may hold open is left, to see whether the process is there
_WINDOWS = {
    0xC0000005: "access violation",
    0xC00000FD: "stack overflow",
    0xC0000374: "heap corruption",
    0xC0000409: "stack buffer overrun",
    0xC000001D: "illegal instruction",
    0x80000003: "breakpoint",
}


class LastWords:
    """Keeps the last lines that a process wrote to its standard error, however much that is.

    What the process started may hold the pipe open after its end. So nobody waits for the pipe's end, and the thread
    that reads closes the descriptor itself: a descriptor closed under its hands could be another pipe's by then.

    Args:
        descriptor: the pipe's; it is closed here.
    """

    def __init__(self, descriptor: int) -> None:
        self._kept = bytearray()  # counted in bytes: a slow writer's words come one by one
        self._over = threading.Event()
        self._changed = threading.Condition()
        self._looks = 0  # how often nothing was there
        self._ended = False
        threading.Thread(target=self._drain, args=(descriptor,), daemon=True).start()

    def _drain(self, descriptor: int) -> None:
        poll = select.poll() if hasattr(select, "poll") else None
        if poll is not None:
            poll.register(descriptor, select.POLLIN)
        while not self._over.is_set():
            if poll is None or poll.poll(_LOOK_SECONDS * 500):
                chunk = os.read(descriptor, 4096)
                if not chunk:
                    break
                self._kept += chunk
                if len(self._kept) > 2 * _MOST_KEPT:
                    del self._kept[:-_MOST_KEPT]
            else:
                with self._changed:
                    self._looks += 1
                    self._changed.notify_all()
        os.close(descriptor)
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def text(self) -> str:
        """The last lines, of a process that is gone: its words stand in the pipe, and nothing more is waited for."""
        with self._changed:
            enough = self._looks + 2  # the first may have begun before the process's end
            self._changed.wait_for(lambda: self._ended or self._looks >= enough, _GRACE_SECONDS)
        return self.so_far()

    def so_far(self) -> str:
        """The last lines by now, without waiting."""
        text = bytes(self._kept[-_MOST_KEPT:]).decode("utf-8", "replace")
        printable = "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
        return _most_informative(printable.strip().splitlines())

    def close(self) -> None:
        """Read no more."""
        self._over.set()


def _most_informative(lines: list[str]) -> str:
    """The lines that say most: around Python's note of a fatal signal where there is one, else the last."""
    fatal = next((index for index, line in enumerate(lines) if line.startswith(_FATAL)), None)
    if fatal is None:
        return "\n".join(lines[-_MOST_LINES:])[-_MOST_CHARACTERS:]
    # what the implementation said stands before the note, the stack that grows with the program after it
    before = "\n".join(lines[max(0, fatal - _MOST_LINES // 2) : fatal])[-_MOST_CHARACTERS // 2 :]
    after = "\n".join(lines[fatal : fatal + _MOST_LINES // 2])
    return f"{before}\n{after}".strip()[:_MOST_CHARACTERS]


Outcome = Literal["crash", "resource_error"]


def ended(code: int, who: str = "the process") -> tuple[Outcome, str, str]:
    """Outcome, title and text for a process that ended by itself with this return code (negative: a signal)."""
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        if name == "SIGKILL":
            text = f"{who} was killed (SIGKILL), as a system does when memory runs out"
            return "resource_error", f"{who} was killed", text
        return "crash", f"{who} crashed ({name})", f"{who} was ended by {name}"
    description = _WINDOWS.get(code)
    if description is not None:
        return "crash", f"{who} crashed ({description})", f"{who} ended with 0x{code:08X}, {description}"
    return "crash", f"{who} ended with exit code {code}", f"{who} ended by itself with exit code {code}"
