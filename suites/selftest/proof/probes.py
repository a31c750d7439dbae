"""The conformance tests as plain calls: without pytest around them, for proving the suite on many implementations."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from dmlcts.specs import DataType
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites import conformance
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.generation.covering_subjects import covering_subjects, leading
from dmlcts.suites.generation.subject import Subject, named
from dmlcts.suites.judging.judge import ConformanceFailure, Judge
from dmlcts.suites.running.markers import Checked

CONFORMANCE = Path(str(conformance.__file__)).resolve().parent


@dataclass(frozen=True)
class Probe:
    """One conformance test on one subject: what pytest calls an item.

    Attributes:
        test: ``test_clamping.py::test_inverted_bounds[CLIP-FLOAT16]``.
        function: the test function.
        clauses: ids of the clauses it checks, the one it is about first.
        table: the operator's table.
        signature: what its type variables stand for.
        parameters: the test's further parameters.
        leading: whether the subject stands for all operators of its form where a single test takes seconds.
    """

    test: str
    function: Callable[..., None]
    clauses: tuple[str, ...]
    table: OperatorTable
    signature: Signature
    parameters: Mapping[str, Any]
    leading: bool = True

    @property
    def data_type(self) -> DataType:
        """The data type of the signature's first type variable."""
        return self.signature.data_type

    @property
    def module(self) -> str:
        """The test's module: ``test_clamping``."""
        return self.test.split(".py::")[0]

    def run(self, bench: Bench, seed: int) -> Judge:
        """Run the test on a bench.

        Returns:
            The judge, with what was counted and found; ``ledger.findings`` is empty where the test passed.
        """
        subject = Subject(self.table, self.signature, bench.level, seed, thorough=False, leading=self.leading)
        judge = Judge(bench)
        function = self.function
        if hasattr(function, "hypothesis"):
            hypothesis.seed(seed)(function)
        try:
            function(subject=subject, judge=judge, **self.parameters)
            judge.conclude()
        except ConformanceFailure as failure:
            judge.ledger.findings = failure.findings
        except pytest.skip.Exception:
            judge.ledger.findings = ()
        return judge


def conformance_modules() -> list[str]:
    """The names of the modules that hold the conformance tests."""
    paths = (path.relative_to(CONFORMANCE).with_suffix("") for path in CONFORMANCE.rglob("test_*.py"))
    return sorted(".".join(("dmlcts.suites.conformance", *path.parts)) for path in paths)


def _parameter_sets(marks: list[pytest.Mark]) -> Iterator[dict[str, Any]]:
    """The combinations of a function's ``parametrize`` marks, as pytest makes them."""
    axes: list[list[dict[str, Any]]] = []
    for mark in marks:
        if mark.name == "parametrize":
            names = [name.strip() for name in mark.args[0].split(",")]
            rows = [value if len(names) > 1 else (value,) for value in mark.args[1]]
            axes.append([dict(zip(names, row, strict=True)) for row in rows])
    for combination in itertools.product(*axes):
        yield {name: value for part in combination for name, value in part.items()}


def probes(tables: Tables, seed: int | None = None) -> tuple[Probe, ...]:
    """Every conformance test on every subject that its clauses call for, in the order of the modules.

    Args:
        tables: the spec tables.
        seed: only what a quick run of this seed tries; ``None`` for layouts, memory and state on every signature.
    """
    found = []
    chosen = None if seed is None else covering_subjects(tables, seed)
    for module in conformance_modules():
        for name, function in vars(importlib.import_module(module)).items():
            marks = list(getattr(function, "pytestmark", []))
            marker = next((mark for mark in marks if mark.name == "checks"), None)
            if not name.startswith("test_") or marker is None:
                continue
            checked = Checked.of(marker)
            for table, signature in checked.subjects(tables, chosen):
                leads = seed is None or leading(tables, table, signature, seed)
                for parameters in _parameter_sets(marks):
                    words = [f"{table.short_name}-{named(signature)}", *(str(value) for value in parameters.values())]
                    test = f"{module.rsplit('.', 1)[1]}.py::{name}[{'-'.join(words)}]"
                    clauses = checked.clauses(table, tables)
                    found.append(Probe(test, function, clauses, table, signature, parameters, leads))
    return tuple(found)
