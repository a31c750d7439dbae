"""A plugin of pytest: what one environment's tests found right, another's need not run again.

``pytest -p passed_before --list-passed FILE`` writes the names of the tests that passed, and
``pytest -p passed_before --but-passed FILE`` leaves those out. What was skipped, what failed and what is there
in the second environment only all runs. The first may stand in ``PYTEST_ADDOPTS``, which what tests start does not
see; the second must stand on the command line, which the processes of pytest-xdist are given.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add both options."""
    parser.addoption("--list-passed", metavar="FILE", help="write the names of the tests that passed")
    parser.addoption("--but-passed", metavar="FILE", help="leave out the tests that this file names")


class _Teller:
    """Gathers what passed where the run is controlled."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.passed: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:  # setting up and tearing down count where they fail or skip
            self.passed[report.nodeid] = report.passed and self.passed.get(report.nodeid, True)

    def pytest_sessionfinish(self) -> None:
        self.path.write_text("".join(f"{name!a}\n" for name, right in self.passed.items() if right), encoding="ascii")


def pytest_configure(config: pytest.Config) -> None:
    """Begin to gather, except in a process of pytest-xdist."""
    os.environ.pop("PYTEST_ADDOPTS", None)
    path = config.getoption("--list-passed")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Teller(Path(path)), "dmlcts-passed-before")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what passed before."""
    path = config.getoption("--but-passed")
    if path:
        passed = set(Path(path).read_text(encoding="ascii").splitlines())
        left_out = [item for item in items if ascii(item.nodeid) in passed]
        items[:] = [item for item in items if ascii(item.nodeid) not in passed]
        config.hook.pytest_deselected(items=left_out)
