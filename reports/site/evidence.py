"""What kept results show of one clause of an operator: who breaks it with which smallest case, and where it holds."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dmlcts.reports.comparing.reproduction import Reproduction
from dmlcts.reports.documents.outcomes import Outcome, worst
from dmlcts.reports.documents.wording import behaviour_text, type_order
from dmlcts.reports.documents.writing import dump_yaml
from dmlcts.reports.site.kept import Column
from dmlcts.reports.site.standing import Standing
from dmlcts.reports.summaries.causes import first_line
from dmlcts.reports.summaries.overview import Rule, rule_of
from dmlcts.reports.summaries.reasons import RowKey
from dmlcts.specs import UsageError
from dmlcts.specs.tables import Tables

Row = Mapping[str, Any]
_Held = tuple[str, tuple[str, ...]]
"""The types on which a clause was judged and holds, in words, and what else is to be said of them."""


@dataclass(frozen=True)
class Judged:
    """A column with what the site knows of it.

    Attributes:
        column: the column.
        page: the slug of its implementation's page.
        label: what it is called: backend, library, version.
        adapter: what it ran on.
        name: as much of both as no other column has.
        reasons: the reason of each failing row that has one.
    """

    column: Column
    page: str
    label: str
    adapter: str
    name: str
    reasons: Mapping[RowKey, Mapping[str, Any]]

    @property
    def address(self) -> str:
        """Its part of its implementation's page, from the root of the site."""
        slug = self.column.slug
        return f"implementations/{self.page}.html" + (f"#{slug}" if slug != self.page else "")


@dataclass(frozen=True)
class Breach:
    """A column that breaks a clause on an operator, with those that break it alike.

    Attributes:
        judged: the column.
        outcome: the worst outcome of its rows.
        types: the data types that it breaks it on.
        line: the smallest case in one line; "" where the results hold none.
        case: the smallest case; ``None`` where the results hold none.
        folder: where the case's files are, from the root of the site.
        because: the clause whose fault it is, where another's.
        reasons: the reasons that the baseline holds.
        alike: other columns whose smallest case is the same and ends in the same way.
        explained: whether the page has the evidence of ``because``; then the case has no files of its own.
    """

    judged: Judged
    outcome: Outcome
    types: tuple[str, ...]
    line: str
    case: Reproduction | None
    folder: str
    because: str
    reasons: tuple[Mapping[str, Any], ...]
    alike: tuple[Breach, ...] = ()
    explained: bool = False

    @property
    def members(self) -> tuple[Breach, ...]:
        """The breach and those alike."""
        return self, *self.alike

    @property
    def shows(self) -> str:
        """What a reader sees of it but for the column: the same text for columns that break the clause alike."""
        failure = self.case.failure if self.case else {}
        case = [failure.get(name) for name in ("data_type", "details", "case")]
        return json.dumps([self.outcome.value, self.types, self.line, case, self.because], sort_keys=True)

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The text of each file of the case, by its name, as brief as can be: the case, and DirectML's model of it."""
        case = self.case
        if case is None or self.explained or not case.is_whole:
            return {}
        made = {f"{case.name}.yaml": dump_yaml(case.document | {"text": case.failure["title"]}, brief=True)}
        model, _ = case.model
        if model is not None and "directml" in str(self.judged.column.results["device"]["library"]).lower():
            made[f"{case.name}.json"] = json.dumps(model, ensure_ascii=False, allow_nan=False) + "\n"
        return made

    @property
    def commands(self) -> list[tuple[str, str, str]]:
        """What runs the case again, at the root of the site, in three parts: the second is the case's file or empty.

        There is one command for each implementation.
        """
        if self.explained:
            return []
        case = next((f"{self.folder}/{name}" for name in self.files), "")
        whole = dict.fromkeys(each.case.replay(self.folder) for each in self.members if each.case)
        return [command.partition(case) if case else (command, "", "") for command in whole]

    @property
    def model(self) -> str:
        """The file of the DxDispatch model, from the root of the site; "" for none."""
        return next((f"{self.folder}/{name}" for name in self.files if name.endswith(".json")), "")


