"""A batch: cases that are laid out in one arena, dispatched one after another, and looked at together."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dmlcts.suites.batches.plans import Plan
from dmlcts.suites.batches.spots import Spot, Spots
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.memory import Arena, Bytes, Masks, aligned_memory
from dmlcts.suites.cases.oracles import Oracle
from dmlcts.suites.cases.outcomes import Execution, Mishap, Refusal
from dmlcts.suites.cases.values import Values

Array = NDArray[Any]


class Member(NamedTuple):
    """A case in a batch.

    Attributes:
        case: the case.
        plan: where its elements stand.
        start: the first byte of its slot in the arena.
    """

    case: Case
    plan: Plan
    start: int


def fill(members: Sequence[Member], memory: Bytes) -> None:
    """Put the streams of values where they belong: a tensor after another, as they stand in the struct.

    ``memory`` is 1-D ``uint8``.

    Args:
        members: of one operator, types and attributes.
        memory: the arena.
    """
    streams: dict[tuple[Values, int], Array] = {}
    first = members[0].case
    starts = np.array([member.start for member in members])
    for name in first.values:
        spots = [member.plan.stored[name] for member in members]
        all_spots = Spots(spots, starts, first.operator.tensors[name].data_type.numpy)
        _store(members, name, spots, all_spots, memory, streams)


def _store(
    members: Sequence[Member],
    name: str,
    spots: Sequence[Spot],
    all_spots: Spots,
    memory: Bytes,
    streams: dict[tuple[Values, int], Array],
) -> None:
    """Put the streams of an input where its elements stand.

    Args:
        members: of one operator, types and attributes.
        name: the input's.
        spots: where each member's elements stand in its memory.
        all_spots: the same in the arena.
        memory: the arena.
        streams: what was made of streams before.
    """
    values, last, count, array = [], None, 0, None
    for member, spot in zip(members, spots, strict=True):
        source = member.case.values[name]
        if array is None or source is not last or spot.count != count:
            last, count = source, spot.count
            array = streams.get((source, count))
            if array is None:
                array = streams[source, count] = source.array(count)
        values.append(array)
    all_spots.write(memory, np.concatenate(values))


class Group:
    """The members of one operator, types and attributes, of which the oracle is asked at once.

    Args:
        members: in the order of the batch.
        oracle: answers for all of them.

    Attributes:
        inputs: the logical elements of all members by tensor name, one member's behind another's.
        expected: an acceptable output for each.
        left: the output that each of those that ran left, as it was read.
        noted: what others keep of the group, by keys of theirs.
    """

    def __init__(self, members: Sequence[Member], oracle: Oracle) -> None:
        self.members = members
        self.oracle = oracle
        counts = [member.plan.count for member in members]
        self._counts = np.array(counts)
        self._ends = np.cumsum(self._counts)
        self._shares = [slice(end - count, end) for end, count in zip(self._ends.tolist(), counts, strict=True)]
        self._starts = np.array([member.start for member in members])
        first = members[0].case.operator
        self._types = {name: tensor.data_type for name, tensor in first.tensors.items()}
        self._output = first.output_name
        self.inputs: dict[str, Array] = {}
        self.expected: Array = np.empty(0)
        self.left: Array = np.empty(0)
        self.noted: dict[Hashable, Any] = {}
        self._poison: Array = np.empty(0)
        apart = [not member.plan.in_place for member in members]
        self._apart: NDArray[np.bool_] | None = None if all(apart) else np.array(apart)
        self._read: dict[str, Spots] = {}
        self._written = self._spots(self._output)

    def _spots(self, name: str) -> Spots:
        """Where the elements of a tensor stand in the arena."""
        all_spots = self._read.get(name)
        if all_spots is None:
            spots = [member.plan.read[name] for member in self.members]
            all_spots = self._read[name] = Spots(spots, self._starts, self._types[name].numpy, self._counts)
        return all_spots

    def fill(self, memory: Bytes) -> None:
        """As :func:`fill`; where a tensor holds each element once, those that are put there are those that are read."""
        streams: dict[tuple[Values, int], Array] = {}
        for name in self.members[0].case.values:
            spots = [member.plan.stored[name] for member in self.members]
            is_same = all(member.plan.read[name] is spot for member, spot in zip(self.members, spots, strict=True))
            all_spots = self._spots(name) if is_same else Spots(spots, self._starts, self._types[name].numpy)
            _store(self.members, name, spots, all_spots, memory, streams)

    def ask(self, memory: Bytes) -> None:
        """Read the inputs back, and ask the oracle what is expected of them.

        ``memory`` is the arena, 1-D ``uint8``.
        """
        self.inputs = {name: self._spots(name).read(memory) for name in self._types if name != self._output}
        with np.errstate(all="ignore"):
            self.expected = self.oracle.expected(self.inputs)

    def poison(self, memory: Bytes, masks: Masks) -> None:
        """Let the outputs hold their poison; in place they hold their input.

        ``memory`` is the arena, 1-D ``uint8``.
        """
        values = np.ascontiguousarray(self.expected)
        self._poison = masks.mask(values.nbytes, next(iter(self.inputs.values()))).over(values)
        self._written.write(memory, self._poison, self._apart)

    def wrong(self, memory: Bytes, ran: NDArray[np.bool_] | None) -> set[int]:
        """Which members that ran have an element that is not acceptable, or holds its poison, by their place.

        Args:
            memory: as they left it.
            ran: which did; ``None`` for all.
        """
        data_type = self._types[self._output]
        got = self.left = self._written.read(memory)
        bits = data_type.bits_dtype
        differing = got.view(bits) != self.expected.view(bits)
        if not self.oracle.expected_suffices:
            differing[:] = True
        if ran is not None:
            differing &= self._written.each(ran)
        where = np.flatnonzero(differing)
        if not where.size:
            return set()
        bad = np.zeros(where.size, bool)
        unlike = self.oracle.differing(got[where], self.expected[where])  # fewer: NaNs have many patterns
        if unlike.size:
            closely = where[unlike]
            with np.errstate(all="ignore"):
                few = {name: array[closely] for name, array in self.inputs.items()}
                bad[unlike] = ~self.oracle.admits(few, got[closely])
        held = got.view(bits)[where] == self._poison.view(bits)[where]
        bad |= held if self._apart is None else held & self._written.each(self._apart)[where]  # it may be unwritten
        return set(np.searchsorted(self._ends, where[bad], "right").tolist())

    def settle(self, after: Bytes, ran: NDArray[np.bool_] | None) -> None:
        """Take over what :meth:`wrong` read of outputs of members that ran, so that what is left differs elsewhere.

        ``after`` is the arena, 1-D ``uint8``; ``ran`` has an element for each member, ``None`` stands for all.
        """
        self._written.write(after, self.left, ran)

    def share(self, place: int) -> slice:
        """Which of all elements are a member's, by its place."""
        return self._shares[place]

    def ran(
        self,
        bench: Bench,
        place: int,
        outcome: str | Refusal | Mishap,
        memory: Bytes,
        before: Bytes | None,
        size: int,
        *,
        lost: bool = False,
    ) -> Ran:
        """What became of a member.

        ``memory`` and ``before`` are 1-D ``uint8``, of one length.

        Args:
            bench: what it ran on.
            place: the member's place in the group.
            outcome: what ran before a dispatch that came back, or why none did.
            memory: of the batch.
            before: what that held before; ``None`` where all is as it has to be.
            size: bytes from the member's first to the last that is looked at.
            lost: whether the process was lost by it.
        """
        member = self.members[place]
        history, stopped = (outcome, None) if isinstance(outcome, str) else ("", outcome)
        ran = Ran(member.case, member.plan, self, place, stopped, history, None, lost)
        if before is None:
            return ran
        part = slice(member.start, member.start + size)
        arena = Arena(memory[part], before[part], member.plan.regions, ran.inputs)
        return ran._replace(execution=bench.seen(member.case, arena))


