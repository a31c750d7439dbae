"""The protocol's definition: what both sides are held to, and that nothing of DirectML cannot be said in it."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from dmlcts.backends import InvalidArgument, NotSupported
from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.abi.dml import DML_IS_INFINITY_MODE, DML_ROUNDING_MODE
from dmlcts.backends.directml.elementwise import LAYOUTS
from dmlcts.backends.runners import messages
from dmlcts.backends.runners.definition import Field, Layout, definition
from dmlcts.backends.runners.session import _HEADER
from dmlcts.specs import DataType, OperatorDesc, Region, ScalarUnion, ScaleBias, TensorDesc, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.selftest.looped_cases import looped
from dmlcts.suites.selftest.runners import kit

KNOWN = definition()
TENSOR = TensorDesc(DataType.FLOAT32, (2, 3), (6, 1))
CLIP = OperatorDesc(
    "ELEMENT_WISE_CLIP",
    {"InputTensor": TENSOR, "OutputTensor": TensorDesc(DataType.FLOAT32, (2, 3))},
    {"ScaleBias": ScaleBias(2.0, -1.0), "Min": np.uint32(0x7FA00001).view(np.float32), "Max": np.float32(5)},
)


def test_the_operators_are_directmls() -> None:
    assert {name: (operator.code, dict(operator.members)) for name, operator in KNOWN.operators.items()} == {
        name: (layout.code, dict(layout.members)) for name, layout in LAYOUTS.items()
    }
    assert len(KNOWN.operators) == 65


def test_the_operators_are_those_of_the_tables() -> None:
    for table in load_tables().operators.values():
        known = KNOWN.operators[table.operator]
        assert known.code == table.code
        names = {*table.tensors, *(item.name for item in table.attributes)}
        assert names - {"ScaleBias"} <= set(known.members)


def test_the_plain_runner_claims_no_more_than_it_has() -> None:
    text = (kit.KIT / "plain_runner.c").read_text(encoding="utf-8")
    assert "runner.only_claims = 1;" in text
    claimed = re.findall(r"\{([A-Z]+), DMLCTS_EVERY_TYPE\}", text)
    numbers = {
        name: int(code) for name, code in re.findall(r"\b([A-Z]+) = (\d+)", text.partition("DML_OPERATOR_TYPE")[0])
    }
    assert numbers == {name: KNOWN.operators[f"ELEMENT_WISE_{name}"].code for name in claimed}
    assert set(claimed) == {"CLIP", "ROUND", "THRESHOLD"}


def test_the_numbers_are_directmls() -> None:
    assert KNOWN.data_types == {data_type.name: data_type.dml_value for data_type in DataType}
    for name, prefix, modes in (
        ("rounding_mode", "DML_ROUNDING_MODE_", DML_ROUNDING_MODE),
        ("infinity_mode", "DML_IS_INFINITY_MODE_", DML_IS_INFINITY_MODE),
    ):
        assert KNOWN.enumerations[name] == {mode.name.removeprefix(prefix): mode.value for mode in modes}


def test_the_layouts_leave_no_gaps() -> None:
    import json

    written = json.loads((kit.HOUSE / "backends" / "runners" / "protocol.json").read_text(encoding="utf-8"))
    for name, layout in KNOWN.layouts.items():
        assert written["layouts"][name]["size"] == layout.size
        at = 0
        for written_field, field in zip(written["layouts"][name]["fields"], layout.fields, strict=True):
            size = struct.calcsize("<" + field.code)
            assert written_field["offset"] == at
            assert written_field["meaning"]
            width = {"u16": 2, "u32": 4, "u64": 8, "char": 1, "byte": 1}[field.base]
            assert at % width == 0, f"{name}.{field.name} is not aligned"
            at += size
        assert at == layout.size
        assert layout.size % 4 == 0
    assert _HEADER.size == KNOWN.layouts["header"].size
    head = KNOWN.layouts["header"].pack(mark=1, kind=2, status=3, number=4, length=5)
    assert _HEADER.unpack(head) == (1, 2, 3, 4, 5)


@pytest.mark.skipif(bool(kit.missing()), reason=kit.missing())
def test_the_c_header_states_the_same(tmp_path: Path) -> None:
    """A program prints every constant, size and offset of the definition, as the compiler sees the header."""
    lines, due = [], []
    tables = {
        "": KNOWN.limits,
        "KIND_": KNOWN.kinds,
        "STATUS_": KNOWN.statuses,
        "HELLO_FLAG_": KNOWN.hello_flags,
        "ATTRIBUTE_KIND_": KNOWN.attribute_kinds,
        "PLACE_": KNOWN.places,
        "DATA_TYPE_": KNOWN.data_types,
    }
    for prefix, table in tables.items():
        for key, number in table.items():
            lines.append(f'printf("%u\\n", (unsigned)DMLCTS_{prefix}{key.upper()});')
            due.append(str(number))
    for name, layout in KNOWN.layouts.items():
        lines.append(f'printf("%zu\\n", sizeof(dmlcts_{name}));')
        due.append(str(layout.size))
        at = 0
        for field in layout.fields:
            member = f"((dmlcts_{name} *)0)->{field.name}"
            lines.append(f'printf("%zu %zu\\n", offsetof(dmlcts_{name}, {field.name}), sizeof({member}));')
            size = struct.calcsize("<" + field.code)
            due.append(f"{at} {size}")
            at += size
    lines.append('printf("%s %x %x\\n", DMLCTS_PROTOCOL, (unsigned)DMLCTS_MARK, (unsigned)DMLCTS_REPLY);')
    due.append(f"{KNOWN.protocol} {KNOWN.mark:x} {KNOWN.reply:x}")
    source = tmp_path / "printing.c"
    body = "\n".join(lines)
    source.write_text(f'#include "dmlcts_runner.h"\n#include <stdio.h>\nint main(void) {{\n{body}\nreturn 0;\n}}\n')
    program = tmp_path / "printing"
    words = ["cc", "-std=c11", f"-I{kit.KIT}", "-o", str(program), str(source)]
    subprocess.run(words, check=True, timeout=60)
    printed = subprocess.run([str(program)], capture_output=True, text=True, timeout=10, check=True).stdout.splitlines()
    assert printed == due
    assert len(due) > 140


def test_what_the_c_header_has_more_than_the_definition() -> None:
    """Nothing: each of its numbered constants is one of the definition's."""
    text = (kit.KIT / "dmlcts_runner.h").read_text(encoding="utf-8")
    named = set(re.findall(r"^\s*DMLCTS_([A-Z0-9_]+) = ", text, re.MULTILINE))
    prefixes = {
        "KIND_": KNOWN.kinds,
        "STATUS_": KNOWN.statuses,
        "HELLO_FLAG_": KNOWN.hello_flags,
        "ATTRIBUTE_KIND_": KNOWN.attribute_kinds,
        "DATA_TYPE_": KNOWN.data_types,
        "": KNOWN.limits,
    }
    known = {f"{prefix}{key.upper()}" for prefix, table in prefixes.items() for key in table}
    assert named <= known
    assert len(named) > 40


