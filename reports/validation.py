"""Reading documents back: results and failures from disk, checked, with one clear line for what is wrong."""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import jsonschema

from dmlcts.reports.outcomes import Verdict
from dmlcts.reports.results import SCHEMA, verdict_of
from dmlcts.specs import DmlctsError, TableError
from dmlcts.specs.yaml_source import read_yaml

FAILURE_FORMAT = "dmlcts/failure/1"
MOST_BYTES = 64 << 20
MOST_LEVELS = 64


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
    """The JSON Schema called ``name``: "results-1", "failure-1", "selftest-1", "fingerprint-1" or "comparison-1"."""
    text = importlib.resources.files("dmlcts.reports").joinpath("schemas", f"{name}.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@functools.cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema(name))


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _kinds(written: str | list[str]) -> str:
    return written if isinstance(written, str) else " or ".join(written)


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
            return f"has the unknown key {', '.join(unknown)}", "remove it"
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


def _order(error: jsonschema.ValidationError) -> tuple[int, str]:
    return len(error.absolute_path), error.json_path


def _check(document: object, name: str, where: str) -> None:
    errors = sorted(_validator(name).iter_errors(document), key=_order)
    if errors:
        first = errors[0]
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in first.absolute_path)
        cause, mend = _explained(first.instance, str(first.validator), first.validator_value, first.schema)
        raise DocumentError(where, "".join(f"/{part}" for part in parts), cause, mend)


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
    if isinstance(document, dict) and document.get("schema", SCHEMA) != SCHEMA:
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


def _text(path: Path, hint: str) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DocumentError(str(path), "", f"is larger than {MOST_BYTES >> 20} MiB", hint)
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DocumentError(str(path), "", "does not exist", hint) from None
    except UnicodeDecodeError as error:
        raise DocumentError(str(path), "", f"is not UTF-8 text (byte {error.start})", hint) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise DocumentError(str(path), "", f"cannot be read ({reason})", hint) from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def load_results(path: str | Path) -> dict[str, Any]:
    """Read and check a results document, given its path or the folder that holds its ``results.json``.

    Raises:
        DocumentError: it cannot be read, is no JSON, or is no valid results document.
    """
    path = Path(path)
    if path.is_dir():
        path /= "results.json"
    document = _json(path, "give the results.json that `dmlcts run` wrote, or its folder")
    validate_results(document, str(path))
    loaded: dict[str, Any] = document
    return loaded


def _no_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = _repeated(key for key, _ in pairs)
    if twice is not None:
        raise ValueError(f"the key {_shown(twice)} stands twice in one object")
    return dict(pairs)


def parse_document(data: bytes, name: str | None, where: str) -> dict[str, Any]:
    """A stranger's JSON document: no key twice, no NaN, and checked against the schema called ``name``.

    Args:
        data: the document's bytes.
        name: its schema, ``None`` for any JSON object.
        where: what to call it in messages.

    Raises:
        DocumentError: it is no such document.
    """
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_no_repetition)
    except (ValueError, RecursionError) as error:
        raise DocumentError(where, "", f"is no JSON: {error}", "take it as it was written") from None
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
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(where, "", f"is not UTF-8 text (byte {error.start})", "write it in UTF-8") from None
    return _yaml(text, name, where)


def load_document(path: str | Path, name: str, hint: str) -> dict[str, Any]:
    """Read a JSON document and check it against the schema called ``name``.

    Raises:
        DocumentError: it cannot be read, is no JSON, or does not fit the schema; ``hint`` is part of the mend.
    """
    document = _json(Path(path), hint)
    _check(document, name, str(path))
    loaded: dict[str, Any] = document
    return loaded


def _json(path: Path, hint: str) -> Any:
    text = _text(path, hint)
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise DocumentError(str(path), "", f"is no JSON: {error.msg} at {place}", hint) from None
    except (ValueError, RecursionError) as error:
        raise DocumentError(str(path), "", f"is no JSON: {error}", hint) from None
    if nested_deeper(document, MOST_LEVELS):
        raise DocumentError(str(path), "", f"is nested more than {MOST_LEVELS} levels deep", hint)
    return document


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


def load_failure(path: str | Path) -> dict[str, Any]:
    """Read and check a failure document, ``failures/*.yaml``.

    Raises:
        DocumentError: it cannot be read, is no YAML, or is no valid failure document.
    """
    return load_yaml(path, "failure-1", "give one of the files that a run wrote into failures/")


def load_yaml(path: str | Path, name: str, hint: str) -> dict[str, Any]:
    """Read a YAML document and check it against the schema called ``name``.

    Raises:
        DocumentError: it cannot be read, is no YAML, or does not fit the schema; ``hint`` is part of the mend.
    """
    return _yaml(_text(Path(path), hint), name, str(path))


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
