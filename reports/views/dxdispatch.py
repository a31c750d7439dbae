"""A failing case as a model for DxDispatch, Microsoft's own command-line tool for single DirectML operators.

The model is JSON: resources, one dispatchable, and the commands that run it and print its output. Run on
Windows, ``dxdispatch.exe model.json``, it shows what a machine's own DirectML and driver make of the case,
without this suite in between. Format: the guide and the sample models in the DxDispatch folder of Microsoft's
DirectML repository on GitHub.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dmlcts.specs import DataType, DmlctsError

MOST_ELEMENTS = 4096
"""The largest resource that is written out element by element."""

_MOST_VISITS = 1 << 16
_OPERATOR_PREFIX = "DML_OPERATOR_"
_NAME = "operator"


class DxDispatchError(DmlctsError):
    """A case that cannot be written as a model.

    Args:
        cause: why not.
        mend: what to do instead.
    """

    def __init__(self, cause: str, mend: str) -> None:
        super().__init__(f"no DxDispatch model: {cause}; {mend}")
        self.cause = cause
        self.mend = mend

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.cause, self.mend)


def _float(written: Mapping[str, str]) -> float | str:
    """A FLOAT attribute as the tool reads it: a number, or the text of what JSON has no number for."""
    value = float(np.array(int(written["bits"], 16), np.uint32).view(np.float32)[()])
    if math.isnan(value):
        return "nan"
    return value if math.isfinite(value) else "inf" if value > 0 else "-inf"


def _scalar_union(written: Mapping[str, str]) -> dict[str, Any]:
    """A DML_SCALAR_UNION as the tool reads it: by its member's name, which for FLOAT16 is that of its bits."""
    data_type = DataType[written["data_type"]]
    pattern = _element(written["bits"], data_type)
    if data_type is DataType.FLOAT32:
        return {"Float32": _float(written)}
    if data_type is DataType.FLOAT16:
        return {"UInt16": pattern}
    number = np.array(pattern, data_type.bits_dtype).view(data_type.numpy)[()].item()
    member = data_type.name.replace("UINT", "UInt").replace("INT", "Int").replace("FLOAT", "Float")
    return {member: number}


def _attribute(written: Any) -> Any:
    if isinstance(written, Mapping) and "operator" in written:  # fused, without tensors
        return _dispatchable(written, {})
    if isinstance(written, Mapping) and "data_type" in written:
        return _scalar_union(written)
    if isinstance(written, Mapping) and "scale" in written:
        return {"Scale": _float(written["scale"]), "Bias": _float(written["bias"])}
    if isinstance(written, Mapping) and "enumerator" in written:
        raise DxDispatchError("an enumerator of it has no name, and the tool reads names", "replay it")
    return _float(written) if isinstance(written, Mapping) else written


def _element_strides(tensor: Mapping[str, Any]) -> list[int]:
    if tensor["strides"] is not None:
        return list(tensor["strides"])
    if not tensor["sizes"]:
        return []
    packed = [1]
    for size in reversed(tensor["sizes"][1:]):
        packed.insert(0, packed[0] * size)
    return packed


def _element(pattern: str, data_type: DataType) -> int:
    """The number of a bit pattern, which JSON can hold however long the text was.

    Raises:
        ValueError: it is no pattern of the type.
    """
    number = int(pattern, 16)
    if not 0 <= number < 1 << 8 * data_type.itemsize:
        raise ValueError(f"the pattern does not fit {data_type.name}")
    return number


def _stored(tensor: Mapping[str, Any], patterns: Sequence[str], length: int) -> list[int]:
    """The elements of the input's memory: the stream in row-major order, dimensions of stride 0 written once."""
    if not patterns:
        raise ValueError("there is no value to fill the tensor with")
    strides = _element_strides(tensor)
    memory = [0] * length
    counts = [size if stride else 1 for size, stride in zip(tensor["sizes"], strides, strict=True)]
    if math.prod(counts) > _MOST_VISITS:
        if sum((count - 1) * stride for count, stride in zip(counts, strides, strict=True)) >= length:
            return memory  # the description is to be refused before anything is read
        raise DxDispatchError("its elements overlap too often", "replay it, and reduce it to fewer elements")
    stream = itertools.cycle([_element(pattern, DataType[tensor["data_type"]]) for pattern in patterns])
    for coordinates in itertools.product(*map(range, counts)):
        offset = sum(index * stride for index, stride in zip(coordinates, strides, strict=True))
        if offset < length:  # a description that is to be refused may reach beyond its own total size
            memory[offset] = next(stream)
    return memory


def _tensor(tensor: Mapping[str, Any]) -> dict[str, Any]:
    members = {"DataType": tensor["data_type"], "DimensionCount": len(tensor["sizes"]), "Sizes": list(tensor["sizes"])}
    if tensor["strides"] is not None:
        members["Strides"] = list(tensor["strides"])
    return members | {"TotalTensorSizeInBytes": tensor["total_size_in_bytes"]}


