"""A case: one operator description, the values of its input, where the tensors stand, and what is expected.

Everything that a test checks is a case, so that everything that fails can be written down and replayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dmlcts.specs import DataType, OperatorDesc, UsageError
from dmlcts.specs.description_data import (
    DataReader,
    read_attributes,
    read_operator,
    write_attributes,
    write_operator,
)
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.recipe import Recipe
from dmlcts.suites.cases.values import Streams, Values

FORMAT = "dmlcts/case/2"
"""What a case says of its form as plain data; cases of earlier versions say nothing, and have one input."""

_MOST_EXPLICIT = 4096
_MOST_EARLIER = 64
_USUAL = Placement()


@dataclass(frozen=True)
class Step:
    """A step of a program: a kernel is made, dispatched or closed.

    Attributes:
        kernel: its number in the program; kernels are numbered as they are made, from 0.
        operator: the description, where one is made.
        values: the streams that fill the inputs, where it is dispatched; without these and a description it is closed.
        placement: where the tensors of a dispatch stand.
    """

    kernel: int
    operator: OperatorDesc | None = None
    values: Streams | None = None
    placement: Placement = _USUAL

    def to_json(self) -> dict[str, Any]:
        """The step as plain data."""
        if self.operator is not None:
            return {"create": self.kernel, **write_operator(self.operator)}
        if self.values is None:
            return {"close": self.kernel}
        values = {name: value.to_json(_MOST_EXPLICIT) for name, value in self.values.items()}
        return {"dispatch": self.kernel, "values": values, "placement": self.placement.to_json()}


@dataclass(frozen=True, init=False)
class Case:
    """One thing to check.

    Attributes:
        operator: the description that the implementation is given.
        values: the streams that fill the inputs, each in row-major order of the elements that a tensor stores; a
            single stream stands for that of an operator's only input.
        clause: the id of the clause that a wrong value breaks.
        layout_clause: the id of the clause that is broken where the same value comes out right from a
            packed tensor of one element; ``None`` where the clause is about the value alone.
        expectation: the name of the judge, see :mod:`dmlcts.suites.judging.expectations`.
        placement: where the tensors stand.
        recipe: what a covering array made it of, see :mod:`dmlcts.suites.combinations`; ``None`` for other cases.
        earlier: cases that are judged before, on the same device, whatever comes of them.
        beside: for the expectation "beside others", the kernels that are alive, in the order in which they are made,
            the case's own among them and all on tensors like its own; empty: those that the expectation chooses.
        steps: for the expectation "steps", the program; the case is its last dispatch.
    """

    operator: OperatorDesc
    values: Streams
    clause: str
    layout_clause: str | None = None
    expectation: str = "oracle"
    placement: Placement = field(default_factory=Placement)
    recipe: Recipe | None = field(default=None, compare=False)
    earlier: tuple[Case, ...] = ()
    beside: tuple[OperatorDesc, ...] = ()
    steps: tuple[Step, ...] = ()

    def __init__(
        self,
        operator: OperatorDesc,
        values: Streams | Values,
        clause: str,
        layout_clause: str | None = None,
        expectation: str = "oracle",
        placement: Placement | None = None,
        recipe: Recipe | None = None,
        earlier: tuple[Case, ...] = (),
        beside: tuple[OperatorDesc, ...] = (),
        steps: tuple[Step, ...] = (),
    ) -> None:
        streams = Streams(((operator.input_name, values),)) if isinstance(values, Values) else values
        put = self.__dict__  # as object.__setattr__ would, in half the time: a run makes millions
        put["operator"] = operator
        put["values"] = streams
        put["clause"] = clause
        put["layout_clause"] = layout_clause
        put["expectation"] = expectation
        put["placement"] = _USUAL if placement is None else placement
        put["recipe"] = recipe
        put["earlier"] = earlier
        put["beside"] = beside
        put["steps"] = steps

    @property
    def data_type(self) -> DataType:
        """The data type that records call the case's."""
        return self.operator.data_type

    def changed(
        self,
        operator: OperatorDesc | None = None,
        values: Streams | None = None,
        placement: Placement | None = None,
        expectation: str = "",
    ) -> Case:
        """The same case but for what is given, as :func:`dataclasses.replace` makes it, in a third of the time."""
        return Case(
            self.operator if operator is None else operator,
            self.values if values is None else values,
            self.clause,
            self.layout_clause,
            expectation or self.expectation,
            self.placement if placement is None else placement,
            self.recipe,
            self.earlier,
            self.beside,
            self.steps,
        )

    def with_operator(self, operator: OperatorDesc) -> Case:
        """The same case of another description; the kernels beside it take its tensors.

        A kernel that differed from it in what it loses is not among them any more: it would be the same one twice.
        """
        if not self.beside:
            return Case(
                operator,
                self.values,
                self.clause,
                self.layout_clause,
                self.expectation,
                self.placement,
                earlier=self.earlier,
            )
        beside = dict.fromkeys(
            operator
            if neighbour == self.operator
            else OperatorDesc(neighbour.name, operator.tensors, neighbour.attributes)
            for neighbour in self.beside
        )
        return replace(self, operator=operator, beside=tuple(beside), recipe=None)

    def to_json(self) -> dict[str, Any]:
        """The case as plain data, for a failure file."""
        document: dict[str, Any] = {"earlier": [case.to_json() for case in self.earlier]} if self.earlier else {}
        if self.beside:
            document["beside"] = [
                {"operator": neighbour.name, "attributes": write_attributes(neighbour)} for neighbour in self.beside
            ]
        if self.steps:
            document["steps"] = [step.to_json() for step in self.steps]
        return {
            "format": FORMAT,
            **write_operator(self.operator),
            "values": {name: values.to_json(_MOST_EXPLICIT) for name, values in self.values.items()},
            "clause": self.clause,
            "layout_clause": self.layout_clause,
            "expectation": self.expectation,
            "placement": self.placement.to_json(),
            **document,
        }

    @classmethod
    def from_json(cls, written: Any, *, nested: bool = False) -> Case:
        """The case that :meth:`to_json` wrote.

        Args:
            written: plain data.
            nested: whether it is one that runs before another, and has none before itself.

        Raises:
            UsageError: it is not one; the message names what is wrong.
        """
        reader = DataReader(written, "case")
        if written.get("format", FORMAT) != FORMAT:
            raise UsageError(f"the case is of the format {written['format']!r}", f"this version reads {FORMAT}")
        operator = read_operator(written, "case")
        if operator.output_name not in operator.tensors or not operator.inputs:
            raise UsageError("a case needs an input and an output tensor", "write both under `tensors`")
        if "format" not in written and set(operator.tensors) != {"InputTensor", "OutputTensor"}:
            raise UsageError("a case needs InputTensor and OutputTensor", "write both under `tensors`")
        placement = Placement.from_json(DataReader(reader.mapping("placement"), "placement"))
        if placement.alias and placement.alias not in operator.inputs:
            raise UsageError(f"placement.alias names no input: {placement.alias!r}", "write an input tensor's name")
        layout_clause = reader.mapping_or_value("layout_clause")
        earlier = reader.data.get("earlier", [])
        if not isinstance(earlier, list) or len(earlier) > _MOST_EARLIER or (nested and earlier):
            raise UsageError(
                f"case.earlier is not a list of up to {_MOST_EARLIER} cases",
                "use a file that dmlcts wrote under failures/",
            )
        beside = reader.data.get("beside", [])
        if not isinstance(beside, list) or len(beside) > _MOST_EARLIER:
            raise UsageError(
                f"case.beside is not a list of up to {_MOST_EARLIER} kernels",
                "use a file that dmlcts wrote under failures/",
            )
        neighbours = tuple(_read_neighbour(DataReader(entry, "beside"), operator) for entry in beside)
        if neighbours and operator not in neighbours:
            raise UsageError("case.beside does not hold the case's own kernel", "write it where it is made")
        steps = reader.data.get("steps", [])
        if not isinstance(steps, list) or len(steps) > _MOST_EARLIER:
            cause = f"case.steps is not a list of up to {_MOST_EARLIER} steps"
            raise UsageError(cause, "use a file that dmlcts wrote under failures/")
        return cls(
            operator,
            _read_values(reader.mapping("values"), operator, named="format" in written),
            reader.text("clause", r"[a-z0-9.-]{1,80}"),
            None if layout_clause is None else reader.text("layout_clause", r"[a-z0-9.-]{1,80}"),
            reader.text("expectation", r"[a-z -]{1,40}"),
            placement,
            earlier=tuple(cls.from_json(entry, nested=True) for entry in earlier),
            beside=neighbours,
            steps=_read_steps(steps),
        )


