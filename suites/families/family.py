"""Families of conformance tests, and the probes that each has of an operator: the one home of what a run asks.

A family is a module below ``conformance/``: ``strides`` of ``tensors/test_strides.py``. Its probes are its test
functions, in the order of the module, on each signature that their clauses call for, with each of their parameters.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites import conformance
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.generation.profiles import PROFILES
from dmlcts.suites.generation.signature_tensors import named
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import Checked
from dmlcts.suites.running.options import Settings

CONFORMANCE = Path(str(conformance.__file__)).resolve().parent
_KNOWN_MARKS = {"checks", "parametrize"}

Covering = Mapping[str, Container[Signature]]
"""The signatures by operator on which tests of places are run, where not all are."""


@dataclass(frozen=True)
class Attempt:
    """What came of a probe.

    Attributes:
        judge: what judged its cases.
        error: what it ended with: a failure, a reason why it judged nothing, or what broke; ``None`` where it passed.
        seconds: how long it took.
    """

    judge: Judge
    error: BaseException | None
    seconds: float


@dataclass(frozen=True)
class Probe:
    """One conformance test on one subject.

    Attributes:
        module: ``test_clamping``.
        name: ``test_inverted_bounds[CLIP-FLOAT16]``.
        function: the test function.
        checked: what it checks.
        table: the operator's table.
        signature: what its type variables stand for.
        parameters: the test's further parameters.
    """

    module: str
    name: str
    function: Callable[..., None]
    checked: Checked
    table: OperatorTable
    signature: Signature
    parameters: Mapping[str, Any]

    def attempt(self, bench: Bench, subject: Subject) -> Attempt:
        """Run the test.

        Args:
            bench: the implementation.
            subject: the operator on the signature, at the level that is judged.

        Raises:
            KeyboardInterrupt, pytest.exit.Exception: somebody ends the run.
        """
        judge = Judge(bench)
        error: BaseException | None = None
        begun = time.perf_counter()
        try:
            self.function(subject=subject, judge=judge, **self.parameters)
            judge.conclude()
            if judge.idle:
                pytest.skip(judge.idle)
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as raised:  # pytest's own outcomes are no Exceptions
            error = raised
        return Attempt(judge, error, time.perf_counter() - begun)


@dataclass(frozen=True)
class ConformanceTest:
    """A test function of a family.

    Attributes:
        module: ``test_strides``.
        name: ``test_padded_strides``.
        function: the function.
        checked: what it checks.
        parameters: the combinations of its ``parametrize`` marks; one that is empty where it has none.
    """

    module: str
    name: str
    function: Callable[..., None]
    checked: Checked
    parameters: tuple[Mapping[str, Any], ...]

    def is_in(self, settings: Settings) -> bool:
        """Whether the profile of a run has anything for the test to draw."""
        return not self.checked.programs or PROFILES[settings.profile].programs > 0

    def probed(self, settings: Settings, table: OperatorTable) -> Iterator[str]:
        """The ids of the clauses that the test checks, but for those of which a run wants only what they leave open."""
        for clause in self.checked.clauses(table, settings.tables):
            if self.checked.characterises or clause not in settings.named:
                yield clause

    def probes(self, tables: Tables, table: OperatorTable, covering: Covering | None) -> Iterator[Probe]:
        """The test on each signature of an operator that its clauses call for.

        Args:
            tables: the spec tables.
            table: the operator's.
            covering: the signatures on which tests of places are run; ``None`` for all.
        """
        for _, signature in self.checked.subjects(tables, covering, [table]):
            for parameters in self.parameters:
                words = [f"{table.short_name}-{named(signature)}", *map(str, parameters.values())]
                name = f"{self.name}[{'-'.join(words)}]"
                yield Probe(self.module, name, self.function, self.checked, table, signature, parameters)


@dataclass(frozen=True)
class Family:
    """The conformance tests of a module.

    Attributes:
        path: ``tensors/test_strides.py``, below ``conformance/``.
        tests: its test functions, in the order of the module.
    """

    path: PurePosixPath
    tests: tuple[ConformanceTest, ...]

    @property
    def name(self) -> str:
        """``strides``."""
        return self.path.stem.removeprefix("test_")

    def item_name(self, table: OperatorTable) -> str:
        """The name of the item of an operator: ``strides[ADD]``."""
        return f"{self.name}[{table.short_name}]"

    def selected(self, settings: Settings, table: OperatorTable) -> Iterator[Probe]:
        """The probes of an operator that a run's selection leaves, in the order in which they run."""
        tables, covering = settings.tables, settings.covering
        for test in self.tests:
            if not test.is_in(settings):
                continue
            probed = test.probed(settings, table) if settings.clauses else ()
            if settings.clauses and not any(map(settings.selects_clause, probed)):
                continue
            for probe in test.probes(tables, table, covering):
                if settings.selects_data_type(probe.signature.data_type):
                    yield probe

    def operators(self, settings: Settings) -> list[OperatorTable]:
        """The operators of which a run's selection leaves the family something to try."""
        chosen = (table for table in settings.tables.operators.values() if settings.selects_operator(table))
        return [table for table in chosen if next(self.selected(settings, table), None) is not None]


