"""Proving the sweep: a fault in a single input of a 32-bit type, which nothing but a sweep finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dmlcts.reports.documents.records import FailureRecord
from dmlcts.specs import DataType
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.running.options import Settings
from dmlcts.suites.sweeping.blocks.explaining import explain
from dmlcts.suites.sweeping.blocks.sweep_judge import SweepJudge
from dmlcts.suites.sweeping.blocks.targets import Block, Target, plan
from dmlcts.suites.sweeping.blocks.totals import Totals

_NEIGHBOURHOOD = 1 << 20


def _blocks(target: Target, number: int, pattern: int | None) -> Iterator[Block]:
    """The blocks of a target; of patterns only a neighbourhood of ``pattern``, where one is named."""
    if pattern is None or target.kind != "patterns":
        yield from target.blocks(number)
    else:
        count = min(_NEIGHBOURHOOD, target.size)
        yield Block(number, pattern // count * count, count)


def sweep_mutant(mutant: type[Any], bench: Bench, seed: int, *, whole: bool = False) -> list[FailureRecord]:
    """Sweep what a mutant's clause is about, on its operator and type, until something is wrong.

    Args:
        mutant: its ``clause``, and where it has them its ``operator``, ``data_type`` and ``pattern`` are read.
        bench: the mutant's device; it stays open.
        seed: of sampled values.
        whole: every block, and not only a neighbourhood of the mutant's ``pattern``.

    Returns:
        What a user would see; empty where the mutant survives.
    """
    operator, data_type = getattr(mutant, "operator", None), getattr(mutant, "data_type", None)
    made = plan(
        bench.tables,
        bench.level,
        operators=[table for name, table in bench.tables.operators.items() if operator in (None, name)],
        data_types=[kind for kind in DataType if data_type in (None, kind.name)],
        seed=seed,
    )
    settings = Settings.read(backend=bench.name, strict=bench.strict)
    pattern = None if whole else getattr(mutant, "pattern", None)
    block_judge = SweepJudge(bench, compiled=whole)
    try:
        for number, target in enumerate(made.targets):
            if target.clause != mutant.clause:
                continue
            totals = Totals()
            for block in _blocks(target, number, pattern):
                totals.add(block_judge.judge(target, block))
                if not totals.clean:
                    return explain(bench, target, totals, settings)
    finally:
        block_judge.finish()
    return []