def model(case: Mapping[str, Any], comment: str = "") -> dict[str, Any]:
    """The DxDispatch model of a case.

    Memory is given, and printed, as unsigned integers of the element's width: bit patterns are exact, where
    decimals would lose the sign of zero and the payload of a NaN. Guard zones are left out: each tensor has a
    resource of its own, and in-place execution binds one resource twice, as the tool's own sample does.

    Args:
        case: the ``case`` of a failure file or of an entry of ``failures`` in ``results.json``.
        comment: what to say in the model's ``$comment``.

    Raises:
        DxDispatchError: the case holds a bulk recipe, or more than :data:`MOST_ELEMENTS` elements a tensor.
    """
    if "steps" in case:
        raise DxDispatchError("its history is a program of steps", "replay it: the tool closes no kernel")
    whole = _alone(case)
    before = case.get("earlier", [])
    for number, earlier_case in enumerate(before, start=1):
        _put_before(whole, _alone(earlier_case), f"before{number}")
    return ({"$comment": comment} if comment else {}) | whole


def _put_before(whole: dict[str, Any], other: Mapping[str, Any], name: str) -> None:
    """Add another model, under names of its own; its commands come before the last model's, in their order."""
    for part in ("resources", "dispatchables"):
        whole[part] |= {f"{name}.{key}": value for key, value in other[part].items()}
    commands = []
    for command in other["commands"]:
        if command["type"] == "dispatch":
            bound = {tensor: f"{name}.{resource}" for tensor, resource in command["bindings"].items()}
            commands.append(command | {"dispatchable": f"{name}.{command['dispatchable']}", "bindings": bound})
    own = next(
        place
        for place, command in enumerate(whole["commands"])
        if not command.get("dispatchable", "").startswith("before")
    )
    whole["commands"][own:own] = commands


def _alone(case: Mapping[str, Any]) -> dict[str, Any]:
    """The model of a case without what runs before it."""
    tensors: Mapping[str, Mapping[str, Any]] = case["tensors"]
    patterns = {name: values["bits"] for name, values in _values(case).items() if "bits" in values}
    if len(patterns) < len(_values(case)):
        raise DxDispatchError("its values are a seeded recipe", "replay it, and reduce it to fewer elements")
    written = next((name for name in tensors if name not in patterns), None)
    if written is None:
        raise ValueError("no tensor is left to write to")
    resources = {}
    for name, tensor in tensors.items():
        data_type = DataType[tensor["data_type"]]
        length = max(1, -(-tensor["total_size_in_bytes"] // data_type.itemsize))
        if length > MOST_ELEMENTS:
            raise DxDispatchError(
                f"{name} has {length} elements, more than {MOST_ELEMENTS}", "replay it, and reduce it to fewer"
            )
        unsigned = f"UINT{8 * data_type.itemsize}"
        values: Any = {"valueCount": length, "value": int("aa" * data_type.itemsize, 16)}
        if name in patterns:
            values = _stored(tensor, patterns[name], length)
        resources[name] = {"initialValuesDataType": unsigned, "initialValues": values}
    output = written
    if case["placement"]["in_place"]:
        output = case["placement"].get("alias") or next(iter(patterns), written)
    bindings = {**{name: name for name in patterns}, written: output}
    if output != written:
        del resources[written]
    if case["placement"].get("one_region"):
        _share(bindings, resources, [name for name in tensors if name in patterns], tensors)
    kernels = {}
    for number, kernel in enumerate(case.get("beside", [case]), start=1):
        own = (kernel["operator"], kernel["attributes"]) == (case["operator"], case["attributes"])
        kernels[_NAME if own else f"beside{number}"] = kernel
    commands: list[dict[str, Any]] = []
    for name in [*kernels, *([*kernels][::-1] if len(kernels) > 1 else [])]:  # in their order, and in the reverse of it
        commands.append({"type": "dispatch", "dispatchable": name, "bindings": bindings})
        if name == _NAME:
            commands.append({"type": "print", "resource": output})
    return {
        "resources": resources,
        "dispatchables": {name: _dispatchable(kernel, tensors) for name, kernel in kernels.items()},
        "commands": commands,
    }


def _values(case: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The values of each input by its name; earlier versions wrote those of the only one."""
    if "values" not in case:
        raise DxDispatchError("its values are too many for the results to hold", "give its failure file to replay")
    values: Mapping[str, Any] = case["values"]
    return values if "format" in case else {"InputTensor": values}


def _share(bindings: dict[str, str], resources: dict[str, Any], inputs: list[str], tensors: Mapping[str, Any]) -> None:
    """Bind inputs with equal descriptions to the first one's resource."""
    for name in inputs:
        first = next(candidate for candidate in inputs if tensors[candidate] == tensors[name])
        if first != name:
            resources.pop(name, None)
            bindings |= {tensor: first for tensor, resource in bindings.items() if resource == name}


def _dispatchable(kernel: Mapping[str, Any], tensors: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    desc = {name: _tensor(tensor) for name, tensor in tensors.items()}
    # an optional member that is left out is a null pointer
    desc |= {name: _attribute(value) for name, value in kernel["attributes"].items() if value is not None}
    return {"type": _OPERATOR_PREFIX + kernel["operator"], "desc": desc}


def dxdispatch_model(case: Mapping[str, Any], comment: str = "") -> tuple[dict[str, Any] | None, str]:
    """The DxDispatch model of a case from anyone's document, or ``None`` and why there is none."""
    try:
        return model(case, comment), ""
    except DxDispatchError as error:
        return None, str(error)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # results.json may come from anyone, and its schema leaves the case open
        return None, f"no DxDispatch model: the case is malformed ({type(error).__name__})"
