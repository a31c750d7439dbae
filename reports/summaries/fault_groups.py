"""One fault is reported once: of all the cases in which tests met it, the smallest stands for the others.

Failing cases are taken for one fault where they break one clause in one way, with the same needs. A case that was not
examined is never taken for one that was: nobody knows what it needs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import FailureRecord, ItemRecord
from dmlcts.specs.deviations import Deviation, Origin

UNEXAMINED = "unexamined"
"""The label, among a failing case's details, of why nobody looked for a smaller case and what it needs."""

_FOLDED = (Outcome.FAIL, Outcome.WAIVED)
_EARLIER = {
    "acceptable": Deviation.WRONG_VALUE,
    "property": Deviation.RELATION,
    "element": Deviation.UNWRITTEN,
    "bytes": Deviation.OUTSIDE_CHANGED,
    "said": Deviation.STOPPED,
}
"""By a label among the details, the deviation of a failing case that an earlier version wrote."""


@dataclass(frozen=True)
class Fault:
    """What makes failing cases of all operators and types one fault.

    Attributes:
        clause: the clause that they break.
        outcome: how.
        deviation: in which way.
        needs: the factors that they need; how much of one, as "41 elements", makes no difference.
        origin: what else the wrong values change with.
        examined: whether the suite looked for the smallest case, and for what it needs.
        title: of a dispatch that did not come back, how it ended; of a case whose deviation is not known, its title.
    """

    clause: str
    outcome: Outcome
    deviation: Deviation
    needs: frozenset[str]
    origin: Origin
    examined: bool
    title: str = ""


def fault_shown(failure: Mapping[str, Any]) -> Fault:
    """The fault that a failing case of a results document shows.

    Args:
        failure: the case; one of an earlier version lacks ``deviation`` and the like, and its details are read.
    """
    details = failure["details"]
    outcome = Outcome(failure["outcome"])
    examined = UNEXAMINED not in details
    deviation = Deviation(failure.get("deviation") or "")
    needs = frozenset(failure.get("needs") or ())
    if deviation is Deviation.UNKNOWN:
        deviation = _deviation_of_earlier(details)
        needs = frozenset(filter(None, [str(details.get("needs") or "").partition(" (")[0]]))
    if deviation is Deviation.UNSTEADY and outcome in _FOLDED:
        return Fault(failure["clause"], outcome, deviation, frozenset(), Origin.UNKNOWN, examined)
    title = "" if deviation is not Deviation.UNKNOWN and outcome in _FOLDED else str(failure["title"])
    return Fault(failure["clause"], outcome, deviation, needs, Origin(failure.get("origin") or ""), examined, title)


def _deviation_of_earlier(details: Mapping[str, Any]) -> Deviation:
    if details.get("again"):
        return Deviation.UNSTEADY
    return next((deviation for label, deviation in _EARLIER.items() if details.get(label)), Deviation.UNKNOWN)


Key = tuple[Fault, str, str]


def fault_of(failure: FailureRecord) -> Fault | None:
    """The fault that a record shows; ``None`` for those that stand for themselves."""
    if failure.outcome not in _FOLDED or not failure.clause or not failure.file:
        return None
    return fault_shown(
        {
            name: getattr(failure, name)
            for name in ("clause", "outcome", "title", "details", "deviation", "needs", "origin")
        }
    )


def _key(failure: FailureRecord) -> Key | None:
    fault = fault_of(failure)
    return None if fault is None else (fault, failure.operator, failure.data_type)


def _size(failure: FailureRecord) -> tuple[int, int, int, str]:
    """How much there is to read: elements, what is needed, and the length of the title.

    So an input of -0.5 is shown rather than 0.49999997. The file's name is there so that no order matters.
    """
    return elements_of(failure.case), len(failure.needs), len(failure.title), failure.file


def elements_of(case: Any) -> int:
    """How many elements the tensors of a case have; 0 where a stranger's case, which no schema binds, does not say."""
    try:
        return int(sum(math.prod(tensor["sizes"]) for tensor in case["tensors"].values()))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return 0


def grouped_by_fault(items: Iterable[ItemRecord]) -> list[ItemRecord]:
    """The records with each fault's smallest case in the place of all others, under the test that met it.

    Args:
        items: the records of a run, in any order.
    """
    items = list(items)
    smallest: dict[Key, FailureRecord] = {}
    for item in items:
        for failure in item.failures:
            key = _key(failure)
            if key is not None and (key not in smallest or _size(failure) < _size(smallest[key])):
                smallest[key] = failure

    def reported(failure: FailureRecord) -> FailureRecord:
        key = _key(failure)
        if key is None or smallest[key].file == failure.file:
            return failure
        text = f"{failure.title}; the smallest case of the same fault:\n\n{smallest[key].text}"
        return dataclasses.replace(smallest[key], test=failure.test, text=text)

    records = []
    for item in items:
        failures = {
            (failure_record.test, failure_record.file, failure_record.title, failure_record.outcome): failure_record
            for failure_record in map(reported, item.failures)
        }
        records.append(dataclasses.replace(item, failures=tuple(failures.values())))
    return records
