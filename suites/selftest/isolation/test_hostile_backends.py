"""Whatever an implementation does, the suite says what it did, in words that are nothing but text, and goes on."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmlcts.backends.registry import resolve
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.results import build_results, describe_device
from dmlcts.reports.documents.validation import load_results
from dmlcts.reports.views import html
from dmlcts.reports.views.markdown import summary as markdown
from dmlcts.reports.views.terminal import summary as terminal
from dmlcts.specs import DataType, DmlctsError, TensorDesc
from dmlcts.specs.loading import load_tables
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import DeviceGone
from dmlcts.suites.console.plain import PlainConsole
from dmlcts.suites.isolation.proxy import IsolatedBackend
from dmlcts.suites.judging.losses import judge_surviving
from dmlcts.suites.running.accounts import account
from dmlcts.suites.running.failure_record import failure_of
from dmlcts.suites.running.options import Settings
from dmlcts.suites.selftest.descriptions import case, clip
from dmlcts.suites.selftest.isolation.hostile_backends import HOSTILE, IN_A_PROCESS_ONLY
from dmlcts.suites.selftest.running.test_results import RUN

TABLES = load_tables()
MODULE = "dmlcts.suites.selftest.isolation.hostile_backends"
DANGEROUS = "\x1b\x9b\x07\x85\r\u202e\u2028"
SECONDS = 2.0


def value_case() -> Case:
    operator = clip(TensorDesc(DataType.FLOAT32, (5,)), Min=np.float32(-1), Max=np.float32(2))
    return case(operator, [-5.0, 0.5, 3.0, 1.0, -0.5], layout_clause=None)


def ending(name: str, isolation: str, folder: Path) -> str:
    """How an implementation ends; what is reported of it is checked on the way."""
    spec = f"{MODULE}:{name}"
    try:
        backend: Any = IsolatedBackend(spec, SECONDS) if isolation == "process" else resolve(spec)[1]
        bench = Bench(name, backend, {}, TABLES)
    except DmlctsError as error:
        return "refused" if str(error).strip() else "refused without a word"
    try:
        judgement = judge_surviving(bench, value_case())
        device = describe_device(bench.info)
    except DeviceGone:
        return "device_lost"
    finally:
        bench.close()
    settings = Settings.read(backend=spec, isolation=isolation, results=str(folder))
    failures = tuple(failure_of("t.py::t", TABLES, finding, settings) for finding in judgement.findings)
    for finding in judgement.findings:
        plain(account(TABLES, finding, "dmlcts replay"))
    reported(failures, device, folder)
    return failures[0].outcome.value if failures else "pass"


def reported(failures: tuple[FailureRecord, ...], device: dict[str, Any], folder: Path) -> None:
    """Everything that is written of it can be read again, and is plain."""
    outcome = failures[0].outcome if failures else Outcome.PASS
    row = ("clip.formula", "ELEMENT_WISE_CLIP", "FLOAT32")
    item = ItemRecord("t.py::t", outcome, 0.1, (ClauseTally(*row, outcome, 1, 5, len(failures)),), (), failures)
    item = ItemRecord.from_json(json.loads(json.dumps(item.to_json())))
    run = RUN.__class__(**{**vars(RUN), "device": device, "selection": {}})
    results = build_results([item], [(*row, "required")], run, TABLES)
    path = folder / "results.json"
    path.write_text(json.dumps(results), encoding="utf-8")
    assert path.stat().st_size < 4 << 20
    results = load_results(path)
    page = io.StringIO()
    terminal(results, TABLES, PlainConsole(page, width=100))
    for text in (page.getvalue(), markdown(results, TABLES), html.page(results, TABLES)):
        assert not [character for character in DANGEROUS if character in text]
    plain(page.getvalue())


def plain(text: str) -> None:
    assert not [character for character in DANGEROUS if character in text]
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert "##[" not in text


@pytest.mark.sampled(4)
@pytest.mark.skipif(sys.platform == "win32", reason="signals and descriptors as POSIX has them")
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.size("thorough", brief=4)
def test_what_it_did_is_stated_and_nothing_else(name: str, tmp_path: Path) -> None:
    assert ending(name, "process", tmp_path) in HOSTILE[name]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in IN_A_PROCESS_ONLY])
def test_the_same_without_a_process_of_its_own(name: str, tmp_path: Path) -> None:
    assert ending(name, "none", tmp_path) in HOSTILE[name]


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 50
    assert set(HOSTILE) >= IN_A_PROCESS_ONLY
