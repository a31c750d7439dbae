"""Pydantic's errors as faults: each at its place in the file, with cause and mend."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from dmlcts.specs.errors import Fault
from dmlcts.specs.reading.mends import closest
from dmlcts.specs.reading.yaml_source import Document, KeyPath, shown


@dataclass(frozen=True)
class _Problem:
    """One error of pydantic: its place in the document, and the place where a choice of types began."""

    path: KeyPath
    choice: KeyPath | None
    at_key: bool
    cause: str
    mend: str


def model_faults(document: Document, model: type[BaseModel], error: ValidationError) -> Iterator[Fault]:
    """The faults of a document that does not fit ``model``."""
    problems: dict[object, list[_Problem]] = {}
    for number, details in enumerate(error.errors(include_url=False)):
        kind, value = details["type"], details["input"]
        if kind == "too_short" and len(value) >= details["ctx"]["min_length"]:
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
        return _Problem(path, choice, True, f"unknown key {shown(path[-1])}", closest(path[-1], known))
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
            return f"{shown(value)} is not allowed here", closest(value, allowed)
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
        if step in model.model_fields:  # other steps are places in a list and keys of a mapping, of that model's rows
            inner = _models_in(model.model_fields[step].annotation)
            model = next(inner, model)
    return tuple(model.model_fields)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)
