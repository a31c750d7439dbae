"""Models of one ONNX operator, as ``onnxruntime`` is given them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, TensorDesc

ATTRIBUTES_UNTIL = 11  # from this opset on Clip's bounds are inputs of the tensor's type
_LEAST_IR = 8  # initializers that are no inputs, so that the optimiser may fold them, whatever the opset
_TYPES: Mapping[str, str] = {
    "float64": "DOUBLE",
    "float32": "FLOAT",
    "float16": "FLOAT16",
    "bool": "BOOL",
    **{kind.numpy.name: kind.name for kind in DataType if not kind.is_floating},
}


@dataclass(frozen=True)
class Node:
    """One operator of a model.

    Attributes:
        operator: "Clip", "Max" or "Round".
        operands: names of its inputs behind the tensors: "min", "max"; "" for one that is left out.
        values: the operands' values, scalars of the tensors' type.
        attributes: attributes by name (Clip's bounds up to opset 10, Mod's fmod).
        patterns: whether tensors are bound as unsigned integers of their width.
        truth: whether the result is of ONNX's bool.
        conditions: names of the inputs that a Cast makes ONNX's bool.
        columns: names of the tensors that are a matrix of one column, the others being a vector; none: all are alike.
    """

    operator: str
    operands: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    patterns: bool = False
    truth: bool = False
    conditions: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def bound_as(self, tensor: TensorDesc) -> np.dtype[Any]:
        """The numpy type as which an input is bound."""
        return tensor.data_type.bits_dtype if self.patterns else tensor.data_type.numpy

    def result_as(self, tensor: TensorDesc) -> np.dtype[Any]:
        """The numpy type as which the output is bound."""
        return np.dtype(np.bool_) if self.truth and tensor.data_type is DataType.UINT8 else self.bound_as(tensor)


Shape = Sequence[int | str]


def build(
    onnx: Any,
    node: Node,
    opset: int,
    inputs: Mapping[str, tuple[TensorDesc, Shape]],
    output: tuple[TensorDesc, Shape],
    *,
    constants: bool = True,
    elements: Mapping[str, NDArray[Any]] | None = None,
) -> bytes:
    """The serialised model y = node(*inputs), with a Cast where the node's truth values are of another type.

    Args:
        onnx: the package.
        node: the operator.
        opset: the version of the ONNX operator set.
        inputs: the input tensors with their dimensions, in the operator's order.
        output: the output tensor with its dimensions.
        constants: whether the operands are initializers; otherwise they are inputs of the model.
        elements: the inputs' elements, where the inputs themselves are initializers; otherwise they are the model's.
    """
    helper = onnx.helper

    def constant(name: str, value: NDArray[Any], shape: Sequence[int]) -> Any:
        return helper.make_tensor(name, kind_of(value.dtype), shape, value.tobytes(), raw=True)

    def kind_of(dtype: np.dtype[Any]) -> int:
        return int(getattr(onnx.TensorProto, _TYPES[dtype.name]))

    first, _ = next(iter(inputs.values()))
    values = {name: np.asarray(value, node.bound_as(first)) for name, value in node.values.items()}
    graph_inputs, initializers = [], []
    for name, (tensor, shape) in inputs.items():
        if elements is not None:
            initializers.append(constant(name, elements[name], list(elements[name].shape)))
        else:
            graph_inputs.append(helper.make_tensor_value_info(name, kind_of(node.bound_as(tensor)), list(shape)))
    if constants:
        initializers += [constant(name, value, []) for name, value in values.items()]
    else:
        graph_inputs += [
            helper.make_tensor_value_info(name, kind_of(value.dtype), []) for name, value in values.items()
        ]
    tensor, shape = output
    result = node.result_as(tensor)
    widened = node.truth and result != np.dtype(np.bool_)
    operands = [f"{name}_is_true" if name in node.conditions else name for name in inputs]
    nodes = [
        helper.make_node("Cast", [name], [f"{name}_is_true"], to=onnx.TensorProto.BOOL) for name in node.conditions
    ]
    made = "is_true" if widened else "y"
    nodes.append(helper.make_node(node.operator, [*operands, *node.operands], [made], **node.attributes))
    if widened:
        nodes.append(helper.make_node("Cast", [made], ["y"], to=kind_of(result)))
    results = [helper.make_tensor_value_info("y", kind_of(result), list(shape))]
    graph = helper.make_graph(nodes, "dmlcts", graph_inputs, results, initializers)
    imports = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=imports)
    model.ir_version = max(_LEAST_IR, helper.find_min_ir_version_for(imports))
    data: bytes = model.SerializeToString()
    return data


def versions(onnx: Any, operator: str) -> list[int]:
    """The opsets in which ``operator`` changed, in order."""
    schemas = onnx.defs.get_all_schemas_with_history()
    return sorted(schema.since_version for schema in schemas if schema.name == operator and not schema.domain)


@lru_cache(maxsize=1024)  # asked with every kernel, and answered from a list of thousands
def version_at(onnx: Any, operator: str, opset: int) -> int | None:
    """The version of ``operator`` that ``opset`` has; ``None`` where it has none."""
    earlier = [version for version in versions(onnx, operator) if version <= opset]
    return earlier[-1] if earlier else None
