"""What a results document amounts to, arranged for a reader: shared by the HTML page and the Markdown summary.

Everything here is derived from the document and the tables. A clause that the tables do not have (the results
come from other tables) is shown with what the document itself says of it.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from dmlcts.reports.documents.outcomes import Outcome, Verdict, worst
from dmlcts.reports.documents.selecting import rows_of_selection
from dmlcts.reports.documents.wording import places, type_order
from dmlcts.reports.summaries.causes import causes, examined
from dmlcts.reports.summaries.fault_groups import UNEXAMINED
from dmlcts.specs import UsageError
from dmlcts.specs.models import Clause
from dmlcts.specs.number_text import many
from dmlcts.specs.tables import Tables

OTHER = "other"
SUBJECTS: tuple[str, ...] = (*get_args(Clause.model_fields["subject"].annotation), OTHER)
"""The subjects that the tables sort clauses by, and the one of clauses that they do not have."""

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Rule:
    """A clause as the tables say it; only ``id`` where they have none.

    Attributes:
        id: the clause's id.
        subject: one of :data:`SUBJECTS`.
        obligation: "required", "implied" or "unspecified".
        text: the statement, in the tables' words.
        quotation: the words of the source that it rests on, or "".
        source: title, locale and revision of that source.
        address: where that source can be read, or "".
        disagreements: other documents that say something else, with what they say.
        permitted: for what is unspecified, the outcomes that are permitted.
    """

    id: str
    subject: str = OTHER
    obligation: str = ""
    text: str = "These tables have no such clause: the results come from other tables."
    quotation: str = ""
    source: str = ""
    disagreements: tuple[tuple[str, str], ...] = ()
    permitted: tuple[str, ...] = ()
    address: str = ""


@dataclass(frozen=True)
class Cell:
    """One operator, data type and subject of the matrix.

    Attributes:
        outcome: the worst outcome of its rows.
        clauses: how many rows it has.
        broken: how many of them break conformance.
        anchor: the clause to read first.
    """

    outcome: Outcome
    clauses: int
    broken: int
    anchor: str


@dataclass(frozen=True)
class Matrix:
    """One operator's outcomes: a line for each subject, a column for each data type.

    Attributes:
        operator: the ``OperatorDesc`` name.
        data_types: the columns.
        lines: subject and cells; ``None`` where there is nothing to check.
        unlisted: the columns of types that the operator's table does not list; they may be refused.
        whole: a cell for each column, of all subjects together.
    """

    operator: str
    data_types: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Cell | None, ...]], ...]
    unlisted: frozenset[str]
    whole: tuple[Cell, ...] = ()

    @property
    def anchor(self) -> str:
        """What links to the operator's section."""
        return "operator-" + self.operator.removeprefix("ELEMENT_WISE_").lower().replace("_", "-")

    @property
    def broken(self) -> int:
        """How many rows break conformance."""
        return sum(cell.broken for cell in self.whole)

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of a column; what is characterised in some and holds in others holds."""
        outcomes = {cell.outcome for cell in self.whole}
        return worst(outcomes - {Outcome.CHARACTERISED} or outcomes)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes of its cells, the worst first."""
        return tuple(sorted({cell.outcome for cell in self._cells}))

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects of its lines."""
        return tuple(subject for subject, _ in self.lines)

    @property
    def _cells(self) -> Iterator[Cell]:
        return (cell for _, cells in self.lines for cell in cells if cell is not None)

    def of_type(self, data_type: str) -> Cell | None:
        """The cell of a column, by its name."""
        return dict(zip(self.data_types, self.whole, strict=True)).get(data_type)


@dataclass(frozen=True)
class Entry:
    """One clause with everything that the run found about it.

    Attributes:
        rule: what it says.
        outcome: the worst outcome of its rows.
        rows: its rows of the document.
        where: operators and data types of the rows that break conformance, in words; "" for none.
        cases: how many cases were executed.
        elements: how many output elements were judged.
        failures: how many cases failed.
    """

    rule: Rule
    outcome: Outcome
    rows: Rows
    where: str
    cases: int
    elements: int
    failures: int

    @property
    def operators(self) -> tuple[str, ...]:
        """The ``OperatorDesc`` names of its rows."""
        return self._distinct("operator")

    @property
    def data_types(self) -> tuple[str, ...]:
        """The data type names of its rows."""
        return self._distinct("data_type")

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The outcomes of its rows."""
        return self._distinct("outcome")

    def _distinct(self, member: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(str(row[member]) for row in self.rows))


