"""The name that a user probably meant by one that does not exist: "did you mean CLIP?"."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable

_LIKE = 0.7  # of names that differ in more than one slip; at 0.6 "rotation" is taken for "quantisation"


def likely(name: str, known: Iterable[str]) -> str:
    """The known name that is most like a name, in any case, or "" where none is much like it.

    A name that one slip makes of a known one is preferred, however short: a letter that is missing, one too many,
    another one, or two that changed places.
    """
    written = name.casefold()
    by_folded = {candidate.casefold(): candidate for candidate in known}
    slips = [candidate for candidate in by_folded if is_one_slip(written, candidate)]
    close = difflib.get_close_matches(written, slips or by_folded, n=1, cutoff=0.0 if slips else _LIKE)
    return by_folded[close[0]] if close else ""


def is_one_slip(written: str, meant: str) -> bool:
    """Whether two names are equal, or one letter or the order of two letters parts them; of two letters at most, no."""
    if min(len(written), len(meant)) < 2 or max(len(written), len(meant)) < 3:
        return written == meant
    start = _alike(written, meant)
    written, meant = written[start:], meant[start:]
    end = _alike(written[::-1], meant[::-1])
    written, meant = written[: len(written) - end], meant[: len(meant) - end]
    return max(len(written), len(meant)) <= 1 or (len(written) == 2 and written == meant[::-1])


def _alike(first: str, second: str) -> int:
    """How many letters two names have in common from their beginning on."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def did_you_mean(name: str, known: Iterable[str], mend: str) -> str:
    """A mend that begins with the likely name, where there is one: "did you mean CLIP? choose one of CLIP, ROUND".

    Args:
        name: what the user wrote.
        known: the names that exist.
        mend: what to write or read instead.
    """
    meant = likely(name, known)
    return f"did you mean {meant}? {mend}" if meant else mend
