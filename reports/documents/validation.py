"""Reading documents back: results and failures from disk, checked, with one clear line for what is wrong."""

from __future__ import annotations

import functools
import gzip
import importlib.resources
import io
import json
import math
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import jsonschema_rs

from dmlcts.reports.documents.outcomes import Verdict
from dmlcts.reports.documents.results import READ, SCHEMA, verdict_of
from dmlcts.specs import DmlctsError, TableError
from dmlcts.specs.files import read_bounded
from dmlcts.specs.reading.yaml_source import read_yaml

FAILURE_FORMAT = "dmlcts/failure/1"
MOST_BYTES = 32 << 20
MOST_VALUES = 750_000
MOST_LEVELS = 64
MOST_DIGITS = 40
"""The bounds of every document that is read: whatever stands in one, reading it takes seconds and 500 MB at most."""


class DocumentError(DmlctsError):
    """A results or failure document that cannot be used.

    Args:
        document: its path, or what it is.
        pointer: JSON pointer to what is wrong, "" for the document itself.
        cause: what is wrong.
        mend: what to do about it.
    """

    def __init__(self, document: str, pointer: str, cause: str, mend: str) -> None:
        super().__init__(f"{document}{' ' + pointer if pointer else ''}: {cause}; {mend}")
        self.document = document
        self.pointer = pointer
        self.cause = cause
        self.mend = mend


@functools.cache
def schema(name: str) -> dict[str, Any]:
    """The JSON Schema called ``name``: that of ``schemas/NAME.json``, as "results-1" or "failure-1"."""
    text = importlib.resources.files("dmlcts.reports").joinpath("schemas", f"{name}.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@functools.cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(schema(name))


def _shown(value: object) -> str:
    text = ""
    value = value[:61] if isinstance(value, str) else value
    for part in json.JSONEncoder(ensure_ascii=False, default=repr).iterencode(value):
        text += part[:61]
        if len(text) > 60:
            return f"{text[:57]}..."
    return text


def _kinds(written: str | list[str]) -> str:
    return written if isinstance(written, str) else " or ".join(written)


def _few(names: list[str]) -> str:
    """Some of the names, each short."""
    more = f" and {len(names) - 3} more" if len(names) > 4 else ""
    return ", ".join(_cut(name) for name in (names[:3] if more else names)) + more


def _explained(value: Any, rule: str, wanted: Any, around: Any) -> tuple[str, str]:
    """The cause and the mend of a schema error, in words.

    Args:
        value: what was written.
        rule: the keyword of the schema that it breaks.
        wanted: the keyword's value.
        around: the schema that the keyword stands in.
    """
    match rule:
        case "required":
            missing = [name for name in wanted if name not in value]
            return f"lacks {', '.join(missing)}", "add what is missing"
        case "additionalProperties":
            unknown = sorted(set(value) - set(around["properties"]))
            return f"has the unknown key {_few(unknown)}", "remove it"
        case "enum":
            known = ", ".join(_shown(member) for member in wanted)
            return f"{_shown(value)} is not known here", f"write one of {known}"
        case "const":
            return f"is {_shown(value)}", f"write {_shown(wanted)}"
        case "type":
            return f"{_shown(value)} has the wrong type", f"write {_kinds(wanted)}"
        case "minimum":
            return f"{_shown(value)} is too small", f"write {wanted} or more"
        case "minLength":
            return "is empty", "write something"
        case _:
            return f"{_shown(value)} is malformed", f"it must match {_shown(wanted)}"


def _at(whole: Any, path: Iterable[str | int]) -> Any:
    for part in path:
        whole = whole[part]
    return whole


def _check(document: object, name: str, where: str) -> None:
    """Refuse a document that does not fit its schema, at the first place where it does not."""
    try:
        _validator(name).validate(document)
    except jsonschema_rs.ValidationError as error:
        *around, rule = error.schema_path
        rules = _at(schema(name), around)
        if not isinstance(rules, dict) or rule not in rules:  # a false schema stands for itself
            around, rule, rules = [], "", {}
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in error.instance_path)
        cause, mend = _explained(error.instance, str(rule), rules.get(rule), rules)
        raise DocumentError(where, "".join(f"/{part}" for part in parts), cause, mend) from None
    except (UnicodeError, ValueError) as error:
        cause = f"holds text that cannot be written as UTF-8 ({error})"
        raise DocumentError(where, "", cause, "write it in UTF-8") from None


