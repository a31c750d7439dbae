"""Large arrays are taken from memory that the process has already, once it keeps what it frees."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator has these settings")
def test_arrays_of_16_mib_touch_no_fresh_pages() -> None:
    """Twenty arrays one after another: fewer page faults than the twenty that a fresh mapping each would cost."""
    assert _page_faults("keep") < 20 <= _page_faults("let go")


_HELD = """
import sys
import numpy as np
from dmlcts.suites.cases.allocation import keep_freed_memory
from dmlcts.backends.memory_increase import Trimmer, resident_bytes
keep_freed_memory()
before, trimmer = resident_bytes(), Trimmer(int(sys.argv[1]) << 20)
large = [np.ones(1 << 20, np.uint8) for _ in range(200)]
above = np.ones(1 << 10, np.uint8)  # what is still in use above them keeps the heap from shrinking by itself
del large
trimmer.look()
print(resident_bytes() - before >> 20, above.size)
"""


def _held_mib(step_mib: int) -> int:
    command = [sys.executable, "-c", _HELD, str(step_mib)]
    return int(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split()[0])


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's allocator has these settings")
def test_what_large_arrays_left_is_given_back_once_it_is_more_than_the_step() -> None:
    assert _held_mib(step_mib=100) < 100
    assert _held_mib(step_mib=300) > 150


_COLLECTED = """
import gc
import sys
import pytest

class Session:
    def pytest_collectstart(self, collector):
        print("while tests are collected", gc.get_threshold())

    def pytest_collection_finish(self, session):
        print("during", gc.get_threshold(), gc.get_freeze_count() > 0)

gc.set_threshold(700, 10, 10)
asked = ["-q", "--collect-only", "-p", "dmlcts.suites.plugin", "--pyargs", "dmlcts.suites.conformance"]
pytest.main([*asked, "--operator", "IS_NAN", *sys.argv[1:]], plugins=[Session()])
print("after", gc.get_threshold())
"""


@pytest.mark.parametrize("others, thresholds", [([], "(10000000, 10, 10)"), (["test_other.py"], "(100000, 50, 100)")])
def test_garbage_is_collected_rarely_from_collecting_tests_on_and_as_before_after_the_session(
    others: list[str], thresholds: str, tmp_path: Path
) -> None:
    """Beside tests of others, which may leave files open, more often than beside none."""
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n", encoding="utf-8")
    words = [sys.executable, "-c", _COLLECTED, *others]
    run = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path)
    lines = run.stdout.splitlines()
    assert "while tests are collected (100000, 50, 100)" in lines
    assert "while tests are collected (700, 10, 10)" not in lines
    assert f"during {thresholds} True" in lines
    assert lines[-1] == "after (700, 10, 10)"
