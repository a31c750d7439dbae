"""The name that a user probably meant by one that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def likely(name: str, known: Iterable[str]) -> str:
    """The known name that is most like a name, in any case, or "" where none is much like it."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str], mend: str) -> str:
    """A mend that begins with the likely name, where there is one: "did you mean CLIP? choose one of CLIP, ROUND".

    Args:
        name: what the user wrote.
        known: the names that exist.
        mend: what to write or read instead.
    """
    meant = likely(name, known)
    return f"did you mean {meant}? {mend}" if meant else mend