def family_paths() -> list[PurePosixPath]:
    """The modules of conformance tests, below ``conformance/``, in their order."""
    paths = (path.relative_to(CONFORMANCE) for path in CONFORMANCE.rglob("test_*.py"))
    return sorted(PurePosixPath(path.as_posix()) for path in paths)


@functools.cache
def family_of(path: PurePosixPath) -> Family:
    """The family of a module below ``conformance/``.

    Raises:
        pytest.UsageError: a test has other marks than ``checks`` and ``parametrize``.
    """
    module = importlib.import_module(".".join((conformance.__name__, *path.with_suffix("").parts)))
    tests = []
    for name, function in vars(module).items():
        marks: list[pytest.Mark] = list(getattr(function, "pytestmark", []))
        marker = next((mark for mark in marks if mark.name == "checks"), None)
        if not name.startswith("test_"):
            continue
        if marker is None or {mark.name for mark in marks} - _KNOWN_MARKS:
            marked = ", ".join(mark.name for mark in marks) or "nothing"
            raise pytest.UsageError(f"{path}::{name} is marked with {marked}: `checks` is due, beside it `parametrize`")
        tests.append(ConformanceTest(path.stem, name, function, Checked.of(marker), tuple(_parameter_sets(marks))))
    return Family(path, tuple(tests))


def families() -> list[Family]:
    """All families, in the order of their modules."""
    return [family_of(path) for path in family_paths()]


def _parameter_sets(marks: Sequence[pytest.Mark]) -> Iterator[dict[str, Any]]:
    """The combinations of a function's ``parametrize`` marks, as pytest makes them."""
    axes: list[list[dict[str, Any]]] = []
    for mark in marks:
        if mark.name == "parametrize":
            names = [name.strip() for name in mark.args[0].split(",")]
            rows = [value if len(names) > 1 else (value,) for value in mark.args[1]]
            axes.append([dict(zip(names, row, strict=True)) for row in rows])
    for combination in itertools.product(*axes):
        yield {name: value for part in combination for name, value in part.items()}


def functions_by_clause(settings: Settings) -> dict[str, list[str]]:
    """The test functions that check each clause in a run, by clause id; nothing is run."""
    functions: dict[str, set[str]] = {}
    tables, covering = settings.tables, settings.covering
    for family in families():
        for test in family.tests:
            for table in tables.operators.values() if test.is_in(settings) else ():
                if next(test.probes(tables, table, covering), None) is not None:
                    for clause in test.checked.clauses(table, tables):
                        functions.setdefault(clause, set()).add(f"{family.path}::{test.name}")
    return {clause: sorted(tests) for clause, tests in functions.items()}
