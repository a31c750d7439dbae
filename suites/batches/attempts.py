"""Kernels of an isolated implementation whose values nobody judges, many in one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dmlcts.specs import OperatorDesc
from dmlcts.suites.batches.isolated import asked
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, Bytes
from dmlcts.suites.cases.outcomes import Mishap, Refusal
from dmlcts.suites.isolation.lives import Life
from dmlcts.suites.isolation.memory import room

Attempt = Refusal | Mishap | None
"""Why an attempt failed; ``None`` where the kernel was made and closed."""


class Ended(NamedTuple):
    """How some lives ended.

    Attributes:
        known: by their numbers, as far as it is known.
        number: of the one that lost the process or the device; nothing behind it ran.
        lost: how it did; ``None`` where none did.
    """

    known: dict[int, Attempt]
    number: int = -1
    lost: Mishap | None = None


def attempt_many(bench: Bench, operators: Sequence[OperatorDesc]) -> Ended:
    """Create kernels of an isolated implementation, each closed again before the next is made.

    Args:
        bench: the bench.
        operators: what is made, in this order.

    Raises:
        DeviceGone: the device was lost before, and does not come back.
    """
    return _lived(bench, None, [Life.made(operator) for operator in operators])


def dispatch_many(bench: Bench, cases: Sequence[Case]) -> Ended:
    """Dispatch some cases of small tensors on an isolated implementation; whatever comes of the values.

    Raises:
        DeviceGone: the device was lost before, and does not come back.
    """
    lives, end = [], 0
    for case in cases:
        regions, size = case.placement.regions(case.operator)
        lives.append(Life(case.operator, (case.placement, *case.operator.tensors.items()), regions, end, size))
        end += room(size)
    memory = bench.allocate(end)
    for case, life in zip(cases, lives, strict=True):
        Arena.prepare(case, lambda size, start=life.start: memory[start : start + size])  # type: ignore[misc]
    return _lived(bench, memory, lives)


def _lived(bench: Bench, memory: Bytes | None, lives: Sequence[Life]) -> Ended:
    """How the lives ended, up to the one that lost the process or the device."""
    attempts: dict[int, Attempt] = {}
    number = 0
    while number < len(lives):
        for error in asked(bench, memory, lives[number:]):
            losses = bench.losses
            closed = error is None and memory is None  # which is no dispatch that others have before them
            outcome = "" if closed else bench.came_of(lives[number].operator, error)
            if bench.losses > losses:
                return Ended(attempts, number, outcome if isinstance(outcome, Mishap) else None)
            if outcome is not None:
                attempts[number] = None if isinstance(outcome, str) else outcome
            number += 1
    return Ended(attempts)
