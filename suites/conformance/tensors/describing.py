"""Descriptions in which one tensor is not as the others are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.generation.subject import Subject

Sizes = tuple[int, ...]
Made = Callable[[DataType], TensorDesc]
"""Makes a tensor of an element type."""


def packed(sizes: Sizes) -> Made:
    """Packed tensors of these sizes."""
    return lambda data_type: TensorDesc(data_type, sizes)


def described(subject: Subject, usual: Made, odd: Mapping[str, TensorDesc] | None = None) -> OperatorDesc:
    """A description whose tensors are all made alike, each of its own type, but for those given."""
    rank = usual(subject.data_type).rank
    tensors = {}
    for name, data_type in subject.types.items():
        single = subject.table.tensors[name].elements is not None
        made = subject.describe((1,) * rank, {}).tensors[name] if single else usual(data_type)
        tensors[name] = (odd or {}).get(name, made)
    return OperatorDesc(subject.table.operator, tensors, subject.attributes())


def refused(subject: Subject, clause: str, usual: Made, odd: Mapping[str, TensorDesc] | None = None) -> Case:
    """A case of a description that has to be refused."""
    return Case(described(subject, usual, odd), subject.ones, clause, None, "refused")


def accepted(subject: Subject, clause: str, usual: Made) -> Case:
    """The control: a case of a description that has to be accepted."""
    return Case(described(subject, usual), subject.ones, clause, None, "accepted")


def each_odd(subject: Subject, clause: str, usual: Made, odd: Made, names: Mapping[str, DataType] | None = None
             ) -> Iterator[Case]:  # fmt: skip
    """A case to be refused for each tensor that is odd alone.

    Args:
        subject: what is described.
        clause: the clause that asks for the refusal.
        usual: makes the other tensors.
        odd: makes the odd one.
        names: which are odd in turn; all that have as many elements as the output by default.
    """
    for name, data_type in (subject.wide if names is None else names).items():
        yield refused(subject, clause, usual, {name: tensor_like(subject, name, odd, data_type)})


def tensor_like(subject: Subject, name: str, like: Made, data_type: DataType) -> TensorDesc:
    """A tensor of a type; one that has a single element keeps that, with as many dimensions."""
    tensor = like(data_type)
    single = subject.table.tensors[name].elements is not None
    return TensorDesc(data_type, (1,) * tensor.rank) if single else tensor


def compared(subject: Subject, word: str) -> dict[str, DataType]:
    """The tensors that have to agree with others in a constraint's ``word``, with their types.

    A tensor of one element, as a zero point is, agrees in everything but its sizes.
    """
    named = subject.wide if word == "Sizes" else subject.types
    found: dict[str, DataType] = {}
    for group in subject.table.constraints:
        there = [name for name in group.tensors if name in named]
        if word in group.same and len(there) > 1:
            found |= {name: named[name] for name in there}
    return found
