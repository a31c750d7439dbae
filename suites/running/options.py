"""What a run was asked to be: the options, read once and frozen."""

from __future__ import annotations

import fnmatch
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dmlcts.backends import Backend, DeviceInfo
from dmlcts.backends.registry import parse_options, resolve
from dmlcts.reports.documents import waivers as waiving
from dmlcts.reports.documents.results import describe_device, suite_version
from dmlcts.specs import DataType, FeatureLevel, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.generation.covering_subjects import covering_subjects, is_shared_out
from dmlcts.suites.generation.profiles import PROFILES
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.isolation.proxy import DEFAULT_TIMEOUT, IsolatedBackend

DEFAULT_BACKEND = "cpu"
DEFAULT_RESULTS = "results"
DEFAULT_SEED = 0
ISOLATIONS = ("process", "none")
_LARGEST_SEED = (1 << 32) - 1
_LEAST_TIMEOUT, _MOST_TIMEOUT = 0.1, 86400


def owed_rows(
    tables: Tables,
    level: FeatureLevel,
    operators: Collection[str] | None = None,
    covering: Mapping[str, frozenset[Signature]] | None = None,
) -> Iterator[tuple[str, str, str, str]]:
    """The rows that a whole run owes: clause, operator, data type, obligation.

    Args:
        tables: the spec tables.
        level: the feature level that is judged.
        operators: full names of those that are judged; ``None`` for all.
        covering: the signatures on which clauses about places are tried; ``None`` for all.
    """
    for table in tables.operators.values():
        if operators is not None and table.operator not in operators:
            continue
        for clause in tables.clauses_of(table):
            if clause.obligation == "unspecified":
                continue
            shared = covering is not None and is_shared_out(clause.check)
            taken = (
                {signature.data_type for signature in covering[table.operator]}
                if covering is not None and shared
                else None
            )
            for data_type in tables.obliged(clause, table, level):
                if taken is None or data_type in taken:
                    yield clause.id, table.operator, data_type.name, clause.obligation


def covering_of(tables: Tables, profile: str, seed: int) -> Mapping[str, frozenset[Signature]] | None:
    """The signatures by operator on which a profile tries layouts, memory and state; ``None`` for all."""
    return covering_subjects(tables, seed) if PROFILES[profile].covering else None


def valid_waivers(path: str | None, tables: Tables | None = None) -> waiving.Waivers:
    """The waivers in a file, all of which hold today for this suite; without a file, none.

    Raises:
        DocumentError: the file is broken.
        WaiverError: a waiver has expired, is for another version of the suite, or is about nothing.
    """
    waivers = waiving.Waivers() if path is None else waiving.load(path)
    if waivers.entries:
        waivers.check_run(tables or load_tables(), suite_version(), datetime.now(UTC).date())
    return waivers


def split(values: Iterable[str]) -> tuple[str, ...]:
    """Repeated and comma-separated option values as one list."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _isolation(isolation: str | None, backend: str) -> str:
    """How the backend is run: in a process of its own, unless it is the suite's own cpu backend or someone says so."""
    if isolation is None:
        return "none" if backend == DEFAULT_BACKEND else "process"
    if isolation not in ISOLATIONS:
        raise UsageError(f"no isolation {isolation!r}", f"choose one of {', '.join(ISOLATIONS)}")
    return isolation


def _shard(text: str) -> tuple[int, int]:
    """The part and the number of parts that "1/4" names."""
    match = re.fullmatch(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})", text)
    if match is None or int(match[1]) > int(match[2]):
        raise UsageError(f"the shard {text!r} is not one of so many", "write for example --shard 1/4")
    return int(match[1]), int(match[2])


