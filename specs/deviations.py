"""In which way a case deviates from what its clause requires, and what a wrong value changes with."""

from __future__ import annotations

import enum


class Deviation(enum.StrEnum):
    """In which way a case deviates from what its clause requires; cases are grouped by it, and sentences made of it."""

    UNKNOWN = ""
    """Of records of earlier versions, and of what the suite could not judge."""
    WRONG_VALUE = "wrong-value"
    UNWRITTEN = "unwritten"
    """Elements of the output still hold what was there before."""
    OUTSIDE_CHANGED = "outside-changed"
    """Bytes outside the output's total size."""
    INPUT_CHANGED = "input-changed"
    RELATION = "relation"
    """A property between elements or dispatches does not hold."""
    ACCEPTED = "accepted"
    """A description that must be refused."""
    REFUSED = "refused"
    """A description that must be accepted."""
    STOPPED = "stopped"
    """A dispatch that did not come back: an exception, a lost device, a lost process, no memory."""
    UNSTEADY = "unsteady"
    """Wrong in some tries and right in others."""
    AFTER_OTHERS = "after-others"
    """Wrong only after other kernels."""


class Origin(enum.StrEnum):
    """What a wrong value changes with, beside its own elements."""

    UNKNOWN = ""
    OUTSIDE = "outside"
    """Bytes outside all tensors."""
    GAP = "gap"
    """Bytes of an input that hold no element."""
    OUTPUT = "output"
    """What the output held before."""
    OTHER_ELEMENT = "other-element"
    """Another element of an input."""
