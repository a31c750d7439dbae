"""What became of a worker that is gone, in words."""

from __future__ import annotations

import signal

_WINDOWS = {
    0xC0000005: "access violation",
    0xC00000FD: "stack overflow",
    0xC0000374: "heap corruption",
    0xC0000409: "stack buffer overrun",
    0xC000001D: "illegal instruction",
    0x80000003: "breakpoint",
}


class WorkerLost(Exception):  # noqa: N818  # it says what happened; the suite is not at fault
    """The worker is gone, or had to be stopped, while it was busy with a call.

    Args:
        outcome: ``crash``, ``timeout`` or ``resource_error``.
        title: one short line, the same in every run that finds the same.
        text: what is known of the end: signal or exit code, and the last lines of its standard error.
    """

    def __init__(self, outcome: str, title: str, text: str) -> None:
        super().__init__(text)
        self.outcome = outcome
        self.title = title
        self.text = text


def ended(code: int) -> tuple[str, str, str]:
    """Outcome, title and text for a process that ended by itself with this return code (negative: a signal)."""
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        if name == "SIGKILL":
            text = "the process was killed (SIGKILL), as a system does when memory runs out"
            return "resource_error", "the process was killed", text
        return "crash", f"the process crashed ({name})", f"the process was ended by {name}"
    said = _WINDOWS.get(code)
    if said is not None:
        return "crash", f"the process crashed ({said})", f"the process ended with 0x{code:08X}, {said}"
    return "crash", f"the process ended with exit code {code}", f"the process ended by itself with exit code {code}"
