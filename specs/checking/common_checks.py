"""A table as it was loaded, and the checks that tables of several formats share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from dmlcts.specs.errors import Fault
from dmlcts.specs.models import Clause
from dmlcts.specs.reading.yaml_source import Document, KeyPath

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel, covariant=True)


@dataclass(frozen=True)
class Loaded(Generic[Model]):
    """A table that fits its model, with the document it was read from."""

    document: Document
    table: Model


def tables_of(loaded: Iterable[Loaded[Any]], model: type[T]) -> list[tuple[Document, T]]:
    """The tables of one format, with their documents."""
    return [(item.document, item.table) for item in loaded if isinstance(item.table, model)]


def repeated(document: Document, path: KeyPath, names: Sequence[str], what: str, *member: str) -> Iterator[Fault]:
    """Faults for the names that a list holds twice."""
    for index, name in enumerate(names):
        if name in names[:index]:
            where = (*path, index, *member)
            yield document.fault(where, f"{what} {name!r} stands twice", "remove or rename one of them")


def clause_faults(document: Document, path: KeyPath, clause: Clause) -> Iterator[Fault]:
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
    if (clause.level is None) == (clause.check == "support.level"):
        if clause.level is None:
            yield document.fault((*path, "check"), f"the clause {clause.id} states no level", "add `level:`")
        else:
            cause = f"the clause {clause.id} has a level, which {clause.check!r} does not look at"
            yield document.fault((*path, "level"), cause, "remove it, or write `check: support.level`", at_key=True)
    if clause.data_types == ():
        cause = f"the clause {clause.id} is about no data type"
        yield document.fault((*path, "data_types"), cause, "list some, or remove the key")
