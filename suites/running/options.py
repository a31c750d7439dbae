"""What a run was asked to be: the options, read once and frozen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dmlcts.backends import Backend, DeviceInfo
from dmlcts.backends.registry import resolve
from dmlcts.reports.documents import waivers as waiving
from dmlcts.reports.documents.results import describe_device, suite_version
from dmlcts.reports.documents.selecting import LEAVES_OUT, chooses
from dmlcts.specs import DataType, FeatureLevel, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.spelling import did_you_mean
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.generation.covering_subjects import covering_subjects, is_shared_out
from dmlcts.suites.generation.profiles import PROFILES
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.options.option import PYTEST, Option, OptionTable
from dmlcts.suites.options.table import DEFAULT_BACKEND, DEFAULT_TIMEOUT, OPTIONS
from dmlcts.suites.options.value import (
    arguments_of,
    check_clauses,
    is_plain_value,
    plain_value,
    read_shard,
    read_value,
)

_ATTRIBUTES = {"feature_level": "level"}
"""Options whose attribute of `Settings` has another name."""


def required_rows(
    tables: Tables,
    level: FeatureLevel,
    operators: Collection[str] | None = None,
    covering: Mapping[str, frozenset[Signature]] | None = None,
) -> Iterator[tuple[str, str, str, str]]:
    """The rows that a whole run requires: clause, operator, data type, obligation.

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


def _isolation(text: str | None, backend: str) -> str:
    """How the backend is run: in a process of its own, unless it is the suite's own cpu backend or someone says so."""
    if text is None:
        return "none" if backend == DEFAULT_BACKEND else "process"
    return text


@dataclass(frozen=True)
class Settings:
    """The options of a run.

    Attributes:
        backend: as the user named it.
        options: the backend's options.
        results: the results folder.
        operators: full names; empty for all.
        data_types: names; empty for all.
        clauses: clause ids and globs, those that are left out with ``!`` before them; empty for all.
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
        others: options of the table that have no attribute of their own, with their values.
        table: the table that the options were read by.
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
    others: tuple[tuple[str, Any], ...] = ()
    table: OptionTable = field(default=OPTIONS, repr=False, compare=False)

    @classmethod
    def read(cls, table: OptionTable = OPTIONS, **typed: Any) -> Settings:
        """Check the options and load the tables.

        Args:
            table: the table of options.
            typed: values by the names of the table's rows, as typed (``seed="7"``) or read (``seed=7``); of repeatable
                options a sequence. What is left out has the row's default.

        Raises:
            UsageError: an option has a value that means nothing.
            TableError: an extra table is broken.
            DocumentError: the waivers file is broken.
            WaiverError: a waiver has expired, is for another version of the suite, or is about nothing.
            TypeError: the table has no such option.
        """
        rows = {row.name: row for row in table.settings}
        if unknown := set(typed) - set(rows):
            raise TypeError(f"no options of a run: {', '.join(sorted(unknown))}")
        tables = load_tables(*(Path(path) for path in typed.get("extra_tables", ())))
        value = {name: read_value(row, typed.get(name, row.usual)) for name, row in rows.items()}
        for name in value["data_types"]:
            if name.upper() not in DataType.__members__:
                mend = f"choose from {', '.join(DataType.__members__)}"
                raise UsageError(f"no data type {name!r}", did_you_mean(name, DataType.__members__, mend))
        check_clauses(value["clauses"], tables)
        level, shard = value.pop("feature_level"), value["shard"]
        value |= {
            "level": None if level is None else FeatureLevel.parse(level),
            "results": Path(value["results"]),
            "operators": tuple(
                dict.fromkeys(table.operator for name in value["operators"] for table in tables.selected(name))
            ),
            "data_types": tuple(name.upper() for name in value["data_types"]),
            "isolation": _isolation(value["isolation"], value["backend"]),
            "shard": None if shard is None else read_shard(shard),
            "waivers": valid_waivers(value["waivers"], tables),
        }
        own = {attribute.name for attribute in fields(cls)}
        others = tuple((name, value.pop(name)) for name in list(value) if name not in own)
        return cls(**value, tables=tables, others=others, table=table)

    def value(self, name: str) -> Any:
        """What an option of the table is set to, whether or not it has an attribute of its own.

        Raises:
            KeyError: the table has no such option of a run.
        """
        others = dict(self.others)
        return others[name] if name in others else getattr(self, _ATTRIBUTES.get(self.table[name].name, name))

    def _plain(self, row: Option) -> Any:
        """An option's value as plain data."""
        if row.name == "shard":
            return self.shard_text
        if row.name == "waivers":
            return self.waivers.source or None
        return plain_value(row, self.value(row.name))

    def described(self) -> dict[str, Any]:
        """The options as plain data: what :meth:`of` reads, and what must be the same in all parts of a run."""
        return {row.name: self._plain(row) for row in self.table.journal}

    @classmethod
    def of(cls, described: Mapping[str, Any], results: str, where: str, table: OptionTable = OPTIONS) -> Settings:
        """The settings that :meth:`described` wrote.

        Args:
            described: plain data from a stranger.
            results: the results folder.
            where: what to call the data in a message.
            table: the table of options.

        Raises:
            UsageError: it is not what :meth:`described` writes.
            TableError: an extra table is broken.
        """
        if not all(row.name in described and is_plain_value(row, described[row.name]) for row in table.journal):
            raise UsageError(f"{where} does not say what the run was", "give the folder of a run that dmlcts wrote")
        return cls.read(table, **{row.name: described[row.name] for row in table.journal}, results=results)

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
        return chooses(self.clauses, clause)

    @property
    def names_clauses(self) -> bool:
        """Whether the selection names clauses that it holds, which are few, and not only those that it leaves out."""
        return not all(pattern.startswith(LEAVES_OUT) for pattern in self.clauses)

    def subject(self, table: OperatorTable, signature: Signature, level: FeatureLevel) -> Subject:
        """What a test is given: the operator on the signature, at the level that is judged."""
        return Subject.shared(table, signature, level, self.seed, PROFILES[self.profile])

    @property
    def covering(self) -> Mapping[str, frozenset[Signature]] | None:
        """The signatures by operator on which layouts, memory and state are tried; ``None`` for all."""
        return covering_of(self.tables, self.profile, self.seed)

    def obliged(self, level: FeatureLevel) -> Iterator[tuple[str, str, str, str]]:
        """The rows that ``level`` requires of an implementation: clause, operator, data type, obligation."""
        required = required_rows(self.tables, level, self.operators or None, self.covering)
        for clause, operator, data_type, obligation in required:
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
        """The same options as pytest's arguments."""
        return self._arguments(row for row in self.table.of(PYTEST) if row.setting)

    def shared_arguments(self) -> list[str]:
        """What is judged and by what measure, as arguments that pytest and `dmlcts run` take alike.

        They are the options that can be the same for several implementations, as `dmlcts compare` takes them.
        """
        return self._arguments(row for row in self.table.of("compare") if row.journal)

    def _arguments(self, rows: Iterable[Option]) -> list[str]:
        return [word for row in rows for word in arguments_of(row, self._plain(row))]
