"""Notes: what a judge does on a bench, written down as a program instead of being done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dmlcts.specs import OperatorDesc
from dmlcts.suites.batches.plans import Plan, plan_on
from dmlcts.suites.batches.programs import Close, Create, Dispatch, Program, Refuse, Step
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena
from dmlcts.suites.cases.outcomes import Refusal


class NotToBeNoted(Exception):  # noqa: N818 - it says what happened; nothing is at fault
    """A judge wants to know what comes of a step, or of a tensor that is too large for a batch."""


class _Kernel:
    """A kernel that is not made.

    Attributes:
        number: its number in the program.
    """

    def __init__(self, number: int) -> None:
        self.number = number


class Notes(Bench):
    """A bench on which all goes well and nothing is done: it notes the steps.

    What a judge decides by what it sees goes on as it does where nothing is wrong. A program of which something else
    comes shows nothing by itself: the judge then does it all, on a bench that dispatches.

    Args:
        bench: the bench whose tables, level and oracles count.
    """

    def __init__(self, bench: Bench) -> None:
        vars(self).update(vars(bench))
        self.watch = None
        self._bench = bench
        self._steps: list[Step] = []
        self._made = 0

    def program(self, case: Case) -> Program:
        """The steps that were noted for a case."""
        return Program(case, tuple(self._steps))

    def create(self, operator: OperatorDesc) -> Any:
        """Note that a kernel is made."""
        self._steps.append(Create(self._made, operator))
        self._made += 1
        return _Kernel(self._made - 1)

    def closed(self, kernel: Any) -> None:
        """Note that a kernel is closed."""
        self._steps.append(Close(kernel.number))

    def tried(self, operator: OperatorDesc) -> Refusal:
        """Note a description that is refused."""
        self._steps.append(Refuse(operator))
        return Refusal("", False)

    def left_by(self, kernel: Any, operator: OperatorDesc, case: Case) -> None:
        """Note a dispatch whose output is shown where something is wrong.

        Raises:
            NotToBeNoted: the kernel is on other tensors than the case's memory, on which it would be dispatched.
        """
        if operator.tensors != case.operator.tensors:
            raise NotToBeNoted
        self.run_unjudged(kernel, replace(case, operator=operator))

    def run_unjudged(self, kernel: Any, case: Case) -> None:
        """Note a dispatch that nobody looks at."""
        self._steps.append(Dispatch(kernel.number, case, self._plan(case), judged=False))

    def note(self, kernel: Any, case: Case) -> None:
        """Note a dispatch that is judged."""
        self._steps.append(Dispatch(kernel.number, case, self._plan(case), judged=True))

    def at_once(self, case: Case) -> bool:
        """A kernel's life is noted step by step."""
        return False

    def fresh(self) -> Bench:
        """No other device is noted.

        Raises:
            NotToBeNoted: always.
        """
        raise NotToBeNoted

    def prepare(self, case: Case, turn: int = 0, *, poisoned: bool = False) -> Arena:
        """No memory is prepared.

        Raises:
            NotToBeNoted: always.
        """
        raise NotToBeNoted

    def _plan(self, case: Case) -> Plan:
        plan = plan_on(self._bench, case)
        if plan is None:
            raise NotToBeNoted
        return plan
