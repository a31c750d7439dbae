"""The value of an option of a run: read from what was typed, as plain data for the journal, as arguments of pytest.

An option is read by its kind (:func:`read_value`), and ``--shard 1/4`` by :func:`read_shard`; patterns of clauses are
checked by :func:`check_clauses`. A feature level, a data type and waivers have readers of their own, called by
:meth:`Settings.read <dmlcts.suites.running.options.Settings.read>`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dmlcts.backends.registry import parse_options
from dmlcts.reports.documents.selecting import LEAVES_OUT, chooses
from dmlcts.specs import FeatureLevel, UsageError
from dmlcts.specs.tables import Tables
from dmlcts.suites.options.option import Kind, Option


def split(values: Iterable[str]) -> tuple[str, ...]:
    """Repeated and comma-separated option values as one list."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def read_value(row: Option, typed: Any) -> Any:
    """The value of an option.

    Args:
        row: the option.
        typed: what was typed, or the value itself: a text, a number, or a sequence of texts for a repeatable option;
            pairs may be a mapping.

    Returns:
        A frozen value: of pairs a tuple of them, of other repeatable options a tuple of texts.

    Raises:
        UsageError: it is none of the option's choices, no such number, or a pair without a key.
    """
    if row.kind is Kind.PAIRS:
        words = [f"{key}={value}" for key, value in typed.items()] if isinstance(typed, Mapping) else typed
        return tuple(parse_options(words).items())
    if row.kind is Kind.NAMES:
        return split(typed)
    if row.repeatable:
        return tuple(typed)
    if typed is None or row.kind is Kind.FLAG:
        return typed
    if row.choices and typed not in row.choices:
        raise UsageError(f"no {_plain_noun(row)} {typed!r}", f"choose one of {', '.join(row.choices)}")
    if row.kind is Kind.NUMBER:
        return _whole(row, typed)
    return _seconds(row, typed) if row.kind is Kind.SECONDS else typed


def read_shard(text: str) -> tuple[int, int]:
    """The part and the number of parts that ``--shard`` names: (1, 4) of "1/4".

    Raises:
        UsageError: it is no such pair, or a part beyond the last one.
    """
    pair = re.fullmatch(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})", text)
    if pair is None or int(pair[1]) > int(pair[2]):
        raise UsageError(f"the shard {text!r} is not one of so many", "write for example --shard 1/4")
    return int(pair[1]), int(pair[2])


def check_clauses(patterns: Sequence[str], tables: Tables) -> None:
    """Refuse patterns of clauses that mean nothing: ``clip.*``, or ``!max.pair`` for what is left out.

    Args:
        patterns: as read from ``--clause``.
        tables: the tables whose clauses they are of.

    Raises:
        UsageError: a pattern matches no clause, or together they leave none.
    """
    for pattern in patterns:
        sign = LEAVES_OUT if pattern.startswith(LEAVES_OUT) else ""
        wanted = pattern.removeprefix(sign)
        if not any(chooses((wanted,), clause.id) for clause in tables.clauses):
            raise UsageError(f"no clause matches {pattern!r}", tables.clause_mend(wanted, sign))
    if not any(chooses(patterns, clause.id) for clause in tables.clauses):
        raise UsageError("--clause leaves out every clause that it selects", "leave out fewer")


def _plain_noun(row: Option) -> str:
    return (row.noun or row.spelling).removeprefix("the ")


def _whole(row: Option, typed: str | float) -> int:
    try:
        number = int(typed)
    except ValueError:
        number = -1
    least, most = int(row.least), None if row.most is None else int(row.most)
    if number < least or (most is not None and number > most):
        limits = f"from {least} on" if most is None else f"from {least} to {most}"
        raise UsageError(f"{row.noun} {typed!r} is not a whole number {limits}", "choose such a number")
    return number


def _seconds(row: Option, typed: str | float) -> float:
    try:
        seconds = float(typed)
    except ValueError:
        seconds = math.nan
    most = math.inf if row.most is None else row.most
    if not row.least <= seconds <= most:
        raise UsageError(
            f"{row.noun} {typed!r} is not a number of seconds from {row.least} to {most:g}",
            f"give for example {row.spelling} {row.default}",
        )
    return seconds


def plain_value(row: Option, value: Any) -> Any:
    """A value as plain data: what a journal keeps; pairs are a mapping, other tuples a list."""
    if row.kind is Kind.PAIRS:
        return dict(value)
    if isinstance(value, FeatureLevel):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def is_plain_value(row: Option, value: object) -> bool:
    """Whether plain data from a stranger has the kind that a journal keeps for an option."""
    if row.kind is Kind.PAIRS:
        return isinstance(value, Mapping)
    if row.repeatable:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    kinds: tuple[type, ...] = (str,)
    if row.kind is Kind.FLAG:
        kinds = (bool,)
    elif row.kind is Kind.NUMBER:
        kinds = (int,)
    elif row.kind is Kind.SECONDS:
        kinds = (int, float)
    return isinstance(value, kinds) or (value is None and row.default is None)


def arguments_of(row: Option, plain: Any) -> list[str]:
    """The arguments that set an option to a plain value; `=` keeps pytest from taking a value for a path to collect."""
    if row.kind is Kind.FLAG:
        return [row.spelling] if plain else []
    if isinstance(plain, Mapping):
        return [f"{row.spelling}={key}={value}" for key, value in plain.items()]
    if isinstance(plain, list):
        return [f"{row.spelling}={value}" for value in plain]
    if plain is None:
        return []
    return [f"{row.spelling}={plain:g}" if isinstance(plain, float) else f"{row.spelling}={plain}"]
