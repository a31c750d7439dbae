"""Sizes: which selftests a command runs. README's runs ``brief``, ``.ci/run`` ``thorough``, ``.ci/run --all`` all.

A test is in every size unless it is marked ``size("thorough")`` or ``size("all")``: from which size on it runs. A
parametrised one can leave its first parameters to smaller sizes: ``size("all", thorough=4, brief=1)``. A parameter's
own marker comes before its function's. Of one marked ``sampled(3)``, ``all`` runs every parameter, and the other sizes
every third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

SIZES = ("brief", "thorough", "all")
OURS = ("size", "sampled")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--selftests`` and ``--left-out``."""
    group = parser.getgroup("dmlcts selftests", "the project's own tests (suites/selftest)")
    group.addoption(
        "--selftests",
        choices=SIZES,
        default="brief",
        metavar="SIZE",
        help="brief (default): all that a change may break, each test in some seconds; thorough: what continuous "
        "integration runs, whole runs and killed processes among it; all: every test with every parameter. A test that "
        "is named by its id (FILE::TEST) always runs. `pytest suites/selftest --left-out` lists what the others leave "
        "out",
    )
    group.addoption(
        "--left-out",
        action="store_true",
        help="list what the sizes brief and thorough leave out, as it is collected now, and run nothing",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Say what the markers mean."""
    config.addinivalue_line(
        "markers",
        "size(name, **parameters): the smallest of brief, thorough and all that runs the test; by a smaller one's name "
        "how many parameters that one runs",
    )
    config.addinivalue_line("markers", "sampled(number): sizes below all run one of so many parameters, in order")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the size leaves out; of tests that are named by their ids nothing."""
    if config.getoption("--left-out"):
        config.stash[_LEFT_OUT] = list(_report(items))
        items.clear()
        return
    if any("::" in argument for argument in config.args):
        return
    kept = chosen(items, config.getoption("--selftests"))
    if len(kept) < len(items):
        known = {id(item) for item in kept}
        config.hook.pytest_deselected(items=[item for item in items if id(item) not in known])
        items[:] = kept


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Print what is left out, where that is asked."""
    return config.stash.get(_LEFT_OUT, [])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let a list be no failure although no test ran."""
    if session.config.getoption("--left-out") and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


def chosen(items: Iterable[pytest.Item], size: str) -> list[pytest.Item]:
    """The items that a size runs, in their order.

    Args:
        items: what was collected.
        size: "brief", "thorough" or "all".
    """
    seen: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    selected_items = []
    above: dict[int, bool] = {}  # whether a module or class is marked, by its identity: asked once
    for item in items:
        test = item.nodeid.split("[")[0]
        if (marked := above.get(id(item.parent))) is None:
            marked = above[id(item.parent)] = item.parent is not None and any(map(item.parent.get_closest_marker, OURS))
        if not marked and not any(mark.name in OURS for mark in item.own_markers):
            seen[test] += 1
            ran[test] += 1
            selected_items.append(item)
            continue
        sampled = item.get_closest_marker("sampled")
        due = size == "all" or sampled is None or seen[test] % sampled.args[0] == 0
        seen[test] += 1
        if due and ran[test] < _most(item, size):
            ran[test] += 1
            selected_items.append(item)
    return selected_items


def _most(item: pytest.Item, size: str) -> float:
    """How many parameters of the item's test a size runs."""
    own = [mark for mark in item.own_markers if mark.name == "size"]  # the function's, then the parameter's
    mark = own[-1] if own else item.get_closest_marker("size")
    if mark is None or SIZES.index(size) >= SIZES.index(mark.args[0]):
        return float("inf")
    return float(mark.kwargs.get(size, 0))


def _report(items: list[pytest.Item]) -> Iterator[str]:
    """What each size leaves out, a line for each test."""
    total = Counter(item.nodeid.split("[")[0] for item in items)
    for size in SIZES[:-1]:
        runs = Counter(item.nodeid.split("[")[0] for item in chosen(items, size))
        missing = {test: number - runs[test] for test, number in total.items() if runs[test] < number}
        whole = sum(not runs[test] for test in missing)
        yield f"{size} leaves out {whole} tests of {len(total)}, and parameters of {len(missing) - whole} others:"
        for test, number in missing.items():
            yield f"  {test}" + (f": {number} of {total[test]} parameters" if runs[test] else "")


_LEFT_OUT = pytest.StashKey[list[str]]()
