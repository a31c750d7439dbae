"""Programs: what a history does step by step, dispatched without a look at the memory until all of a batch have run.

A program's dispatches use one memory by turns: what each finds there is laid out beforehand and copied into it, and
what it leaves is copied out. So its addresses come again, as they do where each dispatch is judged at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dmlcts.specs import OperatorDesc
from dmlcts.suites.batches.batch import Member, Ran, by_kind, fill, grouped, placing, prepare, suspected
from dmlcts.suites.batches.plans import Plan
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Bytes, aligned_memory, private_memory
from dmlcts.suites.cases.outcomes import Mishap, Refusal

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Create:
    """Make a kernel.

    Attributes:
        kernel: its number in the program.
        operator: its description.
    """

    kernel: int
    operator: OperatorDesc


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
class Close:
    """Close a kernel.

    Attributes:
        kernel: its number in the program.
    """

    kernel: int


Step = Create | Dispatch | Close


@dataclass(frozen=True, eq=False)
class Program:
    """The steps of a case's history.

    Attributes:
        case: the case.
        steps: in their order.
    """

    case: Case
    steps: tuple[Step, ...]

    @property
    def dispatches(self) -> list[Dispatch]:
        """The dispatches among the steps."""
        return [step for step in self.steps if isinstance(step, Dispatch)]

    @property
    def room(self) -> int:
        """How many bytes of an arena its dispatches take."""
        return sum(step.plan.room for step in self.dispatches)


@dataclass(frozen=True)
class Ended:
    """What became of a program.

    Attributes:
        program: the program.
        stopped: a refusal or a mishap, behind which no further step was tried; ``None`` where all were.
        last: the last step that was tried.
        noted: each judged dispatch that came back, with what ran before it.
        suspects: those that left something which may be wrong.
    """

    program: Program
    stopped: Refusal | Mishap | None
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
    end = 0
    of_steps: dict[int, Member] = {}
    for program in programs:
        for step in program.dispatches:
            of_steps[id(step)] = Member(step.case, step.plan, end)
            end += step.plan.room
    judged = [of_steps[id(step)] for program in programs for step in program.dispatches if step.judged]
    unjudged = [of_steps[id(step)] for program in programs for step in program.dispatches if not step.judged]
    before = aligned_memory(end)
    for some in by_kind(unjudged):
        fill(some, before)
    groups = grouped(bench, judged)
    prepare(groups, before, bench.masks)
    after = before.copy()
    ended = [_run(bench, program, of_steps, before, after) for program in programs]
    came = {id(of_steps[id(step)]): history for _, _, noted in ended for step, history in noted}
    found = suspected(groups, judged, after, before, [came.get(id(one)) for one in judged])
    wrong, placed = {id(judged[place]) for place in found}, placing(groups)
    for program, (stopped, last, noted) in zip(programs, ended, strict=True):
        seen = [one for step in program.dispatches if id(one := of_steps[id(step)]) in wrong]
        located = ((one, *placed[id(one)]) for one in seen)
        suspects = tuple(
            group.ran(bench, place, came[id(one)], after, before, one.plan.room) for one, group, place in located
        )
        yield Ended(program, stopped, last, tuple(noted), suspects)


def _run(
    bench: Bench, program: Program, members: dict[int, Member], before: Bytes, after: Bytes
) -> tuple[Refusal | Mishap | None, Step, list[tuple[Dispatch, str]]]:  # fmt: skip
    bench.remember(program.case)
    work = private_memory(max(step.plan.room for step in program.dispatches))
    kernels: dict[int, Any] = {}
    noted: list[tuple[Dispatch, str]] = []
    stopped = None
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
        else:
            start, plan = members[id(step)].start, step.plan
            place = slice(start, start + plan.room)
            work[: plan.room] = before[place]
            came = bench.dispatched(kernels[step.kernel], step.case.operator, work[: plan.size], plan.regions)
            if isinstance(came, Mishap):
                stopped = came
                break
            if step.judged:
                after[place] = work[: plan.room]
                noted.append((step, came))
    for kernel in kernels.values():
        bench.closed(kernel)
    return stopped, step, noted
