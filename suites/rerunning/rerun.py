"""Lost tests once more, in fresh processes: until each has run, or has taken its process with it twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection as Members
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dmlcts.backends.interpreter import own_python
from dmlcts.reports.documents.journal import Collection, journal_lines
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import FailureRecord, ItemRecord
from dmlcts.reports.documents.validation import DocumentError
from dmlcts.specs.number_text import many
from dmlcts.suites.running.run import Run, key_of

FILE = "found.jsonl"
MOST_DEATHS = 8
"""Processes that may die before the rest is left: each takes seconds to start."""
_LOSSES = 2  # of one test: then it is its own
_MOST_NAMED = 4


@dataclass(frozen=True)
class Rerun:
    """The result of running lost tests again.

    Attributes:
        interrupted: whether some did not run.
        reported: lines that name what was lost for good, and what did not run.
    """

    interrupted: bool
    reported: tuple[str, ...]


@dataclass(frozen=True)
class _Sitting:
    """What one process found.

    Attributes:
        records: of the tests that ran to their end.
        collection: how many tests there are, where it came so far.
        at: the test that was under way when it died; "" for none.
        ended: whether it ended as it should.
        how: how it ended, in words.
    """

    records: tuple[ItemRecord, ...]
    collection: Collection | None
    at: str
    ended: bool
    how: str


def rerun(run: Run, lost: Mapping[str, str], begun: Members[str]) -> Rerun:
    """Run lost tests again, and record them.

    A test that takes a process with it once may be the victim of something else: it runs again. One that does so a
    second time is recorded as lost, which keeps the run from a verdict. Where the implementation shares the judge's
    process, it gets one of its own by then, so that its death is distinct from the judge's, and blamed on its case.

    Args:
        run: what they belong to.
        lost: their names by key.
        begun: the keys of those that were under way when they were lost.

    Raises:
        UsageError: a record cannot be written.
    """
    left = sorted(lost, key=lambda key: key in begun)  # those that may end their process come last
    losses = Counter(key for key in left if key in begun)
    isolation = run.settings.isolation
    gone: list[str] = []
    deaths = 0
    while left and deaths < MOST_DEATHS:
        sitting = _sitting(run, left, isolation)
        if sitting.collection is not None and run.collection is None:
            run.collected(sitting.collection)
        for record in sitting.records:
            key = key_of(record.test)
            if key in left:
                run.add(_named(record, lost[key]))
                left.remove(key)
        if sitting.ended or sitting.at not in left:  # it stopped by itself, or never began
            break
        deaths += 1
        left.remove(sitting.at)
        losses[sitting.at] += 1
        if losses[sitting.at] < _LOSSES:
            left.append(sitting.at)
        elif isolation == "none":
            isolation = "process"
            left.append(sitting.at)
        else:
            gone.append(lost[sitting.at])
            run.add(_loss(run, lost[sitting.at], sitting.how))
    messages = []
    if gone:
        whose, verb = ("its process", "is") if len(gone) == 1 else ("their processes", "are")
        messages.append(f"{many(len(gone), 'test')} ended {whose} twice and {verb} not judged: {_few(gone)}")
    if left:
        messages.append(
            f"{many(len(left), 'test')} did not run, for {many(deaths, 'process', 'processes')} died: "
            f"{_few([lost[key] for key in left])}; continue with `dmlcts run --resume {run.settings.results}`"
        )
    return Rerun(bool(left), tuple(messages))


def _few(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _sitting(run: Run, tests: Sequence[str], isolation: str) -> _Sitting:
    """Run tests in a fresh process, and wait for its end."""
    settings = run.settings
    order: dict[str, Any] = {
        "settings": settings.described() | {"isolation": isolation},
        "results": str(settings.results),
        "tests": list(tests),
        "path": sys.path,
    }
    with tempfile.TemporaryDirectory(prefix="dmlcts-") as folder:
        file = Path(folder, FILE)
        process = subprocess.Popen(  # noqa: S603  # our own interpreter and module
            own_python("-m", "dmlcts.suites.rerunning.process", str(file)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None  # noqa: S101  # a pipe, as asked for
        try:
            with process.stdin as orders:  # it ends where this pipe does before it is done
                orders.write(json.dumps(order).encode() + b"\n")
                orders.flush()
                code = process.wait()
        except BrokenPipeError:
            code = process.wait()
        finally:
            process.kill()
            process.wait()
        return _read(file, code)


def _read(file: Path, code: int) -> _Sitting:
    """What a process wrote down until it ended."""
    records: list[ItemRecord] = []
    collection, at, ended = None, "", False
    try:
        for line in journal_lines(file):
            match line.kind:
                case "collected":
                    collection = Collection(line.content["items"], line.content["total"])
                case "begun":
                    at = line.content["test"]
                case "item":
                    records.append(ItemRecord.from_json(line.content))
                    at = ""
                case "end":
                    ended = True
    except DocumentError:
        at, ended = "", True  # nothing can be believed of the rest
    how = f"ended with exit code {code}"
    if code < 0:
        how = f"was ended by {signal.Signals(-code).name if -code in {*signal.Signals} else f'signal {-code}'}"
    return _Sitting(tuple(records), collection, at, ended, how)


def _named(record: ItemRecord, test: str) -> ItemRecord:
    """The record under the name that the test has in the run."""
    failures = tuple(replace(failure, test=test) for failure in record.failures)
    return replace(record, test=test, failures=failures)


def _loss(run: Run, test: str, how: str) -> ItemRecord:
    """The record of a test that ended its process twice."""
    title = f"the judge's process {how} while the test ran, and again in a fresh process"
    text = (
        f"{title}\nIt is not known who ended it: the implementation, another program, or the system for want of memory."
        "\nNothing is known of what the test checks; the test alone: dmlcts run with --operator, --data-type, --clause"
    )
    operator, data_type = _subject(run, test)
    failure = FailureRecord("", operator, data_type, Outcome.HARNESS_ERROR, test, title, text, {})
    return ItemRecord(test, Outcome.HARNESS_ERROR, 0.0, failures=(failure,))


def _subject(run: Run, test: str) -> tuple[str, str]:
    """The operator in an item's name, and the data type where the run judges one alone."""
    name, types = test.partition("[")[2].rstrip("]"), run.settings.data_types
    operator = next(
        (table.operator for table in run.settings.tables.operators.values() if table.short_name == name), ""
    )
    return operator, types[0] if operator and len(types) == 1 else ""
