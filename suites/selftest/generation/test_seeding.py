"""What a seed draws does not depend on what else is loaded."""

from __future__ import annotations

import ast
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
        "from dmlcts.suites.generation.drawn.seeding import draw_from_the_seed_alone\ndraw_from_the_seed_alone()",
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
            [sys.executable, "-c", program, *more],
            cwd=tmp_path,
            env={"PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for more in ((), ("constants",))
    )
    assert alone[1] == "False"
    if not alike and alone == beside:
        pytest.skip("this version of Hypothesis takes no constants from modules")
    assert (beside == alone, beside[1] == "False") == (alike, alike)


RUNS = """
from dmlcts.suites.running import pytest_run
from dmlcts.suites.running.options import Settings

def cases(profile):
    found = pytest_run.execute(Settings.read(
        profile=profile, operators=["CLIP"], data_types=["INT8"], clauses=["clip.cast.integer"], results=profile,
        isolation="none",
    ), quiet=True)
    return sum(tally.cases for record in found.records for tally in record.tallies)

print([cases(profile) for profile in {profiles}])
"""


@pytest.mark.size("thorough")
def test_a_run_has_its_own_number_of_examples_whichever_ran_before(tmp_path: Path) -> None:
    """The modules of the tests are imported once in a process."""
    text, other = (
        subprocess.run(
            [sys.executable, "-c", RUNS.replace("{profiles}", repr(profiles))],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for profiles in (("quick", "full"), ("full", "quick"))
    )
    quick, full = ast.literal_eval(text)
    assert ast.literal_eval(other) == [full, quick]
    assert quick < full
