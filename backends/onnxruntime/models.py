"""Models of one ONNX operator, as ``onnxruntime`` is given them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType, TensorDesc

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
    """

    operator: str
    operands: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    patterns: bool = False
    truth: bool = False

    def bound_as(self, tensor: TensorDesc) -> np.dtype[Any]:
        """The numpy type as which an input is bound."""
        return tensor.data_type.bits_dtype if self.patterns else tensor.data_type.numpy

    def result_as(self, tensor: TensorDesc) -> np.dtype[Any]:
        """The numpy type as which the output is bound."""
        return np.dtype(np.bool_) if self.truth else self.bound_as(tensor)


def build(
    onnx: Any,
    node: Node,
    opset: int,
    inputs: Mapping[str, TensorDesc],
    output: TensorDesc,
    *,
    constants: bool = True,
    elements: Mapping[str, NDArray[Any]] | None = None,
) -> bytes:
    """The serialised model y = node(*inputs).

    Args:
        onnx: the package.
        node: the operator.
        opset: the version of the ONNX operator set.
        inputs: the input tensors, in the operator's order.
        output: the output tensor.
        constants: whether the operands are initializers; otherwise they are inputs of the model.
        elements: the inputs' elements, where the inputs themselves are initializers; otherwise they are the model's.
    """
    helper = onnx.helper

    def constant(name: str, value: NDArray[Any], shape: Sequence[int]) -> Any:
        return helper.make_tensor(name, kind_of(value.dtype), shape, value.tobytes(), raw=True)

    def kind_of(dtype: np.dtype[Any]) -> int:
        return int(getattr(onnx.TensorProto, _TYPES[dtype.name]))

    first = next(iter(inputs.values()))
    values = {name: np.asarray(value, node.bound_as(first)) for name, value in node.values.items()}
    graph_inputs, initializers = [], []
    for name, tensor in inputs.items():
        if elements is not None:
            initializers.append(constant(name, elements[name], list(tensor.sizes)))
        else:
            graph_inputs.append(helper.make_tensor_value_info(name, kind_of(node.bound_as(tensor)), list(tensor.sizes)))
    if constants:
        initializers += [constant(name, value, []) for name, value in values.items()]
    else:
        graph_inputs += [
            helper.make_tensor_value_info(name, kind_of(value.dtype), []) for name, value in values.items()
        ]
    made = helper.make_node(node.operator, [*inputs, *node.operands], ["y"], **node.attributes)
    results = [helper.make_tensor_value_info("y", kind_of(node.result_as(output)), list(output.sizes))]
    graph = helper.make_graph([made], "dmlcts", graph_inputs, results, initializers)
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
