"""Programs: what a history does step by step, dispatched without a look at the memory until all of a batch have run.

A program's dispatches use one memory by turns: what each finds there is laid out beforehand and copied into it, and
what it leaves is copied out. So its addresses come again, as they do where each dispatch is judged at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import OperatorDesc
from dmlcts.specs.computed import computed
from dmlcts.suites.batches.batch import Member, Ran, by_kind, fill, grouped, placing, prepare, suspected
from dmlcts.suites.batches.plans import Plan
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Bytes, Masks, aligned_memory, private_memory
from dmlcts.suites.cases.outcomes import Mishap, Refusal

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, init=False)
class Create:
    """Make a kernel.

    Attributes:
        kernel: its number in the program.
        operator: its description.
    """

    kernel: int
    operator: OperatorDesc

    def __init__(self, kernel: int, operator: OperatorDesc) -> None:
        put = self.__dict__  # as object.__setattr__ would, in half the time
        put["kernel"] = kernel
        put["operator"] = operator


@dataclass(frozen=True, eq=False, init=False)
class Dispatch:
    """Fill the memory with a case, and dispatch a kernel on it.

    Attributes:
        kernel: its number in the program.
        case: the kernel's description with values and places.
        plan: where its elements stand.
        judged: whether what comes of it is looked at.
    """

    kernel: int
    case: Case
    plan: Plan
    judged: bool

    def __init__(self, kernel: int, case: Case, plan: Plan, judged: bool) -> None:
        put = self.__dict__  # as above
        put["kernel"] = kernel
        put["case"] = case
        put["plan"] = plan
        put["judged"] = judged


@dataclass(frozen=True, eq=False)
class Close:
    """Close a kernel.

    Attributes:
        kernel: its number in the program.
    """

    kernel: int


@dataclass(frozen=True, eq=False)
class Refuse:
    """Try to make a kernel of a description that has to be refused; behind one that is made nothing is tried.

    Attributes:
        operator: the description.
    """

    operator: OperatorDesc


Step = Create | Dispatch | Close | Refuse


@dataclass(frozen=True)
class Accepted:
    """A kernel was made where :class:`Refuse` stands; it was closed."""


Stopped = Refusal | Mishap | Accepted


@dataclass(frozen=True, eq=False)
class Program:
    """The steps of a case's history.

    Attributes:
        case: the case.
        steps: in their order.
    """

    case: Case
    steps: tuple[Step, ...]

    @computed
    def dispatches(self) -> tuple[Dispatch, ...]:
        """The dispatches among the steps."""
        return tuple([step for step in self.steps if isinstance(step, Dispatch)])

    @computed
    def room(self) -> int:
        """How many bytes of an arena its dispatches take."""
        return sum(step.plan.room for step in self.dispatches)


@dataclass(frozen=True)
class Ended:
    """What became of a program.

    Attributes:
        program: the program.
        stopped: what no further step was tried behind; ``None`` where all were.
        last: the last step that was tried.
        noted: each judged dispatch that came back, with what ran before it.
        suspects: those that left something which may be wrong.
    """

    program: Program
    stopped: Stopped | None
    last: Step
    noted: tuple[tuple[Dispatch, str], ...]
    suspects: tuple[Ran, ...]


def run_programs(bench: Bench, programs: Sequence[Program]) -> Iterator[Ended]:
    """Run programs one after another, and look at what they left afterwards.

    Args:
        bench: what to run them on; the implementation shares this process.
        programs: they have dispatches.

    Raises:
        Unconstrained: the pages leave open what an operator's attributes are.
    """
    laid = Laid(bench, programs, _room)
    before = aligned_memory(laid.end)
    laid.fill(before, bench.masks)
    after = before.copy()
    with np.errstate(all="ignore"):
        ended = [_run(bench, program, laid.members, before, after) for program in programs]
    histories = laid.came(ended)
    suspects = suspected(laid.groups, laid.judged, after, before, histories)
    yield from laid.ended(bench, list(zip(programs, ended, strict=True)), suspects, after, before, _room)


def _room(plan: Plan) -> int:
    return plan.room


Progress = tuple[Stopped | None, Step, list[tuple[Dispatch, str]]]
"""What stopped a program; the last step that was tried; what came back, with what ran before."""


class Laid:
    """The dispatches of programs, laid out in an arena.

    Args:
        bench: the bench.
        programs: in their order.
        room: gives how many bytes of the arena a plan takes.

    Attributes:
        members: the place of each dispatch, by the step's identity.
        judged: those whose outputs are looked at, in their order.
        groups: these by what the oracle is asked at once.
        end: how many bytes the arena has.

    Raises:
        Unconstrained: the pages leave open what an operator's attributes are.
    """

    def __init__(self, bench: Bench, programs: Sequence[Program], room: Callable[[Plan], int]) -> None:
        self.members: dict[int, Member] = {}
        self.end = 0
        steps = [step for program in programs for step in program.dispatches]
        for step in steps:
            self.members[id(step)] = Member(step.case, step.plan, self.end)
            self.end += room(step.plan)
        self.judged = [self.members[id(step)] for step in steps if step.judged]
        self._unjudged = [self.members[id(step)] for step in steps if not step.judged]
        self.groups = grouped(bench, self.judged)

    def fill(self, memory: Bytes, masks: Masks) -> None:
        """Fill a memory that holds the fixed pattern, and poison it.

        ``memory`` is the arena, 1-D ``uint8``.
        """
        for some in by_kind(self._unjudged):
            fill(some, memory)
        prepare(self.groups, memory, masks)

    def came(self, ended: Sequence[Progress]) -> list[str | None]:
        """What ran before each judged dispatch that came back; ``None`` for the others."""
        known = {id(self.members[id(step)]): history for _, _, noted in ended for step, history in noted}
        return [known.get(id(member)) for member in self.judged]

    def ended(
        self,
        bench: Bench,
        ended: Sequence[tuple[Program, Progress]],
        suspect_numbers: set[int],
        after: Bytes,
        before: Bytes,
        size: Callable[[Plan], int],
    ) -> Iterator[Ended]:
        """What became of programs.

        ``after`` and ``before`` are 1-D ``uint8``, of one length.

        Args:
            bench: what they ran on.
            ended: what came of each.
            suspect_numbers: which judged dispatches left something that may be wrong, by their places.
            after: the arena as the dispatches left it.
            before: as it was before.
            size: gives how many bytes of a plan's part are looked at.
        """
        wrong, placed = {id(self.judged[place]) for place in suspect_numbers}, placing(self.groups)
        for program, (stopped, last, noted) in ended:
            suspects = []
            for step, history in noted:
                member = self.members[id(step)]
                if id(member) in wrong:
                    group, place = placed[id(member)]
                    suspects.append(group.ran(bench, place, history, after, before, size(member.plan)))
            yield Ended(program, stopped, last, tuple(noted), tuple(suspects))


def _run(bench: Bench, program: Program, members: dict[int, Member], before: Bytes, after: Bytes) -> Progress:
    bench.remember(program.case)
    work = private_memory(max(step.plan.room for step in program.dispatches))
    kernels: dict[int, Any] = {}
    noted: list[tuple[Dispatch, str]] = []
    stopped: Stopped | None = None
    for step in program.steps:
        if isinstance(step, Create):
            kernel = bench.create(step.operator)
            if isinstance(kernel, (Refusal, Mishap)):
                stopped = kernel
                break
            kernels[step.kernel] = kernel
        elif isinstance(step, Close):
            stopped = bench.closed(kernels.pop(step.kernel))
            if stopped is not None:
                break
        elif isinstance(step, Refuse):
            tried = bench.tried(step.operator)
            if not isinstance(tried, Refusal):
                stopped = tried or Accepted()
                break
        else:
            start, plan = members[id(step)].start, step.plan
            place = slice(start, start + plan.room)
            work[: plan.room] = before[place]
            outcome = bench.dispatched(kernels[step.kernel], step.case.operator, work[: plan.size], plan.regions)
            if isinstance(outcome, Mishap):
                stopped = outcome
                break
            if step.judged:
                after[place] = work[: plan.room]
                noted.append((step, outcome))
    for kernel in kernels.values():
        bench.closed(kernel)
    return stopped, step, noted
