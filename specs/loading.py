"""Loading the spec tables: find the files, read them, fit them to the models, and check them together.

Whatever is wrong ends as a :class:`Fault` with file, line, column, cause and mend; never as a traceback.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import re
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from dmlcts.specs.datatypes import DataType
from dmlcts.specs.errors import Fault, FormulaError, TableError, UsageError
from dmlcts.specs.formula import parse
from dmlcts.specs.levels import FeatureLevel
from dmlcts.specs.models import (
    MODELS,
    AnyTable,
    CastsTable,
    Clause,
    DataTypesTable,
    Example,
    FeatureLevelsTable,
    LatitudeTable,
    OperatorTable,
    RulesTable,
    Source,
    SupportTable,
)
from dmlcts.specs.tables import Tables
from dmlcts.specs.yaml_source import MAX_BYTES, Document, KeyPath, decode, read_yaml, shown

FOLDERS = ("operators", "shared")
"""The folders of this package that hold the built-in tables."""

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel, covariant=True)


def load_tables(*extra: Path) -> Tables:
    """The built-in tables, together with those of the given files and folders.

    Args:
        extra: YAML files, or folders whose ``*.yaml`` files are all tables.

    Raises:
        TableError: a table is broken, or the tables do not go together; it lists every fault.
        UsageError: a file or folder does not exist, holds no table, or cannot be read.
    """
    return _load_with(extra) if extra else _load_builtin()


def lint(*extra: Path) -> tuple[Fault, ...]:
    """Every fault of the tables that :func:`load_tables` would load, by file, line and column.

    Raises:
        UsageError: a file or folder does not exist, holds no table, or cannot be read.
    """
    try:
        load_tables(*extra)
    except TableError as error:
        return error.faults
    return ()


# -------------------------------------------------------------------------------------------------- the files


@dataclass(frozen=True)
class _File:
    """A table file: the name that faults use, the name of its digest, and its bytes."""

    name: str
    digest_name: str
    data: bytes


def _builtin_files() -> list[_File]:
    root = resources.files("dmlcts.specs")
    found = []
    for folder in FOLDERS:
        try:
            entries = sorted((root / folder).iterdir(), key=lambda entry: entry.name)
        except OSError as error:
            raise _unreadable(f"specs/{folder}", error, "reinstall dmlcts") from None
        for entry in entries:
            if entry.name.endswith(".yaml"):
                name = f"{folder}/{entry.name}"
                found.append(_File(f"specs/{name}", name, _read(entry, name, "reinstall dmlcts")))
    return found


def _extra_files(extra: Iterable[Path]) -> list[_File]:
    paths: dict[Path, Path] = {}
    for given in map(Path, extra):
        for path in _yaml_files(given):
            paths.setdefault(path.resolve(), path)  # a file that is named twice is read once
    found: list[_File] = []
    for path in paths.values():
        namesakes = sum(file.digest_name.partition("#")[0] == path.name for file in found)
        digest_name = f"{path.name}#{namesakes + 1}" if namesakes else path.name
        found.append(_File(str(path), digest_name, _read(path, str(path), "make it readable")))
    return found


def _yaml_files(given: Path) -> list[Path]:
    try:
        if given.is_file():
            return [given]
        found = sorted(given.glob("*.yaml")) if given.is_dir() else None
    except (OSError, ValueError) as error:
        raise _unreadable(str(given), error, "give a folder of *.yaml tables, or one such file") from None
    if found is None:
        raise UsageError(f"there is no table file or folder {str(given)!r}", "give one that exists")
    if not found:
        raise UsageError(f"the folder {str(given)!r} holds no *.yaml file", "give a folder of tables")
    return found


def _read(file: Traversable, name: str, mend: str) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)  # one more than allowed, which decode() refuses
    except OSError as error:
        raise _unreadable(name, error, mend) from None


def _unreadable(name: str, error: OSError | ValueError, mend: str) -> UsageError:
    reason = getattr(error, "strerror", None) or str(error)
    return UsageError(f"{name!r} cannot be read: {reason}", mend)


# ----------------------------------------------------------------------------------------- from file to model


@dataclass(frozen=True)
class _Loaded(Generic[Model]):
    """A table that fits its model, with the document it was read from."""

    document: Document
    table: Model


@dataclass(frozen=True)
class _Batch:
    """What reading some files gave."""

    loaded: tuple[_Loaded[AnyTable], ...]
    unread: tuple[Fault, ...]  # of files that gave no table
    faults: tuple[Fault, ...]  # of tables by themselves
    digests: Mapping[str, str]


def _read_files(files: Iterable[_File]) -> _Batch:
    loaded: list[_Loaded[AnyTable]] = []
    unread: list[Fault] = []
    digests = {}
    for file in files:
        digests[file.digest_name] = hashlib.sha256(file.data).hexdigest()
        try:
            loaded.append(_fit(read_yaml(decode(file.data, file.name), file.name)))
        except TableError as error:
            unread += error.faults
    faults = tuple(fault for item in loaded for fault in _table_faults(item))
    return _Batch(tuple(loaded), tuple(unread), faults, digests)


@functools.lru_cache(maxsize=1)
def _builtin_batch() -> _Batch:
    return _read_files(_builtin_files())


def _fit(document: Document) -> _Loaded[AnyTable]:
    """Fit a document to the model that its ``format`` names, or raise :class:`TableError`."""
    known = ", ".join(MODELS)
    value = document.value
    if not isinstance(value, dict):
        cause = f"a table is a mapping, not {shown(value)}"
        raise TableError(document.fault((), cause, "begin with `format: dmlcts/operator/1`"))
    written = value.get("format")
    if written is None:
        raise TableError(document.fault((), "`format` is missing", f"add `format:` with one of {known}"))
    model = MODELS.get(written) if isinstance(written, str) else None
    if model is None:
        cause, mend = f"there is no table format {shown(written)}", _closest(written, MODELS)
        raise TableError(document.fault(("format",), cause, mend))
    try:
        return _Loaded(document, model.model_validate(_with_tuples(value)))
    except ValidationError as error:
        raise TableError(*_model_faults(document, model, error)) from None


def _with_tuples(value: Any) -> Any:
    """The value with tuples for lists, which the strict models ask for."""
    if isinstance(value, list):
        return tuple(map(_with_tuples, value))
    if isinstance(value, dict):
        return {key: _with_tuples(item) for key, item in value.items()}
    return value


def _closest(written: object, known: Iterable[str]) -> str:
    """A mend for a name that is not among ``known``."""
    names = list(known)
    if not names:
        return "remove it: none is defined"
    close = difflib.get_close_matches(written, names, 1) if isinstance(written, str) else []
    if isinstance(written, (int, float)) and str(written) in names:
        return f'put it in quotes: "{written}"'
    listed = f"use one of {', '.join(names)}" if len(names) > 1 else f"use {names[0]}"
    return f"did you mean {close[0]}? Otherwise {listed}" if close and len(names) > 1 else listed


# -------------------------------------------------------------------------------- pydantic's errors as faults


@dataclass(frozen=True)
class _Problem:
    """One error of pydantic: its place in the document, and the place where a choice of types began."""

    path: KeyPath
    choice: KeyPath | None
    at_key: bool
    cause: str
    mend: str


def _model_faults(document: Document, model: type[BaseModel], error: ValidationError) -> Iterator[Fault]:
    problems: dict[object, list[_Problem]] = {}
    for number, details in enumerate(error.errors(include_url=False)):
        kind, given = details["type"], details["input"]
        if kind == "too_short" and len(given) >= details["ctx"]["min_length"]:
            continue  # pydantic does not count the broken items, which have faults of their own
        problem = _problem(document, model, details)
        # Pydantic reports one error for each alternative of a choice of types.
        group = number if problem.choice is None else problem.choice
        problems.setdefault(group, []).append(problem)
    for alternatives in problems.values():
        # The alternative that fits farthest is the one that was meant.
        depth = max(len(problem.path) for problem in alternatives)
        best = [problem for problem in alternatives if len(problem.path) == depth]
        mends = dict.fromkeys(problem.mend for problem in best)
        yield document.fault(best[0].path, best[0].cause, ", or ".join(mends), at_key=best[0].at_key)


def _problem(document: Document, model: type[BaseModel], details: Any) -> _Problem:
    kind, location = details["type"], details["loc"]
    path: KeyPath = ()
    choice: KeyPath | None = None
    for step in location:
        if (*path, step) in document.positions:
            path = (*path, step)
        elif step != "[key]" and kind != "missing":
            choice = path if choice is None else choice
    name = _written(path)
    if kind == "missing":
        last = location[-1]
        owner = f" in {name}" if path else ""
        if isinstance(last, int):
            return _Problem(path, choice, False, f"item {last + 1} is missing{owner}", "add it")
        return _Problem(path, choice, False, f"`{last}` is missing{owner}", f"add `{last}: ...`")
    if kind == "extra_forbidden":
        known = _fields(model, path[:-1])
        return _Problem(path, choice, True, f"unknown key {shown(path[-1])}", _closest(path[-1], known))
    at_key = location[-1] == "[key]"
    value = path[-1] if at_key else details["input"]
    cause, mend = _explained(kind, value, details.get("ctx", {}), details["msg"])
    return _Problem(path, choice, at_key, f"{name}: {cause}", mend)


def _written(path: KeyPath) -> str:
    """The path as people write it: clauses[3].id."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if re.fullmatch(r"[\w-]{1,40}", step) else f".{shown(step)}"
    return text.removeprefix(".")