@dataclass(frozen=True)
class Failure:
    """One failing case, however many tests came down to it.

    Attributes:
        document: its entry in the results document.
        rule: the clause it breaks; ``None`` where no single clause is at fault.
        tests: the tests that found it.
        cause: the number of the fault under which it is shown (:mod:`.causes`); all cases that nobody examined have one
            number, and the waived ones of each clause.
    """

    document: Mapping[str, Any]
    rule: Rule | None
    tests: tuple[str, ...]
    cause: int = 0


@dataclass(frozen=True)
class Overview:
    """A results document, arranged for a reader.

    Attributes:
        results: the document.
        verdict: its verdict.
        sentence: what the verdict rests on, in words.
        counts: how many rows ended in each outcome, worst first, those that occur.
        matrices: one an operator.
        entries: every clause that has a row, the worst first, then in the tables' order.
        failures: every failing case in the order of causes; those shown under one clause stand together.
        selection: what was selected, in words; "" for everything.
        same_tables: whether the tables that this overview was made with are those the run rested on.
        rules: every clause that a row or failure names, by id.
        rows: the document's rows without those that only hold on operators and types that were not selected.
    """

    results: Mapping[str, Any]
    verdict: Verdict
    sentence: str
    counts: tuple[tuple[Outcome, int], ...]
    matrices: tuple[Matrix, ...]
    entries: tuple[Entry, ...]
    failures: tuple[Failure, ...]
    selection: str
    same_tables: bool
    rules: Mapping[str, Rule] = field(repr=False)
    rows: Rows = field(repr=False)


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """The outcome of a row or failure of a results document."""
    return Outcome(row["outcome"])


def judged_name(backend: str, device: Mapping[str, Any]) -> str:
    """What was judged, for a headline: "DirectML.dll 1.15.4.0 on an adapter", "cpu (numpy 2.4.6) on x86_64".

    Args:
        backend: the backend's name.
        device: the ``device`` of a results document, sweep record or baseline.
    """
    name, adapter = (str(device.get(member) or "") for member in ("name", "adapter"))
    name = name or backend
    library = " ".join(str(device[member]) for member in ("library", "version") if device.get(member))
    if library and name.lower() in str(device.get("library") or "").lower():
        shown = library
    else:
        shown = f"{name} ({library})" if library else name
    return f"{shown} on {adapter}" if adapter and adapter != name else shown


def rule_of(identifier: str, tables: Tables) -> Rule:
    """What the tables say of a clause."""
    try:
        clause = tables.clause(identifier)
    except UsageError:
        return Rule(identifier)
    source = tables.source(identifier)
    titles = {item.id: item.title for item in tables.owner(identifier).sources}
    return Rule(
        identifier,
        clause.subject,
        clause.obligation,
        clause.text,
        clause.quotation.words if clause.quotation else "",
        source.cited,
        tuple((titles[item.source], item.says) for item in clause.disagreements),
        clause.permitted,
        source.address or "",
    )


def selection_text(selection: Mapping[str, Any]) -> str:
    """What was selected, in words; "" for everything."""
    chosen = {name: value for name, value in selection.items() if value}
    return "; ".join(
        f"{name.replace('_', ' ')} {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in chosen.items()
    )


