"""A batch of an isolated implementation: one arena in the shared memory, and one message on all of its cases or steps.

Where the process is lost, the case whose step was under way is to blame, and those behind it run in a fresh process.
What cannot be blamed on one case is left to judging each alone: bytes that changed in no case's own memory, and a loss
that is seen late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dmlcts.backends import BackendUnavailable
from dmlcts.specs import OperatorDesc
from dmlcts.suites.batches.batch import Group, Member, Ran, grouped, is_changed_outside, placing, prepare
from dmlcts.suites.batches.plans import Plan
from dmlcts.suites.batches.programs import (
    Accepted,
    Close,
    Create,
    Dispatch,
    Ended,
    Laid,
    Program,
    Progress,
    Refuse,
    Step,
    Stopped,
)
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Bytes, aligned_memory
from dmlcts.suites.cases.outcomes import Mishap, Refusal
from dmlcts.suites.isolation.floating_point import calling
from dmlcts.suites.isolation.lives import Life, was_placed
from dmlcts.suites.isolation.losses import WorkerLost
from dmlcts.suites.isolation.memory import GUARDED, PAGE, SharedMemory, room

Came = str | Refusal | Mishap | None

_ANY = OperatorDesc("", {}, {})
"""Stands in messages for the operator of a kernel that the worker knows by its number."""
_UNNUMBERED = -1
"""Stands for the number of a kernel that is closed at once."""
_GRAIN = 1 << 18  # arenas are of few sizes, so that the memory of one serves another


@dataclass(frozen=True)
class Doubted:
    """Cases that have to be judged alone, since what is wrong cannot be blamed on one of them.

    Attributes:
        cases: in their order.
        place: whose memory it was, or who ran when it was seen.
        mishap: how the process was lost; ``None`` where it was not.
        changed: what changed in the memory, in words; "" for nothing.
    """

    cases: tuple[Case, ...]
    place: int = 0
    mishap: Mishap | None = None
    changed: str = ""


def run_isolated(bench: Bench, cases: Sequence[tuple[Case, Plan]]) -> Iterator[Ran | Doubted]:
    """Dispatch the cases in their order, each once, and look at all of the memory afterwards.

    After a loss of the process the further cases are dispatched when the next is asked for.

    Args:
        bench: what to dispatch on; the implementation is isolated.
        cases: with their plans; their expectation is "oracle".
    """
    members, end = [], 0
    for case, plan in cases:
        members.append(Member(case, plan, end))
        end += room(plan.size) + (0 if GUARDED else PAGE)
    groups = grouped(bench, members)
    memory = aligned_memory(-(-end // _GRAIN) * _GRAIN, bench.allocate)
    prepare(groups, memory, bench.masks)
    before = known = memory.copy()
    placed = placing(groups)
    due = [
        Life(member.case.operator, member.plan, member.plan.regions, member.start, member.plan.size)
        for member in members
    ]
    begin, lives = 0, bench.lives
    while begin < len(members):
        if bench.lives is not lives:  # the device was lost, and the memory that it shared with it
            lives, left = bench.lives, memory
            memory = bench.allocate(left.size)
            memory[:] = left
        losses = bench.losses
        errors = asked(bench, memory, due[begin:])
        some = range(begin, begin + len(errors))
        for place in some:
            bench.remember(members[place].case)
        outcomes = [bench.came_of(due[place].operator, error) for place, error in zip(some, errors, strict=True)]
        lost = bench.losses > losses
        late = not was_placed(errors[-1])
        look = _Look(groups, members, memory, known, dict(zip(some, outcomes, strict=True)))
        strayed = look.strayed or _broken(memory)
        begin = some.stop
        if begin < len(members):
            if strayed:  # what is still to run finds its memory as it was made
                behind = members[begin].start
                memory[behind:] = before[behind:]
            known = memory.copy()
        if strayed or late or (look.suspected and not _guarded(memory)):
            last = outcomes[-1] if lost else None
            owner = look.owner if look.owner in some else some.stop - 1
            blamed = last if isinstance(last, Mishap) and late else None
            yield Doubted(tuple(members[place].case for place in some), owner - some.start, blamed, strayed)
            continue
        for place, outcome in zip(some, outcomes, strict=True):
            item = members[place]
            if outcome is None:
                yield Doubted((item.case,))
                continue
            group, number = placed[id(item)]
            held = before if place in look.suspected else None
            yield group.ran(bench, number, outcome, memory, held, item.plan.size, lost=lost and place == some.stop - 1)


def run_programs_isolated(bench: Bench, programs: Sequence[Program]) -> Iterator[Ended | Doubted]:
    """Run programs one after another, and look at what they left afterwards.

    None behind one that loses the process or the device is run.

    Args:
        bench: what to run them on; the implementation is isolated.
        programs: they have dispatches.

    Raises:
        Unconstrained: the pages leave open what an operator's attributes are.
    """
    laid = Laid(bench, programs, lambda plan: room(plan.size) + (0 if GUARDED else PAGE))
    most = max(room(step.plan.size) for program in programs for step in program.dispatches)
    memory = aligned_memory(-(-(laid.end + most) // _GRAIN) * _GRAIN, bench.allocate)
    laid.fill(memory, bench.masks)
    before = memory.copy()
    followed = [_Followed(bench, program, laid) for program in programs]
    due = [(tracker, step, life) for tracker in followed for step, life in tracker.steps]
    losses, late, begin = bench.losses, False, 0
    while begin < len(due) and bench.losses == losses:
        errors = asked(bench, memory, [life for _, _, life in due[begin:]], laid.end)
        late = not was_placed(errors[-1])
        for (tracker, step, _), error in zip(due[begin:], errors, strict=False):
            tracker.take(step, error)
        begin += len(errors)
    ran = [tracker for tracker in followed if tracker.begun]
    histories = laid.came([tracker.came for tracker in ran])
    known: dict[int, Came] = {place: history for place, history in enumerate(histories) if history is not None}
    lost = due[begin - 1][1]
    if isinstance(errors[-1], WorkerLost) and isinstance(lost, Dispatch) and lost.judged:
        known[laid.judged.index(laid.members[id(lost)])] = None  # its output may be there already
    look = _Look(laid.groups, laid.judged, memory[: laid.end], before[: laid.end], known)
    strayed = look.strayed or _broken(memory)
    if strayed or late:
        blamed = ran[-1].stopped if late else None
        cases = tuple(tracker.program.case for tracker in ran)
        yield Doubted(cases, len(ran) - 1, blamed if isinstance(blamed, Mishap) else None, strayed)
        return
    endings = laid.ended(
        bench, [(tracker.program, tracker.came) for tracker in ran], look.suspected, memory, before, _size
    )
    for tracker, ended in zip(ran, endings, strict=True):
        yield ended if tracker.is_known else Doubted((tracker.program.case,))


def _size(plan: Plan) -> int:
    return plan.size


class _Followed:
    """A program of which the worker says step by step what becomes of it.

    Args:
        bench: what it runs on.
        program: the program.
        laid: where its dispatches stand.

    Attributes:
        steps: what the worker is asked for; ``None`` for the end, which closes what is open.
        begun: whether a step was tried.
        is_known: whether the worker reported how each step ended; it does not where an error went with the process.
        stopped: what nothing was tried behind.
    """

    def __init__(self, bench: Bench, program: Program, laid: Laid) -> None:
        self._bench = bench
        self.program = program
        self.steps: list[tuple[Step | None, Life]] = [(step, _life(step, laid)) for step in program.steps]
        self.steps.append((None, self.steps[0][1]._replace(act="end")))
        self.begun = False
        self.is_known = True
        self.stopped: Stopped | None = None
        self._last = program.steps[0]
        self._noted: list[tuple[Dispatch, str]] = []
        self._kernels: dict[int, _Kernel] = {}

    @property
    def came(self) -> Progress:
        """What came of the steps."""
        return self.stopped, self._last, self._noted

    def take(self, step: Step | None, error: BaseException | None) -> None:
        """Note what a step ended in."""
        self.begun = True
        if step is None:
            for kernel in self._kernels.values():
                self._bench.histories.closed(kernel)
        if self.stopped is not None or not self.is_known:
            return
        if error is not None:
            operator = self.program.case.operator
            if isinstance(step, Create | Refuse):
                operator = step.operator
            elif step is not None:
                operator = self._kernels[step.kernel].operator
            outcome = self._bench.came_of(operator, error)
            self._last = self._last if step is None else step
            self.is_known = outcome is not None
            refused = isinstance(step, Refuse) and isinstance(outcome, Refusal)
            self.stopped = None if refused or isinstance(outcome, str) else outcome
        elif step is not None:
            self._last = step
            self._follow(step)

    def _follow(self, step: Step) -> None:
        histories = self._bench.histories
        if isinstance(step, Create):
            kernel = self._kernels[step.kernel] = _Kernel(step.operator)
            histories.made(kernel, step.operator)
        elif isinstance(step, Close):
            histories.closed(self._kernels.pop(step.kernel))
        elif isinstance(step, Refuse):
            self.stopped = Accepted()
        else:
            history = histories.dispatched(self._kernels[step.kernel], step.case.operator)
            if step.judged:
                self._noted.append((step, history))


class _Kernel:
    """Stands for a kernel of the worker."""

    def __init__(self, operator: OperatorDesc) -> None:
        self.operator = operator


def _life(step: Step, laid: Laid) -> Life:
    """What the worker is asked for, for a step."""
    if isinstance(step, Dispatch):
        member, operator = laid.members[id(step)], step.case.operator
        act = "dispatch" if step.judged else "dispatch unseen"
        return Life(operator, step.plan, step.plan.regions, member.start, step.plan.size, act, step.kernel)
    if isinstance(step, Create):
        return Life.made(step.operator, "create", step.kernel)
    if isinstance(step, Refuse):
        return Life.made(step.operator, "refuse", _UNNUMBERED)
    return Life(_ANY, (), {}, 0, 0, "close", step.kernel)


def asked(bench: Bench, memory: Bytes | None, lives: Sequence[Life], work: int = 0) -> list[BaseException | None]:
    """What the first lives ended in, at least one.

    ``memory`` is 1-D ``uint8``.

    Args:
        bench: its implementation is isolated.
        memory: what the lives have parts of; ``None`` where nothing is dispatched.
        lives: what is asked for.
        work: where the part of the memory begins that steps use by turns.

    Raises:
        DeviceGone: the device was lost and does not come back.
    """
    assert bench.lives is not None  # noqa: S101  # the caller's promise
    try:
        with calling():
            return bench.lives.run(memory, lives, work)
    except BackendUnavailable as error:
        bench.recovered(error)  # which raises
        raise


def _guarded(memory: Bytes) -> bool:
    """Whether a case can reach no memory of another."""
    lease = SharedMemory.lease_of(memory)
    return lease is not None and lease.segment.guarded


def _broken(memory: Bytes) -> str:
    """What was written around the memory, in words, "" for nothing; it is put right for the next look."""
    lease = SharedMemory.lease_of(memory)
    damage = "" if lease is None else lease.segment.broken(memory.size)
    if lease is not None and damage:
        lease.segment.arm(memory.size)
    return damage


class _Look:
    """What some members left in the memory.

    Args:
        groups: all members, by kinds.
        members: in the order of their parts of the memory.
        memory: as it is now.
        known: as it was before they ran.
        outcomes: what became of the members that ran, by their numbers.

    Attributes:
        suspected: those that came back with something that has to be looked at by itself.
        strayed: what changed in the memory of none of them, in words; "" for nothing.
        owner: behind or in whose part the first such byte stands.
    """

    def __init__(
        self, groups: Sequence[Group], members: Sequence[Member], memory: Bytes, known: Bytes, outcomes: dict[int, Came]
    ) -> None:
        self.suspected: set[int] = set()
        self.strayed = ""
        self.owner = -1
        number = {id(member): place for place, member in enumerate(members)}
        after = known.copy()
        for group in groups:
            places = [number[id(member)] for member in group.members]
            ran = np.array([isinstance(outcomes.get(place), str) for place in places])
            self.suspected |= {places[place] for place in group.wrong(memory, ran)}
            group.settle(after, ran)
        words, expected = memory.view(np.uint64), after.view(np.uint64)
        if np.array_equal(words, expected):
            return
        changed = np.flatnonzero(words != expected) * 8
        starts = np.array([member.start for member in members])
        owners = np.searchsorted(starts, changed, "right") - 1
        sizes = np.array([member.plan.size for member in members])
        own = np.isin(owners, list(outcomes)) & (changed - starts[owners] < sizes[owners])
        if not own.all():
            stray = changed[~own]
            self.owner = int(owners[~own][0])
            self.strayed = (
                f"bytes changed in {stray.size} words outside the memory of each case, the first at offset "
                f"{int(stray[0]) - members[self.owner].start} of {members[self.owner].plan.size} bytes"
            )
        for place in np.unique(owners[own]).tolist():
            item = members[place]
            if isinstance(outcomes[place], str) and is_changed_outside(item, memory, after, item.plan.size):
                self.suspected.add(place)