def _repeated(values: Iterable[Any]) -> Any | None:
    return next((value for value, times in Counter(values).items() if times > 1), None)


def validate_results(document: object, where: str = "results") -> None:
    """Check a results document: its schema, that no row stands twice, and that its verdict follows.

    Args:
        document: the parsed JSON.
        where: what to call it in the message, such as its path.

    Raises:
        DocumentError: the first thing that is wrong, with its JSON pointer, cause and mend.
    """
    if isinstance(document, dict) and document.get("schema", SCHEMA) not in READ:
        cause = f"is {_shown(document['schema'])} where this version of dmlcts reads {_shown(SCHEMA)}"
        raise DocumentError(where, "/schema", cause, "read it with the version that wrote it")
    _check(document, "results-1", where)
    assert isinstance(document, dict)  # noqa: S101 - the schema says so
    twice = _repeated((row["id"], row["operator"], row["data_type"]) for row in document["clauses"])
    if twice is not None:
        raise DocumentError(where, "/clauses", f"the row {' '.join(twice)} stands twice", "merge the two")
    verdict = Verdict(document["verdict"])
    derived = verdict_of(document)
    if verdict is not derived:
        cause = f"is {verdict.value} where the rows and failures amount to {derived.value}"
        raise DocumentError(where, "/verdict", cause, "it was altered after the run; run the suite again")


def validate_failure(document: object, where: str = "failure") -> None:
    """Check a failure document against its schema.

    Raises:
        DocumentError: the first thing that is wrong, with its JSON pointer, cause and mend.
    """
    _check(document, "failure-1", where)


def _bytes(path: Path, hint: str) -> bytes:
    try:
        data = read_bounded(path, MOST_BYTES)
    except FileNotFoundError:
        raise DocumentError(str(path), "", "does not exist", hint) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DocumentError(str(path), "", f"cannot be read ({reason})", hint) from None
    if path.suffix == ".gz":
        data = _unzipped(data, str(path), hint)
    if len(data) > MOST_BYTES:
        raise DocumentError(str(path), "", f"is larger than {MOST_BYTES >> 20} MiB", hint)
    return data


def _unzipped(data: bytes, where: str, hint: str) -> bytes:
    """What a file of gzip holds, one byte more than is read at most: a small file may unfold without end."""
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            return stream.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError(where, "", f"is no whole file of gzip ({error})", hint) from None


def _decoded(data: bytes, where: str, hint: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(where, "", f"is not UTF-8 text (byte {error.start})", hint) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number has {len(text):,} digits")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {_cut(text)} is beyond all bounds")
    return value


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _no_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = _repeated(key for key, _ in pairs)
        raise ValueError(f"the key {_shown(twice)} stands twice in one object")
    return made


_DECODER = json.JSONDecoder(
    parse_constant=_no_constant, parse_int=_integer, parse_float=_float, object_pairs_hook=_no_repetition
)
"""One for all documents: a journal has a document on each of its lines."""


def values_in(data: bytes) -> int:
    """An upper bound of how many values a JSON document of these bytes holds, found without parsing it."""
    return 1 + data.count(b",") + data.count(b"[") + data.count(b"{")


def parse_json(data: bytes, where: str, hint: str) -> Any:
    """A stranger's JSON: bounded in size, values, depth and digits, no key twice, no NaN and no infinity.

    Every JSON document that is not this package's own is read here.

    Args:
        data: the document's bytes.
        where: what to call it in messages.
        hint: the mend.

    Raises:
        DocumentError: it is no such document.
    """
    if len(data) > MOST_BYTES:
        raise DocumentError(where, "", f"is larger than {MOST_BYTES >> 20} MiB", hint)
    if values_in(data) > MOST_VALUES:
        raise DocumentError(where, "", f"may hold more than {MOST_VALUES:,} values", hint)
    text = _decoded(data, where, hint)
    try:
        if text.startswith("\ufeff"):
            raise ValueError("it begins with a byte order mark")
        document = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise DocumentError(where, "", f"is no JSON: {error.msg} at {place}", hint) from None
    except (ValueError, RecursionError) as error:
        raise DocumentError(where, "", f"is no JSON: {error}", hint) from None
    if nested_deeper(document, MOST_LEVELS):
        raise DocumentError(where, "", f"is nested more than {MOST_LEVELS} levels deep", hint)
    return document