def _sentence(results: Mapping[str, Any], rows: Rows, entries: Sequence[Entry]) -> str:
    broken = [entry for entry in entries if entry.outcome.breaks_conformance]
    stray = [failure for failure in results["failures"] if not failure["clause"]]
    idle = sum(outcome_of(row).did_not_run for row in rows)
    waived = sum(outcome_of(row) is Outcome.WAIVED for row in rows)
    facts = [f"{len(broken)} of {many(len(entries), 'clause')} broken"] if broken else []
    facts += [f"{many(len(stray), 'test')} failed outside any clause"] if stray else []
    facts += [f"{many(idle, 'row')} of {len(rows):,} required rows did not run"] if idle else []
    facts += [f"{many(waived, 'row')} waived"] if waived else []
    facts += ["the run was stopped before its end"] if results["interrupted"] else []
    if not rows:
        facts.append("nothing ran")
    beside = sorted({failure["clause"] for failure in results.get("besides", ())})
    suffix = f" Also failing, though not selected: {', '.join(beside)}." if beside else ""
    if not facts:
        where = f"in {many(len(rows), 'row')} of operators and data types"
        return f"All {many(len(entries), 'clause')} hold, {where}.{suffix}"
    return f"{'; '.join(facts)[0].upper()}{'; '.join(facts)[1:]}.{suffix}"


def _cell(rows: Rows) -> Cell | None:
    if not rows:
        return None
    ordered = sorted(rows, key=lambda row: (outcome_of(row), row["id"]))
    outcome = outcome_of(ordered[0])
    if outcome is Outcome.CHARACTERISED and outcome_of(ordered[-1]) is Outcome.PASS:
        outcome = Outcome.PASS  # what was characterised is no defect, and must not hide that the rest holds
    broken = sum(outcome_of(row).breaks_conformance for row in rows)
    return Cell(outcome, len(rows), broken, str(ordered[0]["id"]))


def _matrices(rows: Rows, rules: Mapping[str, Rule], tables: Tables) -> tuple[Matrix, ...]:
    cells: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cells[row["operator"], rules[row["id"]].subject, row["data_type"]].append(row)
    matrices = []
    by_type: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        by_type[row["operator"], row["data_type"]].append(row)
    for operator in sorted({row["operator"] for row in rows}):
        types = tuple(sorted((name for key_operator, name in by_type if key_operator == operator), key=type_order))
        lines = tuple(
            (subject, tuple(_cell(cells.get((operator, subject, name), [])) for name in types))
            for subject in SUBJECTS
            if any((operator, subject, name) in cells for name in types)
        )
        table = tables.operators.get(operator)
        listed = types if table is None else tuple(data_type.name for data_type in table.data_types)
        whole = tuple(cell for name in types if (cell := _cell(by_type[operator, name])) is not None)
        matrices.append(Matrix(operator, types, lines, frozenset(types) - frozenset(listed), whole))
    return tuple(matrices)


def _entries(rows: Rows, rules: Mapping[str, Rule], tables: Tables) -> tuple[Entry, ...]:
    grouped: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        grouped[row["id"]].append(row)
    order = {clause.id: number for number, clause in enumerate(tables.clauses)}
    entries = []
    for identifier, members in grouped.items():
        broken = {(row["operator"], row["data_type"]) for row in members if outcome_of(row).breaks_conformance}
        entries.append(
            Entry(
                rules[identifier],
                worst(map(outcome_of, members)),
                sorted(members, key=lambda row: (row["operator"], type_order(row["data_type"]))),
                places(broken, tables),
                *(sum(row[name] for row in members) for name in ("cases", "elements", "failures")),
            )
        )
    place = {entry.rule.id: order.get(entry.rule.id, len(order)) for entry in entries}
    serious = (Outcome.PASS, Outcome.CHARACTERISED)  # these two are of one rank here: neither needs attention
    return tuple(
        sorted(
            entries,
            key=lambda entry: (
                len(Outcome) if entry.outcome in serious else entry.outcome.rank,
                place[entry.rule.id],
                entry.rule.id,
            ),
        )
    )


