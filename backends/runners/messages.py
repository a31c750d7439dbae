"""What the suite asks a runner and what it reads of the answers: the layouts of ``protocol.json`` filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlcts.backends.contract import BackendUnavailable, InvalidArgument, NotSupported
from dmlcts.backends.runners.definition import OperatorMembers, definition
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, Region, ScalarUnion, ScaleBias, TensorDesc, UsageError
from dmlcts.specs.descriptions import Attribute

VERSION = 1
MOST_MEMORY = 1 << 40  # what the suite's own memories never reach
_EVERY_TYPE = 0xFFFFFFFF  # a claim with every bit set: what the level obliges
_ENUMERATIONS = ("rounding_mode", "infinity_mode")


@dataclass(frozen=True)
class Hello:
    """What a runner says of itself.

    Attributes:
        info: the fields of :class:`dmlcts.backends.DeviceInfo`, by name.
        shared_memory: whether it takes memories that both sides map.
        suite_validates: whether it leaves the refusal of bad descriptions to the suite.
        most_length: the longest length that it accepts in a header.
    """

    info: Mapping[str, Any]
    shared_memory: bool
    suite_validates: bool
    most_length: int


def encode_hello(options: Mapping[str, str], *, shared_memory: bool) -> bytes:
    """The payload of ``hello``.

    Args:
        options: the options of ``-o`` that the runner gets.
        shared_memory: whether the suite offers it.

    Raises:
        UsageError: an option is too long, or there are too many.
    """
    known = definition()
    if len(options) > known.limits["most_options"]:
        raise UsageError(f"{len(options)} options for a runner", f"give up to {known.limits['most_options']}")
    head = known.layouts["hello"].pack(
        protocol=known.protocol,
        oldest=VERSION,
        newest=VERSION,
        option_count=len(options),
        flags=known.hello_flags["shared_memory"] if shared_memory else 0,
        most_length=MOST_MEMORY,
    )
    try:
        return head + b"".join(known.layouts["option"].pack(key=key, value=value) for key, value in options.items())
    except ValueError as error:
        raise UsageError(f"an option cannot be sent to a runner: {error}", "make it shorter") from None


def hello_sizes() -> range:
    """How long the answer to ``hello`` may be."""
    known = definition()
    least = known.layouts["hello_reply"].size
    claims = known.limits["most_claims"] * known.layouts["claim"].size
    details = known.limits["most_details"] * known.layouts["detail"].size
    return range(least, least + claims + details + 1)


def read_hello(payload: bytes) -> Hello:
    """What the answer to ``hello`` says.

    Raises:
        BackendUnavailable: it speaks another version, or what it says makes no sense.
    """
    known = definition()
    layout = known.layouts["hello_reply"]
    answer = layout.unpack(payload)
    if answer["protocol"] != known.protocol or answer["version"] != VERSION:
        cause = f"the runner speaks {answer['protocol']!r}, version {answer['version']}; this is {known.protocol}"
        raise BackendUnavailable(cause, "build it with a kit of this version")
    claim, detail = known.layouts["claim"], known.layouts["detail"]
    claims, details = answer["claim_count"], answer["detail_count"]
    counted = layout.size + claims * claim.size + details * detail.size
    if counted != len(payload):
        raise BackendUnavailable(
            f"the runner's hello has {len(payload)} bytes where {claims} claims and {details} details make {counted}",
            "see hello in backends/RUNNERS.md",
        )
    level = next((level for level in FeatureLevel if level.dml_value == answer["feature_level"]), None)
    if level is None:
        mend = "give DML_FEATURE_LEVEL's number, 0x5000 for 5.0"
        raise BackendUnavailable(f"the runner claims the feature level {answer['feature_level']:#x}", mend)
    if not answer["name"]:
        raise BackendUnavailable("the runner does not say its name", "fill in the name in its hello")
    at = layout.size
    claimed = [claim.unpack(payload, at + index * claim.size) for index in range(claims)]
    at += claims * claim.size
    pairs = [detail.unpack(payload, at + index * detail.size) for index in range(details)]
    flags = answer["flags"]
    names = _claimed(claimed)
    types = {name: of_one for name, of_one in names.items() if of_one is not None}
    return Hello(
        {
            "name": answer["name"],
            "feature_level": str(level),
            "adapter": answer["adapter"],
            "driver": answer["driver"],
            "library": answer["library"],
            "version": answer["library_version"],
            "data_types": types or None,
            "only": list(names) if flags & known.hello_flags["only_claims"] else None,
            "details": {pair["key"]: pair["value"] for pair in pairs},
        },
        bool(flags & known.hello_flags["shared_memory"]),
        bool(flags & known.hello_flags["suite_validates"]),
        answer["most_length"],
    )


def _claimed(claims: list[dict[str, Any]]) -> Mapping[str, list[str] | None]:
    """The types that are claimed by operator; ``None`` for all that the level obliges."""
    names = {operator.code: name for name, operator in definition().operators.items()}
    type_names: dict[str, list[str] | None] = {}
    for claim in claims:
        name = names.get(claim["operator_type"])
        if name is None or name in type_names:
            why = "twice" if name else "which is no element-wise operator"
            mend = "claim each by its DML_OPERATOR_TYPE, once"
            raise BackendUnavailable(f"the runner claims the operator {claim['operator_type']}, {why}", mend)
        bits = claim["data_types"]
        types = [data_type.name for data_type in DataType if bits >> data_type.dml_value & 1]
        type_names[name] = None if bits == _EVERY_TYPE else types
    return type_names


def encode_create(kernel: int, operator: OperatorDesc) -> bytes:
    """The payload of ``create``.

    Raises:
        NotSupported: DirectML has no number for the operator, or an activation is fused to it, for which the protocol
            has no attribute.
        InvalidArgument: DirectML's structures cannot say it: a member that the operator does not have, a number
            outside of its type, more than 16 dimensions.
    """
    known = definition()
    layout = known.operators.get(operator.name)
    if layout is None:
        raise NotSupported(f"{known.protocol} has no number for {operator.name}")
    if operator.activation is not None:
        raise NotSupported(f"{known.protocol} cannot say that {operator.activation.name} is fused to {operator.name}")
    places = {name: index for index, name in enumerate(layout.members)}
    for name in (*operator.tensors, *operator.attributes):
        if name not in places or (layout.members[name] == "tensor") != (name in operator.tensors):
            raise InvalidArgument(f"{operator.name} has no such member {name} in DirectML.h")
    try:
        tensors = [_tensor(places[name], operator.tensors[name]) for name in places if name in operator.tensors]
        attributes = [
            known.layouts["attribute"].pack(member=places[name], **fields)
            for name, kind in layout.members.items()
            if kind != "tensor" and (fields := _attribute(name, kind, operator.attributes.get(name))) is not None
        ]
    except ValueError as error:
        raise InvalidArgument(f"DirectML's structures cannot say it: {error}") from None
    head = known.layouts["create"].pack(
        kernel=kernel, operator_type=layout.code, tensor_count=len(tensors), attribute_count=len(attributes)
    )
    return b"".join([head, *tensors, *attributes])


def _tensor(member: int, tensor: TensorDesc) -> bytes:
    return (
        definition()
        .layouts["tensor"]
        .pack(
            member=member,
            data_type=tensor.data_type.dml_value,
            dimension_count=tensor.rank,
            sizes=tensor.sizes,
            has_strides=tensor.strides is not None,
            strides=tensor.strides or (),
            total_size=tensor.total_size_in_bytes,
        )
    )


def _attribute(name: str, kind: str, value: Attribute) -> dict[str, Any] | None:
    """An attribute's fields; ``None`` for a pointer that is null.

    Raises:
        ValueError: the value is not of the member's kind.
    """
    kinds, enumerations = definition().attribute_kinds, definition().enumerations
    if value is None and kind in ("scale_bias", "operator"):
        return None
    if kind == "float" and isinstance(value, np.float32):
        return {"kind": kinds["float"], "value": int(value.view(np.uint32)).to_bytes(4, "little")}
    if kind == "scale_bias" and isinstance(value, ScaleBias):
        scale, bias = (bits.to_bytes(4, "little") for bits in value.bits)
        return {"kind": kinds["scale_bias"], "value": scale + bias}
    if kind == "scalar" and isinstance(value, ScalarUnion):
        bits = value.bits.to_bytes(8, "little")
        return {"kind": kinds["scalar_union"], "data_type": value.data_type.dml_value, "value": bits}
    number: int | None = None
    if isinstance(value, np.uint32):  # a number without a name: the implementation says what it makes of it
        number = int(value)
    elif isinstance(value, str) and kind in _ENUMERATIONS:
        number = enumerations[kind].get(value)
    elif isinstance(value, str) and kind == "data_type" and value in DataType.__members__:
        number = DataType[value].dml_value
    if number is None:
        raise ValueError(f"{name} is {value!r}, which is no {kind.replace('_', ' ')}")
    return {"kind": kinds["uint"], "value": number.to_bytes(4, "little")}


def encode_dispatch(
    kernel: int, members: OperatorMembers, bindings: Mapping[str, Region], memory_size: int, segment: int
) -> bytes:
    """The payload of ``dispatch`` without the memory, which follows it where ``segment`` is 0.

    Raises:
        ValueError: the bindings name what the operator does not have.
    """
    known = definition()
    places = {name: index for index, name in enumerate(members.members)}
    unknown = [name for name in bindings if members.members.get(name) != "tensor"]
    if unknown:
        raise ValueError(f"the operator has no tensor {unknown[0]}")
    head = known.layouts["dispatch"].pack(
        kernel=kernel,
        binding_count=len(bindings),
        memory_size=memory_size,
        segment=segment,
        place=known.places["shared" if segment else "follows"],
    )
    binding = known.layouts["binding"]
    return head + b"".join(
        binding.pack(member=places[name], offset=region.offset, size=region.size) for name, region in bindings.items()
    )
