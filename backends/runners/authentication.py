"""The proof of a shared secret: of the suite to a runner on another machine, then of the runner; it is never sent.

Each side draws 32 bytes at random; each proves that it knows the secret by HMAC-SHA-256 over a label of its own and
both draws. So nobody without the secret is let in, and no proof can be used again or sent back to where it came from.
The suite proves first: whoever reaches a runner and does not know the secret gets nothing that was computed from it.
Whoever takes the runner's place gets the suite's proof, and could compare guesses with it: so a secret is 32 bytes that
were drawn at random, and a phrase is refused.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import string
from pathlib import Path

from dmlcts.specs import UsageError

NONCE_BYTES = 32
LEAST_SECRET_BYTES = 32
MOST_SECRET_BYTES = 1024
_LEAST_DIFFERENT = 8  # bytes; of what was drawn at random there are more
_WHITE, _DIGITS, _PRINTABLE = (
    frozenset(characters.encode()) for characters in (string.whitespace, string.digits, string.printable)
)
_MEND = "make one with `dmlcts runners secret FILE`, and give both machines the same"


def nonce() -> bytes:
    """32 bytes that nobody can guess."""
    return os.urandom(NONCE_BYTES)


def proof(secret: bytes, role: str, suite_nonce: bytes, runner_nonce: bytes) -> bytes:
    """What one side sends to show that it knows the secret.

    Args:
        secret: what both know.
        role: who proves it: "suite proves" or "runner proves"; in the earlier order "suite" or "runner".
        suite_nonce: what the suite drew.
        runner_nonce: what the runner drew.
    """
    return hmac.digest(secret, f"dmlcts-runner/1 {role}".encode() + suite_nonce + runner_nonce, "sha256")


def proves(candidate: bytes, secret: bytes, role: str, suite_nonce: bytes, runner_nonce: bytes) -> bool:
    """Whether ``candidate`` is the proof, compared in a time that does not depend on where it differs."""
    return hmac.compare_digest(candidate, proof(secret, role, suite_nonce, runner_nonce))


def wrong_with_secret(secret: bytes) -> str:
    """Why a secret is none that was drawn at random, in words; "" where nothing shows that."""
    if not LEAST_SECRET_BYTES <= len(secret) <= MOST_SECRET_BYTES:
        return f"has {len(secret)} bytes, not {LEAST_SECRET_BYTES} to {MOST_SECRET_BYTES}"
    different = set(secret)
    if len(different) < _LEAST_DIFFERENT:
        return "repeats the same few bytes"
    # 64 hexadecimal digits, or Base64 of as many bytes, have digits and no spaces
    if different <= _PRINTABLE and (different & _WHITE or not different & _DIGITS):
        return "is a phrase, which can be guessed"
    return ""


def read_secret(path: str) -> bytes:
    """The secret in a file, without the white space at its ends.

    Raises:
        UsageError: it cannot be read, is too short or too long, or is a phrase.
    """
    try:
        with Path(path).open("rb") as file:
            secret = file.read(MOST_SECRET_BYTES + 3).strip()
    except OSError as error:
        raise UsageError(f"the secret in {path!r} cannot be read: {error.strerror}", "give -o secret=FILE") from None
    wrong = wrong_with_secret(secret)
    if wrong:
        raise UsageError(f"the secret in {path!r} {wrong}", _MEND)
    return secret


def write_secret(path: str) -> None:
    """Make a secret: 32 random bytes in hexadecimal, in a new file that only its owner may read.

    Raises:
        UsageError: there is such a file already, or it cannot be written.
    """
    target = Path(path)
    try:
        file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path!r} is there already, and a secret replaces nothing", "name a new file") from None
    except OSError as error:
        raise UsageError(f"{path!r} cannot be written: {error.strerror}", "name a file that can be") from None
    try:
        with os.fdopen(file, "w", encoding="ascii") as opened:
            opened.write(f"{secrets.token_hex(LEAST_SECRET_BYTES)}\n")
    except OSError as error:
        with contextlib.suppress(OSError):
            target.unlink()
        raise UsageError(f"{path!r} cannot be written: {error.strerror}", "name a file that can be") from None
