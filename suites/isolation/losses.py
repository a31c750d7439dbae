"""What became of a worker that is gone, in words.

A crash, a hang or a lack of resources is detected in :mod:`.process`.
"""

from __future__ import annotations


class WorkerLost(Exception):  # noqa: N818  # it says what happened; the suite is not at fault
    """The worker is gone, or had to be stopped, while it was busy with a call.

    Args:
        outcome: ``crash``, ``timeout`` or ``resource_error``.
        title: one short line, the same in every run that finds the same.
        text: what is known of the end: signal or exit code, and the last lines of its standard error.
        placed: whether what was asked for last is to blame; not where it was seen late.
    """

    def __init__(self, outcome: str, title: str, text: str, *, placed: bool = True) -> None:
        super().__init__(text)
        self.placed = placed
        self.outcome = outcome
        self.title = title
        self.text = text
