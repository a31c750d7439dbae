"""The annotated examples and tables of ``backends/RUNNERS.md``, made from the definition and the codec.

``python -m dmlcts.backends.runners.examples backends/RUNNERS.md`` puts them in, between their marks.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dmlcts.backends.runners import authentication, messages
from dmlcts.backends.runners.definition import Field, Layout, definition
from dmlcts.specs import DataType, OperatorDesc, Region, ScaleBias, TensorDesc

SECRET = b"7d1c2f0e9a4b86d35e7f10c2b8a96473f05e1d2cbb48a7963e0d5c81f2a7946b"
_LINE = 16
_MOST_ZEROS = 12
_CLIP = OperatorDesc(
    "ELEMENT_WISE_CLIP",
    {
        "InputTensor": TensorDesc(DataType.FLOAT32, (2, 3), (4, 1)),
        "OutputTensor": TensorDesc(DataType.FLOAT32, (2, 3)),
    },
    {"ScaleBias": ScaleBias(2.0, 0.5), "Min": np.float32(-1.0), "Max": np.float32(6.0)},
)
_REGIONS = {"InputTensor": Region(16, 28), "OutputTensor": Region(48, 24)}
_MEMORY = 80
_NAMES: Mapping[tuple[str, str], str] = {
    ("header", "status"): "statuses",
    ("hello", "flags"): "hello_flags",
    ("hello_reply", "flags"): "hello_flags",
    ("attribute", "kind"): "attribute_kinds",
    ("dispatch", "place"): "places",
    ("dispatch_reply", "place"): "places",
    ("tensor", "data_type"): "data_types",
}


def _hex(data: bytes, item: int) -> str:
    """Bytes in hexadecimal; of a long run of zeros at the end, whole items of a size, only how long it is."""
    kept = data[: -(-len(data.rstrip(b"\0")) // item) * item]
    zeros = len(data) - len(kept)
    return f"{kept.hex(' ')} 00 x {zeros}".strip() if zeros > _MOST_ZEROS else data.hex(" ")


def _named(layout: str, field: str, value: int) -> str:
    known = definition()
    if (layout, field) == ("header", "kind"):
        name = next((name for name, number in known.kinds.items() if number == value & ~known.reply), "")
        return f"{name}'s reply" if value & known.reply else name
    if (layout, field) in (("create", "operator_type"), ("claim", "operator_type")):
        return next((name for name, operator in known.operators.items() if operator.code == value), "")
    table: Mapping[str, int] = getattr(known, _NAMES.get((layout, field), "places"))
    if (layout, field) not in _NAMES:
        return ""
    return next((name for name, number in table.items() if number == value), "")


def _meaning(layout: Layout, field: Field, value: Any, note: str) -> str:
    if note:
        return note
    if field.base == "char":
        return f'"{value}"'
    if field.base == "byte":
        return ""
    if field.count > 1:
        used = [number for number in value if number]
        return ", ".join(map(str, used)) if used else "none"
    if field.name == "mark":
        return '"DMLR"'
    name = _named(layout.name, field.name, value)
    if field.name in ("feature_level", "data_types"):
        return f"{value:#x}"
    return f"{value}: {name}" if name else str(value)


def _field_offsets(layout: Layout) -> Iterator[tuple[Field, int]]:
    at = 0
    for field in layout.fields:
        yield field, at
        at += struct.calcsize("<" + field.code)


def annotated(data: bytes, layouts: list[str], notes: Mapping[str, str] | None = None) -> str:
    """A message in hexadecimal, a field a line: where it stands, its bytes, its name, its value.

    Args:
        data: the message, with its header.
        layouts: what stands in it one after the other, by the names of the definition; what is left is memory or text.
        notes: what to say of a field instead of its value, by "layout.field".
    """
    lines, at = [], 0
    for name in layouts:
        layout = definition().layouts[name]
        values = layout.unpack(data, at)
        for field, offset in _field_offsets(layout):
            size = struct.calcsize("<" + field.code)
            shown = _hex(data[at + offset : at + offset + size], 4 if field.base == "u32" else 1)
            note = (notes or {}).get(f"{name}.{field.name}", "")
            if (name, field.name) == ("attribute", "value"):
                note = ", ".join(map(str, struct.unpack("<ff", values["value"])[: 1 + (values["kind"] == 3)]))
            meaning = _meaning(layout, field, values[field.name], note)
            lines.append(f"{at + offset:5}  {shown:<47}  {f'{name}.{field.name}':<28}  {meaning}".rstrip())
        at += layout.size
    rest = data[at:]
    meaning = (notes or {}).get("rest", "")
    for offset in range(0, len(rest), _LINE):
        lines.append(f"{at + offset:5}  {rest[offset : offset + _LINE].hex(' '):<47}  {meaning}".rstrip())
        meaning = ""
    return "```text\n" + "\n".join(lines) + "\n```"


def _message(kind: str, number: int, payload: bytes, status: str | None = None) -> bytes:
    """A request, or with a status a reply."""
    known = definition()
    head = known.layouts["header"].pack(
        mark=known.mark,
        kind=known.kinds[kind] | (0 if status is None else known.reply),
        number=number,
        status=known.statuses[status or "ok"],
        length=len(payload),
    )
    return head + payload


def _memory(*, computed: bool) -> bytes:
    memory = np.full(_MEMORY, 0xAA, np.uint8)
    source = np.ndarray((2, 3), np.float32, memory, 16, (16, 4))
    source[...] = [[-2, 0, 1], [2, 3, 4]]
    if computed:
        target = np.ndarray((2, 3), np.float32, memory, 48)
        target[...] = np.clip(source * 2 + 0.5, -1, 6)
    return memory.tobytes()


_NONCES = bytes(range(32)), bytes(range(32, 64))  # the suite's, the runner's


def _proof(role: str) -> bytes:
    return authentication.proof(SECRET, role, *_NONCES)


def blocks() -> dict[str, str]:
    """Everything that is made for the guide, by the name between its marks."""
    known = definition()
    layouts = known.layouts
    members = known.operators[_CLIP.name]
    hello = messages.encode_hello({"adapter": "1"}, shared_memory=True)
    hello_reply = layouts["hello_reply"].pack(
        protocol=known.protocol,
        version=1,
        feature_level=0x5000,
        flags=1,
        claim_count=1,
        detail_count=1,
        most_length=1 << 30,
        name="acme-npu",
        adapter="ACME NPU 3",
        driver="1.2.0",
        library="libacme",
        library_version="7",
    )
    hello_reply += layouts["claim"].pack(operator_type=8, data_types=1 << 1 | 1 << 2)
    hello_reply += layouts["detail"].pack(key="board", value="rev B")
    create = messages.encode_create(1, _CLIP)
    follows = messages.encode_dispatch(1, members, _REGIONS, _MEMORY, 0)
    answered = layouts["dispatch_reply"].pack(kernel=1, memory_size=_MEMORY)
    share = layouts["share"].pack(segment=1, size=1 << 20, token=bytes(range(16)), path="/proc/4711/fd/9")
    shared = messages.encode_dispatch(1, members, _REGIONS, 1 << 20, 1)

    def shown(name: str, data: bytes, *parts: str, **notes: str) -> None:
        sections[name] = annotated(
            data, ["header", *parts], {key.replace("__", "."): text for key, text in notes.items()}
        )

    sections: dict[str, str] = {}
    shown("hello", _message("hello", 1, hello), "hello", "option")
    shown(
        "hello reply",
        _message("hello", 1, hello_reply, "ok"),
        "hello_reply",
        "claim",
        "detail",
        claim__data_types="bits 1 and 2: FLOAT32, FLOAT16",
    )
    scaled = ["tensor", "tensor", "attribute", "attribute", "attribute"]
    shown("create", _message("create", 2, create), "create", *scaled)
    ok = layouts["create_reply"].pack(kernel=1)
    shown("create reply", _message("create", 2, ok, "ok"), "create_reply")
    shown("error", _message("create", 2, b"no INT64", "invalid_argument"), rest='the text: "no INT64"')
    shown(
        "dispatch",
        _message("dispatch", 3, follows + _memory(computed=False)),
        "dispatch",
        "binding",
        "binding",
        rest="the memory, whole",
    )
    shown(
        "dispatch reply",
        _message("dispatch", 3, answered + _memory(computed=True), "ok"),
        "dispatch_reply",
        rest="the memory, whole",
    )
    shown("share", _message("share", 4, share), "share")
    reply = layouts["share_reply"].pack(segment=1, token=bytes(range(16, 32)))
    shown("share reply", _message("share", 4, reply, "ok"), "share_reply")
    shown("dispatch shared", _message("dispatch", 5, shared), "dispatch", "binding", "binding")
    reply = layouts["dispatch_reply"].pack(kernel=1, place=1, memory_size=1 << 20)
    shown("dispatch shared reply", _message("dispatch", 5, reply, "ok"), "dispatch_reply")
    shown("close", _message("close", 6, layouts["close"].pack(kernel=1)), "close")
    shown("close reply", _message("close", 6, b"", "ok"))
    token = layouts["ping"].pack(token=0x1122334455667788)
    shown("ping", _message("ping", 7, token), "ping")
    shown("ping reply", _message("ping", 7, token, "ok"), "ping")
    shown("bye", _message("bye", 8, b""))
    shown("bye reply", _message("bye", 8, b"", "ok"))
    suite_nonce, runner_nonce = _NONCES
    shown("begin", _message("begin", 1, suite_nonce), "begin")
    shown("begin reply", _message("begin", 1, runner_nonce, "ok"), "begin_reply")
    shown("authenticate", _message("authenticate", 2, _proof("suite proves")), "authenticate")
    shown("authenticate reply", _message("authenticate", 2, _proof("runner proves"), "ok"), "authenticate_reply")
    shown("challenge", _message("challenge", 1, suite_nonce), "challenge")
    shown("challenge reply", _message("challenge", 1, runner_nonce + _proof("runner"), "ok"), "challenge_reply")
    shown("prove", _message("prove", 2, _proof("suite")), "prove")
    shown("prove reply", _message("prove", 2, b"", "ok"))
    return {**sections, **_tables()}


def _tables() -> dict[str, str]:
    known = definition()
    shown: dict[str, str] = {}
    for name, layout in known.layouts.items():
        rows = ["| offset | type | field | meaning |", "|---|---|---|---|"]
        for field, offset in _field_offsets(layout):
            kind = field.base if field.count == 1 else f"{field.base}[{field.count}]"
            rows.append(f"| {offset} | {kind} | `{field.name}` | {field.meaning} |")
        shown[f"layout {name}"] = "\n".join(rows)
    rows = ["| number | status | may answer |", "|---|---|---|"]
    for status, number in known.statuses.items():
        of = [kind for kind, names in known.statuses_of.items() if status in names] if number else ["everything"]
        rows.append(f"| {number} | {status} | {', '.join(of)} |")
    shown["statuses"] = "\n".join(rows)
    shown["limits"] = "\n".join(
        ["| limit | number |", "|---|---|", *(f"| `{name}` | {number} |" for name, number in known.limits.items())]
    )
    shown["data types"] = ", ".join(f"{number} {name}" for name, number in known.data_types.items()) + "."
    rows = ["| number | operator | members, counted from 0 |", "|---|---|---|"]
    for name, operator in known.operators.items():
        members = [f"{member} ({kind})".removesuffix(" (tensor)") for member, kind in operator.members.items()]
        members_text = " · ".join(members)
        rows.append(f"| {operator.code} | {name.removeprefix('ELEMENT_WISE_')} | {members_text.replace('_', ' ')} |")
    shown["operators"] = "\n".join(rows)
    return shown


def filled_in(text: str) -> str:
    """The guide with everything that is made put between its marks.

    Raises:
        LookupError: a mark has no end, or names what is not made.
    """
    made = blocks()
    put: Callable[[re.Match[str]], str] = lambda match: f"{match[1]}\n{made[match[2]]}\n{match[3]}"  # noqa: E731
    marked = re.compile(r"(<!-- made: ([a-z _]+) -->)\n.*?(<!-- end: \2 -->)", re.DOTALL)
    return marked.sub(put, text)


def main(arguments: list[str]) -> None:
    """Put everything into the file that is named."""
    path = Path(arguments[0])
    path.write_text(filled_in(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