def steps_alone(case: Case) -> Iterator[Case]:
    """Each kernel of a case's program as a case that makes it, and each dispatch as one of its own."""
    alive: dict[int, OperatorDesc] = {}
    for step in case.steps:
        alive |= {step.kernel: step.operator} if step.operator is not None else {}
        values, expectation = (case.values, "accepted") if step.values is None else (step.values, "oracle")
        yield Case(alive[step.kernel], values, case.clause, case.layout_clause, expectation, step.placement)


def _read_values(written: Mapping[str, Any], operator: OperatorDesc, *, named: bool) -> Streams:
    arrays = written if named else {operator.input_name: written}
    if set(arrays) != set(operator.inputs):
        raise UsageError(f"values are of {sorted(arrays)}", f"write those of {sorted(operator.inputs)}")
    return Streams(
        tuple((name, Values.from_json(tensor.data_type, arrays[name])) for name, tensor in operator.inputs.items())
    )


def _read_steps(written: list[Any]) -> tuple[Step, ...]:
    """The steps of a program; each is about a kernel that is alive then."""
    steps: list[Step] = []
    alive: dict[int, OperatorDesc] = {}
    for entry in written:
        reader = DataReader(entry, "steps")
        (act, *more) = [name for name in ("create", "dispatch", "close") if name in reader.data] or [""]
        kernel = reader.data.get(act)
        if more or type(kernel) is not int or (kernel in alive) == (act == "create") or kernel < 0:
            cause = f"a step of case.steps is none: {sorted(reader.data)} of kernel {kernel!r}"
            raise UsageError(cause, "write `create` once, then `dispatch` and at last `close` with the kernel's number")
        if act == "create":
            alive[kernel] = read_operator(entry, "steps")
            steps.append(Step(kernel, alive[kernel]))
        elif act == "close":
            del alive[kernel]
            steps.append(Step(kernel))
        else:
            values = _read_values(reader.mapping("values"), alive[kernel], named=True)
            placement = Placement.from_json(DataReader(reader.mapping("placement"), "placement"))
            steps.append(Step(kernel, None, values, placement))
    return tuple(steps)


def _read_neighbour(reader: DataReader, own: OperatorDesc) -> OperatorDesc:
    return OperatorDesc(reader.text("operator", r"[A-Z][A-Z0-9_]{0,80}"), own.tensors, read_attributes(reader))
