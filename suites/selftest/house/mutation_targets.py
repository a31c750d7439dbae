"""Which selftests must notice that a module is changed: the narrowest that do, for they run once for each change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from dmlcts.suites.selftest.house.code_changes import ROOT

_SELFTEST = "suites/selftest"


@dataclass(frozen=True)
class Target:
    """Modules, and what must notice that one of them is changed.

    Attributes:
        modules: a glob of paths from the repository's root, which also finds the parts of a module made a package.
        tests: arguments for pytest. They run without conftest.py, so that tests that need its fixtures (whole runs,
            as users start them) are left out by ``-k``. None: no change of the modules is tried.
    """

    modules: str
    tests: tuple[str, ...]


def _within(room: str, *tests: str, but: str = "") -> tuple[str, ...]:
    """The arguments for some modules of tests in a room, without the tests whose names hold a word."""
    return (*(f"{_SELFTEST}/{room}/test_{name}.py" for name in tests), *(("-k", f"not ({but})") if but else ()))


_JUDGING = (
    *_within("attribution", "stopped_dispatches"),
    *_within("isolation", "losses_reported"),
    *_within("oracles", "open_bounds"),
    *_within(
        "judging",
        "judging",
        "judge_and_arena",
        "judge_and_ledger",
        "expectations",
        "relations",
        "not_supported",
        "relations_and_refusals",
        "words_of_findings",
        but="strangers or test_a_run or replaying",
    ),
    *_within("judging/state", "state", "neighbours", "neighbours_chosen", "kernels_of_a_case"),
    *_within("judging/outputs", "outputs", "memory_after_a_dispatch"),
)
_VECTORISED = _within("oracles", "vectorised_oracle", "chosen_inputs")
_TYPED = _within("oracles", "typed_oracles", "single_points")
_THOROUGH = "test_every_float16 or all_neighbouring_float16 or strict_is_always_narrower"
_EXACT = _within(
    "exact_oracle",
    "binary_format",
    "exact_casts",
    "exact_functions",
    "exact_integer_scale_bias",
    "exact_oracle",
    "exact_scale_bias",
    but=_THOROUGH,
)
_FUNCTIONS = (*_within("formula", "functions", "function_table"), *_within("exact_oracle", "edges", "enclosures"))
_APPROXIMATE = _within("approximation", "few_elements", "bounds")
_OUTCOMES = (*_APPROXIMATE, *_within("exact_oracle", "exact_oracle", "outcomes", but=_THOROUGH))
_REFERENCES = _within("measuring", "references", "measurement", but="a_run_states or a_right_run")
_ROOMS = (
    "activations",
    "approximation",
    "attribution",
    "cpu",
    "departures",
    "exact_oracle",
    "family",
    "formula",
    "generation",
    "isolation",
    "judging",
    "measuring",
    "mutants",
    "oracles",
    "proof",
    "reports",
    "running",
    "signatures",
    "tables",
)
COVERED = tuple(f"{_SELFTEST}/{room}" for room in _ROOMS)  # whose tests may notice a change without a whole run
_WHOLE_LAW = _within("signatures", "five_operators")
_WHOLE_JUDGE = (
    *_within("attribution", "attribution", "faults", "needs", "fault_groups", "kernels_alive", "steadiness"),
    *_within("isolation", "isolation", "surviving"),
    *_WHOLE_LAW,
)
_WIDE = "INT64 or INT32 or INT16"  # and the unsigned ones, whose names hold these
_SLOW = f"silent_point and ({_WIDE})"
TARGETS = (  # the first that fits counts
    Target("specs/oracle/*_typed*", _TYPED),
    Target("specs/oracle/vector*", _VECTORISED),
    Target("specs/oracle/blocks*", _within("oracles", "block_judging", but=f"comparison_agrees or FLOAT64 or {_WIDE}")),
    Target("specs/oracle/compiled*", _within("oracles", "block_judging", but="CLIP or THRESHOLD or as_the_oracle")),
    Target("specs/oracle/exact*", _EXACT),
    Target("specs/oracle/outcome*", _OUTCOMES),
    Target("specs/arithmetic/vector*", _VECTORISED),
    Target("specs/arithmetic/integer_arithmetic*", _within("exact_oracle", "integer_arithmetic")),
    Target("specs/arithmetic/last_place*", _REFERENCES),
    Target("specs/arithmetic/*", _EXACT),
    Target("specs/functions/*", _FUNCTIONS),
    Target("specs/approximation/*", _APPROXIMATE),
    Target("specs/accuracy/*", _REFERENCES),
    Target("specs/statements/kinds*", _within("family", "statements", "meanings_of_statements", but=_SLOW)),
    Target("specs/statements/statement.py", _within("family", "statements", "meanings_of_statements", but=_SLOW)),
    Target("specs/statements/*", _within("family", "statements", "meanings_of_statements", but=f"broken or ({_SLOW})")),
    Target("specs/tables/law*", _within("tables", "law")),
    Target("suites/attribution/kernels_alive*", _within("attribution", "kernels_alive")),
    Target("suites/attribution/faults*", _within("attribution", "faults", "fault_groups", but="test_a_run")),
    Target("suites/attribution/needs*", _within("attribution", "needs", "tracing", but="test_a_run")),
    Target("suites/attribution/steadiness*", _within("attribution", "steadiness", but="test_a_run or other_kernels")),
    Target(
        "suites/attribution/*", _within("attribution", "attribution", "tracing", "needs", "faults", but="test_a_run")
    ),
    Target("suites/generation/distinct*", (*_within("generation", "distinct_values"), *_JUDGING)),
    Target("suites/cases/memory*", _JUDGING),
    Target("suites/attribution/element_tables*", ()),  # what `replay` shows: only whole runs of it are tested
    Target("suites/judging/neighbours*", _within("judging/state", "neighbours", "neighbours_chosen", "state")),
    Target(
        "suites/generation/neighbouring_kernels*", _within("judging/state", "neighbours", "neighbours_chosen", "state")
    ),
    Target("suites/running/accounts*", _JUDGING),
    Target("suites/judging/*", _JUDGING),
)


def tests_for(path: str) -> tuple[str, ...]:
    """The pytest arguments for a module, given by its path from the root."""
    for target in TARGETS:
        if fnmatch(path, target.modules):
            return target.tests
    raise SystemExit(f"{path}: no tests are named for it; add it to TARGETS in {Path(__file__).name}")


def wide_tests_for(path: str) -> tuple[str, ...]:
    """The pytest arguments for what survived a module's tests: whole runs."""
    return _WHOLE_LAW if path.startswith("specs/") else _WHOLE_JUDGE


def modules(patterns: Sequence[str]) -> list[Path]:
    """The files that the patterns (globs, files, folders) name."""
    paths: dict[Path, None] = {}
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            paths |= dict.fromkeys(sorted(path.rglob("*.py")) if path.is_dir() else [path])
    return [path for path in paths if path.suffix == ".py" and path.read_text(encoding="utf-8").strip()]
