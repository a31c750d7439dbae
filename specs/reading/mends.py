"""Mends: what to write instead of a name that nothing has."""

from __future__ import annotations

from collections.abc import Iterable

from dmlcts.specs.spelling import likely


def closest(written: object, known: Iterable[str]) -> str:
    """A mend for a name that is not among ``known``."""
    names = list(known)
    if not names:
        return "remove it: none is defined"
    meant = likely(written, names) if isinstance(written, str) else ""
    if isinstance(written, (int, float)) and str(written) in names:
        return f'put it in quotes: "{written}"'
    listed = f"use one of {', '.join(names)}" if len(names) > 1 else f"use {names[0]}"
    return f"did you mean {meant}? Otherwise {listed}" if meant and len(names) > 1 else listed
