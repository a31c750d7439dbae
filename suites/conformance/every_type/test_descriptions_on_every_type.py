"""Descriptions on the signatures that the other tests of them leave out in quick: each type may have checks of its own.

Bytes are counted by the size of an element, and a kernel of one type may count wrongly, or refuse what others take.
"""

from __future__ import annotations

from collections.abc import Iterator

from dmlcts.specs import TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.conformance.tensors.describing import Made, Sizes, accepted, described, packed, refused
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_SIZES = (2, 3, 2, 2, 3, 2, 2, 2)
_COUNT = 9  # elements of less than a word do not fill the last one
_TOO_MANY = ((1 << 16, 1 << 16), (1 << 16, (1 << 16) + 1), (1 << 31, 2))
_MOST = (1 << 32) - 1
_UNCROWDED = (2, 3, 5, 6, 7)  # at the others every signature has the crowded layouts


@checks("tensor.size.zero", "tensor.elements.maximum", "tensor.total-size.minimum", remaining=True)
def test_what_every_type_refuses(subject: Subject, judge: Judge) -> None:
    """Sizes of zero, more than 2^32 - 1 elements, and too small a total size of each tensor alone.

    Next to them what is just enough is accepted.
    """
    judge.all([*_zeros(subject), *_too_many(subject), *_too_small(subject)])


def _zeros(subject: Subject) -> Iterator[Case]:
    """A zero in the first and the last dimension, also of a scale or zero point alone; ones pass."""
    clause, rank = "tensor.size.zero", subject.ranks[-1]
    for axis in dict.fromkeys((0, rank - 1)):
        yield refused(subject, clause, _made(_with_size(_SIZES[:rank], axis, 0), total=64))
        for name, data_type in subject.single.items():
            none = TensorDesc(data_type, _with_size((1,) * rank, axis, 0), None, 16)
            yield refused(subject, clause, packed(_SIZES[:rank]), {name: none})
    yield accepted(subject, clause, packed((1,) * rank))


def _with_size(sizes: Sizes, axis: int, size: int) -> Sizes:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def _made(sizes: Sizes, strides: Sizes | None = None, total: int | None = None) -> Made:
    return lambda data_type: TensorDesc(data_type, sizes, strides, total)


def _too_many(subject: Subject) -> Iterator[Case]:
    """2^32 elements and a few more, packed, and as one that is repeated; no size reaches that alone."""
    clause, rank = "tensor.elements.maximum", subject.ranks[-1]
    for sizes in _TOO_MANY if rank > 1 else ():
        whole = (*((1,) * (rank - 2)), *sizes)
        yield refused(subject, clause, packed(whole))
        yield refused(subject, clause, _made(whole, (0,) * rank, 16))
    yield accepted(subject, clause, packed(_SIZES[:rank]))


def _too_small(subject: Subject) -> Iterator[Case]:
    """One word less than its elements need, and one at all, on each tensor alone, packed and strided.

    Of a tensor of one element no word at all; the exact size passes.
    """
    clause, ones = "tensor.total-size.minimum", (1,) * (subject.ranks[0] - 1)
    for strides in (None, (*ones, 3)):
        enough = _made((*ones, _COUNT), strides)
        for name, tensor in described(subject, enough).tensors.items():
            less = (tensor.minimum_size_in_bytes - 1) // 4 * 4
            for total in dict.fromkeys((less, min(less, 4))):
                short = TensorDesc(tensor.data_type, tensor.sizes, tensor.strides, total)
                yield refused(subject, clause, enough, {name: short})
        yield accepted(subject, clause, enough)


@checks("tensor.strides.padded", "tensor.strides.broadcast", remaining=True)
def test_strides_that_every_type_takes(subject: Subject, judge: Judge) -> None:
    """The largest stride along a dimension of one element, and all inputs broadcast together; every value is right."""
    judge.all([*_largest_strides(subject), *_broadcast(subject)])


def _largest_strides(subject: Subject) -> Iterator[Case]:
    """A stride of 2^32 - 1, along the first dimension of the inputs and the last of the output."""
    attributes, rank = subject.revealing(), subject.ranks[-1]
    clause, values = subject.values_clause(attributes), subject.distinct(97).streams
    for on_inputs, axis in ((True, 0), (False, rank - 1)):
        sizes = _with_size(_SIZES[:rank], axis, 1)
        strides = _with_size(TensorDesc(subject.data_type, sizes).element_strides, axis, _MOST)
        source, target = (strides, None) if on_inputs else (None, strides)
        operator = subject.describe(sizes, attributes, source, target)
        yield Case(operator, values, clause, "tensor.strides.padded")


def _broadcast(subject: Subject) -> Iterator[Case]:
    """The inputs by turns along all dimensions but the last, and all but the first."""
    attributes = subject.revealing()
    clause, values = subject.values_clause(attributes), subject.distinct(97).streams
    for rank in (candidate for candidate in subject.ranks if candidate in _UNCROWDED):
        still = (0,) * (rank - 1)
        layouts = {name: (1, *still) if turn % 2 else (*still, 1) for turn, name in enumerate(subject.inputs)}
        operator = subject.describe(_SIZES[:rank], attributes, layouts=layouts)
        yield Case(operator, values, clause, "tensor.strides.broadcast")