# Descriptions.


def test_a_description_is_written_as_the_layouts_state() -> None:
    data = messages.encode_create(7, CLIP)
    create, tensor, attribute = (KNOWN.layouts[name] for name in ("create", "tensor", "attribute"))
    head = create.unpack(data)
    assert (head["kernel"], head["operator_type"], head["tensor_count"], head["attribute_count"]) == (7, 8, 2, 3)
    first = tensor.unpack(data, create.size)
    assert (first["member"], first["data_type"], first["dimension_count"], first["has_strides"]) == (0, 1, 2, 1)
    assert first["sizes"][:3] == (2, 3, 0)
    assert first["strides"][:3] == (6, 1, 0)
    assert first["total_size"] == TENSOR.total_size_in_bytes
    second = tensor.unpack(data, create.size + tensor.size)
    assert (second["member"], second["has_strides"], second["strides"]) == (1, 0, (0,) * 16)
    at = create.size + 2 * tensor.size
    attributes = [attribute.unpack(data, at + index * attribute.size) for index in range(3)]
    assert [(entry["member"], entry["kind"]) for entry in attributes] == [(2, 3), (3, 1), (4, 1)]
    assert attributes[0]["value"] == struct.pack("<ff", 2.0, -1.0)
    assert attributes[1]["value"] == struct.pack("<II", 0x7FA00001, 0), "a signalling NaN keeps its bits"
    assert len(data) == at + 3 * attribute.size