def load_results(path: str | Path) -> dict[str, Any]:
    """Read and check a results document, given its path or the folder that holds its ``results.json``.

    Raises:
        DocumentError: it cannot be read, is no JSON, or is no valid results document.
    """
    path = Path(path)
    if path.is_dir():
        path /= "results.json"
    hint = "give the results.json that `dmlcts run` wrote, or its folder"
    document = parse_json(_bytes(path, hint), str(path), hint)
    validate_results(document, str(path))
    loaded: dict[str, Any] = document
    return loaded


def parse_document(data: bytes, name: str | None, where: str) -> dict[str, Any]:
    """A stranger's JSON document: no key twice, no NaN, and checked against the schema called ``name``.

    Args:
        data: the document's bytes.
        name: its schema, ``None`` for any JSON object.
        where: what to call it in messages.

    Raises:
        DocumentError: it is no such document.
    """
    document = parse_json(data, where, "take it as it was written")
    if not isinstance(document, dict):
        raise DocumentError(where, "", "is no JSON object", "take it as it was written")
    if name is not None:
        _check(document, name, where)
    return document


def parse_yaml(data: bytes, name: str, where: str) -> dict[str, Any]:
    """A YAML document from its bytes, checked against the schema called ``name``.

    Raises:
        DocumentError: it is no YAML, or does not fit the schema.
    """
    return _yaml(_decoded(data, where, "write it in UTF-8"), name, where)


def load_document(path: str | Path, name: str, hint: str) -> dict[str, Any]:
    """Read a JSON document and check it against the schema called ``name``.

    Raises:
        DocumentError: it cannot be read, is no JSON, or does not fit the schema; ``hint`` is part of the mend.
    """
    document = parse_json(_bytes(Path(path), hint), str(path), hint)
    rule = schema(name)["properties"].get("schema", {})
    read = rule.get("enum") or ([rule["const"]] if "const" in rule else [])
    written = document.get("schema") if isinstance(document, dict) else None
    if read and written is not None and written not in read:
        cause = f"is {_shown(written)} where {' or '.join(map(_shown, read))} is read"
        raise DocumentError(str(path), "/schema", cause, hint)
    _check(document, name, str(path))
    loaded: dict[str, Any] = document
    return loaded


def nested_deeper(document: object, levels: int) -> bool:
    """Whether lists and objects are nested in one another more than so many levels deep."""
    around: list[Any] = [document]
    for _ in range(levels + 1):
        inner: list[Any] = []
        for member in around:
            if isinstance(member, dict):
                inner += member.values()
            elif isinstance(member, list):
                inner += member
        around = [member for member in inner if isinstance(member, dict | list)]
        if not around:
            return False
    return True


_FAILURE_HINT = "give one of the files that a run wrote into failures/"


def load_failure(path: str | Path) -> dict[str, Any]:
    """Read and check a failure document, ``failures/*.yaml``.

    Raises:
        DocumentError: it cannot be read, is no YAML, or is no valid failure document.
    """
    return load_yaml(path, "failure-1", _FAILURE_HINT)


def failure_of_bytes(data: bytes, where: str) -> dict[str, Any]:
    """Read and check a failure document that came by another way than a file.

    Args:
        data: the document; of more than ``MOST_BYTES`` the first byte too many is enough.
        where: where it came from, for errors.

    Raises:
        DocumentError: it is too large, no YAML, or no valid failure document.
    """
    if len(data) > MOST_BYTES:
        raise DocumentError(where, "", f"is larger than {MOST_BYTES >> 20} MiB", _FAILURE_HINT)
    return _yaml(_decoded(data, where, _FAILURE_HINT), "failure-1", where)


def load_yaml(path: str | Path, name: str, hint: str) -> dict[str, Any]:
    """Read a YAML document and check it against the schema called ``name``.

    Raises:
        DocumentError: it cannot be read, is no YAML, or does not fit the schema; ``hint`` is part of the mend.
    """
    return _yaml(_decoded(_bytes(Path(path), hint), str(path), hint), name, str(path))


def _yaml(text: str, name: str, where: str) -> dict[str, Any]:
    try:
        document = read_yaml(text, where).value
    except TableError as error:
        fault = error.faults[0]
        place = f"line {fault.line}, column {fault.column}"
        cause = f"is no YAML that can be read: {fault.cause} at {place}"
        raise DocumentError(where, "", cause, fault.mend) from None
    _check(document, name, where)
    loaded: dict[str, Any] = document
    return loaded
