"""What backends share that map the operators onto a runtime with operators of its own.

Such a backend is thin: it checks descriptions by the spec tables, casts what the runtime wants cast, and says
in a table what it mapped to what, so that nobody takes the mapping's behaviour for the runtime's. What the
runtime cannot express is :class:`NotSupported`, never put together from other operators.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from dmlcts.backends.contract import BackendUnavailable, InvalidArgument, NotSupported
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc, UsageError
from dmlcts.specs.rules import violations
from dmlcts.specs.tables import Tables

LEVEL = "5.0"
NAMES = ("InputTensor", "OutputTensor")
CLIP, ROUND, THRESHOLD = "ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND", "ELEMENT_WISE_THRESHOLD"
ALIGNMENT = 16
# From here on FLOAT16 has no finite value to the nearest, and the pages do not say what a FLOAT becomes.
_FLOAT16_OVERFLOW = 65520.0


@dataclass(frozen=True)
class Mapped:
    """One line of the table that says what was mapped to what.

    Attributes:
        what: a part of DirectML's operators ("CLIP", "ROUND TOWARD_INFINITY", "Min and Max on integer tensors").
        to: what the runtime is asked for ("Clip-13"), or what this backend does itself.
        by: who is seen in the results: the "runtime", this "backend", or "nobody" where it is not supported.
        note: what else a reader of the results must know; may be empty.
    """

    what: str
    to: str
    by: Literal["runtime", "backend", "nobody"]
    note: str = ""


DESCRIPTIONS = Mapped(
    "validation of descriptions", "the rules of the spec tables", "backend",
    "clauses on what must be refused say nothing of the runtime",
)  # fmt: skip
NO_SCALE_BIAS = Mapped("ScaleBias", "", "nobody", "no operator of the runtime has it")


def mapping_rows(rows: Iterable[Mapped]) -> list[dict[str, str]]:
    """The table as it stands in ``DeviceInfo.details["mapping"]``."""
    return [asdict(row) for row in rows]


def load(module: str, install: str) -> Any:
    """Import a runtime's package.

    Args:
        module: the package's import name.
        install: the command that installs it.

    Raises:
        BackendUnavailable: it is not installed, or installed and cannot be loaded.
    """
    if importlib.util.find_spec(module) is None:
        raise BackendUnavailable(f"the package {module} is not installed", install)
    try:
        return importlib.import_module(module)
    except Exception as error:  # a broken installation may raise anything; it cannot be used either way
        raise BackendUnavailable(
            f"the package {module} cannot be loaded: {error}", f"reinstall it: {install}"
        ) from error


def choice(option: str, value: str, known: Iterable[str]) -> str:
    """The option's value.

    Raises:
        UsageError: it is none of those known.
    """
    if value not in (known := tuple(known)):
        raise UsageError(f"the option {option} is {value!r}", f"choose one of {', '.join(known)}")
    return value


def check_description(operator: OperatorDesc, level: FeatureLevel, tables: Tables) -> None:
    """Refuse what DirectML refuses.

    Raises:
        InvalidArgument: the description breaks rules of the spec tables; the message gives each clause.
    """
    if sorted(operator.tensors) != sorted(NAMES):
        raise InvalidArgument(f"the tensors are {sorted(operator.tensors)}, not {sorted(NAMES)}")
    try:
        table = tables.operator(operator.name)
    except UsageError as error:
        raise InvalidArgument(error.cause) from None
    found = violations(operator, level, tables)
    if found:
        raise InvalidArgument("; ".join(f"{violation.clause}: {violation.text}" for violation in found))
    for name, tensor in operator.tensors.items():
        if any(stride < 0 for stride in tensor.element_strides):
            raise InvalidArgument(f"{name} has strides {list(tensor.element_strides)}, which are unsigned in DirectML")
    known = [attribute.name for attribute in table.attributes]
    if sorted(operator.attributes) != sorted(known):
        raise InvalidArgument(f"the attributes are {sorted(operator.attributes)}, not {sorted(known)}")
    if operator.name not in (CLIP, ROUND, THRESHOLD):
        raise NotSupported(f"{operator.name} is mapped to nothing")
    if operator.attributes.get("ScaleBias") is not None:
        raise NotSupported(f"ScaleBias: {NO_SCALE_BIAS.note}")


def is_packed(tensor: TensorDesc) -> bool:
    """Whether the elements stand one after the other, row-major; dimensions of one element may have any stride."""
    packed = TensorDesc(tensor.data_type, tensor.sizes).element_strides
    strides = zip(tensor.sizes, tensor.element_strides, packed, strict=True)
    return all(size == 1 or stride == wanted for size, stride, wanted in strides)


def repeats_elements(tensor: TensorDesc) -> bool:
    """Whether a stride of zero puts several elements into one place."""
    return any(size > 1 and stride == 0 for size, stride in zip(tensor.sizes, tensor.element_strides, strict=True))


def bound(operator: OperatorDesc, name: str) -> np.float32:
    """A FLOAT attribute as it is.

    Raises:
        InvalidArgument: it is no FLOAT.
    """
    value = operator.attributes[name]
    if not isinstance(value, np.float32):
        raise InvalidArgument(f"{name} is {value!r}, not a FLOAT")
    return value


def cast_bound(operator: OperatorDesc, name: str, documented: bool = True) -> Any:
    """A FLOAT attribute in the tensor's type, for a runtime that wants it so: a numpy scalar.

    Args:
        operator: the description.
        name: "Min" or "Max".
        documented: whether the operator's page documents the cast; where it does not, only what the type
            represents is cast.

    Raises:
        NotSupported: the pages give no value of the type for it.
    """
    value, data_type = bound(operator, name), operator.input.data_type
    if data_type is DataType.FLOAT32:
        return value
    if data_type is DataType.FLOAT16:
        if np.isfinite(value) and abs(value) >= _FLOAT16_OVERFLOW:
            raise NotSupported(f"the runtime wants {name} as FLOAT16, and no page says what {value} becomes")
        with np.errstate(all="ignore"):
            half = np.float16(value)
        exact = bool(np.isnan(value)) or np.float32(half) == value
    else:
        limits = np.iinfo(data_type.numpy)
        if not np.isfinite(value) or not int(limits.min) <= int(value) <= int(limits.max):
            raise NotSupported(f"the runtime wants {name} as {data_type.name}, and no page says what {value} becomes")
        half = data_type.numpy.type(int(value))
        exact = float(value).is_integer()
    if not exact and not documented:
        raise NotSupported(f"the runtime wants {name} as {data_type.name}, and the page documents no cast of {value}")
    return half


def types_text(types: Iterable[DataType]) -> str:
    """Element types as the mapping table names them."""
    return ", ".join(data_type.name for data_type in DataType if data_type in set(types)) or "no type"


def sample(operator: str, data_type: DataType) -> OperatorDesc:
    """The simplest description of ``operator`` on ``data_type``: asked of a runtime to see which types it takes."""
    tensor = TensorDesc(data_type, (1,))
    attributes: dict[str, Any] = {"RoundingMode": "HALVES_TO_NEAREST_EVEN"}
    if operator != ROUND:
        attributes = {"ScaleBias": None, "Min": np.float32(0), "Max": np.float32(1)}
        attributes = {key: value for key, value in attributes.items() if key != "Max" or operator == CLIP}
    return OperatorDesc(operator, dict.fromkeys(NAMES, tensor), attributes)


def element_count(tensor: TensorDesc) -> int:
    """Elements from the first to the last in memory, gaps included."""
    return math.ceil(tensor.minimum_size_in_bytes / tensor.data_type.itemsize)
