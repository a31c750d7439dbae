"""Sizes of the selftests: what brief and thorough leave out, and that all runs everything."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dmlcts.suites.selftest.sizes import SIZES, chosen, pytest_collection_modifyitems

NAMED = "suites/selftest/house/test_sizes.py::test_a_test_that_is_named_runs_in_every_size"


def collected(name: str, number: int, *marks: pytest.MarkDecorator) -> list[Any]:
    """A test's items, as pytest gives them to the hook."""
    marks_by_name = {decorator.name: decorator.mark for decorator in marks}
    return [
        SimpleNamespace(
            nodeid=f"test_it.py::{name}[{place}]",
            get_closest_marker=marks_by_name.get,
            own_markers=[*marks_by_name.values()],
            parent=None,
        )
        for place in range(number)
    ]


def run_by(size: str, items: list[Any]) -> list[str]:
    """The names of what a size runs."""
    return [item.nodeid.split("::")[1] for item in chosen(items, size)]


@pytest.mark.parametrize(("size", "runs"), [("brief", 0), ("thorough", 0), ("all", 2)])
def test_a_test_runs_from_its_size_on(size: str, runs: int) -> None:
    assert len(run_by(size, collected("test_long", 2, pytest.mark.size("all")))) == runs


@pytest.mark.parametrize("size", SIZES)
def test_a_test_without_a_size_runs_in_each(size: str) -> None:
    assert run_by(size, collected("test_short", 2)) == ["test_short[0]", "test_short[1]"]


@pytest.mark.parametrize(("size", "runs"), [("brief", 1), ("thorough", 3), ("all", 5)])
def test_smaller_sizes_run_the_first_parameters_where_the_marker_states_so(size: str, runs: int) -> None:
    items = collected("test_many", 5, pytest.mark.size("all", thorough=3, brief=1))
    assert run_by(size, items) == [f"test_many[{place}]" for place in range(runs)]


@pytest.mark.parametrize(("size", "places"), [("brief", [0, 3, 6]), ("thorough", [0, 3, 6]), ("all", [*range(7)])])
def test_sizes_below_all_run_one_of_so_many_sampled_parameters(size: str, places: list[int]) -> None:
    assert run_by(size, collected("test_many", 7, pytest.mark.sampled(3))) == [f"test_many[{at}]" for at in places]


@pytest.mark.parametrize("size", [pytest.param("brief", marks=pytest.mark.size("brief"))])
@pytest.mark.size("all")
def test_a_parameter_s_own_size_comes_before_its_function_s(size: str, request: pytest.FixtureRequest) -> None:
    assert chosen([request.node], size) == [request.node]


@pytest.mark.parametrize(("size", "runs"), [("brief", 0), ("thorough", 2)])
def test_the_marker_of_a_module_counts_for_its_tests(size: str, runs: int) -> None:
    items = collected("test_short", 2, pytest.mark.size("thorough"))
    module = SimpleNamespace(get_closest_marker=items[0].get_closest_marker)
    for item in items:
        item.parent, item.own_markers = module, []
    assert len(run_by(size, items)) == runs


def left_out_of(items: list[Any], *, args: list[str], lists: bool = False) -> list[Any]:
    """What the hook takes from the items of a run with given arguments."""
    gone: list[Any] = []
    config: Any = SimpleNamespace(
        args=args,
        stash=pytest.Stash(),
        getoption={"--selftests": "brief", "--left-out": lists}.__getitem__,
        hook=SimpleNamespace(pytest_deselected=lambda items: gone.extend(items)),
    )
    pytest_collection_modifyitems(config, items)
    return gone


def test_pytest_hears_what_is_left_out() -> None:
    items = [*collected("test_long", 1, pytest.mark.size("thorough")), *collected("test_short", 1)]
    long = items[0]
    assert left_out_of(items, args=["suites/selftest"]) == [long]
    assert len(items) == 1


def test_a_test_that_is_named_runs_in_every_size() -> None:
    items = collected("test_long", 1, pytest.mark.size("thorough"))
    assert left_out_of(items, args=[NAMED]) == []
    assert len(items) == 1


def test_a_list_of_what_is_left_out_runs_nothing() -> None:
    items = collected("test_long", 1, pytest.mark.size("thorough"))
    left_out_of(items, args=["suites/selftest"], lists=True)
    assert items == []
