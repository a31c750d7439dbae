"""Kernels that are alive beside another one work on the same memory: their tensors are those of its description."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from dmlcts.specs import FeatureLevel
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables.signatures import signatures
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.conformance.tensors.test_state import test_many_kernels_alive_at_the_same_time as many_kernels
from dmlcts.suites.generation.profiles import QUICK
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.mutants.reference import Reference

TABLES = load_tables()
LEVEL = FeatureLevel("6.4")


class Latest(Reference):
    level = "6.4"


@dataclass
class Recorder:
    """In a judge's place."""

    bench: Bench
    cases: list[Case] = field(default_factory=list)

    def __call__(self, case: Case) -> None:
        self.cases.append(case)


@pytest.mark.parametrize("table", TABLES.operators.values(), ids=lambda table: table.short_name)
def test_many_kernels_share_the_tensors_of_the_one_that_is_judged(table: OperatorTable) -> None:
    recorder = Recorder(Bench("latest", Latest(), {}, TABLES))
    for signature in (signatures(table, LEVEL)[0], signatures(table, LEVEL)[-1]):
        many_kernels(Subject(table, signature, LEVEL, 0, QUICK), cast(Any, recorder))
    recorder.bench.close()
    assert recorder.cases
    for case in recorder.cases:
        assert {operator.name for operator in case.beside if operator.tensors != case.operator.tensors} == set()
