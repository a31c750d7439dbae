"""Of tests that take long the quick profile runs none, or a sample of the parameters; the other profiles run all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dmlcts.suites.selftest.conftest import pytest_collection_modifyitems


def collected(name: str, number: int, *marks: pytest.MarkDecorator) -> list[Any]:
    """A test's items, as pytest gives them to the hook."""
    found = {decorator.name: decorator.mark for decorator in marks}
    return [
        SimpleNamespace(nodeid=f"test_it.py::{name}[{place}]", get_closest_marker=found.get)
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
    third = pytest.mark.sampled(3)
    items = [*collected("test_many", 7, third), *collected("test_short", 2), *collected("test_few", 2, third)]
    run, left_out = kept("quick", items)
    assert run == ["test_many[0]", "test_many[3]", "test_many[6]", "test_short[0]", "test_short[1]", "test_few[0]"]
    assert left_out == ["test_many[1]", "test_many[2]", "test_many[4]", "test_many[5]", "test_few[1]"]


def test_quick_leaves_long_tests_out() -> None:
    items = [*collected("test_long", 2, pytest.mark.long), *collected("test_short", 1)]
    assert kept("quick", items) == (["test_short[0]"], ["test_long[0]", "test_long[1]"])


@pytest.mark.parametrize("profile", ["full", "certification"])
def test_other_profiles_run_everything(profile: str) -> None:
    items = [*collected("test_many", 7, pytest.mark.sampled(3)), *collected("test_long", 1, pytest.mark.long)]
    run, left_out = kept(profile, items)
    assert (len(run), left_out) == (8, [])
