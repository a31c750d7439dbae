"""What a seed draws does not depend on what else is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

DRAWN = """
import sys
from hypothesis import given, seed, settings, strategies as st
{before}
sys.path.insert(0, ".")
if sys.argv[1:]:
    import constants
seen = []

@seed(3)
@settings(max_examples=400, database=None, deadline=None)
@given(st.integers(0, 1 << 62), st.floats())
def draw(number, real):
    seen.append((number, repr(real)))

draw()
print(hash(tuple(sorted(seen, key=str))), any(number in range(10**15, 10**15 + 500) for number, _ in seen))
"""
PROFILES = {
    "a run": (
        "from dmlcts.suites.generation.seeding import draw_from_the_seed_alone\ndraw_from_the_seed_alone()",
        True,
    ),
    "a proof": (
        "from dmlcts.suites.selftest.proof.prove import load_hypothesis_profile\nload_hypothesis_profile()",
        True,
    ),
    "Hypothesis as it is": ("", False),
}


@pytest.mark.parametrize("before, alike", PROFILES.values(), ids=PROFILES)
def test_a_module_s_constants_are_not_drawn(tmp_path: Path, before: str, alike: bool) -> None:
    """The control shows that without the suite's doing they are."""
    numbers = "\n".join(f"_{number} = {10**15 + number}" for number in range(500))
    (tmp_path / "constants.py").write_text(numbers, encoding="utf-8")
    program = DRAWN.format(before=before)
    alone, beside = (
        subprocess.run(
            [sys.executable, "-c", program, *more], cwd=tmp_path, env={"PYTHONHASHSEED": "0"},
            capture_output=True, text=True, check=True,
        ).stdout.split()
        for more in ((), ("constants",))
    )  # fmt: skip
    assert alone[1] == "False"
    if not alike and alone == beside:
        pytest.skip("this version of Hypothesis takes no constants from modules")
    assert (beside == alone, beside[1] == "False") == (alike, alike)
