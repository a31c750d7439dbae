"""Which tests judge nothing, by the verifier's own reckoning: the reason in a record is a text that a stranger wrote.

A record is an item's, and names those of its tests that judged nothing. They are run here, on a device that refuses
every description. One that asks it for what the level obliges it to accept has something to judge on every device, and
ends at once; so has one that checks what has to be refused. What then still judges nothing has nothing to try at that
level, or nothing that a device is obliged to take.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dmlcts.backends import DeviceInfo
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.outcomes import Mishap, Refusal
from dmlcts.suites.judging.losses import Hazards
from dmlcts.suites.running import pytest_run
from dmlcts.suites.running.options import Settings


class Obliged(Exception):  # noqa: N818  # it says what is so
    """A test asked for a description that the level obliges every implementation to accept."""


class RefusingDevice:
    """A device that refuses every description.

    Args:
        info: what it says of itself.
    """

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info

    def create(self, operator: OperatorDesc) -> Any:
        """Refuse; the bench asks for nothing that the level obliges a device to accept."""
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is open."""


class ReckoningBench(Bench):
    """A bench that refuses what a device may refuse, and ends a test with :class:`Obliged` where it asks for more."""

    def create(self, operator: OperatorDesc) -> Any | Refusal | Mishap:
        """A refusal.

        Raises:
            Obliged: the level obliges every implementation to accept the description.
        """
        if self.obliged(operator):
            raise Obliged(f"{operator.name} on {operator.data_type.name}")
        return Refusal("refused, as every description", obliged=False)


def claimed_types(device: Mapping[str, Any]) -> dict[str, frozenset[DataType]] | None:
    """The element types that a device claims by operator, of its description in a statement."""
    named = device["data_types"]
    return named and {
        operator: frozenset(data_type for data_type in DataType if data_type.name in types)
        for operator, types in named.items()
    }


def idle_tests(
    tests: Mapping[str, Collection[str]], statement: Mapping[str, Any], operators: Collection[str]
) -> dict[str, set[str]]:
    """Those of some tests that judge nothing on a device that takes no more than it has to, by the id of their item.

    Args:
        tests: names of single tests ("test_ties[ROUND-FLOAT16]") by the node id of their item.
        statement: of a submission, whose level, profile, seed and device are meant.
        operators: full names of those that were run; none for all.
    """
    if not tests:
        return {}
    level = FeatureLevel.parse(statement["feature_level"])
    run_settings = Settings.read(profile=statement["profile"], operators=sorted(operators), seed=statement["seed"])
    device = RefusingDevice(DeviceInfo("reckoning", level, data_types=claimed_types(statement["device"])))
    bench = ReckoningBench("reckoning", None, {}, run_settings.tables, level, device=device)
    bench.hazards = Hazards()  # known: nobody need look for them
    with tempfile.TemporaryDirectory(prefix="dmlcts-reckoning-") as folder:
        settings = replace(run_settings, level=level, results=Path(folder))
        records = pytest_run.records_of(tests, settings, bench)
    return {record.test: set(record.idle) for record in records}