_WANTED = {
    "string_type": ("a text", "write a text"),
    "int_type": ("an integer", "write an integer, without quotes or decimal point"),
    "float_type": ("a number", "write a number, without quotes"),
    "bool_type": ("true or false", "write true or false, without quotes"),
    "tuple_type": ("a list", "write a list, as in [a, b]"),
    "dict_type": ("a mapping", "write `key: value` entries"),
    "model_type": ("a mapping", "write `key: value` entries"),
}


def _explained(kind: str, value: Any, context: Mapping[str, Any], message: str) -> tuple[str, str]:
    """Cause and mend of one of pydantic's error types."""
    if kind in _WANTED:
        wanted, mend = _WANTED[kind]
        if kind == "string_type" and isinstance(value, (bool, int, float)):
            mend = "put it in quotes"
        return f"{shown(value)} is not {wanted}", mend
    match kind:
        case "literal_error":
            allowed = re.findall(r"'((?:[^'\\]|\\.)*)'", str(context["expected"]))
            return f"{shown(value)} is not allowed here", _closest(value, allowed)
        case "string_pattern_mismatch":
            return f"{shown(value)} is not of the form {context['pattern']}", "write it in that form"
        case "string_too_short":
            return "the text is empty", "write a text"
        case "too_short":
            count = context["min_length"]
            return (
                f"the list has {len(value)} items where at least {count} are needed",
                "add the missing ones",
            )
        case "too_long":
            count = context["max_length"]
            return f"the list has {len(value)} items where {count} are allowed", "remove the others"
        case "greater_than_equal":
            return f"{shown(value)} is less than {context['ge']}", f"write {context['ge']} or more"
        case "less_than_equal":
            return f"{shown(value)} is greater than {context['le']}", f"write {context['le']} or less"
    return f"{shown(value)} is refused: {message}", "see the JSON Schema that the table's first line names"