@dataclass(frozen=True)
class ClauseEvidence:
    """One clause of an operator, of all columns.

    Attributes:
        rule: what the clause says.
        slugs: the columns.
        cells: how each column stands.
        breaches: the columns that break it; those that break it alike are one.
        holding: the other columns that judged it: sign, names and what was judged, those of the same types and
            behaviours together, with the least and the most of their cases and elements; the last and longest list of
            names is "the others"
    """

    rule: Rule
    slugs: tuple[str, ...]
    cells: tuple[Standing, ...]
    breaches: tuple[Breach, ...]
    holding: tuple[tuple[str, str, str], ...]

    def anchor(self, number: int, place: int) -> str:
        """What the cell of a column leads to: its breach, or the clause's place on the page."""
        if self.cells[number].kind != "fail":
            return str(place)
        slug = self.slugs[number]
        breach = next(
            breach for breach in self.breaches if slug in [each.judged.column.slug for each in breach.members]
        )
        return f"{self.rule.id}--{breach.judged.column.slug}"


@dataclass(frozen=True)
class RowsByPlace:
    """The rows, failures and behaviours of a column, by operator and clause.

    Attributes:
        rows: clause rows.
        failures: failing cases.
        behaviours: what was characterised.
    """

    rows: Mapping[str, Mapping[str, Sequence[Row]]]
    failures: Mapping[tuple[str, str], Sequence[Row]]
    behaviours: Mapping[tuple[str, str], Sequence[Row]]

    @classmethod
    def of(cls, results: Mapping[str, Any]) -> RowsByPlace:
        """Sort a results document."""
        rows: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        failures: dict[tuple[str, str], list[Row]] = defaultdict(list)
        behaviours: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in sorted(results["clauses"], key=lambda row: type_order(row["data_type"])):
            rows[row["operator"]][row["id"]].append(row)
        for failure in results["failures"]:
            failures[failure["operator"], failure["clause"]].append(failure)
        for behaviour in results["behaviours"]:
            behaviours[behaviour["operator"], behaviour["clause"]].append(behaviour)
        return cls(rows, failures, behaviours)


def evidence_of(
    operator: str, judged: Sequence[Judged], sorted_rows: Sequence[RowsByPlace], tables: Tables
) -> list[ClauseEvidence]:
    """The clauses of an operator: those first that most columns break, then the tables' order.

    Args:
        operator: the ``OperatorDesc`` name.
        judged: the columns.
        sorted_rows: the rows of each of them.
        tables: the tables to take the clauses' words from.
    """
    order = {clause.id: number for number, clause in enumerate(tables.clauses)}
    clauses = {clause for rows in sorted_rows for clause in rows.rows.get(operator, ())}
    evidence = [_clause(operator, clause, judged, sorted_rows, tables) for clause in clauses]

    def worst_first(clause: ClauseEvidence) -> tuple[int, int, str]:
        return -sum(cell.kind == "fail" for cell in clause.cells), order.get(clause.rule.id, len(order)), clause.rule.id

    broken = {
        (clause.rule.id, each.judged.column.slug)
        for clause in evidence
        for breach in clause.breaches
        for each in breach.members
    }

    def explained(breach: Breach) -> bool:
        return all((breach.because, each.judged.column.slug) in broken for each in breach.members)

    whole = [
        replace(clause, breaches=tuple(replace(breach, explained=explained(breach)) for breach in clause.breaches))
        for clause in evidence
    ]
    return sorted(whole, key=worst_first)


def _clause(
    operator: str, clause: str, judged: Sequence[Judged], sorted_rows: Sequence[RowsByPlace], tables: Tables
) -> ClauseEvidence:
    cells, breaches = [], []
    holding: dict[tuple[str, _Held], list[tuple[str, int, int]]] = defaultdict(list)
    for column, place in zip(judged, sorted_rows, strict=True):
        rows = place.rows.get(operator, {}).get(clause, ())
        standing = Standing.of(rows)
        cells.append(standing)
        if standing.kind == "fail":
            breaches.append(_breach(column, rows, place.failures.get((operator, clause), ()), tables))
        elif rows:
            held = _held(rows, place.behaviours.get((operator, clause), ()), tables)
            cases, elements = (sum(row[name] for row in _ran(rows)) for name in ("cases", "elements"))
            holding[standing.sign, held].append((column.name, cases, elements))
    alike = []
    for (sign, held), columns in holding.items():
        names, numbers_of_cases, numbers_of_elements = zip(*columns, strict=True)
        alike.append((sign, ", ".join(names), _held_words(held, numbers_of_cases, numbers_of_elements)))
    alike.sort(key=lambda group: len(group[1]))
    if alike and ", " in alike[-1][1]:
        sign, _, words = alike[-1]
        alike[-1] = sign, "the others" if len(alike) + len(breaches) > 1 else "all", words
    slugs = tuple(column.column.slug for column in judged)
    return ClauseEvidence(rule_of(clause, tables), slugs, tuple(cells), tuple(_merged(breaches)), tuple(alike))


