"""Strides: an element stands at the dot product of its coordinates and the strides, on the input and on the output.

Where a value is wrong only with strides, the strides' clause is broken; where it is wrong in a packed tensor
too, the formula's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dmlcts.specs import TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.conformance.tensors.describing import SIZES, described, packed
from dmlcts.suites.generation.drawn.draws import drawn_cases
from dmlcts.suites.generation.drawn.layouts import Kinds
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks


def permuted(sizes: tuple[int, ...], order: tuple[int, ...], gap: int = 0) -> tuple[int, ...]:
    """Strides that run through the axes in ``order``, the fastest last, with ``gap`` elements after each."""
    strides = [0] * len(sizes)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step = step * sizes[axis] + gap
    return tuple(strides)


def _cases(subject: Subject, layout_clause: str, layouts: Sequence[tuple[tuple[int, ...], ...]]) -> list[Case]:
    """Every layout (sizes, input strides, output strides), filled with values that differ from their neighbours."""
    attributes = subject.revealing()
    values = subject.distinct(251)  # a prime number of values never falls in step
    described = [
        subject.describe(sizes, attributes, source or None, target or None) for sizes, source, target in layouts
    ]
    names = list(subject.inputs)
    if len(names) > 1:  # each input alone in turn, and each beside others that are laid out otherwise
        for turn, (sizes, source, target) in enumerate(layouts):
            own = {names[turn % len(names)]: source or None}
            described.append(subject.describe(sizes, attributes, None, target or None, layouts=own))
            if source and 0 not in source:
                spaced = tuple(2 * stride for stride in source)
                described.append(subject.describe(sizes, attributes, spaced, target or None, layouts=own))
    clause = subject.values_clause(attributes)
    return [Case(operator, values.streams, clause, layout_clause) for operator in described]


def _all_ranks(subject: Subject) -> list[tuple[int, ...]]:
    return [SIZES[:rank] for rank in subject.ranks]


@checks("tensor.strides.packed")
def test_explicit_packed_strides(subject: Subject, judge: Judge) -> None:
    """Packed strides written out, on either tensor or both, at every rank."""
    layouts = []
    for sizes in _all_ranks(subject):
        packed = TensorDesc(subject.data_type, sizes).element_strides
        layouts += [(sizes, packed, ()), (sizes, (), packed), (sizes, packed, packed)]
    judge.all(_cases(subject, "tensor.strides.packed", layouts))


@checks("tensor.strides.padded")
def test_padded_strides(subject: Subject, judge: Judge) -> None:
    """Gaps after every axis, on either tensor or both, at every rank; gaps that 8 or 16 bits do not show."""
    layouts = []
    for sizes in _all_ranks(subject):
        order = tuple(range(len(sizes)))
        for gap in (1, 5):
            padded = permuted(sizes, order, gap)
            spaced = tuple(2 * stride for stride in padded)
            layouts += [(sizes, padded, ()), (sizes, (), padded), (sizes, spaced, padded)]
        for bits in (8, 16) if len(sizes) in (2, subject.ranks[-1]) else (8,):  # 2^16 elements and more take time
            outermost, *inner = permuted(sizes, order)
            hidden = (outermost + (1 << bits), *inner)
            layouts += [(sizes, hidden, ()), (sizes, (), hidden)]
    judge.all(_cases(subject, "tensor.strides.padded", layouts))


@checks("tensor.strides.permuted")
def test_permuted_strides(subject: Subject, judge: Judge) -> None:
    """Axes in reverse and rotated order, on either tensor or both, at every rank; matrices of more than a tile."""
    layouts = []
    for sizes in _all_ranks(subject):
        axes = tuple(range(len(sizes)))
        for order in dict.fromkeys((axes[::-1], (*axes[1:], axes[0]), (axes[-1], *axes[:-1]))):
            layouts += [(sizes, permuted(sizes, order), ()), (sizes, (), permuted(sizes, order))]
            layouts.append((sizes, permuted(sizes, order), permuted(sizes, axes[::-1])))
        if len(sizes) > 1:  # no whole number of tiles of 8, 16, 32 or 64 either way
            outer, matrix = axes[:-2], (*(1 for _ in axes[:-3]), *(2 for _ in axes[-3:-2]), 35, 67)
            turned = permuted(matrix, (*outer, axes[-1], axes[-2]))
            layouts += [(matrix, turned, ()), (matrix, (), turned)]
    judge.all(_cases(subject, "tensor.strides.permuted", layouts))


@checks("tensor.strides.permuted")
def test_padded_and_permuted_strides(subject: Subject, judge: Judge) -> None:
    """Gaps in tensors that are permuted as well: reversed, and with the second dimension last, at every rank."""
    layouts = []
    for sizes in _all_ranks(subject):
        axes = tuple(range(len(sizes)))
        for order in dict.fromkeys((axes[::-1], (*axes[:1], *axes[2:], *axes[1:2]))):
            layouts.append((sizes, permuted(sizes, order, 3), ()))
    judge.all(_cases(subject, "tensor.strides.permuted", layouts))


@checks("tensor.strides.padded", data_types=("INT64",))
def test_wide_elements_far_apart(subject: Subject, judge: Judge) -> None:
    """A few 64-bit elements whose byte offsets need more than 26 bits; beyond the quick profile more than 27."""
    far = subject.profile.far + 3  # twice the memory takes ten times as long
    rank = subject.ranks[-1]
    sizes = (*([1] * (rank - 2)), 2, 5)[-rank:] if rank > 1 else (2,)
    strides = tuple(far if axis == max(0, rank - 2) else 1 for axis in range(rank))
    judge.all(_cases(subject, "tensor.strides.padded", [(sizes, strides, ())]))


@checks("tensor.strides.broadcast")
def test_broadcast_input(subject: Subject, judge: Judge) -> None:
    """A stride of zero on each axis alone, on all but one, and on all, at every rank.

    A dimension of one element may have any stride: it has zero where others have several, in quick by turns.
    """
    layouts = []
    for sizes in _all_ranks(subject):
        axes = range(len(sizes))
        chosen = [{axis} for axis in axes] + [set(axes) - {axis} for axis in axes] + [set(axes)]
        for turn, zeros in enumerate(chosen):
            order = tuple(axis for axis in axes if axis not in zeros)
            strides = [0] * len(sizes)
            step = 1
            for axis in reversed(order):
                strides[axis] = step
                step *= sizes[axis]
            layouts.append((sizes, tuple(strides), ()))
            if subject.profile.every_place or (turn + subject.seed) % 2:
                ones = tuple(1 if axis in zeros else size for axis, size in enumerate(sizes))
                layouts.append((ones, tuple(strides), ()))
    judge.all(_cases(subject, "tensor.strides.broadcast", list(dict.fromkeys(layouts))))


@checks("tensor.strides.output")
def test_output_strides_are_independent(subject: Subject, judge: Judge) -> None:
    """Output strides that differ from the input's in order and padding, with a broadcast input too, at every rank."""
    layouts = []
    for sizes in _all_ranks(subject):
        axes = tuple(range(len(sizes)))
        target = permuted(sizes, axes[::-1], 2)
        broadcast = (0, *permuted(sizes[1:], tuple(range(len(sizes) - 1))))
        layouts += [(sizes, permuted(sizes, axes, 1), target), (sizes, broadcast, target), (sizes, (), target)]
    judge.all(_cases(subject, "tensor.strides.output", layouts))