class Ran(NamedTuple):
    """What became of a member; its elements are those of its group until the group is looked at again.

    Attributes:
        case: the case.
        plan: its plan.
        group: its group.
        place: its place there.
        outcome: a refusal or a mishap; ``None`` where the dispatch came back.
        history: what ran before the dispatch.
        execution: the dispatch, where something about it is wrong; ``None`` where all is as it has to be.
        lost: whether the implementation's process or device was lost by it.
    """

    case: Case
    plan: Plan
    group: Group
    place: int
    outcome: Refusal | Mishap | None
    history: str
    execution: Execution | None
    lost: bool

    @property
    def is_right(self) -> bool:
        """Whether the dispatch came back, and all is as it has to be."""
        return self.outcome is None and self.execution is None

    @property
    def oracle(self) -> Oracle:
        """The oracle of its description."""
        return self.group.oracle

    @property
    def expected(self) -> Array:
        """An acceptable output for each element."""
        return self.group.expected[self.group.share(self.place)]

    @property
    def inputs(self) -> dict[str, Array]:
        """The logical elements of each input.

        Each is 1-D, of its tensor's type, in row-major order.
        """
        share = self.group.share(self.place)
        return {name: array[share] for name, array in self.group.inputs.items()}

    @property
    def output(self) -> Array:
        """The logical output elements, where the dispatch came back.

        1-D, of the output's type, in row-major order.
        """
        return self.group.left[self.group.share(self.place)]


