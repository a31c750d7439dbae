"""Compiled shaders on disk: one file each, checked by digest, written so that no reader sees half of one."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

_MAGIC = b"dmlcts-shader-1\n"
_DIGEST_BYTES = 32


class Cache:
    """A folder of byte strings by key; with ``folder`` None it keeps nothing.

    A file that is not what was written counts as absent, and so does a folder that cannot be read; what cannot
    be written is not kept, for a cache only saves time.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, key: str) -> bytes | None:
        """What was kept under ``key``, or None."""
        if self._folder is None:
            return None
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        head = len(_MAGIC) + _DIGEST_BYTES
        payload = content[head:]
        if content[:head] != _MAGIC + hashlib.sha256(payload).digest():
            return None
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Keep ``payload`` under ``key``."""
        if self._folder is None:
            return
        temporary = None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder)
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, self._path(key))
        except OSError:  # a full or read-only disk: the shader is compiled again next time
            if temporary is not None:
                Path(temporary).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        assert self._folder is not None  # noqa: S101 - callers looked
        return self._folder / f"{key}.shader"