def _fields(model: type[BaseModel], path: KeyPath) -> tuple[str, ...]:
    """The keys that the mapping at ``path`` may have."""
    for step in path:
        if isinstance(step, str):
            inner = _models_in(model.model_fields[step].annotation)
            model = next(inner, model)
    return tuple(model.model_fields)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


# ---------------------------------------------------------------------------------------- checks of one table


def _table_faults(loaded: _Loaded[Any]) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
    yield from _repeated(document, ("sources",), [source.id for source in table.sources], "source", "id")
    yield from _source_faults(document, table.sources)
    match table:
        case OperatorTable():
            yield from _operator_faults(_Loaded(document, table))
        case RulesTable():
            yield from _rules_faults(_Loaded(document, table))
        case LatitudeTable():
            pass  # its names are compared with those of the other tables
        case CastsTable():
            targets = [rule.target for rule in table.casts]
            yield from _repeated(document, ("casts",), targets, "cast to", "target")
        case DataTypesTable():
            yield from _data_type_faults(_Loaded(document, table))
        case FeatureLevelsTable():
            yield from _feature_level_faults(_Loaded(document, table))


def _repeated(document: Document, path: KeyPath, names: Sequence[str], what: str, *member: str) -> Iterator[Fault]:
    """Faults for the names that a list holds twice."""
    for index, name in enumerate(names):
        if name in names[:index]:
            where = (*path, index, *member)
            yield document.fault(where, f"{what} {name!r} stands twice", "remove or rename one of them")


