"""Results documents for the selftests of the reports: a conformant run, a failing one, and one made to do harm."""

from __future__ import annotations

import copy
import functools
from datetime import UTC, datetime, timedelta
from typing import Any

from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import Behaviour, ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import RunInfo, build_results
from dmlcts.specs.deviations import Deviation
from dmlcts.specs.loading import load_tables
from dmlcts.specs.tables import Tables
from dmlcts.suites.selftest.first_three import first_three

CLIP, ROUND = "ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND"
STARTED = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
DEVICE = {
    "name": "Example NX-2",
    "adapter": "Example NX-2 Accelerator",
    "driver": "31.0.101",
    "library": "nxdml",
    "version": "2.3.1",
    "feature_level": "5.0",
    "data_types": None,
    "details": {"vendor_id": "0x1d6b"},
}
SUITE = {"version": "0.1.0", "commit": "ab" * 20, "modified": False}
ENVIRONMENT = {"python": "CPython 3.12", "numpy": "2.0", "platform": "Linux", "processors": 2, "packages": {}}

# Strings that end elements, attributes, styles, scripts, code spans, tables and lines, or turn the text around.
HARM = (
    "</script><script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 1'>",
    '"><svg onload="window.harmed = 1">',
    "</title></style><style>body { display: none }</style>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.harmed=1",
    "`</code>` | [link](javascript:alert(1)) | ![x](https://example.invalid/x.png) @someone #1",
    "```\n# heading\n<b>bold</b>\n````",
    "\N{RIGHT-TO-LEFT OVERRIDE}TNAMROFNOC\x1b[31m\x07\x00\u2028",
    "\ud800 lone surrogate",
    "a" * 30_000,
)


def filed(values: tuple[str, ...] = ("0xbf000000",)) -> dict[str, Any]:
    """A case of ROUND on FLOAT32, as a failure file holds it."""
    tensor = {"data_type": "FLOAT32", "sizes": [len(values)], "strides": None, "total_size_in_bytes": 4 * len(values)}
    return {
        "operator": ROUND,
        "tensors": {"InputTensor": tensor, "OutputTensor": tensor},
        "attributes": {"RoundingMode": "TOWARD_INFINITY"},
        "values": {"bits": list(values)},
        "clause": "round.toward-infinity",
        "layout_clause": None,
        "expectation": "oracle",
        "placement": {"front": 512, "gap": 256, "tail": 512, "in_place": False, "output_first": False, "slack": 0},
    }


def failure(title: str, bits: str, test: str = "test_rounding.py::test_ties[ROUND-FLOAT32]") -> FailureRecord:
    """A wrong value of ROUND on FLOAT32."""
    value = title.split()[1]
    return FailureRecord(
        "round.toward-infinity",
        ROUND,
        "FLOAT32",
        Outcome.FAIL,
        test,
        title,
        f"account of {title}",
        filed((bits,)),
        f"round.toward-infinity-round-float32-{bits[2:]}.yaml",
        {
            "tensors": "FLOAT32 [1], packed, 4 bytes",
            "RoundingMode": "TOWARD_INFINITY",
            "input": f"{value} ({bits}) at index [0]",
            "acceptable": "-1.0 (0xbf800000)",
            "got": "0.0 (0x00000000)",
        },
        f"dmlcts replay failures/round.toward-infinity-round-float32-{bits[2:]}.yaml --backend nx.py:Nx",
        Deviation.WRONG_VALUE,
    )


FAILURES = (
    failure("input -0.5 gives 0.0", "0xbf000000"),
    failure("input -0.5 gives 0.0", "0xbf000000", "test_rounding.py::test_drawn[ROUND-FLOAT32]"),
    failure("input -1.5 gives -1.0", "0xbfc00000"),
    failure("input NaN gives 0.0", "0x7fc00000"),
    failure("input -2.5 gives -2.0", "0xc0200000"),
    failure("input -3.5 gives -3.0", "0xc0600000"),
)


def _tallies(broken: frozenset[tuple[str, str, str]], tables: Tables) -> tuple[ClauseTally, ...]:
    tallies = []
    for table in tables.operators.values():
        for clause in tables.clauses_of(table):
            for data_type in tables.data_types(clause, table):
                row = (clause.id, table.operator, data_type.name)
                clean = Outcome.CHARACTERISED if clause.obligation == "unspecified" else Outcome.PASS
                outcome = Outcome.FAIL if row in broken else clean
                tallies.append(ClauseTally(*row, outcome, 3, 300, int(row in broken)))
    return tuple(tallies)


def _run(selection: dict[str, Any]) -> RunInfo:
    return RunInfo(
        "nx.py:Nx",
        DEVICE,
        "5.0",
        "quick",
        0,
        False,
        selection,
        STARTED,
        STARTED + timedelta(seconds=31.5),
        SUITE,
        ENVIRONMENT,
    )


RUN = _run({})
"""A run of everything."""


@functools.cache
def _made(failing: bool, whole: bool = False) -> dict[str, Any]:
    tables = load_tables() if whole else first_three()
    broken = frozenset({("round.toward-infinity", ROUND, "FLOAT32")}) if failing else frozenset[tuple[str, str, str]]()
    behaviours = (
        Behaviour("clip.nan.input", CLIP, "FLOAT32", "NaN input gives NaN", "NaN gives NaN"),
        Behaviour("clip.nan.input", CLIP, "FLOAT16", "NaN input gives Max", "NaN gives 2.0"),
        Behaviour("clip.subnormal", CLIP, "FLOAT32", "subnormals are kept", ""),
    )
    failures = FAILURES if failing else ()
    outcome = Outcome.FAIL if failing else Outcome.PASS
    record = ItemRecord("test_all.py::test_all", outcome, 1.0, _tallies(broken, tables), behaviours, failures)
    return build_results([record], [], _run({}), tables)


def conformant() -> dict[str, Any]:
    """Everything holds."""
    return copy.deepcopy(_made(False))


def failing() -> dict[str, Any]:
    """One clause is broken on FLOAT32, in five ways, one of them found by two tests."""
    return copy.deepcopy(_made(True))


def failing_among_all() -> dict[str, Any]:
    """The same after a run of every operator."""
    return copy.deepcopy(_made(True, whole=True))


def hostile() -> dict[str, Any]:
    """Every free string of the document is one that does harm where it is not escaped."""
    document = failing()
    strings = iter(HARM * 40)
    document["backend"] = next(strings)
    document["device"] = {
        name: {HARM[0]: [HARM[1]]} if name == "details" else None if name == "data_types" else next(strings)
        for name in document["device"]
    }
    document["selection"] = {next(strings): next(strings), "clauses": [next(strings), next(strings)]}
    document["specs"] = {next(strings): "0f" * 32 for _ in range(4)}
    document["suite"]["version"] = next(strings)
    for behaviour in document["behaviours"]:
        behaviour["behaviour"], behaviour["example"] = next(strings), next(strings)
    for behaviour in document["failures"]:
        behaviour["title"] = next(strings)
        behaviour["test"], behaviour["replay"] = next(strings), next(strings)
        behaviour["details"] = {next(strings): next(strings) for _ in range(3)} | {"input": "1 (0xffffffffffffffff)"}
        behaviour["case"] = {next(strings): next(strings)}
    document["timings"]["started"] = next(strings)
    document["timings"]["slowest"] = [{"test": harm, "seconds": 1.0} for harm in HARM]
    document["environment"] |= {next(strings): next(strings), "platform": next(strings)}
    for number, row in enumerate(document["clauses"][:3]):
        row["id"] = f"foreign.clause-{number}"
    return document
