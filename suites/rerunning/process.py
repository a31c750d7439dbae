"""The process that runs lost tests again, and writes down each as it begins and as it ends.

Run as ``python -P -m dmlcts.suites.rerunning.process FILE``. A line of JSON on standard input says what to do; where
that pipe ends before the work is done, whoever asked is gone, and so is this process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from dmlcts.reports.documents.journal import Collection, Journal
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.pytest_run import judge_here
from dmlcts.suites.running.run import Run, key_of


class Selected(Run):
    """Some tests of a run, in a process of their own: what they find is written down for the run, and nothing else.

    Args:
        settings: those of the run.
        tests: the keys of the tests.
        lines: what is written.
    """

    def __init__(self, settings: Settings, tests: list[str], lines: Journal) -> None:
        super().__init__(settings)
        self._wanted = frozenset(tests)
        self._lines = lines

    def is_left(self, test: str) -> bool:
        """Whether the test of this key is one of them."""
        return test in self._wanted

    def begin(self) -> None:
        """Leave the folder to the run that this is a part of."""

    def collected(self, collection: Collection) -> None:
        """Say how many tests the whole run has."""
        self._lines.append("collected", {"items": collection.items, "total": collection.total})

    def add(self, record: ItemRecord) -> None:
        """Hand over what a test found."""
        self._lines.append("item", record.to_json())

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Say which test is under way."""
        self._lines.append("begun", {"test": key_of(nodeid)})


def _end_with(orders: int) -> None:
    """End this process where whoever asked for it is gone."""

    def watch() -> None:
        while os.read(orders, 1):
            continue
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _order(source: int) -> dict[str, Any]:
    text = b""
    while not text.endswith(b"\n"):
        chunk = os.read(source, 1 << 16)
        if not chunk:
            os._exit(1)
        text += chunk
    order: dict[str, Any] = json.loads(text)
    return order


def main() -> None:
    """Do what was asked for."""
    order = _order(0)
    orders = os.dup(0)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    _end_with(orders)
    sys.path += [entry for entry in order["path"] if entry not in sys.path]
    settings = Settings.of(order["settings"], order["results"], "the order")
    lines = Journal(Path(sys.argv[1]))
    run = Selected(settings, order["tests"], lines)
    status = judge_here(run)
    lines.append("end", {})
    os._exit(status)


if __name__ == "__main__":
    main()
