"""TFLite models of one operator or two, written with LiteRT's own schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_TYPES = {
    "bool": "BOOL",
    **{name: name.upper() for name in ("float16", "float32", "float64", "int8", "int16", "int32")},
}
_TYPES |= {name: name.upper() for name in ("int64", "uint8", "uint16", "uint32", "uint64")}
_SCHEMA_VERSION = 3
_IDENTIFIER = b"TFL3"


@dataclass(frozen=True)
class Step:
    """One operator of a model.

    Attributes:
        operator: its name in TFLite's schema.
        inputs: numbers of the tensors that it reads: the model's inputs in order, then the results of earlier steps.
    """

    operator: str
    inputs: tuple[int, ...]


def steps_of(name: str, inputs: int) -> list[Step]:
    """The steps of a model.

    Args:
        name: of an operator, or how two are put together.
        inputs: how many inputs the model has.
    """
    if name == "MAXIMUM(MINIMUM(x, Max), Min)":  # of x, Min, Max
        return [Step("MINIMUM", (0, 2)), Step("MAXIMUM", (3, 1))]
    return [Step(name, tuple(range(inputs)))]


def build(
    schema: Any,
    flatbuffers: Any,
    steps: Sequence[Step],
    arrays: Sequence[np.dtype[Any]],
    scalars: Sequence[np.dtype[Any]],
    result: np.dtype[Any],
    rank: int,
) -> bytes:
    """The serialised model.

    Args:
        schema: LiteRT's module of the schema.
        flatbuffers: the package.
        steps: the operators; all but the last give an array like the first input.
        arrays: the types of the inputs of one element, to be resized.
        scalars: the types of the inputs of no dimension, behind them.
        result: the type of the last step's result.
        rank: how many dimensions the inputs have; kernels are chosen by it when the model is loaded.
    """
    between = [arrays[0]] * (len(steps) - 1)
    tensors = [_tensor(schema, f"x{number}", kind, [1] * rank) for number, kind in enumerate(arrays)]
    tensors += [_tensor(schema, f"scalar{number}", kind, []) for number, kind in enumerate(scalars)]
    count = len(tensors)
    tensors += [_tensor(schema, f"y{number}", kind, [1] * rank) for number, kind in enumerate((*between, result))]
    graph = schema.SubGraphT()
    graph.name, graph.tensors = "dmlcts", tensors
    graph.inputs, graph.outputs = list(range(count)), [len(tensors) - 1]
    graph.operators = [_operator(schema, number, step, count + number) for number, step in enumerate(steps)]
    model = schema.ModelT()
    model.version, model.description = _SCHEMA_VERSION, "dmlcts"
    model.buffers, model.subgraphs = [schema.BufferT()], [graph]
    model.operatorCodes = [_code(schema, step.operator) for step in steps]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=_IDENTIFIER)
    return bytes(builder.Output())


def _tensor(schema: Any, name: str, kind: np.dtype[Any], shape: list[int]) -> Any:
    tensor = schema.TensorT()
    tensor.name, tensor.shape, tensor.buffer, tensor.hasRank = name, shape, 0, True
    tensor.type = getattr(schema.TensorType, _TYPES[kind.name])
    return tensor


def _operator(schema: Any, number: int, step: Step, output: int) -> Any:
    operator = schema.OperatorT()
    operator.opcodeIndex, operator.inputs, operator.outputs = number, list(step.inputs), [output]
    return operator


def _code(schema: Any, name: str) -> Any:
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, name)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)  # what readers of the older, one-byte field see
    code.version = 1
    return code
