"""Which clauses a test checks: the ``checks`` marker and what it means for parametrisation and selection.

A test names what it checks as the tables do (``check:``, :mod:`dmlcts.specs.checks`). It applies to an operator where
that operator's table, or the shared rules, have a clause for each of the names, and to the element types that the
clauses of the first name are about; so an operator that is added as a YAML file gets the tests that its clauses call
for.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pytest

from dmlcts.specs.checks import OwnCheck, SharedCheck
from dmlcts.specs.models import Clause, OperatorTable
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature, signatures_on
from dmlcts.suites.cases.oracles import of_one_type
from dmlcts.suites.generation.covering_subjects import is_shared_out

Having = Callable[[OperatorTable, Signature], bool]
"""Whether an operator has, on a signature, what a test needs to find something to try."""

Role = Literal["low", "high"]


def checks(
    *names: OwnCheck | SharedCheck,
    data_types: Sequence[str] = (),
    level: str | None = None,
    bounds: Sequence[Role] = (),
    remaining: bool = False,
    on: OwnCheck | SharedCheck | None = None,
    having: Having | None = None,
    programs: bool = False,
    characterises: bool = False,
) -> pytest.MarkDecorator:
    """Mark a test with what it checks.

    Args:
        names: what the clauses name in ``check:``; all clauses of the first decide on the types.
        data_types: names of the element types to which the test is limited.
        level: the level whose support table is meant, for ``support.level``.
        bounds: roles of FLOAT attributes; operators that lack one, or have several inputs, are left out.
        remaining: whether it is about the signatures that tests of places leave out, where not all are chosen.
        on: what decides on the operators and types in place of the first name, where the test is not about it: a
            selection of such clauses leaves the test out.
        having: what an operator has to have on a signature, so that the test has something to try there; see
            :mod:`dmlcts.suites.conformance.having`.
        programs: whether it draws programs of steps; a profile that draws none leaves it out.
        characterises: whether it names what an implementation does, on a clause that other tests judge.
    """
    return pytest.mark.checks(
        *names,
        data_types=tuple(data_types),
        level=level,
        bounds=tuple(bounds),
        remaining=remaining,
        on=on,
        having=having,
        programs=programs,
        characterises=characterises,
    )


@dataclass(frozen=True)
class Checked:
    """A test's ``checks`` marker, read."""

    names: tuple[str, ...]
    data_types: tuple[str, ...]
    level: str | None
    bounds: tuple[Role, ...] = ()
    remaining: bool = False
    on: str | None = None
    having: Having | None = None
    programs: bool = False
    characterises: bool = False

    @classmethod
    def of(cls, marker: pytest.Mark) -> Checked:
        """Read the marker."""
        options = marker.kwargs
        return cls(
            tuple(marker.args),
            tuple(options.get("data_types", ())),
            options.get("level"),
            tuple(options.get("bounds", ())),
            bool(options.get("remaining")),
            options.get("on"),
            options.get("having"),
            bool(options.get("programs")),
            bool(options.get("characterises")),
        )

    @property
    def deciding(self) -> str:
        """The name whose clauses decide on the types."""
        return self.on or self.names[0]

    def _clauses(self, table: OperatorTable, tables: Tables) -> dict[str, list[Clause]]:
        """For each of the names the clauses that it checks, of the operator and of the shared rules."""
        return {
            name: [clause for clause in tables.checked_by(table, name) if clause.level in (None, self.level)]
            for name in (self.deciding, *self.names)
        }

    def _has_bounds(self, table: OperatorTable) -> bool:
        return of_one_type(table) and all(table.bound(role) is not None for role in self.bounds)

    def clauses(self, table: OperatorTable, tables: Tables) -> tuple[str, ...]:
        """The ids of the clauses that the test checks for this operator."""
        clauses_by_name = self._clauses(table, tables)
        return tuple(clause.id for name in self.names for clause in clauses_by_name[name])

    def subjects(
        self,
        tables: Tables,
        chosen: Mapping[str, Container[Signature]] | None = None,
        operators: Iterable[OperatorTable] | None = None,
    ) -> Iterator[tuple[OperatorTable, Signature]]:
        """Every operator and signature that the test is about; its first type variable is what clauses speak of.

        Args:
            tables: the spec tables.
            chosen: the signatures by operator on which tests are run that are about places, where not all are.
            operators: only these; ``None`` for all.
        """
        places = chosen is not None and is_shared_out(self.deciding)
        for table in tables.operators.values() if operators is None else operators:
            clauses_by_name = self._clauses(table, tables)
            if not all(clauses_by_name.values()) or (self.bounds and not self._has_bounds(table)):
                continue
            types = dict.fromkeys(
                candidate for clause in clauses_by_name[self.deciding] for candidate in tables.data_types(clause, table)
            )
            for data_type in types:
                if not self.data_types or data_type.name in self.data_types:
                    for signature in signatures_on(table, data_type):
                        if self.having is not None and not self.having(table, signature):
                            continue
                        tried = chosen is None or signature in chosen[table.operator]
                        if not tried if self.remaining else tried or not places:
                            yield table, signature
