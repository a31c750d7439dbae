"""Whether Microsoft's library can be run on this machine, for the selftests that need it."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys

import pytest

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.loading.library import Found, find
from dmlcts.specs.cache import cache_folder


def why_not() -> str:
    """What is missing; "" where nothing is."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "the software D3D12 adapter is of Linux on 64-bit x86"
    if importlib.util.find_spec("llvmlite") is None:
        return "llvmlite is not installed"
    if not os.environ.get("CC") and not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
        return "there is no C compiler"
    try:
        find("", cache_folder())
    except BackendUnavailable as error:
        return str(error)
    return ""


needs_directml = pytest.mark.skipif(bool(why_not()), reason=why_not() or "nothing")


def library() -> Found:
    """The library that the backend would take."""
    return find("", cache_folder())
