"""The struct of a page against that of its table: names, fields, members and enumerators."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dmlcts.specs.models import OperatorTable
from dmlcts.specs.pages.page import Difference, Page, PageField, Subject
from dmlcts.specs.pages.words import HEADER

_NULLABLE = ("DML_SCALE_BIAS", "DML_OPERATOR_DESC")  # pointers of these types may be null in every operator's struct


def compare_names(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """The operator that title and struct name, and the header."""
    for place, named in (("title", page.title), ("struct", page.struct)):
        if named and named.operator != table.operator:
            yield Difference(named.line, "struct", f"operator in the {place}", named.operator, table.operator)
    source = next((source for source in table.sources if source.id == "page"), None)
    header = HEADER.search(source.title) if source else None
    if page.header and header and page.header != header[0]:
        line = max(number for number, text in enumerate(page.lines, 1) if page.header in text)
        yield Difference(line, "struct", "header", page.header, header[0])


def compare_fields(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """The fields of the struct: names, types and order."""
    there = {field.name: field.type for field in table.struct}
    here: dict[str, PageField] = {}
    for field in page.fields:
        item = f"field {field.name}"
        if field.name in here:
            yield Difference(field.line, "struct", item, "it twice", "it once")
        elif field.name not in there:
            yield Difference(field.line, "struct", item, f"{field.type} {field.name}", "no such field")
        elif field.type != there[field.name]:
            yield Difference(field.line, "struct", item, field.type, there[field.name])
        here.setdefault(field.name, field)
    for name, type_name in there.items():
        if name not in here:
            yield Difference(0, "struct", f"field {name}", "nothing", f"{type_name} {name}")
    order = [name for name in here if name in there]
    expected = [name for name in there if name in here]
    for name, wanted in zip(order, expected, strict=True):
        if name != wanted:
            actual, expected_order = ", ".join(order), ", ".join(expected)
            yield Difference(here[name].line, "struct", "order of the fields", actual, expected_order)
            return


def compare_members(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """The types in the descriptions of the members, and which of these are optional."""
    types = {field.name: field.type for field in table.struct}
    headed = {member.name for member in page.members if member.name}
    for name in types:
        if headed and name not in headed:
            yield Difference(0, "struct", f"member {name}", "nothing about its type", types[name])
    remaining = list(types.values())
    for member in page.members:
        item = f"type of the member {member.name or '(its heading is lost)'}"
        if member.name and member.name not in types:
            yield Difference(member.line, "struct", item, member.type, "no such member")
            continue
        if member.name and member.type != types[member.name]:
            yield Difference(member.line, "struct", item, member.type, types[member.name])
        if not member.name:
            if member.type not in remaining:
                yield Difference(member.line, "struct", item, member.type, "no further member of this type")
                continue
            del remaining[: remaining.index(member.type) + 1]
        may_be_null = any(name in member.type for name in _NULLABLE)
        # the pages of optional tensors do not agree on stating that where the member's type stands
        left_open = member.name is not None and member.name in table.tensors and table.tensors[member.name].optional
        if member.optional != may_be_null and not left_open:
            texts = ("optional (_Maybenull_)", "not optional")
            actual, wanted = texts if member.optional else texts[::-1]
            subject: Subject = "scale-bias" if "DML_SCALE_BIAS" in member.type else "struct"
            yield Difference(member.line, subject, item, actual, wanted)


def enumerations(table: OperatorTable) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each enumeration's C type, which begins its enumerators' names, with the enumerators."""
    types = {field.name: field.type for field in table.struct}
    for attribute in table.attributes:
        if attribute.type == "ENUM" and attribute.name in types:
            yield types[attribute.name], attribute.enumerators


def mentions(page: Page, prefix: str) -> list[tuple[int, str]]:
    """Where the page mentions enumerators that begin with ``prefix``: offset and the rest of the name."""
    pattern = re.compile(rf"\b{re.escape(prefix)}_(\w*)", re.ASCII)
    return [(match.start(), match[1]) for match in pattern.finditer(page.flow.text)]


def compare_enumerators(page: Page, table: OperatorTable) -> Iterator[Difference]:
    """The enumerators that the page mentions, and their order."""
    for prefix, enumerators in enumerations(table):
        lines: dict[str, int] = {}
        for offset, name in mentions(page, prefix):
            lines.setdefault(name, page.flow.line(offset))
        for name, line in lines.items():
            if name not in enumerators:
                yield Difference(line, "enumerators", prefix, f"{prefix}_{name}", "no such enumerator")
        for name in enumerators:
            if name not in lines:
                yield Difference(0, "enumerators", prefix, "nothing", f"{prefix}_{name}")
        last = dict(reversed([(name, None) for _, name in mentions(page, prefix)]))
        orders = [[name for name in named if name in enumerators] for named in (lines, [*last][::-1])]
        expected = [name for name in enumerators if name in lines]
        order = expected if expected in orders else orders[0]  # a formula before the list may have its own
        wrong = next((name for name, wanted in zip(order, expected, strict=True) if name != wanted), None)
        if wrong is not None:
            yield Difference(lines[wrong], "enumerators", f"order of {prefix}", ", ".join(order), ", ".join(expected))
