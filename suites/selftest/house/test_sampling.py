"""Of tests that take long the quick profile runs a sample of the parameters, the other profiles all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dmlcts.suites.selftest.conftest import pytest_collection_modifyitems


def collected(name: str, number: int, sampled: int | None) -> list[Any]:
    """A test's items, as pytest gives them to the hook."""
    mark = None if sampled is None else pytest.mark.sampled(sampled).mark
    return [
        SimpleNamespace(nodeid=f"test_it.py::{name}[{place}]", get_closest_marker=lambda wanted: mark)
        for place in range(number)
    ]


def kept(profile: str, items: list[Any]) -> tuple[list[str], list[str]]:
    """The names of what is run and of what pytest is told of as left out."""
    left_out: list[Any] = []
    config: Any = SimpleNamespace(
        getoption={"--profile": profile}.__getitem__,
        hook=SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items)),
    )
    pytest_collection_modifyitems(config, items)
    first, second = ([item.nodeid.split("::")[1] for item in found] for found in (items, left_out))
    return first, second


def test_quick_runs_the_first_of_every_so_many_parameters_and_all_of_other_tests() -> None:
    items = [*collected("test_long", 7, 3), *collected("test_short", 2, None), *collected("test_few", 2, 3)]
    run, left_out = kept("quick", items)
    assert run == ["test_long[0]", "test_long[3]", "test_long[6]", "test_short[0]", "test_short[1]", "test_few[0]"]
    assert left_out == ["test_long[1]", "test_long[2]", "test_long[4]", "test_long[5]", "test_few[1]"]


@pytest.mark.parametrize("profile", ["full", "certification"])
def test_other_profiles_run_everything(profile: str) -> None:
    run, left_out = kept(profile, collected("test_long", 7, 3))
    assert (len(run), left_out) == (7, [])
