"""Every exact operator on every signature of its table, dispatched with edge values and judged by the oracles.

What is compared is only what a kernel writes: no generation, no memory, no state of the suite's.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle
from dmlcts.specs.oracle.vectorised import Acceptance, VectorOracle
from dmlcts.suites.selftest.backends.bound_tensors import dispatched
from dmlcts.suites.selftest.family.family_tables import exact_descriptions, family, values, with_bounds

Array = NDArray[Any]
Create = Callable[[OperatorDesc], Any]
ELEMENTS = 3000
_INF, _NAN = float("inf"), float("nan")
_BOUNDS = [(-2.0, 3.0), (3.0, 1.0), (0.0, 0.0)]  # the lower one is 0 on unsigned types
_FLOATING = [(-_INF, _INF), (-1.5, _INF), (_NAN, 3.0), (-2.0, _NAN), (2.0**-24, 65504.0)]
# The last takes 65504 past the greatest FLOAT16, though not as far as rounding to infinity begins.
_FACTORS = [(1.0, 0.0), (2.0, 1.0), (-0.5, 1.25), (0.1, -0.3), (3.0, 7.0), (1.0, 6.0)]


@dataclass(frozen=True)
class Task:
    """An operator on tensors of some layout, and where the output lies.

    Attributes:
        table: the operator's table.
        operator: the description.
        elements: the elements of each input, by the tensor's name.
        same: tensors to the tensor whose region they share.
    """

    table: OperatorTable
    operator: OperatorDesc
    elements: Mapping[str, Array]
    same: Mapping[str, str]


@dataclass(frozen=True)
class Wrong:
    """What is not acceptable: how many elements, and the first with its operands."""

    count: int
    operands: tuple[Any, ...]
    got: Any

    def __str__(self) -> str:
        shown = ", ".join(repr(operand) for operand in self.operands)
        return f"{self.count} elements, the first of ({shown}) gives {self.got!r}"


def acceptance(table: OperatorTable, operator: OperatorDesc, elements: Mapping[str, Array], strict: bool) -> Acceptance:
    """What is right, for elements by the tensors' names."""
    law = family().law(table)
    value = {name: np.ascontiguousarray(elements[member]).ravel() for name, member in table.formula_names.items()}
    if law.of_one_input:
        return VectorOracle(law, operator, strict=strict).acceptance(value[next(iter(table.formula_names))])
    return TypedVectorOracle(law, operator, strict=strict).acceptance(value)


@cache
def tasks(short_name: str) -> dict[str, list[Task]]:
    """For every signature and enumerator of an operator, by what tests call it, the tasks that it is tried with.

    They are edge values on packed tensors, with pairs of bounds and some ScaleBias where they are taken; and fewer of
    them on strided and broadcast tensors, with every alias that the table allows and both inputs in one place.
    """
    made = {}
    for name, (table, operator) in exact_descriptions(short_name).items():
        drawn = np.random.default_rng([0, zlib.crc32(name.encode())])
        described = [operator]
        if table.numbers:
            described = [with_bounds(table, operator, low, high) for low, high in _bounds(table, operator)]
        if table.has_scale_bias:
            described += [_scaled(operator, scale, bias) for scale, bias in _FACTORS]
        made[name] = [_packed(table, described) for described in described]
        made[name] += _laid_out(table, described[0], drawn)
    return made


