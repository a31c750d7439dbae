"""Loading the spec tables: read the files, fit them to the models, and check them together.

Whatever is wrong ends as a :class:`Fault` with file, line, column, cause and mend; never as a traceback.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from dmlcts.specs.checking.common_checks import Loaded, tables_of
from dmlcts.specs.checking.joint_checks import joint_faults
from dmlcts.specs.checking.runnable import unrunnable
from dmlcts.specs.checking.table_checks import own_faults
from dmlcts.specs.checking.table_faults import model_faults
from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import Fault, TableError
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.loading import kept
from dmlcts.specs.loading.filling import filled, names_a_template
from dmlcts.specs.loading.upgrading import OLD_FORMATS
from dmlcts.specs.models import (
    MODELS,
    ActivationsTable,
    AnyTable,
    CastsTable,
    ClauseTemplate,
    ClauseTemplatesTable,
    DataTypesTable,
    FactorsTable,
    Latitude,
    LatitudeTable,
    OperatorTable,
    RulesTable,
)
from dmlcts.specs.reading.mends import closest
from dmlcts.specs.reading.table_files import TableFile, builtin_files, extra_files
from dmlcts.specs.reading.yaml_source import Document, decode, read_yaml, shown
from dmlcts.specs.statements.relations import Levels
from dmlcts.specs.tables import Tables

_TEMPLATES = "shared/clause_templates.yaml"


def load_tables(*extra: Path) -> Tables:
    """The built-in tables, together with those of the given files and folders.

    Args:
        extra: YAML files, or folders whose ``*.yaml`` files are all tables.

    Raises:
        TableError: a table is broken, or the tables do not go together; it lists every fault.
        UsageError: a file or folder does not exist, holds no table, or cannot be read.
    """
    return _load_with(extra) if extra else _load_builtin()


def tables_of_files(files: Iterable[TableFile], *, runnable: bool = True) -> Tables:
    """The tables of the given files and no others, the built-in ones left out.

    Args:
        files: what to read.
        runnable: refuse what the suite cannot run, though the oracles may know what is right.

    Raises:
        TableError: a table is broken, or the tables do not go together; it lists every fault.
    """
    return _assembled(_read_files(files), runnable=runnable)


def lint(*extra: Path) -> tuple[Fault, ...]:
    """Every fault of the tables that :func:`load_tables` would load, by file, line and column.

    Raises:
        UsageError: a file or folder does not exist, holds no table, or cannot be read.
    """
    try:
        _load_with(extra)  # never what was kept: its checks are what is asked for
    except TableError as error:
        return error.faults
    return ()


@dataclass(frozen=True)
class _Batch:
    """What reading some files gave."""

    loaded: tuple[Loaded[AnyTable], ...]
    unread: tuple[Fault, ...]  # of files that gave no table
    faults: tuple[Fault, ...]  # of tables by themselves
    digests: Mapping[str, str]


def _read_files(files: Iterable[TableFile]) -> _Batch:
    loaded: list[Loaded[AnyTable]] = []
    unread: list[Fault] = []
    digests = {}
    for file in files:
        digests[file.digest_name] = hashlib.sha256(file.data).hexdigest()
        try:
            loaded.append(fit(read_yaml(decode(file.data, file.name), file.name)))
        except TableError as error:
            unread += error.faults
    faults = tuple(fault for item in loaded for fault in own_faults(item))
    return _Batch(tuple(loaded), tuple(unread), faults, digests)


@functools.lru_cache(maxsize=1)
def _builtin_batch() -> _Batch:
    return _read_files(builtin_files())


def fit(document: Document) -> Loaded[AnyTable]:
    """Fit a document to the model that its ``format`` names.

    Raises:
        TableError: it is no mapping, names no format that is read, or breaks the model; each fault with its place and
            mend.
    """
    known = ", ".join(MODELS)
    value = document.value
    if not isinstance(value, dict):
        cause = f"a table is a mapping, not {shown(value)}"
        raise TableError(document.fault((), cause, "begin with `format: dmlcts/operator/2`"))
    written = value.get("format")
    if written is None:
        raise TableError(document.fault((), "`format` is missing", f"add `format:` with one of {known}"))
    if written in OLD_FORMATS:
        cause = f"the table is of the format {written}, which is no longer read"
        raise TableError(document.fault(("format",), cause, "run `dmlcts spec upgrade FILE`, which rewrites it"))
    model = MODELS.get(written) if isinstance(written, str) else None
    if model is None:
        cause, mend = f"there is no table format {shown(written)}", closest(written, MODELS)
        raise TableError(document.fault(("format",), cause, mend))
    if model is OperatorTable and names_a_template(document):
        document = filled(document, _templates())
    try:
        return Loaded(document, model.model_validate(_with_tuples(document.value)))
    except ValidationError as error:
        raise TableError(*model_faults(document, model, error)) from None


@functools.lru_cache(maxsize=1)
def _templates() -> Mapping[str, ClauseTemplate]:
    """The built-in templates of clauses, by name.

    Raises:
        TableError: their table is broken; it lists the faults of that table.
    """
    (file,) = (file for file in builtin_files() if file.digest_name == _TEMPLATES)
    loaded = fit(read_yaml(decode(file.data, file.name), file.name))
    faults = tuple(own_faults(loaded))
    if faults:
        raise TableError(*faults)
    return {row.name: row for _, table in tables_of([loaded], ClauseTemplatesTable) for row in table.templates}


def _with_tuples(value: Any) -> Any:
    """The value with tuples for lists, which the strict models ask for."""
    if isinstance(value, list):
        return tuple(map(_with_tuples, value))
    if isinstance(value, dict):
        return {key: _with_tuples(item) for key, item in value.items()}
    return value


@functools.lru_cache(maxsize=1)
def _load_builtin() -> Tables:
    key = kept.key_of(builtin_files())
    tables = kept.read(key)
    if tables is None:
        tables = _assembled(_builtin_batch())
        for table in tables.operators.values():  # so that the levels of relations are kept with the tables
            for clause in tables.clauses_of(table):
                tables.obliged(clause, table, max(FeatureLevel))
        kept.keep(key, tables)
    return tables


def _load_with(extra: Sequence[Path]) -> Tables:
    builtin, added = _builtin_batch(), _read_files(extra_files(extra))
    return _assembled(
        _Batch(
            builtin.loaded + added.loaded,
            builtin.unread + added.unread,
            builtin.faults + added.faults,
            {**builtin.digests, **added.digests},
        )
    )


def _assembled(batch: _Batch, *, runnable: bool = True) -> Tables:
    """Check the tables together and make one value of them, or raise :class:`TableError`."""
    faults = [*batch.unread, *batch.faults, *joint_faults(batch.loaded, whole=not batch.unread)]
    if runnable and not faults:
        faults = [
            fault for document, table in tables_of(batch.loaded, OperatorTable) for fault in unrunnable(document, table)
        ]
    if faults:
        distinct_faults = dict.fromkeys(faults)  # once: broken templates are a fault of each table that names one
        raise TableError(*sorted(distinct_faults, key=lambda fault: (fault.file, fault.line, fault.column)))
    operators = {table.operator: table for _, table in tables_of(batch.loaded, OperatorTable)}
    latitudes: dict[str, Latitude] = {
        latitude.name: latitude for _, table in tables_of(batch.loaded, LatitudeTable) for latitude in table.latitudes
    }
    rows = {row.name for _, table in tables_of(batch.loaded, DataTypesTable) for row in table.data_types}
    known = [data_type for data_type in DataType if data_type.name in rows]
    return Tables(
        operators=MappingProxyType(operators),
        rules=tuple(table for _, table in tables_of(batch.loaded, RulesTable)),
        latitudes=MappingProxyType(latitudes),
        digests=MappingProxyType(dict(batch.digests)),
        casts=MappingProxyType(
            {rule.target: rule for _, table in tables_of(batch.loaded, CastsTable) for rule in table.casts}
        ),
        known_types=tuple(known),
        relation_level=Levels(operators),
        activations=MappingProxyType(
            {
                activation.operator: activation
                for _, table in tables_of(batch.loaded, ActivationsTable)
                for activation in table.activations
            }
        ),
        factors=next((table for _, table in tables_of(batch.loaded, FactorsTable)), None),
    )
