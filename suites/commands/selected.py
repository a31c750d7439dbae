"""What ``dmlcts run --list`` prints: the operators, types and clauses that a run would judge."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from dmlcts.specs.number_text import many
from dmlcts.suites.families.selected import SelectedOperator
from dmlcts.suites.running.options import Settings

_WIDTH = 80
_CLAUSES_SHOWN = 60


def print_selected(
    selected: Sequence[SelectedOperator], settings: Settings, print_text: Callable[[str], None], *, verbose: bool
) -> None:
    """Print a line for each operator, then the clauses, then the sum.

    Args:
        selected: what the run would judge.
        settings: of the run.
        print_text: prints a text.
        verbose: list every clause, however many there are.
    """
    width = max((len(operator.table.short_name) for operator in selected), default=0) + 2
    for operator in selected:
        counts = f"{many(operator.items, 'item')}, {many(len(operator.clauses), 'clause')}: {_types(operator)}"
        name = f"{operator.table.short_name:{width}}"
        print_text(textwrap.fill(counts, _WIDTH, initial_indent=name, subsequent_indent=" " * width))
    clauses = list(dict.fromkeys(clause for operator in selected for clause in operator.clauses))
    if verbose or len(clauses) <= _CLAUSES_SHOWN:
        print_text("clauses:")
        for clause in clauses:
            print_text(f"  {clause}")
    else:
        print_text(f"clauses: {len(clauses):,}; -v lists them")
    items, tests = sum(operator.items for operator in selected), sum(operator.tests for operator in selected)
    level = settings.level or "the one that the device claims"
    shard = f", shard {settings.shard_text}" if settings.shard is not None else ""
    print_text(
        f"{many(items, 'item')} ({many(tests, 'test')}) of {many(len(selected), 'operator')}, profile "
        f"{settings.profile}, seed {settings.seed}{shard}, level: {level}. Nothing was judged."
    )


def _types(operator: SelectedOperator) -> str:
    """The types by name; those that no level lists are counted, since a run only tries whether they are refused."""
    listed = [data_type.name for data_type in operator.data_types if data_type in operator.table.data_types]
    unlisted = len(operator.data_types) - len(listed)
    return ", ".join([*listed, *([many(unlisted, "unlisted type")] if unlisted else [])])
