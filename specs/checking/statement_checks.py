"""The checks of what clauses state: silent points by themselves, relations with the tables of their operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from dmlcts.specs.checking.formula_checks import faults_of
from dmlcts.specs.errors import Fault, FormulaError
from dmlcts.specs.models import Clause, OperatorTable
from dmlcts.specs.reading.mends import closest
from dmlcts.specs.reading.yaml_source import Document, KeyPath
from dmlcts.specs.statements.kinds import Kind, Names, joined, kind_of
from dmlcts.specs.statements.relations import Relation
from dmlcts.specs.statements.statement import Stated, descriptions, speaks_of


def statement_faults(document: Document, table: OperatorTable) -> Iterator[Fault]:
    """What is wrong with the statements of one table, but for the operators that relations name."""
    for index, clause in enumerate(table.clauses):
        path: KeyPath = ("clauses", index)
        belongs = {
            "where": ("silent", "relation"),
            "point": ("silent",),
            "behaviours": ("silent",),
            "accepted": ("silent",),
            "strict": ("silent",),
            "holds": ("relation",),
        }
        for member, checks in belongs.items():
            if getattr(clause, member) and clause.check not in checks:
                cause = f"the clause {clause.id} has `{member}`, which {clause.check!r} does not look at"
                mend = f"remove it, or write `check: {checks[0]}`"
                yield document.fault((*path, member), cause, mend, at_key=True)
        if clause.check == "silent":
            yield from _silent_faults(document, path, table, clause)
        elif clause.check == "relation":
            if clause.holds is None:
                yield document.fault(path, f"the relation {clause.id} says nothing", "add `holds:`")
            if clause.obligation == "unspecified":
                cause = f"the relation {clause.id} is unspecified, and nothing could fail it"
                yield document.fault((*path, "obligation"), cause, "write `obligation: implied`")


def _silent_faults(document: Document, path: KeyPath, table: OperatorTable, clause: Clause) -> Iterator[Fault]:
    if clause.where is None:
        yield document.fault(path, f"the silent point {clause.id} does not say where", "add `where:`")
    if clause.obligation == "required":
        cause = f"the silent point {clause.id} is required, and the operator's page says nothing of it"
        yield document.fault((*path, "obligation"), cause, "write `obligation: implied` where another page does")
    elif clause.obligation == "implied" and clause.behaviours:
        cause = f"the silent point {clause.id} is implied, and its behaviours would name what the formula gives"
        yield document.fault((*path, "behaviours"), cause, "remove them", at_key=True)
    elif clause.obligation == "unspecified" and not clause.behaviours:
        yield document.fault(path, f"the silent point {clause.id} names no behaviour", "add `behaviours:`")
    for member, names, known in (
        ("accepted", clause.accepted, tuple(clause.behaviours)),
        ("strict", clause.strict, clause.accepted),
    ):
        for item, name in enumerate(names):
            if name not in known:
                cause = f"{name!r} is none of the {'behaviours' if member == 'accepted' else 'accepted ones'}"
                yield document.fault((*path, member, item), cause, closest(name, known))
    if clause.accepted and table.has_scale_bias:
        cause = "what is accepted follows from x, and a ScaleBias changes it before"
        yield document.fault((*path, "accepted"), cause, "leave it to the formula", at_key=True)
    texts = {(*path, "behaviours", name): text for name, text in clause.behaviours.items()}
    if clause.where is not None:
        texts[*path, "where"] = clause.where
    for where, text in texts.items():
        wanted = "truth" if where[-1] == "where" and len(where) == len(path) + 1 else "number"
        yield from faults_of(document, where, lambda text=text, wanted=wanted: _typed(table, clause, text, wanted))  # type: ignore[misc]  # a lambda's defaults have no types


def _typed(table: OperatorTable, clause: Clause, text: str, wanted: str) -> None:
    """Parse a statement and see that it is of the kind that is wanted on every signature of the clause's types.

    Raises:
        FormulaError: it is no statement, or of another kind.
    """
    for operator in descriptions(table):
        if not speaks_of(clause, table, operator):
            continue
        stated = Stated(table, operator, {})
        kind = kind_of(stated.parsed(text), Names.of(table, stated.signature))
        if wanted == "truth" and kind != "truth":
            raise FormulaError("the condition is a number", "compare it, as in b == 0")
        if wanted == "number":
            _as_output(kind, stated)


def _as_output(kind: Kind, stated: Stated) -> None:
    if kind == "truth":
        raise FormulaError("the behaviour is a truth value", "cast it to the output's type")
    integer: Kind = "whole" if not stated.output.is_floating else stated.output
    if stated.output.is_floating or (kind not in ("whole", "constant") and kind.is_floating):  # type: ignore[union-attr]  # no truth value, above
        joined([kind, integer], "the output")


def relation_faults(tables: Iterable[tuple[Document, OperatorTable]]) -> Iterator[Fault]:
    """What is wrong with relations, whose operators stand in other tables."""
    known = [(document, table) for document, table in tables]
    by_name = {table.operator: table for _, table in known}
    for document, table in known:
        for index, clause in enumerate(table.clauses):
            for member in ("where", "holds"):
                text = getattr(clause, member)
                if clause.check == "relation" and text is not None:
                    path: KeyPath = ("clauses", index, member)
                    yield from faults_of(
                        document,
                        path,
                        lambda table=table, clause=clause, member=member: _related(by_name, table, clause, member),  # type: ignore[misc]  # as above
                    )


def _related(tables: Mapping[str, OperatorTable], table: OperatorTable, clause: Clause, member: str) -> None:
    for operator in descriptions(table):
        if not speaks_of(clause, table, operator) or clause.holds is None:
            continue
        if member == "where":
            stated = Stated(table, operator, {})
            kind = kind_of(stated.parsed(clause.where or ""), Names.of(table, stated.signature))
        else:
            kind = Relation(tables, table, clause.model_copy(update={"where": None}), operator).kind
        if kind != "truth":
            raise FormulaError("the statement is a number", "compare it, as in MAX(a, b) == MAX(b, a)")