@checks("tensor.strides.padded")
def test_drawn_padding(subject: Subject, judge: Judge) -> None:
    """Any sizes, any gaps, any attributes and values, anywhere in the memory."""
    judge.all(drawn_cases(subject, "tensor.strides.padded", Kinds(padded=True)))


@checks("tensor.strides.output")
def test_drawn_strides_on_both_sides(subject: Subject, judge: Judge) -> None:
    """Any order, gaps and zeros on the input, any order and gaps on the output."""
    kinds = Kinds(padded=True, permuted=True, broadcast=True, output=True)
    judge.all(drawn_cases(subject, "tensor.strides.output", kinds))


@checks("tensor.strides.permuted")
def test_strides_do_not_change_values(subject: Subject, judge: Judge) -> None:
    """Without an oracle: the same elements give the same results in a packed tensor."""
    kinds = Kinds(padded=True, permuted=True, output=True)
    judge.all(drawn_cases(subject, "tensor.strides.permuted", kinds, "plain layout"))


@checks("tensor.strides.padded")
def test_strided_tensor_past_many_workgroups(subject: Subject, judge: Judge) -> None:
    """A strided tensor of a few hundred thousand elements, whose offsets need more than 16 bits."""
    rank = subject.ranks[-1]
    sizes = (*([1] * max(0, rank - 3)), 7, 131, 257)[-rank:] if rank >= 3 else (*([1] * (rank - 1)), 100_003)
    strides = permuted(sizes, tuple(range(len(sizes)))[::-1], 1)
    attributes = subject.revealing()
    operator = subject.describe(sizes, attributes, strides, None)
    values = subject.distinct(1021).streams
    clause = subject.values_clause(attributes)
    judge(Case(operator, values, clause, "tensor.strides.padded"))
    judge(Case(subject.describe(sizes, attributes, None, strides), values, clause, "tensor.strides.output"))


@checks("tensor.strides.zero-output")
def test_zero_strides_on_the_output_are_characterised(subject: Subject, judge: Judge) -> None:
    """An output that repeats its elements may be refused or accepted."""
    sizes = SIZES[: subject.ranks[-1]]
    zeros = tuple(0 for _ in sizes)
    output = TensorDesc(subject.types[subject.table.output], sizes, zeros, math.prod(sizes) * 8)
    operator = described(subject, packed(sizes), {subject.table.output: output})
    clause = "tensor.strides.zero-output"
    judgement = judge(Case(operator, subject.ones, clause, None, "either", Placement()))
    if judgement.unsupported is not None:
        return
    behaviour = "an output stride of zero is refused" if judgement.refused else "an output stride of zero is accepted"
    judge.characterise(clause, operator, behaviour)
