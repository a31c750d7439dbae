"""JUnit XML for continuous integration: one test suite a module, one test case a test.

There is no one schema. The document keeps to what the strictest reader in common use, the XSD of Jenkins's xUnit
plugin, lets through: properties only on suites, no count of skipped tests on the root. What a test checked stands
in its ``system-out`` instead, which every viewer shows.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord

SUITES_NAME = "dmlcts"

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS = {
    Outcome.FAIL: "failure",
    Outcome.WAIVED: "skipped",
    Outcome.SKIPPED: "skipped",
    Outcome.NOT_SUPPORTED: "skipped",
    Outcome.CHARACTERISED: None,
    Outcome.PASS: None,
}  # every other outcome is an error


def _legal(text: object) -> str:
    """The text without the characters that XML cannot hold."""
    return _ILLEGAL.sub("", str(text))


def _split(test: str) -> tuple[str, str, str]:
    """A pytest node id's module, classname and name."""
    path, _, rest = test.partition("::")
    head, bracket, parameters = rest.partition("[")
    classes, _, function = head.rpartition("::")
    module = path.removesuffix(".py").replace("\\", "/").strip("/").replace("/", ".")
    classname = ".".join(part for part in (module, classes.replace("::", ".")) if part)
    return module, classname, function + bracket + parameters or module


def _properties(parent: ET.Element, pairs: Iterable[tuple[str, object]]) -> None:
    holder = ET.SubElement(parent, "properties")
    for name, value in pairs:
        ET.SubElement(holder, "property", name=_legal(name), value=_legal(value))


def _case(parent: ET.Element, item: ItemRecord) -> str | None:
    """Add a test case; the element that says how it ended, ``None`` for a pass."""
    _, classname, name = _split(item.test)
    case = ET.SubElement(parent, "testcase", classname=_legal(classname), name=_legal(name), time=f"{item.seconds:.3f}")
    kind = _ELEMENTS.get(item.outcome, "error")
    if kind is not None:
        titles = [failure.title for failure in item.failures]
        message = titles[0] if titles else item.outcome.value.replace("_", " ")
        if len(titles) > 1:
            message += f" (and {len(titles) - 1} more)"
        ended = ET.SubElement(case, kind, type=item.outcome.value, message=_legal(message))
        ended.text = _legal("\n\n".join(failure.text for failure in item.failures)) or None
    lines = [f"outcome: {item.outcome.value}"]
    lines += [f"clause: {clause}" for clause in sorted({tally.clause for tally in item.tallies})]
    lines += [f"replay: {failure.replay or failure.file}" for failure in item.failures if failure.file]
    ET.SubElement(case, "system-out").text = _legal("\n".join(lines))
    return kind


def _count(element: ET.Element, items: list[ItemRecord], kinds: list[str | None]) -> None:
    element.set("tests", str(len(items)))
    for attribute, kind in (("failures", "failure"), ("errors", "error")):
        element.set(attribute, str(kinds.count(kind)))
    if element.tag == "testsuite":
        element.set("skipped", str(kinds.count("skipped")))
    element.set("time", f"{sum(item.seconds for item in items):.3f}")


def junit_xml(items: Iterable[ItemRecord], results: Mapping[str, Any]) -> bytes:
    """The records as a JUnit XML document.

    ``fail`` is a failure; ``waived``, ``skipped`` and ``not_supported`` are skipped; every other outcome
    that breaks conformance is an error.

    Args:
        items: the records, in any order.
        results: the results document of the same run, for the verdict, the device and the time.
    """
    modules: dict[str, list[ItemRecord]] = defaultdict(list)
    for item in sorted(items, key=lambda item: item.test):
        modules[_split(item.test)[0]].append(item)
    root = ET.Element("testsuites", name=SUITES_NAME)
    named = ("verdict", "backend", "feature_level", "profile", "seed", "strict")
    properties = [(name, results[name]) for name in named]
    properties += [(f"device.{name}", value) for name, value in results["device"].items() if isinstance(value, str)]
    everything: list[str | None] = []
    for module, members in sorted(modules.items()):
        started = results["timings"]["started"].partition("+")[0]
        suite = ET.SubElement(root, "testsuite", name=_legal(module), timestamp=started)
        _properties(suite, properties)
        kinds = [_case(suite, item) for item in members]
        _count(suite, members, kinds)
        everything += kinds
    _count(root, [item for members in modules.values() for item in members], everything)
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def items_of(results: Mapping[str, Any]) -> list[ItemRecord]:
    """The rows of a results document as records, one a row, where the records of its tests are gone.

    A failing case stands with its clause's row; one outside any clause, or without a row, is a record of its own.
    """
    records_by_row: dict[tuple[str, str, str], list[FailureRecord]] = defaultdict(list)
    for failure in results["failures"]:
        lines = [failure["title"], *(f"  {label:<12} {detail}" for label, detail in failure["details"].items())]
        lines += [f"  {'replay':<12} {failure['replay']}"] if failure["replay"] else []
        record = FailureRecord.from_json(failure | {"text": "\n".join(lines)})
        records_by_row[record.clause, record.operator, record.data_type].append(record)
    items = []
    for row in results["clauses"]:
        key = (row["id"], row["operator"], row["data_type"])
        members = {name: row[name] for name in ("operator", "data_type", "outcome", "cases", "elements", "failures")}
        tally = ClauseTally(row["id"], **members)
        group, _, rest = row["id"].partition(".")
        name = f"{group}::{rest}[{row['operator'].removeprefix('ELEMENT_WISE_')}-{row['data_type']}]"
        items.append(ItemRecord(name, tally.outcome, 0.0, (tally,), (), tuple(records_by_row.pop(key, ()))))
    for records in records_by_row.values():
        items += [ItemRecord(record.test, record.outcome, 0.0, (), (), (record,)) for record in records]
    return items
