"""What backends share that map the operators onto a runtime with operators of its own.

Such a backend is thin: it checks descriptions by the spec tables, casts what the runtime wants cast, and says
in a table what it mapped to what, so that nobody takes the mapping's behaviour for the runtime's. What the
runtime cannot express is :class:`NotSupported`, never put together from other operators.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from dmlcts.backends.contract import BackendUnavailable, InvalidArgument, NotSupported, words_of
from dmlcts.backends.descriptions import checked_table
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, ScalarUnion, TensorDesc, UsageError
from dmlcts.specs.models import AttributeTable, OperatorTable
from dmlcts.specs.tables import Tables

LEVEL = "6.4"
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


@dataclass(frozen=True)
class Counterpart:
    """The one operator of a runtime that is meant to do what one of DirectML's does.

    Attributes:
        name: what the runtime calls it ("Mod"); "" where it has none.
        lacking: where it has none: why not.
        attributes: what it is given beside the tensors.
        patterns: whether tensors are bound as integers of their width, because the operator knows bits alone.
        truth: whether its result is of the runtime's own truth type, one byte of 0 or 1, which is bound over UINT8.
        conditions: how many of the first inputs become truth values of the runtime's own type: true is what is not 0.
            For runtimes of arrays, and for ONNX, whose Cast does it.
        converted: whether the backend converts the result, which is of the first input's type, to the output's type;
            done where that changes no value. For runtimes of arrays alone.
        columns: whether it takes a scale for each row of a matrix, so that elements are bound as rows of one element.
        only: the element types on which it is meant to do this; ``None``: on all that the runtime takes.
        note: what else a reader of the results must know.
    """

    name: str
    lacking: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    patterns: bool = False
    truth: bool = False
    conditions: int = 0
    converted: bool = False
    columns: bool = False
    only: frozenset[DataType] | None = None
    note: str = ""


def none(why: str) -> Counterpart:
    """That a runtime has no operator."""
    return Counterpart("", why)


def part_of(operator: OperatorDesc, table: OperatorTable) -> str:
    """The part of the mapping that a description is about: "ADD", "IS_INFINITY POSITIVE"."""
    chosen = (str(operator.attributes[item.name]) for item in table.attributes if item.type == "ENUM")
    return " ".join((table.short_name, *chosen))


def parts(table: OperatorTable) -> list[str]:
    """All parts that an operator has, one for each enumerator."""
    enumerators = next((item.enumerators for item in table.attributes if item.type == "ENUM"), ())
    return [f"{table.short_name} {enumerator}" for enumerator in enumerators] or [table.short_name]


DESCRIPTIONS = Mapped(
    "validation of descriptions",
    "the rules of the spec tables",
    "backend",
    "clauses on what must be refused say nothing of the runtime",
)
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
            f"the package {module} cannot be loaded: {_text_of(error)}", f"reinstall it: {install}"
        ) from error


def _text_of(error: BaseException) -> str:
    """The first words of an error and of those that led to it; the name of its class where none has any."""
    exception: BaseException | None = error
    for _ in range(8):  # a chain may be a circle
        if exception is not None and not words_of(exception).strip():
            exception = exception.__cause__ or exception.__context__
    message = "" if exception is None else words_of(exception).strip()
    return message or f"{type(error).__name__}, without a word"


def choice(option: str, value: str, known: Iterable[str]) -> str:
    """The option's value.

    Raises:
        UsageError: it is none of those known.
    """
    if value not in (known := tuple(known)):
        raise UsageError(f"the option {option} is {value!r}", f"choose one of {', '.join(known)}")
    return value


def check_description(operator: OperatorDesc, level: FeatureLevel, tables: Tables) -> OperatorTable:
    """Refuse what DirectML refuses, and what no runtime has.

    Returns:
        The operator's table.

    Raises:
        InvalidArgument: the description breaks rules of the spec tables; the message gives each clause.
        NotSupported: it has a ScaleBias or an activation.
    """
    table = checked_table(operator, level, tables)
    known = [attribute.name for attribute in table.attributes]
    if sorted(operator.attributes) != sorted(known):
        raise InvalidArgument(f"the attributes are {sorted(operator.attributes)}, not {sorted(known)}")
    if operator.attributes.get("ScaleBias") is not None:
        raise NotSupported(f"ScaleBias: {NO_SCALE_BIAS.note}")
    if operator.activation is not None:
        raise NotSupported(f"{operator.activation.name}: no operator of the runtime has an activation fused to it")
    return table


def is_packed(tensor: TensorDesc) -> bool:
    """Whether the elements stand one after the other, row-major; dimensions of one element may have any stride."""
    packed = TensorDesc(tensor.data_type, tensor.sizes).element_strides
    strides = zip(tensor.sizes, tensor.element_strides, packed, strict=True)
    return all(size == 1 or stride == wanted for size, stride, wanted in strides)


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
    """A bound in the tensor's type, for a runtime that wants it so: a numpy scalar. A DML_SCALAR_UNION has it already.

    Args:
        operator: the description.
        name: "Min" or "Max".
        documented: whether the operator's page documents the cast; where it does not, only what the type
            represents is cast.

    Raises:
        NotSupported: the pages give no value of the type for it.
    """
    data_type = operator.input.data_type
    if isinstance(union := operator.attributes[name], ScalarUnion):
        return union.value
    value = bound(operator, name)
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


def sample(table: OperatorTable, part: str, data_type: DataType) -> OperatorDesc:
    """The simplest description of a part on ``data_type``: asked of a runtime to see which types it takes.

    Args:
        table: the operator's.
        part: the part, as :func:`parts` has it.
        data_type: what the first type variable stands for; results of another type are UINT8 where they may be.
    """
    first = table.type_variables[0]
    variables = {variable: _sampled(table, variable) for variable in table.type_variables} | {first: data_type}
    for row in (row for support in table.support for row in support.together if row.get(first) == data_type.name):
        variables |= {variable: DataType[listed] for variable, listed in row.items()}
    tensors = {name: TensorDesc(variables[row.type], (1,)) for name, row in table.tensors.items() if not row.optional}
    attributes = {item.name: _sampled_attribute(item, part, data_type) for item in table.attributes}
    return OperatorDesc(table.operator, tensors, attributes)


def _sampled(table: OperatorTable, variable: str) -> DataType:
    listed = {name for support in table.support for name in support.types.get(variable, ())}
    return DataType.UINT8 if "UINT8" in listed else DataType[min(listed)]


def _sampled_attribute(item: AttributeTable, part: str, data_type: DataType) -> Any:
    number = 1 if item.role == "high" else 0
    match item.type:
        case "ENUM":
            return part.split(" ")[1]
        case "DML_TENSOR_DATA_TYPE":
            return data_type.name
        case "DML_SCALAR_UNION":
            return ScalarUnion.of(data_type, number)
        case "FLOAT":
            return np.float32(number)
    return None


def element_count(tensor: TensorDesc) -> int:
    """Elements from the first to the last in memory, gaps included."""
    return math.ceil(tensor.minimum_size_in_bytes / tensor.data_type.itemsize)