def test_a_union_has_its_type_and_eight_bytes() -> None:
    attributes = {
        "ScaleBias": None,
        "MinMaxDataType": "FLOAT16",
        "Min": ScalarUnion.of(DataType.FLOAT16, -2.0),
        "Max": ScalarUnion.of(DataType.INT64, -1),
    }
    data = messages.encode_create(1, OperatorDesc("ELEMENT_WISE_CLIP1", {}, attributes))
    read = [KNOWN.layouts["attribute"].unpack(data, 24 + 24 * index) for index in range(3)]
    assert [(entry["member"], entry["kind"], entry["data_type"]) for entry in read] == [
        (3, 2, 0),
        (4, 4, 2),
        (5, 4, 11),
    ]
    assert [entry["value"] for entry in read] == [b"\2" + bytes(7), b"\0\xc0" + bytes(6), b"\xff" * 8]


def test_what_is_null_is_not_sent() -> None:
    plain = OperatorDesc(CLIP.name, CLIP.tensors, {**CLIP.attributes, "ScaleBias": None})
    assert len(messages.encode_create(1, CLIP)) - len(messages.encode_create(1, plain)) == 24


@looped("name", list(KNOWN.operators))
def test_every_operator_of_the_family_can_be_expressed(name: str) -> None:
    """With all its members, and with the fewest."""
    known = KNOWN.operators[name]
    tensors = {member: TENSOR for member, kind in known.members.items() if kind == "tensor"}
    values = {
        "scale_bias": ScaleBias(1, 2),
        "float": np.float32(1.5),
        "rounding_mode": "TOWARD_ZERO",
        "infinity_mode": "EITHER",
        "data_type": "INT64",
        "operator": None,
    }
    attributes = {member: values[kind] for member, kind in known.members.items() if kind not in ("tensor", "scalar")}
    scalars = [member for member, kind in known.members.items() if kind == "scalar"]
    if scalars:
        attributes |= {member: ScalarUnion.of(DataType.INT64, -5) for member in scalars}
    data = messages.encode_create(1, OperatorDesc(name, tensors, attributes))
    head = KNOWN.layouts["create"].unpack(data)
    assert head["operator_type"] == known.code
    assert head["tensor_count"] == len(tensors)
    assert head["attribute_count"] == len([value for value in attributes.values() if value is not None])
    assert len(data) == 24 + 160 * len(tensors) + 24 * head["attribute_count"]
    fewer = messages.encode_create(1, OperatorDesc(name, dict(list(tensors.items())[:1]), attributes))
    assert len(data) - len(fewer) == 160 * (len(tensors) - 1)


def rounding(tensor: TensorDesc) -> OperatorDesc:
    return OperatorDesc("ELEMENT_WISE_ROUND", {"InputTensor": tensor}, {"RoundingMode": np.uint32(0xFFFFFFFF)})


@pytest.mark.parametrize(
    "wrong",
    [
        OperatorDesc("ELEMENT_WISE_CLIP", {"ATensor": TENSOR}),
        OperatorDesc("ELEMENT_WISE_CLIP", {}, {"Colour": np.float32(1)}),
        OperatorDesc("ELEMENT_WISE_CLIP", {}, {"InputTensor": np.float32(1)}),
        OperatorDesc("ELEMENT_WISE_CLIP", {}, {"Min": "x", "Max": np.float32(1), "ScaleBias": None}),
        OperatorDesc("ELEMENT_WISE_ROUND", {}, {"RoundingMode": "SIDEWAYS"}),
        rounding(TensorDesc(DataType.INT8, (1,) * 17)),
        rounding(TensorDesc(DataType.INT8, (1 << 32,))),
        rounding(TensorDesc(DataType.INT8, (1,), (1 << 32,))),
        rounding(TensorDesc(DataType.INT8, (1,), None, 1 << 64)),
    ],
)
def test_what_the_structures_cannot_express_is_refused(wrong: OperatorDesc) -> None:
    with pytest.raises(InvalidArgument):
        messages.encode_create(1, wrong)


def test_sixteen_dimensions_and_a_number_without_a_name_can_be_expressed() -> None:
    data = messages.encode_create(1, rounding(TensorDesc(DataType.FLOAT32, (1,) * 16)))
    assert KNOWN.layouts["attribute"].unpack(data, 24 + 160)["value"][:4] == b"\xff" * 4


