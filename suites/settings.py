"""What a run was asked to be: the options, read once and frozen."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from dmlcts.backends.registry import parse_options, resolve
from dmlcts.reports import waivers as waiving
from dmlcts.reports.results import describe_device, suite_version
from dmlcts.specs import DataType, FeatureLevel, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.suites.bench import Bench

PROFILES = ("quick", "full", "certification")
DEFAULT_BACKEND = "cpu"
DEFAULT_RESULTS = "results"
DEFAULT_SEED = 0
_LARGEST_SEED = (1 << 32) - 1


def owed_rows(tables: Tables, level: FeatureLevel) -> Iterator[tuple[str, str, str, str]]:
    """The rows that a whole run owes at ``level``: clause, operator, data type, obligation."""
    for table in tables.operators.values():
        for clause in tables.clauses_of(table):
            if clause.obligation != "unspecified":
                for data_type in tables.obliged(clause, table, level):
                    yield clause.id, table.operator, data_type.name, clause.obligation


def split(values: Iterable[str]) -> tuple[str, ...]:
    """Repeated and comma-separated option values as one list."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


@dataclass(frozen=True)
class Settings:
    """The options of a run.

    Attributes:
        backend: as the user named it.
        options: the backend's options.
        results: the results folder.
        operators: full names; empty for all.
        data_types: names; empty for all.
        clauses: clause ids and globs; empty for all.
        level: the level to judge at; ``None`` for the one that the device claims.
        profile: how much to generate.
        seed: for everything that is drawn.
        strict: leave no latitude.
        extra_tables: folders or files of further operator tables.
        tables: the tables of the run.
        waivers: which failures somebody answers for.
    """

    backend: str
    options: tuple[tuple[str, str], ...]
    results: Path
    operators: tuple[str, ...]
    data_types: tuple[str, ...]
    clauses: tuple[str, ...]
    level: FeatureLevel | None
    profile: str
    seed: int
    strict: bool
    extra_tables: tuple[str, ...]
    tables: Tables
    waivers: waiving.Waivers = field(default_factory=waiving.Waivers)

    @classmethod
    def read(
        cls,
        *,
        backend: str = DEFAULT_BACKEND,
        options: Sequence[str] = (),
        results: str = DEFAULT_RESULTS,
        operators: Sequence[str] = (),
        data_types: Sequence[str] = (),
        clauses: Sequence[str] = (),
        feature_level: str | None = None,
        profile: str = "quick",
        seed: str | int = DEFAULT_SEED,
        strict: bool = False,
        extra_tables: Sequence[str] = (),
        waivers: str | None = None,
    ) -> Settings:
        """Check the options and load the tables.

        Raises:
            UsageError: an option has a value that means nothing.
            TableError: an extra table is broken.
            DocumentError: the waivers file is broken.
            WaiverError: a waiver has expired, is for another version of the suite, or is about nothing.
        """
        tables = load_tables(*(Path(path) for path in extra_tables))
        names = []
        for name in split(data_types):
            if name.upper() not in DataType.__members__:
                raise UsageError(f"no data type {name!r}", f"choose from {', '.join(DataType.__members__)}")
            names.append(name.upper())
        patterns = split(clauses)
        for pattern in patterns:
            if not any(fnmatch.fnmatchcase(clause.id, pattern) for clause in tables.clauses):
                raise UsageError(f"no clause matches {pattern!r}", "`dmlcts spec coverage` lists the clauses")
        if profile not in PROFILES:
            raise UsageError(f"no profile {profile!r}", f"choose one of {', '.join(PROFILES)}")
        try:
            number = int(seed)
        except ValueError:
            number = -1
        if not 0 <= number <= _LARGEST_SEED:
            raise UsageError(
                f"the seed {seed!r} is not a whole number from 0 to {_LARGEST_SEED}", "choose such a number"
            )
        waived = waiving.load(waivers) if waivers is not None else waiving.Waivers()
        waived.check_run(tables, suite_version(), datetime.now(UTC).date())
        return cls(
            backend,
            tuple(parse_options(options).items()),
            Path(results),
            tuple(tables.operator(name).operator for name in split(operators)),
            tuple(names),
            patterns,
            None if feature_level is None else FeatureLevel.parse(feature_level),
            profile,
            number,
            strict,
            tuple(extra_tables),
            tables,
            waivers=waived,
        )

    def open(self) -> Bench:
        """Open the backend's device.

        Raises:
            UsageError: no such backend, or an option it does not take.
            BackendUnavailable: it cannot run here.
            ContractError: it breaks the backend contract.
            WaiverError: a waiver is for another device.
        """
        name, backend = resolve(self.backend)
        bench = Bench(name, backend, dict(self.options), self.tables, self.level, strict=self.strict)
        try:
            self.waivers.check_device(describe_device(bench.info))
        except waiving.WaiverError:
            bench.close()
            raise
        return bench

    @property
    def thorough(self) -> bool:
        """Whether the profile asks for more than the quick one's cases."""
        return self.profile != "quick"

    @property
    def selection(self) -> dict[str, list[str]]:
        """What was selected, by option; empty where nothing was."""
        chosen = {
            "operators": self.operators, "data_types": self.data_types, "clauses": self.clauses,
        }  # fmt: skip
        return {name: list(values) for name, values in chosen.items() if values}

    def selects_operator(self, table: OperatorTable) -> bool:
        """Whether the selection holds this operator."""
        return not self.operators or table.operator in self.operators

    def selects_data_type(self, data_type: DataType) -> bool:
        """Whether the selection holds this element type."""
        return not self.data_types or data_type.name in self.data_types

    def selects_clause(self, clause: str) -> bool:
        """Whether the selection holds this clause."""
        return not self.clauses or any(fnmatch.fnmatchcase(clause, pattern) for pattern in self.clauses)

    def obliged(self, level: FeatureLevel) -> Iterator[tuple[str, str, str, str]]:
        """The rows that an implementation of ``level`` owes: clause, operator, data type, obligation."""
        for clause, operator, data_type, obligation in owed_rows(self.tables, level):
            if (
                self.selects_operator(self.tables.operators[operator])
                and self.selects_clause(clause)
                and self.selects_data_type(DataType[data_type])
            ):
                yield clause, operator, data_type, obligation

    def unsupported(self, bench: Bench) -> set[tuple[str, str]]:
        """Operators with the element types that the device says it does not take."""
        claimed = bench.info.data_types or {}
        return {
            (name, data_type.name)
            for name, types in claimed.items()
            for data_type in DataType
            if data_type not in types
        }

    def arguments(self) -> list[str]:
        """The same options as pytest's arguments; `=` keeps it from taking a value for a path to collect."""
        found = [f"--backend={self.backend}", f"--results={self.results}", f"--profile={self.profile}"]
        found.append(f"--seed={self.seed}")
        for option, values in (
            ("--option", [f"{key}={value}" for key, value in self.options]), ("--operator", self.operators),
            ("--data-type", self.data_types), ("--clause", self.clauses), ("--tables", self.extra_tables),
        ):  # fmt: skip
            found += [f"{option}={value}" for value in values]
        if self.waivers.source:
            found.append(f"--waivers={self.waivers.source}")
        if self.level is not None:
            found.append(f"--feature-level={self.level}")
        return [*found, "--strict-ieee"] if self.strict else found
