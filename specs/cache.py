"""Where a user's cache is: what can be made again at any time, and what was fetched once."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """The per-user cache, which need not exist yet.

    ``DMLCTS_CACHE`` names it outright; otherwise it is ``dmlcts`` in the user's cache folder: ``XDG_CACHE_HOME``
    or ``~/.cache``, on Windows ``%LOCALAPPDATA%``.

    Raises:
        RuntimeError: the user has no home folder, and none of the variables is set.
    """
    chosen = os.environ.get("DMLCTS_CACHE")
    if chosen:
        return Path(chosen)
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    common = os.environ.get(variable, "")
    # The XDG specification has relative paths ignored.
    return (Path(common) if Path(common).is_absolute() else Path.home() / ".cache") / "dmlcts"
