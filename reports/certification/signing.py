"""Ed25519 signatures over a statement; needs ``cryptography``, the extra ``certify``.

:func:`holds` verifies one. What a submission's signature and digests must be is checked in :mod:`.structure`.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dmlcts.specs import DmlctsError
from dmlcts.specs.files import read_bounded

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_MOST_KEY_BYTES = 16384
_HEX = re.compile(rb"ed25519 ([0-9a-f]{128})\n")


class KeyProblem(DmlctsError):  # noqa: N818  # it says what happened
    """A key that cannot be made, read or used.

    Args:
        cause: what is wrong.
        mend: what to do about it.
    """

    def __init__(self, cause: str, mend: str) -> None:
        super().__init__(f"{cause}; {mend}")
        self.cause, self.mend = cause, mend


def _library() -> tuple[Any, Any, Any]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise KeyProblem("signing needs the package cryptography", "pip install 'dmlcts[certify]'") from None
    return serialization, ed25519, InvalidSignature


def generate(private: Path, public: Path) -> str:
    """Write a new pair of keys; the private one readable by its owner only.

    Returns:
        The public key's fingerprint.

    Raises:
        KeyProblem: a file is there already or cannot be written, or ``cryptography`` is missing.
    """
    serialization, ed25519, _ = _library()
    key = ed25519.Ed25519PrivateKey.generate()
    secret: bytes = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shared: bytes = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for path, data, mode in ((private, secret, 0o600), (public, shared, 0o644)):
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as stream:
                stream.write(data)
        except FileExistsError:
            mend = "keep it, or name another; a key that was used must not be lost"
            raise KeyProblem(f"{path} exists", mend) from None
        except OSError as error:
            raise KeyProblem(f"{path} cannot be written ({error.strerror})", "choose another place") from None
    return fingerprint(raw(key))


def _read(path: str | Path) -> bytes:
    try:
        return read_bounded(path, _MOST_KEY_BYTES)
    except (OSError, ValueError) as error:
        mend = "give a file that `dmlcts keygen` wrote"
        raise KeyProblem(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})", mend) from None


def load_private(path: str | Path) -> Ed25519PrivateKey:
    """The private key in a PEM file.

    Raises:
        KeyProblem: it cannot be read, or holds no Ed25519 private key without a password.
    """
    serialization, ed25519, _ = _library()
    try:
        key = serialization.load_pem_private_key(_read(path), password=None)
    except (ValueError, TypeError) as error:
        raise KeyProblem(f"{path} holds no private key ({error})", "make one with `dmlcts keygen`") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise KeyProblem(f"{path} holds a key of another kind than Ed25519", "make one with `dmlcts keygen`")
    return cast("Ed25519PrivateKey", key)


def load_public(path: str | Path) -> bytes:
    """The 32 bytes of the public key in a PEM file.

    Raises:
        KeyProblem: it cannot be read, or holds no Ed25519 public key.
    """
    serialization, ed25519, _ = _library()
    try:
        key = serialization.load_pem_public_key(_read(path))
    except ValueError as error:
        raise KeyProblem(f"{path} holds no public key ({error})", "give the signer's .pub file") from None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise KeyProblem(f"{path} holds a key of another kind than Ed25519", "give the signer's .pub file")
    key_bytes: bytes = key.public_bytes_raw()
    return key_bytes


def raw(key: Ed25519PrivateKey) -> bytes:
    """The 32 bytes of a private key's public half."""
    key_bytes: bytes = key.public_key().public_bytes_raw()
    return key_bytes


def fingerprint(public: bytes) -> str:
    """How people compare public keys: the first half of its SHA-256, in groups."""
    digest = hashlib.sha256(public).hexdigest()[:32]
    return ":".join(digest[start : start + 4] for start in range(0, 32, 4))


def sign(key: Ed25519PrivateKey, message: bytes) -> bytes:
    """The signature file for ``message``."""
    return b"ed25519 " + key.sign(message).hex().encode() + b"\n"


def holds(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature file is the owner of ``public``'s over ``message``; a malformed one is not.

    Raises:
        KeyProblem: ``cryptography`` is missing.
    """
    _, ed25519, invalid = _library()
    match = _HEX.fullmatch(signature)
    if match is None or len(public) != 32:
        return False
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(public).verify(bytes.fromhex(match[1].decode()), message)
    except invalid:
        return False
    return True
