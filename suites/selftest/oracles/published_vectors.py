"""Published inputs and outputs, put before the exact and the vectorised oracle of the description that they are of."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dmlcts.specs import DataType, OperatorDesc, TensorDesc
from dmlcts.specs.approximation.exactly import ApproximateOracle
from dmlcts.specs.approximation.in_arrays import ApproximateVectorOracle
from dmlcts.specs.oracle.exact import ExactOracle
from dmlcts.specs.oracle.exact_typed import TypedOracle
from dmlcts.specs.oracle.outcome import Acceptable
from dmlcts.specs.oracle.vector_typed import TypedVectorOracle
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.specs.tables import Tables
from dmlcts.specs.tables.signatures import Signature, is_approximate, signatures

_COARSE = {DataType.FLOAT16: 2.0**-5, DataType.FLOAT32: 2.0**-7}
"""Of approximate results: what is so far off, relatively and besides absolutely, is beyond every judged bound."""
Answers = Mapping[str, Sequence[Acceptable]]
"""What the exact and the vectorised oracle accept of each element, by their names."""
_STEEP = "ELEMENT_WISE_TAN"  # near its poles an error of the argument is as much again, by the square of the result
_TRUNCATED = "ELEMENT_WISE_POW"  # of integers: a power that is a little too small loses 1


@dataclass(frozen=True)
class Vector:
    """Published inputs of an operator and what was published as its output.

    Attributes:
        operator: DirectML's operator, as in its description.
        inputs: by the struct's member, 1-D, of one length.
        output: 1-D, of that length.
        attributes: the description's.
    """

    operator: str
    inputs: Mapping[str, np.ndarray]
    output: np.ndarray
    attributes: Mapping[str, Any]

    @property
    def description(self) -> OperatorDesc:
        arrays = {**self.inputs, "OutputTensor": self.output}
        tensors = {
            name: TensorDesc(DataType[array.dtype.name.upper()], (1, 1, 1, array.size))
            for name, array in arrays.items()
        }
        return OperatorDesc(self.operator, tensors, dict(self.attributes))

    def elements(self, index: int) -> dict[str, Any]:
        return {member: array[index] for member, array in self.inputs.items()}

    def with_output(self, output: np.ndarray) -> Vector:
        return replace(self, output=output)


def onnx_cases(names: Set[str]) -> list[Any]:
    """ONNX's node tests from its modules that name one of these operators; those of all others take long to make."""
    package = importlib.import_module("onnx.backend.test.case.node")

    def import_named(_: ModuleType) -> None:
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            place = None if module.ispkg else find_spec(module.name)
            text = Path(place.origin).read_text(encoding="utf-8") if place and place.origin else ""
            if names & set(re.findall(r"\w+", text)):
                importlib.import_module(module.name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(package, "import_recursive", import_named)
        return list(package.collect_testcases(None))


def is_listed(tables: Tables, vector: Vector) -> bool:
    """Whether the operator's table lists the types of a vector."""
    table = tables.operator(vector.operator)
    return Signature.of(vector.description, table) in signatures(table)


def accepted_of(tables: Tables, vector: Vector, *, strict: bool = False) -> Answers:
    """What each of the two oracles accepts of each element."""
    operator = vector.description
    table = tables.operator(operator.name)
    law = tables.law(table)
    inputs = {name: vector.inputs[member] for name, member in table.formula_names.items() if member in vector.inputs}
    patterns = {name: array.view(f"u{array.dtype.itemsize}").tolist() for name, array in inputs.items()}
    exactly: Any
    if law.of_one_input:
        ((_, bits),), ((_, x),) = patterns.items(), inputs.items()
        return {
            "exact": list(map(ExactOracle(law, operator, strict).acceptable, bits)),
            "vectorised": list(VectorOracle(law, operator, strict=strict).acceptance(x).elements()),
        }
    if is_approximate(table, Signature.of(operator, table)):
        exactly = ApproximateOracle(law, operator, strict)
        arrays = ApproximateVectorOracle(law, operator, strict=strict).acceptance(inputs)
    else:
        exactly = TypedOracle(law, operator, strict)
        arrays = TypedVectorOracle(law, operator, strict=strict).acceptance(inputs)
    elements = [{name: bits[index] for name, bits in patterns.items()} for index in range(vector.output.size)]
    return {"exact": [exactly.acceptable(element) for element in elements], "vectorised": list(arrays.elements())}


def refused(tables: Tables, vector: Vector, accepted: Answers | None = None) -> list[str]:
    """The elements of the published output that an oracle does not accept, as sentences."""
    kind = vector.description.output.data_type
    patterns = vector.output.view(kind.bits_dtype).tolist()
    return [
        f"{vector.operator} of {vector.elements(index)}: the {name} oracle refuses {vector.output[index]}"
        for name, answers in (accepted or accepted_of(tables, vector)).items()
        for index, (bits, answer) in enumerate(zip(patterns, answers, strict=True))
        if not answer.admits(bits, kind)
    ]


def moved(vector: Vector, *, approximate: bool) -> np.ndarray:
    """What stands next to each output: the next number or, of approximate results, one that is coarsely off."""
    value, kind = vector.output, vector.description.output.data_type
    if not kind.is_floating:
        return value ^ np.asarray(2 if approximate and vector.operator == _TRUNCATED else 1, kind.numpy)
    with np.errstate(all="ignore"):
        if not approximate:
            return np.nextafter(value, np.asarray(np.inf, kind.numpy))
        wide = value.astype(np.float64)
        size = np.maximum(1, np.abs(wide))
        return (wide + _COARSE[kind] * (size**2 if vector.operator == _STEEP else size)).astype(kind.numpy)


def unnoticed(tables: Tables, vector: Vector, accepted: Answers) -> tuple[int, list[str]]:
    """How many elements were moved off for both oracles, each by itself, and which of them one still accepts.

    What the pages leave open (any value) cannot be wrong, and NaN, which has no neighbour, is not moved.
    """
    table, kind = tables.operator(vector.operator), vector.description.output.data_type
    off = moved(vector, approximate=is_approximate(table, Signature.of(vector.description, table)))
    patterns = off.view(kind.bits_dtype).tolist()
    finite = np.isfinite(vector.output)
    tried, problems = dict.fromkeys(accepted, 0), []
    for name, answers in accepted.items():
        for index, answer in enumerate(answers):
            if answer.any_value or answer.any_nan or not finite[index]:
                continue
            tried[name] += 1
            if answer.admits(patterns[index], kind):
                elements = vector.elements(index)
                problems.append(f"{vector.operator} of {elements}: the {name} oracle accepts {off[index]}")
    return min(tried.values()), problems