def _seconds(text: str | float) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not _LEAST_TIMEOUT <= seconds <= _MOST_TIMEOUT:
        raise UsageError(
            f"the timeout {text!r} is not a number of seconds from {_LEAST_TIMEOUT} to {_MOST_TIMEOUT}",
            "give for example --timeout 30",
        )
    return seconds


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
        isolation: "process" where the implementation runs in a process of its own, or "none".
        timeout: seconds that one call of the implementation may take; only a process of its own can be stopped.
        shard: which part of the run this is, and of how many; ``None`` for all of it.
        waivers: which failures somebody answers for.
        named: ids of clauses of which only those tests run that name what the implementation does.
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
    isolation: str = "none"
    timeout: float = DEFAULT_TIMEOUT
    shard: tuple[int, int] | None = None
    waivers: waiving.Waivers = field(default_factory=waiving.Waivers)
    named: frozenset[str] = frozenset()

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
        isolation: str | None = None,
        timeout: str | float = DEFAULT_TIMEOUT,
        shard: str | None = None,
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
        return cls(
            backend,
            tuple(parse_options(options).items()),
            Path(results),
            tuple(dict.fromkeys(table.operator for name in split(operators) for table in tables.selected(name))),
            tuple(names),
            patterns,
            None if feature_level is None else FeatureLevel.parse(feature_level),
            profile,
            number,
            strict,
            tuple(extra_tables),
            tables,
            _isolation(isolation, backend),
            _seconds(timeout),
            None if shard is None else _shard(shard),
            waivers=valid_waivers(waivers, tables),
        )

    def described(self) -> dict[str, Any]:
        """The options as plain data: what :meth:`of` reads, and what must be the same in all parts of a run."""
        return {
            "backend": self.backend,
            "options": dict(self.options),
            "operators": list(self.operators),
            "data_types": list(self.data_types),
            "clauses": list(self.clauses),
            "feature_level": None if self.level is None else str(self.level),
            "profile": self.profile,
            "seed": self.seed,
            "strict": self.strict,
            "extra_tables": list(self.extra_tables),
            "isolation": self.isolation,
            "timeout": self.timeout,
            "shard": self.shard_text,
        }

    @classmethod
    def of(cls, described: Mapping[str, Any], results: str, where: str) -> Settings:
        """The settings that :meth:`described` wrote.

        Args:
            described: plain data from a stranger.
            results: the results folder.
            where: what to call the data in a message.

        Raises:
            UsageError: it is not what :meth:`described` writes.
            TableError: an extra table is broken.
        """
        kinds: dict[str, Any] = {
            "backend": str,
            "operators": list,
            "data_types": list,
            "clauses": list,
            "feature_level": (str, type(None)),
            "profile": str,
            "seed": int,
            "strict": bool,
            "extra_tables": list,
            "isolation": str,
            "timeout": (int, float),
            "shard": (str, type(None)),
        }
        options = described.get("options")
        lists = [described.get(name) for name, kind in kinds.items() if kind is list]
        if (
            not isinstance(options, Mapping)
            or any(name not in described or not isinstance(described[name], kind) for name, kind in kinds.items())
            or not all(isinstance(item, str) for texts in lists if texts for item in texts)
        ):
            raise UsageError(f"{where} does not say what the run was", "give the folder of a run that dmlcts wrote")
        arguments = {name: described[name] for name in kinds}
        return cls.read(**arguments, options=[f"{key}={value}" for key, value in options.items()], results=results)

    @property
    def shard_text(self) -> str | None:
        """The shard as people write it: "1/4"."""
        return None if self.shard is None else f"{self.shard[0]}/{self.shard[1]}"

    def open(self) -> Bench:
        """Open the backend's device.

        Raises:
            UsageError: no such backend, or an option it does not take.
            BackendUnavailable: it cannot run here.
            ContractError: it breaks the backend contract.
            WaiverError: a waiver is for another device.
        """
        backend: Backend
        if self.isolation == "process":
            name, backend = self.backend, IsolatedBackend(self.backend, self.timeout)
        else:
            name, backend = resolve(self.backend)
        bench = Bench(name, backend, dict(self.options), self.tables, self.level, strict=self.strict)
        try:
            self.waivers.check_device(describe_device(bench.info))
        except waiving.WaiverError:
            bench.close()
            raise
        return bench

    @property
    def selection(self) -> dict[str, list[str]]:
        """What was selected, by option; empty where nothing was."""
        chosen = {
            "operators": self.operators,
            "data_types": self.data_types,
            "clauses": self.clauses,
        }
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

    def subject(self, table: OperatorTable, signature: Signature, level: FeatureLevel) -> Subject:
        """What a test is given: the operator on the signature, at the level that is judged."""
        return Subject.shared(table, signature, level, self.seed, PROFILES[self.profile])

    @property
    def covering(self) -> Mapping[str, frozenset[Signature]] | None:
        """The signatures by operator on which layouts, memory and state are tried; ``None`` for all."""
        return covering_of(self.tables, self.profile, self.seed)

    def obliged(self, level: FeatureLevel) -> Iterator[tuple[str, str, str, str]]:
        """The rows that an implementation of ``level`` owes: clause, operator, data type, obligation."""
        required_rows = owed_rows(self.tables, level, self.operators or None, self.covering)
        for clause, operator, data_type, obligation in required_rows:
            if self.selects_clause(clause) and self.selects_data_type(DataType[data_type]):
                yield clause, operator, data_type, obligation

    def unsupported(self, info: DeviceInfo) -> set[tuple[str, str]]:
        """Operators with the element types that the device says it does not take."""
        claimed = info.data_types or {}
        return {
            (name, data_type.name)
            for name, types in claimed.items()
            for data_type in DataType
            if data_type not in types
        }

    def arguments(self) -> list[str]:
        """The same options as pytest's arguments; `=` keeps it from taking a value for a path to collect."""
        options = [f"--backend={self.backend}", f"--results={self.results}"]
        options += [f"--option={key}={value}" for key, value in self.options]
        options += self.shared_arguments()
        options += [f"--isolation={self.isolation}", f"--dispatch-timeout={self.timeout:g}"]
        if self.shard is not None:
            options.append(f"--shard={self.shard_text}")
        if self.waivers.source:
            options.append(f"--waivers={self.waivers.source}")
        return options

    def shared_arguments(self) -> list[str]:
        """What is judged and by what measure, as arguments that pytest and `dmlcts run` take alike."""
        options = [f"--profile={self.profile}", f"--seed={self.seed}"]
        for option, values in (
            ("--operator", self.operators),
            ("--data-type", self.data_types),
            ("--clause", self.clauses),
            ("--tables", self.extra_tables),
        ):
            options += [f"{option}={value}" for value in values]
        if self.level is not None:
            options.append(f"--feature-level={self.level}")
        return [*options, "--strict-ieee"] if self.strict else options
