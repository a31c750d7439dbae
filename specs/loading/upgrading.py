"""Tables of older formats, rewritten in the present one; everything that did not change stays as it was written."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlcts.specs.checks import OWN
from dmlcts.specs.errors import TableError, UsageError
from dmlcts.specs.files import read_bounded
from dmlcts.specs.reading.yaml_source import MAX_BYTES, decode, read_yaml, shown

OLD_FORMATS = ("dmlcts/operator/1",)
"""Formats that are no longer read, and that :func:`upgraded` rewrites."""

_BY_ID = {
    "formula": "values",
    "nearest-even": "rounding",
    "toward-zero": "rounding",
    "toward-infinity": "rounding",
    "infinity": "rounding.infinity",
    "nan": "rounding.nan",
}
_MODES = {"nearest-even": "HALVES_TO_NEAREST_EVEN", "toward-zero": "TOWARD_ZERO", "toward-infinity": "TOWARD_INFINITY"}
_CLAUSE = re.compile(r"^( *)- id: *[a-z0-9-]+\.(\S+) *$(?!\n *check:)", re.MULTILINE)


def upgraded(text: str, name: str) -> str:
    """A table of format 1 in format 2.

    The end of its id stated what checks a clause; where no check has that name, `check:` is left out, and
    lint says so.

    Args:
        text: the table.
        name: what errors call the file.

    Raises:
        TableError: it is no YAML, or no table of an old format.
    """
    document = read_yaml(text, name)
    table = document.value
    if not isinstance(table, dict) or table.get("format") not in OLD_FORMATS:
        written = table.get("format") if isinstance(table, dict) else table
        cause = f"{shown(written)} is no format that there is an upgrade for"
        raise TableError(document.fault((), cause, f"give a table of the format {', '.join(OLD_FORMATS)}"))
    blocks = _blocks(text)
    tensors = _Tensors.of(table)
    written_blocks = []
    for key, block in blocks:
        match key:
            case "format":
                block = block.replace("dmlcts/operator/1", "dmlcts/operator/2")
            case "in_place":
                continue
            case "struct":
                block = block.rstrip("\n") + "\n\n" + tensors.written(bool(table.get("in_place"))) + "\n"
            case "attributes":
                block = _with_roles(block, table.get("attributes") or [])
            case "constraints":
                same, names = _listed(table["constraints"]), _listed(tensors.kinds)
                block = f"constraints:\n  - {{same: {same}, tensors: {names}}}\n" + _tail(block)
            case "support":
                block = tensors.support(table["support"]) + _tail(block)
            case "clauses":
                block = _CLAUSE.sub(_with_check, block)
        written_blocks.append(block)
    return "".join(written_blocks)


def upgrade_file(path: Path) -> None:
    """Rewrite a table's file in the present format.

    Raises:
        TableError: it is no YAML, or no table of an old format; the file is left as it is.
        UsageError: the file cannot be read or written.
    """
    try:
        text = decode(read_bounded(path, MAX_BYTES), str(path))
        written = upgraded(text, str(path))
        path.write_text(written, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be rewritten: {error.strerror}", "give a file that can") from None


def _blocks(text: str) -> list[tuple[str, str]]:
    """The parts of a document that begin with a key of its mapping, with what stands before them."""
    starts = [match.start() for match in re.finditer(r"^[a-z_]+:", text, re.MULTILINE)]
    bounds = [0, *starts[1:], len(text)]
    blocks = []
    for begin, end in itertools.pairwise(bounds):
        block = text[begin:end]
        key = re.search(r"^([a-z_]+):", block, re.MULTILINE)
        blocks.append((key[1] if key else "", block))
    return blocks


def _listed(names: Iterable[object]) -> str:
    return f"[{', '.join(map(str, names))}]"


def _tail(block: str) -> str:
    """The empty lines and comments at the end of a block, which belong to the next one."""
    lines = block.splitlines(keepends=True)
    count = 0
    while count < len(lines) and re.fullmatch(r"\s*(#.*)?\n?", lines[-1 - count]):
        count += 1
    return "".join(lines[len(lines) - count :])


@dataclass(frozen=True)
class _Tensors:
    """The tensors of a table of format 1, read from the rows of its support tables.

    Attributes:
        kinds: "Input" or "Output" by name.
        variables: the type variable of each: tensors that have the same types at every level have the same one.
    """

    kinds: dict[str, str]
    variables: dict[str, str]

    @classmethod
    def of(cls, table: dict[str, Any]) -> _Tensors:
        support = table.get("support") or []
        kinds = {"InputTensor": "Input", "OutputTensor": "Output"}
        kinds = {row["tensor"]: row["kind"] for level in support for row in level["rows"]} or kinds
        if "Output" not in kinds.values():
            kinds["OutputTensor"] = "Output"
        types: dict[str, tuple[object, ...]] = {}
        for name in kinds:
            rows = [[*(row for row in level["rows"] if row["tensor"] == name), level["rows"][0]] for level in support]
            types[name] = tuple(tuple(level_rows[0]["data_types"]) for level_rows in rows)
        distinct = list(dict.fromkeys(types.values()))
        return cls(kinds, {name: "TUVWXYZ"[distinct.index(types[name])] for name in kinds})

    def written(self, in_place: bool) -> str:
        """The `tensors:` of format 2."""
        lines = ["tensors:"]
        inputs = [name for name, kind in self.kinds.items() if kind == "Input"]
        for name, kind in self.kinds.items():
            if kind == "Output":
                alias = f", may_alias: {_listed(inputs)}" if in_place else ""
                lines.append(f"  {name}: {{kind: output, type: {self.variables[name]}{alias}}}")
            else:
                formula = "x" if name == "InputTensor" else name.removesuffix("Tensor").lower() or name
                lines.append(f"  {name}: {{name: {formula}, kind: input, type: {self.variables[name]}}}")
        return "\n".join(lines) + "\n"

    def support(self, levels: list[dict[str, Any]]) -> str:
        """The `support:` of format 2."""
        lines = ["support:"]
        for level in levels:
            rows = {row["tensor"]: row for row in level["rows"]}
            first = next(iter(rows.values()))
            types = {self.variables[name]: _listed(row["data_types"]) for name, row in rows.items()}
            lines += [
                f'  - level: "{level["level"]}"',
                f"    dimension_counts: {_listed(first['dimension_counts'])}",
                f"    types: {{{', '.join(f'{variable}: {names}' for variable, names in types.items())}}}",
            ]
            others = {
                name: row["dimension_counts"]
                for name, row in rows.items()
                if row["dimension_counts"] != first["dimension_counts"]
            }
            if others:
                listed = ", ".join(f"{name}: {_listed(counts)}" for name, counts in others.items())
                lines.append(f"    tensor_dimension_counts: {{{listed}}}")
        return "\n".join(lines) + "\n"


def _with_roles(block: str, attributes: list[dict[str, Any]]) -> str:
    """The attributes with a role for each FLOAT: their names used to state what Min and Max are."""
    for item in attributes:
        if item.get("type") == "FLOAT":
            role = {"Min": "low", "Max": "high"}.get(item["name"], "other")
            pattern = rf"(\bname: *{item['name']}\b[^\n]*?)(\}}|$)"
            block = re.sub(
                pattern,
                rf"\g<1>, role: {role}\g<2>" if "{" in block else rf"\g<1>\n    role: {role}",
                block,
                count=1,
                flags=re.MULTILINE,
            )
    return block


def _with_check(match: re.Match[str]) -> str:
    """A clause's first line, with what checks it after it."""
    indent, ending = match[1], match[2]
    check = "support.level" if ending.startswith("support.level-") else _BY_ID.get(ending, ending)
    if check not in OWN:
        return match[0]
    when = f"\n{indent}  when: {{RoundingMode: {_MODES[ending]}}}" if ending in _MODES else ""
    return f"{match[0]}\n{indent}  check: {check}{when}"
