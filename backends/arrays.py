"""What backends share whose runtime computes new packed arrays from packed arrays: JAX, OpenVINO, LiteRT.

Such a runtime knows no memory, no offsets and no strides. One device and one kernel stand here for all of them: they
check descriptions, refuse other layouts, copy inputs out of the memory and results into it. A backend adds an
:class:`ArrayRuntime`, which makes a program of each function on each combination of types; programs are kept, and so
is the answer that there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dmlcts.backends.bindings import check_bindings, check_memory
from dmlcts.backends.contract import DeviceInfo, ExecutionFailed, InvalidArgument, NotSupported
from dmlcts.backends.runtimes import (
    ALIGNMENT,
    DESCRIPTIONS,
    LEVEL,
    NO_SCALE_BIAS,
    Counterpart,
    Mapped,
    bound,
    cast_bound,
    check_description,
    is_packed,
    mapping_rows,
    part_of,
    parts,
    sample,
    types_text,
)
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.tables import Tables

Array = NDArray[Any]
Program = Callable[[Sequence[Array], Sequence[Any]], Array]
"""Computes the result of the input arrays, all of one shape, and of the scalars: bounds, or an exponent."""

_BOOL = np.dtype(np.bool_)
_UNDOCUMENTED_CASTS = ("THRESHOLD", "CLIP_GRAD")
_LENGTHS = (7, 67, 1027, 16387, 65539)  # 3 elements beyond what vectors hold evenly


@dataclass(frozen=True)
class Call:
    """One function of a runtime on one combination of types.

    Attributes:
        part: the part of the mapping ("ADD", "ROUND TOWARD_ZERO", "DIVIDE of integers").
        kinds: the numpy types of the input arrays, as the runtime is given them.
        result: the numpy type that the runtime's result must have; bool where it is a truth value.
        scalars: the names of the attributes that are passed behind the arrays: "Min", "Max", "Exponent".
        rank: how many dimensions the arrays have, of a runtime that has not the same functions at every rank.
    """

    part: str
    kinds: tuple[np.dtype[Any], ...]
    result: np.dtype[Any]
    scalars: tuple[str, ...] = ()
    rank: int = 1


class ArrayRuntime(Protocol):
    """What a backend adds: a runtime that computes arrays."""

    @property
    def name(self) -> str:
        """The backend's name."""

    @property
    def prefix(self) -> str:
        """What goes before the names of its table where they are shown: "jax."; may be empty."""

    @property
    def version(self) -> str:
        """The version of the runtime's package."""

    @property
    def adapter(self) -> str:
        """What it computes on."""

    @property
    def options(self) -> Mapping[str, str]:
        """The options that it was opened with."""

    @property
    def counterparts(self) -> Mapping[str, Counterpart]:
        """The table of what stands for what, by part; "… of integers" goes before the part itself on integers."""

    @property
    def rows(self) -> Sequence[Mapped]:
        """What else the mapping has to say: of sizes and of memory."""

    @property
    def ranked(self) -> bool:
        """Whether calls differ by the rank of the arrays, because some functions are there at some ranks only."""

    def program(self, call: Call, counterpart: Counterpart) -> Program:
        """A program of ``counterpart`` on the types of ``call``.

        Raises:
            NotSupported: the runtime does not have the function on these types.
        """

    def takes(self, call: Call, counterpart: Counterpart) -> None:
        """Return where the runtime has the function on these types, in a few milliseconds.

        Raises:
            NotSupported: it does not.
        """

    def close(self) -> None:
        """Release what it holds; calling it again does nothing."""


def truths(array: Array) -> Array:
    """Which elements are not 0: DirectML takes every such element for true."""
    return np.not_equal(array, 0)


def padded_count(count: int) -> int:
    """How many elements an array of ``count`` gets where each length is a program of its own to compile.

    A few lengths only, each 3 beyond a power of 2: what a compiler does past its last whole vector is judged too.
    Longer arrays, whose elements cost more than a program, keep their length.
    """
    return next((length for length in _LENGTHS if count <= length), count)