def _merged(breaches: Iterable[Breach]) -> Iterator[Breach]:
    """Breaches that read alike as one, in the order of the first of each."""
    grouped: dict[str, list[Breach]] = defaultdict(list)
    for breach in breaches:
        grouped[breach.shows].append(breach)
    for first, *others in grouped.values():
        yield replace(first, alike=tuple(others))


def _breach(column: Judged, rows: Iterable[Row], failures: Iterable[Row], tables: Tables) -> Breach:
    broken = [row for row in rows if Outcome(row["outcome"]).breaks_conformance]
    version = str(column.column.results["suite"]["version"])
    cases = [Reproduction(failure, version) for failure in failures if _breaks(failure)]
    case = min(cases, key=lambda case: case_order(case, tables), default=None)
    explaining = dict.fromkeys(str(row["because"]) for row in broken if row.get("because"))
    keys = [(row["id"], row["operator"], row["data_type"]) for row in broken]
    reasons = {id(reason): reason for key in keys if (reason := column.reasons.get(key)) is not None}
    return Breach(
        column,
        worst(Outcome(row["outcome"]) for row in broken),
        tuple(row["data_type"] for row in broken),
        "" if case is None else first_line(case.failure).partition("\n")[0],
        case,
        f"cases/{column.column.slug}",
        next(iter(explaining), "") if len(explaining) == 1 else "",
        tuple(reasons.values()),
    )


def _breaks(failure: Row) -> bool:
    return Outcome(failure["outcome"]).breaks_conformance


def case_order(case: Reproduction, tables: Tables) -> tuple[Any, ...]:
    """The place of a case among others of a clause: the smallest comes first, also of a clause of other tables."""
    try:
        return (0, *case.order(tables))
    except UsageError:
        return (1, case.name)


def _ran(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not Outcome(row["outcome"]).did_not_run]


def _held(rows: Sequence[Row], behaviours: Sequence[Row], tables: Tables) -> _Held:
    """What was judged of rows that nobody breaks: the types that ran, and those that did not and what was seen."""
    idle = [row for row in rows if Outcome(row["outcome"]).did_not_run]
    ran = [row["data_type"] for row in _ran(rows)]
    parts = []
    if idle:
        outcomes = " or ".join(dict.fromkeys(row["outcome"].replace("_", " ") for row in idle))
        parts.append(f"{outcomes} on {', '.join(row['data_type'] for row in idle)}")
    types_of: dict[str, list[str]] = defaultdict(list)
    for behaviour in behaviours:
        types_of[behaviour_text(behaviour["clause"], behaviour["behaviour"], tables)].append(behaviour["data_type"])
    alone = len(types_of) == 1
    parts += [text if alone else f"{text} ({', '.join(names)})" for text, names in types_of.items()]
    return ", ".join(ran) if len(ran) < 3 else f"{len(ran)} types", tuple(parts)


def _held_words(held: _Held, cases: Iterable[int], elements: Iterable[int]) -> str:
    """What was judged of columns alike, from how many cases and elements each had."""
    types, parts = held
    ran = [f"{types}: {_range(cases)} cases, {_range(elements)} elements"] if types else []
    return "; ".join((*ran, *parts))


def _range(numbers: Iterable[int]) -> str:
    """The least and the most: "866 to 1,272"; one number where all are equal."""
    known = sorted(set(numbers))
    return " to ".join(f"{number:,}" for number in dict.fromkeys((known[0], known[-1])))
