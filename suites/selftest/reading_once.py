"""Built-in tables that are read again in the same process: what one test has parsed, the next need not parse.

Hundreds of selftests read the built-in files beside a table of their own. Parsing these takes longer than what most of
the tests do, and so does checking the relations between their operators. Only what is the same to the last character
is remembered: a file that a test changes is read, and a relation to a table that it changes is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from dmlcts.specs.checking import statement_checks
from dmlcts.specs.loading import load
from dmlcts.specs.models import Clause, OperatorTable
from dmlcts.specs.reading.table_files import builtin_files
from dmlcts.specs.reading.yaml_source import Document, decode


@contextmanager
def reading_once() -> Iterator[None]:
    """Parse each built-in file, and check each relation between the same tables, once while this is open."""
    texts = {(decode(file.data, file.name), file.name) for file in builtin_files()}
    plainly, keeping = load.read_yaml, cache(load.read_yaml)
    built_in: set[int] = set()  # the identities of what stays in memory: of documents, then of what they fit

    def read(text: str, name: str) -> Document:
        if (text, name) not in texts:
            return plainly(text, name)
        document = keeping(text, name)
        built_in.add(id(document))
        return document

    def remembering(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        known: dict[int, Any] = {}

        def remembered(argument: Any) -> Any:
            if id(argument) not in built_in:
                return function(argument)
            if id(argument) not in known:
                known[id(argument)] = result = function(argument)
                built_in.add(id(result))
            return known[id(argument)]

        return remembered

    own_faults = load.own_faults
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "read_yaml", read)
        patch.setattr(load, "fit", remembering(load.fit))
        patch.setattr(load, "own_faults", remembering(lambda item: tuple(own_faults(item))))
        patch.setattr(statement_checks, "_related", checking_once(statement_checks._related))
        yield


def checking_once(check: Callable[..., None]) -> Callable[..., None]:
    """A check of relations that is not made again of a clause and tables which have passed it."""
    passed: dict[tuple[str | int, ...], tuple[Any, ...]] = {}  # with what must stay, so that no other has its identity

    def checked(tables: Mapping[str, OperatorTable], table: OperatorTable, clause: Clause, member: str) -> None:
        words = set(re.findall(r"\w+", f"{clause.where} {clause.holds}"))
        named = tuple(other for other in tables.values() if other.short_name in words)
        key = (member, id(table), id(clause), *map(id, named))
        if key not in passed:
            check(tables, table, clause, member)
            passed[key] = (table, clause, named)

    return checked