def padded(array: Array, count: int) -> Array:
    """A flat copy of ``count`` elements: ones, and behind them the elements of ``array``."""
    longer = np.ones(count, array.dtype)
    longer[count - array.size :] = array.reshape(-1)
    return longer


def first_line(error: BaseException) -> str:
    """The first line of a runtime's own words that says something."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


class ArrayDevice:
    """A runtime that computes arrays, as a device of the contract; a context manager.

    Args:
        runtime: the runtime.
        tables: the spec tables; the built-in ones unless given.
    """

    def __init__(self, runtime: ArrayRuntime, tables: Tables | None = None) -> None:
        self.runtime = runtime
        self._tables = tables or load_tables()
        self._programs: dict[Call, Program | NotSupported] = {}
        self._closed = False
        taken_parts = _taken_parts(self, self._tables)
        claimed = {
            name: frozenset[DataType]().union(*(taken_parts[part] for part in parts(table)))
            for name, table in self._tables.operators.items()
        }
        rows = [NO_SCALE_BIAS, *mapped_parts(runtime, taken_parts), *runtime.rows, *_COPIES, DESCRIPTIONS]
        self.info = DeviceInfo(
            name=runtime.name,
            feature_level=LEVEL,
            adapter=runtime.adapter,
            library=runtime.name,
            version=runtime.version,
            data_types=claimed,
            details={"options": dict(runtime.options), "mapping": mapping_rows(rows)},
        )

    def call(self, operator: OperatorDesc, table: OperatorTable) -> tuple[Call, Counterpart]:
        """What ``operator`` asks of the runtime.

        Raises:
            NotSupported: the runtime has nothing for it.
        """
        part = part_of(operator, table)
        first = operator.tensors[table.inputs[0]].data_type
        if not first.is_floating and f"{part} of integers" in self.runtime.counterparts:
            part = f"{part} of integers"
        counterpart = self.runtime.counterparts.get(part)
        if counterpart is None or not counterpart.name:
            raise NotSupported(f"{part}: {counterpart.lacking if counterpart else 'mapped to nothing'}")
        if counterpart.only is not None and first not in counterpart.only:
            raise NotSupported(f"{part} on {first.name}: {counterpart.note}")
        kinds = [
            _kind(operator.tensors[name], counterpart, position < counterpart.conditions)
            for position, name in enumerate(table.inputs)
            if name in operator.tensors
        ]
        result = _kind(operator.tensors[table.output], counterpart, False)
        if counterpart.truth:
            result = _BOOL
        elif counterpart.converted:
            result = kinds[0]
        scalars = tuple(item.name for item in table.attributes if item.name in ("Min", "Max", "Exponent"))
        rank = operator.tensors[table.output].rank if self.runtime.ranked else 1
        return Call(part, tuple(kinds), result, scalars, rank), counterpart

    def program(self, call: Call, counterpart: Counterpart) -> Program:
        """The program of ``call``, made once.

        Raises:
            NotSupported: there is none; found out once.
        """
        if call not in self._programs:
            try:
                self.runtime.takes(call, counterpart)
                self._programs[call] = self.runtime.program(call, counterpart)
            except NotSupported as lacking:
                self._programs[call] = lacking
        program = self._programs[call]
        if isinstance(program, NotSupported):
            raise NotSupported(str(program))
        return program

    def create(self, operator: OperatorDesc) -> ArrayKernel:
        """Check ``operator`` and find the program for it.

        Raises:
            InvalidArgument: the description breaks the rules of the tables.
            NotSupported: the runtime cannot express it.
            ExecutionFailed: the device is closed.
        """
        if self._closed:
            raise ExecutionFailed("the device is closed")
        table = check_description(operator, FeatureLevel(LEVEL), self._tables)
        for name, tensor in operator.tensors.items():
            if not is_packed(tensor):
                strides = list(tensor.element_strides)
                raise NotSupported(f"{name} has strides {strides}; arrays of {self.runtime.name} are packed")
        call, counterpart = self.call(operator, table)
        program = self.program(call, counterpart)
        return ArrayKernel(self.runtime.name, operator, table, call, program, _scalars(operator, table, call))

    def close(self) -> None:
        """Refuse further work; calling it again does nothing."""
        self._closed = True
        self._programs.clear()
        self.runtime.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class ArrayKernel:
    """A program with its scalars; ``create`` of :class:`ArrayDevice` makes it.

    Args:
        runtime: the backend's name, for messages.
        operator: the description; its tensors are packed.
        table: the operator's.
        call: the types of the arrays.
        program: what computes the result.
        scalars: bounds, or an exponent, of the types that the runtime wants.
    """

    def __init__(
        self,
        runtime: str,
        operator: OperatorDesc,
        table: OperatorTable,
        call: Call,
        program: Program,
        scalars: Sequence[Any],
    ) -> None:
        self._runtime = runtime
        self._tensors = operator.tensors
        self._inputs = [name for name in table.inputs if name in operator.tensors]
        self._output = table.output
        self._may_alias = table.tensors[table.output].may_alias
        self._call = call
        self._program = program
        self._scalars = scalars
        self._closed = False

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Run once, on copies of the inputs; the result is written over the output's elements.

        Raises:
            ExecutionFailed: the kernel is closed, memory or bindings cannot be used, or the runtime failed.
        """
        if self._closed:
            raise ExecutionFailed("the kernel is closed")
        check_memory(memory)
        check_bindings(memory, bindings, self._tensors, ALIGNMENT, output=self._output, may_alias=self._may_alias)
        arrays = [
            self._array(memory, bindings[name], name, kind)
            for name, kind in zip(self._inputs, self._call.kinds, strict=True)
        ]
        tensor = self._tensors[self._output]
        try:
            result = self._program(arrays, self._scalars)
        except Exception as error:  # each runtime has classes of its own
            raise ExecutionFailed(f"{self._runtime}: {first_line(error)}") from error
        if result.size != tensor.element_count or result.dtype != self._call.result:
            raise ExecutionFailed(f"{self._runtime}: the result is {result.dtype} of shape {list(result.shape)}")
        wanted = tensor.data_type.numpy if self._converts else result.dtype
        data = np.ascontiguousarray(result).astype(wanted, copy=False).reshape(-1).view(np.uint8)
        begin = bindings[self._output].offset
        memory[begin : begin + data.size] = data

    @property
    def _converts(self) -> bool:
        return self._call.result.itemsize != self._tensors[self._output].data_type.itemsize

    def _array(self, memory: NDArray[np.uint8], region: Region, name: str, kind: np.dtype[Any]) -> Array:
        tensor = self._tensors[name]
        size = tensor.element_count * tensor.data_type.itemsize
        data = memory[region.offset : region.offset + size].copy()
        if kind == _BOOL:
            return truths(data.view(tensor.data_type.numpy)).reshape(tensor.sizes)
        return data.view(kind).reshape(tensor.sizes)

    def close(self) -> None:
        """Refuse further work; calling it again does nothing."""
        self._closed = True