def test_an_operator_without_a_number_is_not_supported() -> None:
    with pytest.raises(NotSupported):
        messages.encode_create(1, OperatorDesc("ELEMENT_WISE_INVENTED", {}))


def test_bindings_of_what_the_operator_does_not_have() -> None:
    members = KNOWN.operators["ELEMENT_WISE_CLIP"]
    right = messages.encode_dispatch(1, members, {"InputTensor": Region(16, 4)}, 32, 0)
    assert len(right) == 48
    for name in ("BTensor", "Min"):
        with pytest.raises(ValueError, match=name):
            messages.encode_dispatch(1, members, {name: Region(16, 4)}, 32, 0)


# Layouts.


def test_a_layout_holds_what_fits_and_nothing_else() -> None:
    layout = Layout("x", (Field("a", "u32", 1), Field("b", "char", 4), Field("c", "u32", 2), Field("d", "byte", 2)))
    data = layout.pack(a=5, b="é", c=(1,), d=b"\x01\x02")
    assert layout.unpack(data) == {"a": 5, "b": "é", "c": (1, 0), "d": b"\x01\x02"}
    assert layout.unpack(b"\0\0\0\0\xff\xfeab" + bytes(10))["b"] == "\ufffd\ufffdab"
    for wrong in ({"a": 1 << 32}, {"a": -1}, {"b": "four"}, {"b": "a\0"}, {"c": (1, 2, 3)}, {"e": 1}):
        with pytest.raises(ValueError, match=r"x|b"):
            layout.pack(**wrong)


# Hello.


def hello(**changed: object) -> bytes:
    fields = {"protocol": KNOWN.protocol, "version": 1, "feature_level": 0x5000, "name": "x", "most_length": 1 << 20}
    return KNOWN.layouts["hello_reply"].pack(**{**fields, **changed})


def test_a_hello_is_read() -> None:
    claim = KNOWN.layouts["claim"].pack(operator_type=8, data_types=1 << 1 | 1 << 11)
    detail = KNOWN.layouts["detail"].pack(key="board", value="B2")
    greeting = messages.read_hello(hello(claim_count=1, detail_count=1, flags=2) + claim + detail)
    assert greeting.info["data_types"] == {"ELEMENT_WISE_CLIP": ["FLOAT32", "INT64"]}
    assert greeting.info["details"] == {"board": "B2"}
    assert (greeting.shared_memory, greeting.suite_validates, greeting.most_length) == (False, True, 1 << 20)
    assert greeting.info["only"] is None
    assert messages.read_hello(hello()).info["data_types"] is None


def test_a_hello_can_limit_the_operators_to_its_claims() -> None:
    """A claim of every type is one of what the level obliges."""
    claims = KNOWN.layouts["claim"].pack(operator_type=8, data_types=0xFFFFFFFF)
    claims += KNOWN.layouts["claim"].pack(operator_type=99, data_types=1 << 1)
    greeting = messages.read_hello(hello(claim_count=2, flags=KNOWN.hello_flags["only_claims"]) + claims)
    assert greeting.info["only"] == ["ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND"]
    assert greeting.info["data_types"] == {"ELEMENT_WISE_ROUND": ["FLOAT32"]}


@pytest.mark.parametrize(
    "wrong",
    [
        hello(version=2),
        hello(protocol="other/1"),
        hello(feature_level=0x5001),
        hello(name=""),
        hello(claim_count=1),
        hello(detail_count=1 << 31),
        hello() + b"\0",
        hello(claim_count=1) + KNOWN.layouts["claim"].pack(operator_type=2000),
        hello(claim_count=2) + 2 * KNOWN.layouts["claim"].pack(operator_type=8),
    ],
)
def test_a_hello_that_makes_no_sense_is_reported(wrong: bytes) -> None:
    with pytest.raises(BackendUnavailable):
        messages.read_hello(wrong)


def test_options_that_are_too_long_or_many() -> None:
    assert len(messages.encode_hello({"a": "b"}, shared_memory=True)) == 48 + 1024
    for wrong in ({"a": "x" * 1000}, {"a" * 64: ""}, {f"k{index}": "" for index in range(65)}):
        with pytest.raises(UsageError):
            messages.encode_hello(wrong, shared_memory=False)
