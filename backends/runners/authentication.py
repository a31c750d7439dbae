"""The proof of a shared secret to a runner on another machine, and of the runner to the suite; it is never sent.

Each side draws 32 bytes at random; each proves that it knows the secret by HMAC-SHA-256 over a label of its own and
both draws. So nobody without the secret is let in, and no proof can be used again or sent back to where it came from.
"""

from __future__ import annotations

import hmac
import os
from pathlib import Path

from dmlcts.specs import UsageError

NONCE_BYTES = 32
LEAST_SECRET_BYTES = 16
MOST_SECRET_BYTES = 1024


def nonce() -> bytes:
    """32 bytes that nobody can guess."""
    return os.urandom(NONCE_BYTES)


def proof(secret: bytes, role: str, suite_nonce: bytes, runner_nonce: bytes) -> bytes:
    """What one side sends to show that it knows the secret.

    Args:
        secret: what both know.
        role: "suite" or "runner": who proves it.
        suite_nonce: what the suite drew.
        runner_nonce: what the runner drew.
    """
    return hmac.digest(secret, f"dmlcts-runner/1 {role}".encode() + suite_nonce + runner_nonce, "sha256")


def proves(given: bytes, secret: bytes, role: str, suite_nonce: bytes, runner_nonce: bytes) -> bool:
    """Whether ``given`` is the proof, compared without telling by the time where it differs."""
    return hmac.compare_digest(given, proof(secret, role, suite_nonce, runner_nonce))


def read_secret(path: str) -> bytes:
    """The secret in a file, without the white space at its ends.

    Raises:
        UsageError: it cannot be read, or is too short or too long.
    """
    try:
        with Path(path).open("rb") as file:
            secret = file.read(MOST_SECRET_BYTES + 3).strip()
    except OSError as error:
        raise UsageError(f"the secret in {path!r} cannot be read: {error.strerror}", "give -o secret=FILE") from None
    if not LEAST_SECRET_BYTES <= len(secret) <= MOST_SECRET_BYTES:
        cause = f"the secret in {path!r} has {len(secret)} bytes"
        raise UsageError(cause, f"write {LEAST_SECRET_BYTES} to {MOST_SECRET_BYTES}, the same on both machines")
    return secret