def _source_faults(document: Document, sources: Sequence[Source]) -> Iterator[Fault]:
    """Faults for the places of a table that name a source which it does not list."""
    known = [source.id for source in sources]
    for path, value in _entries(document.value, ()):
        named = path[-1] == "source" or path[-2:-1] == ("sources",)
        if named and isinstance(value, str) and "attributes" not in path and value not in known:
            yield document.fault(path, f"no source has the id {shown(value)}", _closest(value, known))


def _entries(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Every value below a mapping or list, with its path."""
    items: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for step, item in items:
        yield (*path, step), item
        yield from _entries(item, (*path, step))


def _operator_faults(loaded: _Loaded[OperatorTable]) -> Iterator[Fault]:
    yield from _struct_faults(loaded)
    yield from _formula_faults(loaded)
    yield from _support_faults(loaded)
    document, table = loaded.document, loaded.table
    levels = [support.level for support in table.support]
    listed = [data_type.name for data_type in table.data_types]
    for index, clause in enumerate(table.clauses):
        path: KeyPath = ("clauses", index)
        if not clause.id.startswith(f"{table.prefix}."):
            cause = f"the clause id {clause.id!r} does not begin with {table.prefix!r}"
            mend = f"write {table.prefix}.{clause.id.partition('.')[2]}"
            yield document.fault((*path, "id"), cause, mend)
        if clause.level is not None and clause.level not in levels:
            cause = f"the operator has no support table for level {clause.level}"
            yield document.fault((*path, "level"), cause, _closest(clause.level, levels))
        if isinstance(clause.data_types, tuple):
            for item, name in enumerate(clause.data_types):
                if name not in listed:
                    cause = f"no support table lists {name}, so the clause says nothing about it"
                    yield document.fault((*path, "data_types", item), cause, _closest(name, listed))
        yield from _clause_faults(document, path, clause)
    for index, example in enumerate(table.examples):
        yield from _example_faults(loaded, ("examples", index), example)


def _struct_faults(loaded: _Loaded[OperatorTable]) -> Iterator[Fault]:
    """The struct's fields, and the attributes among them."""
    document, table = loaded.document, loaded.table
    fields = [field.name for field in table.struct]
    yield from _repeated(document, ("struct",), fields, "field", "name")
    yield from _repeated(document, ("attributes",), [item.name for item in table.attributes], "attribute", "name")
    # Which members an attribute of each type needs, and which it may not have.
    needs = {"FLOAT": "cast", "DML_SCALE_BIAS": "formula", "ENUM": "enumerators"}
    for index, attribute in enumerate(table.attributes):
        path: KeyPath = ("attributes", index)
        if attribute.name not in fields:
            cause = f"the attribute {attribute.name!r} is not a field of the struct"
            yield document.fault((*path, "name"), cause, _closest(attribute.name, fields))
        for owner, member in needs.items():
            given = getattr(attribute, member)
            if owner == attribute.type and not given:
                cause = f"the {owner} attribute {attribute.name!r} has no {member}"
                yield document.fault((*path, member), cause, f"add `{member}:`")
            elif owner != attribute.type and given:
                cause = f"the {attribute.type} attribute {attribute.name!r} has {member}"
                yield document.fault((*path, member), cause, f"remove it: it belongs to {owner}", at_key=True)
        yield from _repeated(document, (*path, "enumerators"), attribute.enumerators, "enumerator")


def _formula_faults(loaded: _Loaded[OperatorTable]) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
    enumerations = {item.name: item.enumerators for item in table.attributes if item.type == "ENUM"}
    names = ("x", *table.float_attributes)
    yield from _one_formula(document, ("formula",), table.formula, names, enumerations)
    for index, attribute in enumerate(table.attributes):
        if attribute.formula is not None:
            path = ("attributes", index, "formula")
            yield from _one_formula(document, path, attribute.formula, ("x", "scale", "bias"), {})


def _one_formula(
    document: Document,
    path: KeyPath,
    text: str,
    names: Sequence[str],
    enumerations: Mapping[str, Sequence[str]],
) -> Iterator[Fault]:
    try:
        parse(text, names, enumerations)
    except FormulaError as error:
        # Only there does a character of the formula stand in the file at the same distance.
        offset = _offset_as_written(text, error.offset) if path in document.plain else 0
        yield document.fault(path, error.cause, error.mend, offset=offset)
    except RecursionError:
        yield document.fault(path, "the formula is nested too deeply", "shorten it")


def _offset_as_written(text: str, offset: int) -> int:
    """Where the character stands in ``text`` that the parser, which joins runs of spaces, counted."""
    kept = [index for index, pair in enumerate(zip(text, f"-{text}", strict=False)) if not "".join(pair).isspace()]
    return kept[min(offset, len(kept) - 1)] if kept else 0


def _support_faults(loaded: _Loaded[OperatorTable]) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
    fields = [field.name for field in table.struct]
    introduced = FeatureLevel(table.introduced)
    levels = [support.feature_level for support in table.support]
    for index, support in enumerate(table.support):
        path: KeyPath = ("support", index)
        level = support.feature_level
        if level in levels[:index]:
            cause = f"overlapping feature levels: {level} has two support tables"
            yield document.fault((*path, "level"), cause, "join them, or correct one level")
        elif index and level > levels[index - 1]:
            cause = f"overlapping feature levels: {level} comes after {levels[index - 1]}"
            yield document.fault((*path, "level"), cause, "order the support tables from the highest level down")
        if level < introduced:
            cause = f"level {level} is below {introduced}, which introduced the operator"
            yield document.fault((*path, "level"), cause, "correct the level, or `introduced`")
        yield from _row_faults(document, path, support, fields)


def _row_faults(document: Document, path: KeyPath, support: SupportTable, fields: Sequence[str]) -> Iterator[Fault]:
    yield from _repeated(document, (*path, "rows"), [row.tensor for row in support.rows], "tensor", "tensor")
    for index, row in enumerate(support.rows):
        where = (*path, "rows", index)
        if row.tensor not in fields:
            cause = f"the tensor {row.tensor!r} is not a field of the struct"
            yield document.fault((*where, "tensor"), cause, _closest(row.tensor, fields))
        low, high = row.dimension_counts
        if low > high:
            cause = f"the lowest rank {low} is greater than the highest {high}"
            yield document.fault((*where, "dimension_counts"), cause, f"write [{high}, {low}]")
        elif low < 1:
            cause = f"the lowest rank is {low}; no tensor has fewer than one dimension"
            yield document.fault((*where, "dimension_counts"), cause, "write 1 or more")
        yield from _repeated(document, (*where, "data_types"), row.data_types, "data type")


def _rules_faults(loaded: _Loaded[RulesTable]) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
    for index, clause in enumerate(table.clauses):
        path: KeyPath = ("clauses", index)
        if clause.level is not None:
            cause = "a shared clause has a level, but only operators have support tables"
            yield document.fault((*path, "level"), cause, "remove it", at_key=True)
        yield from _clause_faults(document, path, clause)


def _clause_faults(document: Document, path: KeyPath, clause: Clause) -> Iterator[Fault]:
    """What holds for the clauses of operators and of shared rules alike."""
    if clause.quotation is None and not clause.sources:
        cause = f"the {clause.obligation} clause {clause.id} has neither quotation nor sources"
        yield document.fault(path, cause, "add `quotation:` or `sources:`")
    if clause.obligation == "unspecified" and not clause.permitted:
        cause = f"the unspecified clause {clause.id} does not say what is permitted"
        yield document.fault((*path, "permitted"), cause, "add `permitted:` with the permitted outcomes")
    if clause.obligation != "unspecified" and clause.permitted:
        cause = f"the {clause.obligation} clause {clause.id} has `permitted` outcomes"
        mend = "remove them, or make it `obligation: unspecified`"
        yield document.fault((*path, "permitted"), cause, mend, at_key=True)
    if clause.data_types == ():
        cause = f"the clause {clause.id} is about no data type"
        yield document.fault((*path, "data_types"), cause, "list some, or remove the key")


def _example_faults(loaded: _Loaded[OperatorTable], path: KeyPath, example: Example) -> Iterator[Fault]:
    document, table = loaded.document, loaded.table
    clauses = [clause.id for clause in table.clauses]
    if example.clause not in clauses:
        cause = f"the table has no clause {example.clause!r}"
        yield document.fault((*path, "clause"), cause, _closest(example.clause, clauses))
    if len(example.inputs) != len(example.outputs):
        cause = f"{len(example.outputs)} outputs for {len(example.inputs)} inputs"
        yield document.fault((*path, "outputs"), cause, "give one output for each input")
    elif not example.inputs:
        yield document.fault((*path, "inputs"), "the example has no inputs", "add some, or remove the example")
    settable = [item for item in table.attributes if item.type != "DML_SCALE_BIAS"]
    for name, value in example.attributes.items():
        where = (*path, "attributes", name)
        attribute = next((item for item in settable if item.name == name), None)
        if attribute is None:
            mend = _closest(name, [item.name for item in settable])
            yield document.fault(where, f"examples cannot set an attribute {name!r}", mend, at_key=True)
        elif attribute.type == "ENUM" and value not in attribute.enumerators:
            cause = f"{name} has no enumerator {shown(value)}"
            yield document.fault(where, cause, _closest(value, attribute.enumerators))
        elif attribute.type == "FLOAT" and isinstance(value, str):
            yield document.fault(where, f"{name} is {shown(value)}, which is not a number", "write a number")
    for attribute in settable:
        if attribute.name not in example.attributes:
            cause = f"the example does not set {attribute.name}"
            yield document.fault((*path, "attributes"), cause, f"add `{attribute.name}: ...`")


def _data_type_faults(loaded: _Loaded[DataTypesTable]) -> Iterator[Fault]:
    document, rows = loaded.document, loaded.table.data_types
    yield from _repeated(document, ("data_types",), [row.name for row in rows], "data type", "name")
    for index, row in enumerate(rows):
        data_type = DataType[row.name]
        kind = "floating" if data_type.is_floating else "signed" if data_type.is_signed else "unsigned"
        facts = {"value": data_type.dml_value, "size_in_bytes": data_type.itemsize, "kind": kind}
        for member, fact in facts.items():
            if getattr(row, member) != fact:
                cause = f"{member} of {row.name} is {getattr(row, member)}, but the suite is built with {fact}"
                yield document.fault(("data_types", index, member), cause, f"write {fact}")


def _feature_level_faults(loaded: _Loaded[FeatureLevelsTable]) -> Iterator[Fault]:
    document, rows = loaded.document, loaded.table.feature_levels
    yield from _repeated(document, ("feature_levels",), [row.level for row in rows], "level", "level")
    for index, row in enumerate(rows):
        fact = FeatureLevel(row.level).dml_value
        if row.value != fact:
            cause = f"value of {row.level} is {row.value}, but the suite is built with {fact}"
            yield document.fault(("feature_levels", index, "value"), cause, f"write {fact}")


# ------------------------------------------------------------------------------------- checks of all together


Claim = tuple[Document, KeyPath, object]


def _of(loaded: Iterable[_Loaded[Any]], model: type[T]) -> list[tuple[Document, T]]:
    return [(item.document, item.table) for item in loaded if isinstance(item.table, model)]


def _joint_faults(batch: _Batch) -> Iterator[Fault]:
    operators, rules = _of(batch.loaded, OperatorTable), _of(batch.loaded, RulesTable)
    latitudes = _of(batch.loaded, LatitudeTable)
    owners: list[tuple[Document, OperatorTable | RulesTable]] = [*operators, *rules]

    claims: list[Claim] = [(document, ("operator",), table.operator) for document, table in operators]
    yield from _claimed_twice(claims, "the operator", "keep one table an operator")
    claims = [(document, ("code",), table.code) for document, table in operators]
    yield from _claimed_twice(claims, "the operator code", "write the number that DML_OPERATOR_TYPE gives")
    claims = [
        (document, ("clauses", index, "id"), clause.id)
        for document, table in owners
        for index, clause in enumerate(table.clauses)
    ]
    yield from _claimed_twice(claims, "the clause id", "rename one of them")
    claims = [
        (document, ("latitudes", index, "name"), latitude.name)
        for document, table in latitudes
        for index, latitude in enumerate(table.latitudes)
    ]
    yield from _claimed_twice(claims, "the latitude", "rename one of them")
    claims = [(document, ("limits", name), name) for document, table in rules for name in table.limits]
    yield from _claimed_twice(claims, "the limit", "keep one of them")

    if not batch.unread:  # a latitude may stand in a file that could not be read
        known = [latitude.name for _, table in latitudes for latitude in table.latitudes]
        yield from _latitude_faults(owners, known)


def _claimed_twice(claims: Iterable[Claim], what: str, mend: str) -> Iterator[Fault]:
    first: dict[object, str] = {}
    for document, path, name in claims:
        line, _ = document.key_position(path)
        if name in first:
            cause = f"{what} {name} stands twice, first in {first[name]}"
            yield document.fault(path, cause, mend, at_key=path[0] == "limits")
        else:
            first[name] = f"{document.file}:{line}"


def _latitude_faults(
    owners: Iterable[tuple[Document, OperatorTable | RulesTable]], known: Sequence[str]
) -> Iterator[Fault]:
    for document, table in owners:
        for index, clause in enumerate(table.clauses):
            for item, name in enumerate(clause.latitude):
                if name not in known:
                    where = ("clauses", index, "latitude", item)
                    yield document.fault(where, f"there is no latitude {name!r}", _closest(name, known))


# -------------------------------------------------------------------------------------------- the whole value


@functools.lru_cache(maxsize=1)
def _load_builtin() -> Tables:
    return _assembled(_builtin_batch())


def _load_with(extra: Iterable[Path]) -> Tables:
    builtin, added = _builtin_batch(), _read_files(_extra_files(extra))
    return _assembled(
        _Batch(
            builtin.loaded + added.loaded,
            builtin.unread + added.unread,
            builtin.faults + added.faults,
            {**builtin.digests, **added.digests},
        )
    )


def _assembled(batch: _Batch) -> Tables:
    """Check the tables together and make one value of them, or raise :class:`TableError`."""
    faults = [*batch.unread, *batch.faults, *_joint_faults(batch)]
    if faults:
        raise TableError(*sorted(faults, key=lambda fault: (fault.file, fault.line, fault.column)))
    operators = {table.operator: table for _, table in _of(batch.loaded, OperatorTable)}
    latitudes = {
        latitude.name: latitude for _, table in _of(batch.loaded, LatitudeTable) for latitude in table.latitudes
    }
    return Tables(
        operators=MappingProxyType(operators),
        rules=tuple(table for _, table in _of(batch.loaded, RulesTable)),
        latitudes=MappingProxyType(latitudes),
        digests=MappingProxyType(dict(batch.digests)),
    )