def _kind(tensor: TensorDesc, counterpart: Counterpart, condition: bool) -> np.dtype[Any]:
    if condition:
        return _BOOL
    return tensor.data_type.bits_dtype if counterpart.patterns else tensor.data_type.numpy


def _scalars(operator: OperatorDesc, table: OperatorTable, call: Call) -> list[Any]:
    """The scalars of a call: bounds in the tensor's type, an exponent as the FLOAT that it is.

    Raises:
        NotSupported: the pages give no value of the tensor's type for a bound.
    """
    documented = table.short_name not in _UNDOCUMENTED_CASTS
    return [
        bound(operator, name) if name == "Exponent" else cast_bound(operator, name, documented) for name in call.scalars
    ]


_PROBED: dict[tuple[Any, ...], tuple[Tables, Mapping[str, frozenset[DataType]]]] = {}
"""Which types a runtime takes, found once in a process, with the tables that the key's identity is of."""


def _taken_parts(device: ArrayDevice, tables: Tables) -> Mapping[str, frozenset[DataType]]:
    """The element types on which the runtime has each part, found by asking it for each."""
    runtime = device.runtime
    key = (runtime.name, runtime.version, tuple(sorted(runtime.options.items())), id(tables))
    if key not in _PROBED:
        taken = {part: _taken(device, table, part) for table in tables.operators.values() for part in parts(table)}
        _PROBED[key] = tables, taken
    return _PROBED[key][1]


