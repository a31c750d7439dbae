"""How long a certification will take, before it starts: from an earlier run of the same backend, or from `cpu`."""

from __future__ import annotations

import contextlib

from dmlcts.reports.certification.drafts import requires_sweep
from dmlcts.reports.documents.journal import JournalContent, read_journal
from dmlcts.specs import DmlctsError
from dmlcts.specs.number_text import many
from dmlcts.suites.progress.estimate import duration
from dmlcts.suites.running.options import Settings

# `dmlcts run --backend cpu` of all 65 operators in one process took 346.6 s: timings of the kept results,
# reports/examples/all_operators/cpu.results.json.gz.
_QUICK_SECONDS = 346.6 / 65
# Processor seconds of `dmlcts run --backend cpu --isolation none -n 1 --operator OPERATOR --profile PROFILE`, of
# LOGICAL_NOT and ABS together: quick 29.5, full 92.4, certification 154.4.
_TIMES_AS_LONG = {"quick": 1.0, "full": 3.1, "certification": 5.2}

_SWEPT = 3 << 32  # every FLOAT32 in ROUND's three modes


def expected(settings: Settings, processes: str) -> str:
    """A line that says how long the run of a certification will take, and from which figure that follows.

    Args:
        settings: of the run that is about to start; its results folder may hold an earlier run.
        processes: what ``-n`` was given; in several processes it takes less.
    """
    operators = len(settings.operators or settings.tables.operators)
    earlier = _earlier(settings)
    if earlier is None:
        each = _QUICK_SECONDS * _TIMES_AS_LONG[settings.profile]
        seconds = operators * each
        source = f"measured on cpu, {each:.0f} s for an operator on average; other backends differ"
    else:
        profile = str(earlier.header["profile"])
        took = sum(record.seconds for record in earlier.records)
        ran = len(earlier.header["operators"] or settings.tables.operators)
        factor = _TIMES_AS_LONG[settings.profile] / _TIMES_AS_LONG[profile]
        seconds = operators * took / ran * factor
        source = (
            f"the {profile} run in {settings.results} took {duration(took)} for {many(ran, 'operator')}, "
            f"and {settings.profile} takes {factor:.1f} times as long on cpu"
        )
    less = "; in several processes it takes less" if processes not in ("", "1") else ""
    line = f"dmlcts: the run of {many(operators, 'operator')} takes about {duration(seconds)} ({source}){less}"
    level = settings.level or max(table.introduced for table in settings.tables.operators.values())
    if settings.profile == "certification" and requires_sweep(settings.tables, level, settings.operators or None):
        line += f"; then a sweep of ROUND judges {_SWEPT:,} elements, and its screen says how long that takes"
    return line


def _earlier(settings: Settings) -> JournalContent | None:
    """The finished run of the same backend that the results folder holds: of nothing narrower than whole operators."""
    with contextlib.suppress(DmlctsError):
        journal = read_journal(settings.results)
        header = journal.header
        narrow = header.get("clauses") or header.get("data_types") or header.get("shard")
        same = header.get("backend") == settings.backend and header.get("profile") in _TIMES_AS_LONG
        if same and not narrow and journal.ended and journal.records:
            return journal
    return None
