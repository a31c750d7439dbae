"""What code mutation goes by still exists: the changes that are explained, and the tests that must notice others."""

from __future__ import annotations

from dmlcts.suites.selftest.house.code_changes import ROOT, mutants
from dmlcts.suites.selftest.house.code_mutation import Explanation, explanations
from dmlcts.suites.selftest.house.mutation_targets import TARGETS, modules


def unfitting(known: list[Explanation]) -> list[str]:
    """The explanations of changes that nobody would make."""
    changes = [change for path in modules([target.modules for target in TARGETS]) for change in mutants(path)[1]]
    return [str(one) for one in known if not any(one.fits(change) for change in changes)]


def test_every_explained_change_can_be_made() -> None:
    known = explanations()
    assert known
    gone = Explanation(known[0].module, known[0].within, "a line that is gone", known[0].change, "as before")
    assert unfitting([*known, gone]) == [str(gone)]


def test_every_target_has_modules_and_its_tests_exist() -> None:
    for target in TARGETS:
        assert modules([target.modules]), target.modules
        assert all((ROOT / test).is_file() for test in target.tests if test.startswith("suites/")), target.tests