def _taken(device: ArrayDevice, table: OperatorTable, part: str) -> frozenset[DataType]:
    return frozenset(
        data_type
        for data_type in table.data_types
        if any(_takes(device, table, operator) for operator in _samples(table, part, data_type))
    )


def _samples(table: OperatorTable, part: str, data_type: DataType) -> Iterator[OperatorDesc]:
    """Simple descriptions of a part on ``data_type``: one with small other types, and one of that type throughout."""
    operator = sample(table, part, data_type)
    yield operator
    listed = {
        variable: {name for support in table.support for name in support.types.get(variable, ())}
        for variable in table.type_variables
    }
    tensors = {
        name: TensorDesc(data_type if data_type.name in listed[table.tensors[name].type] else tensor.data_type, (1,))
        for name, tensor in operator.tensors.items()
    }
    if len(table.type_variables) > 1:
        yield OperatorDesc(operator.name, tensors, operator.attributes)


def _takes(device: ArrayDevice, table: OperatorTable, operator: OperatorDesc) -> bool:
    try:
        call, counterpart = device.call(operator, table)
        _scalars(operator, table, call)
        device.runtime.takes(call, counterpart)
    except (NotSupported, InvalidArgument):
        return False
    return True


def mapped_parts(runtime: ArrayRuntime, taken_parts: Mapping[str, Iterable[DataType]]) -> list[Mapped]:
    """The rows of the mapping on operators.

    Args:
        runtime: the runtime.
        taken_parts: the element types that it takes, by part.
    """
    rows = []
    for part, types in taken_parts.items():
        for variant in (f"{part} of integers", part):
            counterpart = runtime.counterparts.get(variant)
            if counterpart is None or not counterpart.name:
                if variant == part:
                    lacking = counterpart.lacking if counterpart else "mapped to nothing"
                    rows.append(Mapped(part, "", "nobody", lacking))
                continue
            attributes = "".join(f", {key}={value}" for key, value in counterpart.attributes.items())
            notes = [f"takes {types_text(types)}", *counterpart_notes(counterpart)]
            rows.append(Mapped(variant, f"{runtime.prefix}{counterpart.name}{attributes}", "runtime", "; ".join(notes)))
    return rows


def counterpart_notes(counterpart: Counterpart) -> list[str]:
    """What this backend does around a function, and what else is to be known of it."""
    notes = ["patterns as unsigned integers"] * counterpart.patterns
    notes += ["the backend makes truth values of operands that are not 0"] * bool(counterpart.conditions)
    notes += ["the backend writes truth values as 0 and 1 of the output's type"] * counterpart.truth
    notes += ["the backend converts the result to the output's type"] * counterpart.converted
    return notes + [counterpart.note] * bool(counterpart.note)


_COPIES = (
    Mapped(
        "the cast of Min and Max to the tensor's type",
        "truncation or rounding as CLIP's page says",
        "backend",
        "clauses on casts say nothing of the runtime; what the pages leave open is not supported",
    ),
    Mapped("strides that leave gaps, repeat or permute", "", "nobody", "an array of the runtime is packed"),
    Mapped(
        "memory, offsets, in place",
        "copies of the inputs; the result is copied over the output's elements",
        "backend",
        "clauses on memory say nothing of the runtime",
    ),
)