def _failures(rows: Rows, failures: Rows, rules: Mapping[str, Rule]) -> tuple[Failure, ...]:
    """Failures that several tests reached are one; in the order of causes, waived ones last."""
    heads, rest = examined(causes(rows, failures, lambda clause: rules[clause].subject))
    under: dict[tuple[str, ...], tuple[int, int]] = {}
    for number, group in enumerate([*([cause] for cause in heads), rest]):
        members = [cause for head in group for cause in (head, *head.folded)]
        for at, failure in enumerate(failure for member in members for failure in member.failures):
            under.setdefault(_identity(failure), (number, at))
    others = sorted({failure["clause"] for failure in failures})
    first: dict[tuple[str, ...], Mapping[str, Any]] = {}
    tests: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for failure in failures:
        key = _identity(failure)
        first.setdefault(key, failure)
        tests[key].append(failure["test"])
    placed_failures = []
    for key, failure in first.items():
        place = under.get(key, (len(heads) + 1 + others.index(failure["clause"]), 0))
        failing_tests = tuple(dict.fromkeys(tests[key]))
        placed_failures.append((place, Failure(failure, rules.get(failure["clause"]), failing_tests, place[0])))

    def order(placed: tuple[tuple[int, int], Failure]) -> tuple[tuple[int, int], str, str, int]:
        place, failure = placed
        document = failure.document
        return place, document["clause"], document["operator"], type_order(document["data_type"])

    return tuple(failure for _, failure in sorted(placed_failures, key=order))


def _identity(failure: Mapping[str, Any]) -> tuple[str, ...]:
    """What is the same of the tests that came down to one failing case."""
    members = ("clause", "operator", "data_type", "outcome", "title")
    return (*(str(failure[name]) for name in members), str(failure["file"] or failure["test"]))


def overview(results: Mapping[str, Any], tables: Tables) -> Overview:
    """Arrange a results document for a reader.

    Args:
        results: a valid results document.
        tables: the tables to take the clauses' words from; best those that the run rested on.
    """
    rows: Rows = rows_of_selection(results)
    named = [row["id"] for row in rows] + [failure["clause"] for failure in results["failures"] if failure["clause"]]
    rules = {identifier: rule_of(identifier, tables) for identifier in dict.fromkeys(named)}
    entries = _entries(rows, rules, tables)
    counts = Counter(map(outcome_of, rows))
    return Overview(
        results,
        Verdict(results["verdict"]),
        _sentence(results, rows, entries),
        tuple((outcome, counts[outcome]) for outcome in Outcome if counts[outcome]),
        _matrices(rows, rules, tables),
        entries,
        _failures(rows, results["failures"], rules),
        selection_text(results["selection"]),
        dict(results["specs"]) == dict(tables.digests),
        rules,
        rows,
    )


@dataclass(frozen=True)
class Group:
    """Failing cases that are shown together: one to read, the rest folded under it.

    Attributes:
        head: the one to read.
        rest: the others: of the same fault on other operators and types, and of what it explains; or, where the head
            was not examined, the others that were not.
        seen: where all of them were seen, by clause, in words.
        tests: the tests that met them, by name, without what they were given.
    """

    head: Failure
    rest: tuple[Failure, ...]
    seen: str
    tests: tuple[str, ...]

    @property
    def rest_is(self) -> str:
        """What the rest is, in words."""
        unexamined = UNEXAMINED in self.head.document["details"]
        return "more that nobody examined" if unexamined else "more of it, or that it explains"


def grouped(failures: Sequence[Failure], tables: Tables) -> tuple[Group, ...]:
    """The failures of an overview by what explains them, in its order.

    Args:
        failures: those of :class:`Overview`, all or the first so many.
        tables: the tables, for the names of places.
    """
    groups = []
    for _, members in itertools.groupby(failures, lambda failure: failure.cause):
        head, *rest = members
        clauses: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for failure in (head, *rest):
            clauses[failure.document["clause"]].add((failure.document["operator"], failure.document["data_type"]))
        named = (f"{clause or 'no single clause'} ({places(where, tables)})" for clause, where in clauses.items())
        tests = dict.fromkeys(test.partition("[")[0] for failure in (head, *rest) for test in failure.tests)
        groups.append(Group(head, tuple(rest), "; ".join(named), tuple(tests)))
    return tuple(groups)