def _bounds(table: OperatorTable, operator: OperatorDesc) -> list[tuple[float, float]]:
    data_type = operator.tensors[table.output].data_type
    if data_type.is_floating:
        return _BOUNDS + _FLOATING
    words = [(float(1 << 31), float(1 << 33))] if data_type.itemsize == 8 else []
    return [
        *_BOUNDS,
        (float(np.iinfo(data_type.numpy).min // 4), float(np.iinfo(data_type.numpy).max // 4 + 1)),
        *words,
    ]


def _elements(table: OperatorTable, operator: OperatorDesc, count: int) -> dict[str, Array]:
    value = values(table, operator, count)
    return {member: value[name] for name, member in table.formula_names.items()}


def _scaled(operator: OperatorDesc, scale: float, bias: float) -> OperatorDesc:
    return OperatorDesc(operator.name, operator.tensors, {**operator.attributes, "ScaleBias": ScaleBias(scale, bias)})


def _described(operator: OperatorDesc, tensors: Mapping[str, TensorDesc]) -> OperatorDesc:
    return OperatorDesc(operator.name, tensors, operator.attributes)


def _packed(table: OperatorTable, operator: OperatorDesc) -> Task:
    elements = _elements(table, operator, ELEMENTS)
    size = next(iter(elements.values())).size
    tensors = {name: TensorDesc(tensor.data_type, (size,)) for name, tensor in operator.tensors.items()}
    return Task(table, _described(operator, tensors), elements, {})


def _laid_out(table: OperatorTable, operator: OperatorDesc, drawn: np.random.Generator) -> Iterator[Task]:
    """Small tensors: strides of their own, then each alias with one layout for all."""
    elements, output = _elements(table, operator, 2000), table.output
    for rank in (1, 4, int(drawn.integers(2, 9))):
        sizes = tuple(int(size) for size in drawn.integers(1, 5, rank))
        laid = {
            name: TensorDesc(tensor.data_type, sizes, _strides(sizes, drawn, broadcast=name != output))
            for name, tensor in operator.tensors.items()
        }
        yield _task(table, operator, laid, elements, {}, drawn)
    sizes = (3, 1, 4, 5)
    one_layout = _strides(sizes, drawn, broadcast=False)
    twins = list(itertools.combinations(elements, 2))
    shared = [{output: name} for name in table.tensors[output].may_alias]
    shared += [{other: name} for name, other in twins if _alike(operator, name, other)]
    shared += [
        {other: name, output: name}
        for name, other in twins
        if _alike(operator, name, other) and {name, other} <= set(table.tensors[output].may_alias)
    ]
    for same in shared:
        laid = {name: TensorDesc(tensor.data_type, sizes, one_layout) for name, tensor in operator.tensors.items()}
        yield _task(table, operator, laid, elements, same, drawn)


def _alike(operator: OperatorDesc, name: str, other: str) -> bool:
    return operator.tensors[name].data_type is operator.tensors[other].data_type


def _task(
    table: OperatorTable,
    operator: OperatorDesc,
    laid: Mapping[str, TensorDesc],
    elements: Mapping[str, Array],
    same: Mapping[str, str],
    drawn: np.random.Generator,
) -> Task:
    """A task of drawn rows of the elements; what strides of 0 or shared places make one place has one element."""
    sizes = laid[table.output].sizes
    rows = drawn.integers(0, next(iter(elements.values())).size, sizes)
    chosen: dict[str, Array] = {}
    for name, element in elements.items():
        owner = same.get(name, name)
        if owner != name:
            chosen[name] = chosen[owner]
            continue
        first = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in laid[name].element_strides)
        chosen[name] = np.broadcast_to(element[rows[first]], sizes)
    return Task(table, _described(operator, laid), chosen, same)


def _strides(sizes: tuple[int, ...], drawn: np.random.Generator, *, broadcast: bool) -> tuple[int, ...]:
    """Strides that leave gaps, in a drawn order of the dimensions; some of them 0 where that is allowed."""
    strides, step = [0] * len(sizes), 1 + int(drawn.integers(0, 2))
    for axis in drawn.permutation(len(sizes)):
        strides[axis] = step
        step = step * sizes[axis] + int(drawn.integers(0, 3))
    if broadcast:
        strides = [0 if drawn.random() < 0.25 else stride for stride in strides]
    return tuple(strides)


def wrong(create: Create, task: Task, *, strict: bool = False) -> Wrong | None:
    """What one dispatch of ``task`` gets wrong; ``None`` where all is acceptable.

    Args:
        create: makes a kernel of a description.
        task: what to dispatch.
        strict: whether ``--strict`` leaves few latitudes.

    Raises:
        AssertionError: it changed bytes that are no elements of the output.
    """
    kernel = create(task.operator)
    shaped = {
        name: np.asarray(array).reshape(task.operator.tensors[name].sizes) for name, array in task.elements.items()
    }
    try:
        result = dispatched(kernel, task.operator, shaped, task.table.output, task.same).ravel()
    finally:
        kernel.close()
    right = acceptance(task.table, task.operator, task.elements, strict)
    accepted = right.admits(result.view(right.data_type.numpy))
    if accepted.all():
        return None
    first = int(np.argmin(accepted))
    operands = tuple(np.ascontiguousarray(array).ravel()[first] for array in task.elements.values())
    return Wrong(int((~accepted).sum()), operands, result[first])