def run(bench: Bench, cases: Sequence[tuple[Case, Plan]]) -> Iterator[Ran]:
    """Dispatch the cases in their order, each once, and look at all of the memory afterwards.

    Args:
        bench: what to dispatch on; the implementation shares this process.
        cases: with their plans; their expectation is "oracle".
    """
    members, end = [], 0
    for case, plan in cases:
        members.append(Member(case, plan, end))
        end += plan.room
    groups = grouped(bench, members)
    memory = aligned_memory(end)
    prepare(groups, memory, bench.masks)
    before = memory.copy()
    outcomes = []
    with np.errstate(all="ignore"):
        for member in members:
            bench.remember(member.case)
            part = memory[member.start : member.start + member.plan.size]
            outcomes.append(bench.lived(member.case.operator, part, member.plan.regions))
    suspects = suspected(groups, members, memory, before, outcomes)
    placed = placing(groups)
    for number, (member, outcome) in enumerate(zip(members, outcomes, strict=True)):
        group, place = placed[id(member)]
        yield group.ran(bench, place, outcome, memory, before if number in suspects else None, member.plan.room)


def by_kind(members: Sequence[Member]) -> list[list[Member]]:
    """The members of each operator, types and attributes."""
    members_by_kind: dict[Any, list[Member]] = {}
    for member in members:
        members_by_kind.setdefault(member.case.operator.kind, []).append(member)
    return list(members_by_kind.values())


def grouped(bench: Bench, members: Sequence[Member]) -> list[Group]:
    """The members by what the oracle is asked at once."""
    return [Group(some, bench.oracle(some[0].case.operator)) for some in by_kind(members)]


def prepare(groups: Sequence[Group], memory: Bytes, masks: Masks) -> None:
    """Fill a memory that holds the fixed pattern, and poison it.

    ``memory`` is the arena, 1-D ``uint8``.
    """
    for group in groups:
        group.fill(memory)
    for group in groups:
        group.ask(memory)
    for group in groups:
        group.poison(memory, masks)


def placing(groups: Sequence[Group]) -> dict[int, tuple[Group, int]]:
    """The group of each member, by the member's identity, and its place there."""
    return {id(member): (group, place) for group in groups for place, member in enumerate(group.members)}


def suspected(
    groups: Sequence[Group], members: Sequence[Member], memory: Bytes, before: Bytes, outcomes: Sequence[object]
) -> set[int]:
    """Which members came back with something that has to be looked at by itself.

    ``memory`` and ``before`` are 1-D ``uint8``, of one length, which is a multiple of 8.

    Args:
        groups: all members.
        members: in the order of the batch.
        memory: the arena as the dispatches left it.
        before: as it was before them.
        outcomes: what became of each; text where the dispatch came back.
    """
    number = {id(member): place for place, member in enumerate(members)}
    after = before.copy()
    suspects = set()
    for group in groups:
        places = [number[id(member)] for member in group.members]
        stopped = [not isinstance(outcomes[place], str) for place in places]
        ran = ~np.array(stopped) if any(stopped) else None
        suspects |= {places[place] for place in group.wrong(memory, ran)}
        group.settle(after, ran)
    words, known = memory.view(np.uint64), after.view(np.uint64)
    if np.array_equal(words, known):
        return suspects
    starts = np.array([member.start for member in members])
    changed = np.flatnonzero(words != known) * 8
    for place in np.unique(np.searchsorted(starts, changed, "right") - 1).tolist():
        item = members[place]
        if not isinstance(outcomes[place], str):
            continue
        if is_changed_outside(item, memory, after, item.plan.room):
            suspects.add(place)
    return suspects


def is_changed_outside(member: Member, memory: Bytes, known: Bytes, size: int) -> bool:
    """Whether bytes of a member differ that are not its output's.

    ``memory`` and ``known`` are 1-D ``uint8``, of one length.

    Args:
        member: the member.
        memory: of the batch, as it is.
        known: as it is to be outside of outputs.
        size: bytes from the member's first to the last that is looked at.
    """
    part = slice(member.start, member.start + size)
    target = member.plan.regions[member.case.operator.output_name]
    different: NDArray[np.intp] = np.flatnonzero(memory[part] != known[part])
    total = member.case.operator.output.total_size_in_bytes
    return bool(((different < target.offset) | (different >= target.offset + total)).any())
