"""Large arrays are taken from memory that the process has already, once it keeps what it frees."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_FAULTS = """
import resource, sys
import numpy as np
from dmlcts.suites.cases.allocation import keep_freed_memory
if sys.argv[1] == "keep":
    assert keep_freed_memory()
np.ones(1 << 24, np.uint8)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(1 << 24, np.uint8)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _page_faults(way: str) -> int:
    run = subprocess.run([sys.executable, "-c", _FAULTS, way], capture_output=True, text=True, timeout=60, check=True)
    return int(run.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator is told")
def test_arrays_of_16_mib_touch_no_fresh_pages() -> None:
    """Twenty arrays one after another: fewer page faults than the twenty that a fresh mapping each would cost."""
    assert _page_faults("keep") < 20 <= _page_faults("let go")
