"""One fault is told once: of all the cases in which tests met it, the smallest stands for the others.

What several tests found broken of one clause, on one operator and type, with the same needs, is taken for one fault.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable

from dmlcts.reports.outcomes import Outcome
from dmlcts.reports.records import FailureRecord, ItemRecord

_FOLDED = (Outcome.FAIL, Outcome.WAIVED)
_NUMBER = re.compile(r"\d+")

Fault = tuple[str, Outcome, str]
Key = tuple[Fault, str, str]


def fault_of(failure: FailureRecord) -> Fault | None:
    """What makes failures of all operators and types one fault; ``None`` for those that stand for themselves."""
    if failure.outcome not in _FOLDED or not failure.clause or not failure.file:
        return None
    kind = failure.details.get("needs") or failure.details.get("said") or ""  # "41 elements" is needed as 43 are
    return failure.clause, failure.outcome, _NUMBER.sub("#", kind)


def _key(failure: FailureRecord) -> Key | None:
    fault = fault_of(failure)
    return None if fault is None else (fault, failure.operator, failure.data_type)


def _size(failure: FailureRecord) -> tuple[int, int, int, str]:
    """How much there is to read: elements, parts of the account, and the length of the title.

    So an input of -0.5 is told rather than 0.49999997. The file's name is there so that no order matters.
    """
    try:
        elements = sum(math.prod(tensor["sizes"]) for tensor in failure.case["tensors"].values())
    except (AttributeError, LookupError, TypeError):  # the case is a stranger's, and no schema binds it
        elements = 0
    return elements, len(failure.details), len(failure.title), failure.file


def told_once(items: Iterable[ItemRecord]) -> list[ItemRecord]:
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

    def told(failure: FailureRecord) -> FailureRecord:
        key = _key(failure)
        if key is None or smallest[key].file == failure.file:
            return failure
        text = f"{failure.title}; the smallest case of the same fault:\n\n{smallest[key].text}"
        return dataclasses.replace(smallest[key], test=failure.test, text=text)

    found = []
    for item in items:
        failures = {(one.file, one.title, one.outcome): one for one in map(told, item.failures)}
        found.append(dataclasses.replace(item, failures=tuple(failures.values())))
    return found
