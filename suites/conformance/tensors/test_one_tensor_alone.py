"""What one tensor of a description may have alone: a larger total size, or strides of its only element.

What has to be accepted is dispatched, and every value judged. Larger total sizes also meet every other attribute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.combinations.sizes import with_larger_totals
from dmlcts.suites.conformance.having import other_attributes, single_elements
from dmlcts.suites.conformance.tensors.describing import SIZES, attribute_turns, special_elements
from dmlcts.suites.conformance.tensors.test_strides import permuted
from dmlcts.suites.generation.subject import Subject
from dmlcts.suites.judging.judge import Judge
from dmlcts.suites.running.markers import checks

_COUNT = 61
_EXTRA = (4, 256, 12)
_FAR = (2 << 10, 64 << 10)
_FARTHEST = 1 << 20  # such a memory takes milliseconds to look through


def _with(operator: OperatorDesc, name: str, tensor: TensorDesc) -> OperatorDesc:
    return OperatorDesc(operator.name, {**operator.tensors, name: tensor}, operator.attributes)


def _each_larger(subject: Subject) -> Iterator[Case]:
    """A case for each tensor, whose total size alone is larger than it needs to be, and some where all are far so."""
    attributes = subject.revealing()
    clause, values = subject.values_clause(attributes), subject.distinct(_COUNT).streams
    operator = subject.describe(subject.flat(_COUNT), attributes)
    for turn, name in enumerate(operator.tensors):
        odd = with_larger_totals(operator, _EXTRA[turn % len(_EXTRA)]).tensors[name]
        yield Case(_with(operator, name, odd), values, clause, "tensor.total-size.larger")
    for extra in _FAR:
        yield Case(with_larger_totals(operator, extra), values, clause, "tensor.total-size.larger")
    farthest = with_larger_totals(operator, _FARTHEST)
    yield Case(farthest, values, "tensor.total-size.larger", "tensor.total-size.larger", "accepted")


def _larger_everywhere(subject: Subject) -> Iterator[Case]:
    """Cases of tensors that are all larger than they need to be, with special elements."""
    attributes = subject.revealing()
    clause, layout_clause = subject.values_clause(attributes), "tensor.total-size.larger"
    values = special_elements(subject).streams

    def larger(sizes: tuple[int, ...], **layouts: tuple[int, ...]) -> OperatorDesc:
        total = TensorDesc(subject.data_type, sizes).total_size_in_bytes + _EXTRA[1]
        return subject.describe(sizes, attributes, total_size=total, layouts=layouts)

    for place in (Placement(), *subject.in_place):
        yield Case(larger(subject.flat(_COUNT)), values, clause, layout_clause, placement=place)
    for rank in subject.ranks:
        yield Case(larger(SIZES[:rank]), values, clause, layout_clause)
    sizes = SIZES[: subject.ranks[-1]]
    for name in subject.inputs:
        yield Case(larger(sizes, **{name: (*((0,) * (len(sizes) - 1)), 1)}), values, clause, layout_clause)
    yield Case(larger(subject.flat((1 << 15) + 3)), subject.distinct(1021).streams, clause, layout_clause)


@checks("tensor.total-size.larger")
def test_larger_total_sizes_in_every_place(subject: Subject, judge: Judge) -> None:
    """All tensors are larger: in place, at every rank, beside an input that is broadcast, of many elements."""
    judge.all(_larger_everywhere(subject))


@checks("tensor.total-size.larger")
def test_a_larger_total_size_of_each_tensor_alone(subject: Subject, judge: Judge) -> None:
    """A few bytes to many more on each tensor in turn, also of one element; the others are exact.

    Then 2 KiB and 64 KiB on all of them at once; 1 MiB is accepted.
    """
    judge.all(_each_larger(subject))


@checks("tensor.total-size.larger", remaining=True)
def test_a_larger_total_size_of_each_tensor_of_every_type(subject: Subject, judge: Judge) -> None:
    """The same on the signatures that other tests of total sizes leave out in the quick profile."""
    judge.all(_each_larger(subject))


@checks("tensor.total-size.larger", "in-place", having=other_attributes)
def test_larger_total_sizes_with_other_attributes(subject: Subject, judge: Judge) -> None:
    """ScaleBias, each other enumerator, number and activation: larger total sizes, without and with strides, in place.

    In place, larger regions as well, of tensors that are not.
    """
    sizes = (*((1,) * (subject.ranks[-1] - 1)), _COUNT)
    padded = permuted(sizes, tuple(range(len(sizes))), 1)
    values = subject.distinct(_COUNT).streams
    cases = []
    for attributes in attribute_turns(subject, judge.bench.tables.activations.values())[1:]:
        clause = subject.scaled_values_clause(attributes)
        for strides in (None, padded):
            operator = with_larger_totals(subject.describe(sizes, attributes, strides, strides), _EXTRA[1])
            cases.append(Case(operator, values, clause, "tensor.total-size.larger"))
        exact = subject.describe(sizes, attributes)
        larger = with_larger_totals(exact, _EXTRA[1])
        for place in subject.in_place:
            for operator, placement in ((exact, replace(place, slack=60)), (larger, place)):
                cases.append(Case(operator, values, clause, subject.in_place_clause, placement=placement))
    judge.all(cases)


# The page on buffer tensors lets every tensor have strides, and a tensor of one element is one.


def _strides_of_one(rank: int) -> dict[str, tuple[int, ...]]:
    """Strides of a tensor of one element, which stands where it does whatever they are, by the clause on their kind."""
    return {
        "tensor.strides.packed": (1,) * rank,
        "tensor.strides.broadcast": (0,) * rank,
        "tensor.strides.padded": tuple(7 + 3 * axis for axis in range(rank)),
    }


def _laid_out(subject: Subject, layout_clause: str, names: dict[str, DataType]) -> Case:
    attributes, rank = subject.revealing(), subject.ranks[-1]
    operator = subject.describe((*((1,) * (rank - 1)), _COUNT), attributes)
    for name, data_type in names.items():
        operator = _with(operator, name, TensorDesc(data_type, (1,) * rank, _strides_of_one(rank)[layout_clause]))
    return Case(operator, subject.distinct(_COUNT).streams, subject.values_clause(attributes), layout_clause)


@checks("tensor.strides.packed", "tensor.strides.broadcast", "tensor.strides.padded", having=single_elements)
def test_strides_of_each_single_element(subject: Subject, judge: Judge) -> None:
    """Packed strides, zeros and odd ones on each tensor of one element alone."""
    alone = [{name: data_type} for name, data_type in subject.single.items()]
    judge.all(_laid_out(subject, kind, tensors) for tensors in alone for kind in _strides_of_one(1))


@checks(
    "tensor.strides.packed",
    "tensor.strides.broadcast",
    "tensor.strides.padded",
    remaining=True,
    having=single_elements,
)
def test_strides_of_single_elements_of_every_type(subject: Subject, judge: Judge) -> None:
    """The same on all tensors of one element at once, on the signatures that other tests of strides leave out."""
    judge.all(_laid_out(subject, kind, subject.single) for kind in _strides_of_one(1))
