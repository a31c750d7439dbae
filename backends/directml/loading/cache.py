"""Where this backend keeps what it has fetched and compiled for a user."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """The per-user cache, which need not exist yet.

    ``DMLCTS_CACHE`` names it outright; otherwise it is ``dmlcts`` in the user's cache folder: ``XDG_CACHE_HOME``
    or ``~/.cache``, on Windows ``%LOCALAPPDATA%``.
    """
    chosen = os.environ.get("DMLCTS_CACHE")
    if chosen:
        return Path(chosen)
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    common = os.environ.get(variable, "")
    # The XDG specification has relative paths ignored.
    return (Path(common) if Path(common).is_absolute() else Path.home() / ".cache") / "dmlcts"
