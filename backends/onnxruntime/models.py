"""Models of one ONNX operator, as ``onnxruntime`` is given them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import DataType

_LEAST_IR = 8  # initializers that are no inputs, so that the optimiser may fold them, whatever the opset
_TYPES: Mapping[DataType, str] = {
    DataType.FLOAT32: "FLOAT", DataType.FLOAT16: "FLOAT16",
    **{kind: kind.name for kind in DataType if kind.name.startswith(("INT", "UINT"))},
}  # fmt: skip


@dataclass(frozen=True)
class Node:
    """One operator of a model.

    Attributes:
        operator: "Clip", "Max" or "Round".
        operands: names of its inputs behind "x": "min", "max"; "" for one that is left out.
        values: the operands' values, scalars of the tensor's type.
        attributes: FLOAT attributes by name (Clip up to opset 10).
    """

    operator: str
    operands: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, float] = field(default_factory=dict)


def build(
    onnx: Any,
    node: Node,
    opset: int,
    data_type: DataType,
    sizes: Sequence[int],
    *,
    constants: bool = True,
    x: NDArray[Any] | None = None,
) -> bytes:
    """The serialised model y = node(x).

    Args:
        onnx: the package.
        node: the operator.
        opset: the version of the ONNX operator set.
        data_type: the element type of x and y.
        sizes: their sizes.
        constants: whether the operands are initializers; otherwise they are inputs of the model.
        x: the input's elements, where the input itself is an initializer; otherwise it is the model's input.
    """
    helper, kind = onnx.helper, getattr(onnx.TensorProto, _TYPES[data_type])

    def constant(name: str, value: NDArray[Any], shape: Sequence[int]) -> Any:
        return helper.make_tensor(name, kind, shape, value.tobytes(), raw=True)

    values = {name: np.asarray(value, data_type.numpy) for name, value in node.values.items()}
    inputs = [] if x is not None else [helper.make_tensor_value_info("x", kind, list(sizes))]
    initializers = [] if x is None else [constant("x", x, list(sizes))]
    if constants:
        initializers += [constant(name, value, []) for name, value in values.items()]
    else:
        inputs += [helper.make_tensor_value_info(name, kind, []) for name in values]
    made = helper.make_node(node.operator, ["x", *node.operands], ["y"], **node.attributes)
    outputs = [helper.make_tensor_value_info("y", kind, list(sizes))]
    graph = helper.make_graph([made], "dmlcts", inputs, outputs, initializers)
    imports = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=imports)
    model.ir_version = max(_LEAST_IR, helper.find_min_ir_version_for(imports))
    data: bytes = model.SerializeToString()
    return data


def versions(onnx: Any, operator: str) -> list[int]:
    """The opsets in which ``operator`` changed, in order."""
    found = onnx.defs.get_all_schemas_with_history()
    return sorted(schema.since_version for schema in found if schema.name == operator and not schema.domain)


def version_at(onnx: Any, operator: str, opset: int) -> int | None:
    """The version of ``operator`` that ``opset`` has; ``None`` where it has none."""
    earlier = [version for version in versions(onnx, operator) if version <= opset]
    return earlier[-1] if earlier else None
