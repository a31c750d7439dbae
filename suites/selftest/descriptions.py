"""The descriptions and cases that most selftests need: operators of one input, CLIP above all."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.values import Streams, Values

PREFIX = "ELEMENT_WISE_"


def tensor(sizes: tuple[int, ...] = (5,), data_type: DataType = DataType.INT8, **more: Any) -> TensorDesc:
    """A tensor; without arguments five packed INT8.

    Args:
        more: as :class:`TensorDesc` takes it.
    """
    return TensorDesc(data_type, sizes, **more)


def described(
    name: str, source: TensorDesc | DataType, target: TensorDesc | None = None, **attributes: Any
) -> OperatorDesc:
    """An operator of one input; without ScaleBias where none is given.

    Args:
        name: with or without ``ELEMENT_WISE_``.
        source: the input; a data type stands for one element.
        target: the output, where it is not like the input.
        attributes: all others that the operator has. ROUND has no ScaleBias.
    """
    if isinstance(source, DataType):
        source = tensor((1,), source)
    name = PREFIX + name.removeprefix(PREFIX)
    if name != f"{PREFIX}ROUND":
        attributes = {"ScaleBias": None} | attributes
    return OperatorDesc(name, {"InputTensor": source, "OutputTensor": target or source}, attributes)


def clip(
    source: TensorDesc | DataType | None = None, target: TensorDesc | None = None, **attributes: Any
) -> OperatorDesc:
    """CLIP from -2 to 3; without a tensor on five INT8.

    Args:
        source, target: as :func:`described` takes them.
        attributes: those that are otherwise.
    """
    bounds = {"Min": np.float32(-2), "Max": np.float32(3)}
    return described("CLIP", source or tensor(), target, **bounds | attributes)


def case(
    operator: OperatorDesc | None = None,
    values: Any = (-100, -2, 0, 3, 100),
    *,
    clause: str = "clip.formula",
    layout_clause: str | None = "tensor.position",
    **changes: Any,
) -> Case:
    """A case of an operator, without one of :func:`clip`'s.

    Args:
        values: the elements of its first input, or streams.
        clause, layout_clause, changes: as :class:`Case` takes them.
    """
    operator = operator or clip()
    if not isinstance(values, Values | Streams):
        values = Values.of(values, operator.input.data_type)
    return Case(operator, values, clause, layout_clause, **changes)
