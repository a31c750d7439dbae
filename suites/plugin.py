"""The pytest plugin: options, items of the conformance tests, records and the verdict.

``conftest.py`` loads it in a checkout; elsewhere ``pytest -p dmlcts.suites.plugin --pyargs dmlcts.suites``.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from dmlcts.backends import BackendUnavailable
from dmlcts.backends.memory_increase import Trimmer
from dmlcts.reports.documents.journal import Collection
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ItemRecord
from dmlcts.reports.documents.selecting import within
from dmlcts.reports.summaries.characters import as_text, one_line
from dmlcts.reports.summaries.fault_groups import Fault, fault_of
from dmlcts.specs import DmlctsError, UsageError
from dmlcts.suites.cases.allocation import collect_rarely, keep_freed_memory
from dmlcts.suites.families.items import ALONE, RUN, TRIMMER, Broken, FamilyFile, FamilyItem, is_conformance
from dmlcts.suites.generation.drawn.seeding import (
    draw_for_the_first_time,
    draw_from_the_run_seed,
    draw_from_the_seed_alone,
)
from dmlcts.suites.generation.profiles import PROFILES
from dmlcts.suites.options.pytest_options import add_options, typed_options
from dmlcts.suites.options.table import OPTIONS
from dmlcts.suites.rerunning.collecting import COLLECTION, DONE, RECORD, Collector, Counting
from dmlcts.suites.running.item_record import broken_record
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.run import Run, key_of

_SETTINGS = pytest.StashKey[Settings]()
_FAULTS = pytest.StashKey[set[Fault]]()
_THRESHOLDS = pytest.StashKey[tuple[int, int, int]]()
_EXIT_UNAVAILABLE = 3
_SELFTEST = Path(__file__).resolve().parent / "selftest"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that ``dmlcts run`` has as well."""
    group = parser.getgroup("dmlcts", "conformance of DirectML element-wise operators (dmlcts)")
    add_options(group)


def _refuse_misplaced(config: pytest.Config) -> None:
    """Stop where pytest took an option that was meant for the suite: it has a `-o` and a `--strict` of its own.

    Raises:
        UsageError: with the spelling that the suite takes.
    """
    for value in config.getoption("override_ini") or ():
        name = value.partition("=")[0]
        if name == "strict":
            raise UsageError(
                "--strict is an option of pytest, and asks the suite nothing", f"write {OPTIONS['strict'].spelling}"
            )
        try:
            config.getini(name)
        except ValueError:
            raise UsageError(
                f"-o {value} is no setting of pytest", f"write {OPTIONS['options'].spelling} {value}"
            ) from None


def _read(config: pytest.Config) -> Settings:
    if config.getoption("--backend"):
        _refuse_misplaced(config)
    return Settings.read(**typed_options(config))


def pytest_configure(config: pytest.Config) -> None:
    """Read the options, and open the backend early where one was named.

    Raises:
        pytest.UsageError: an option, a table or the backend is not usable.
    """
    config.addinivalue_line("markers", "checks(*names, data_types=(), level=None): what a test checks")
    config.stash[_THRESHOLDS] = collect_rarely()  # Hypothesis collects twice below, pytest at its end
    profile = config.getoption("--profile")
    draw_from_the_seed_alone()
    hypothesis.settings.register_profile(
        "dmlcts",
        max_examples=PROFILES[profile].examples,
        deadline=None,  # a device under test may stall; hangs are the isolation's business
        database=None,  # a run must depend on its seed alone
        report_multiple_bugs=False,
        print_blob=False,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],  # the judge has its own way to smaller cases
        suppress_health_check=[
            hypothesis.HealthCheck.function_scoped_fixture,  # the judge is made to be shared by examples
            hypothesis.HealthCheck.too_slow,
            hypothesis.HealthCheck.data_too_large,
        ],
    )
    hypothesis.settings.load_profile("dmlcts")
    keep_freed_memory()
    config.stash[_FAULTS], config.stash[TRIMMER] = set(), Trimmer()
    run = config.pluginmanager.get_plugin("dmlcts-run")
    if config.getoption("--backend") and getattr(config.option, "maxworkerrestart", "") is None:
        config.option.maxworkerrestart = "0"  # a process that died is not replaced: what it lost runs again afterwards
    try:
        config.stash[_SETTINGS] = run.settings if isinstance(run, Run) else _read(config)
        config.stash[RUN] = (
            run if isinstance(run, Run) else Run(config.stash[_SETTINGS], resume=config.getoption("dmlcts_resume"))
        )
        if config.getoption("--backend") and not hasattr(config, "workerinput") and not config.option.collectonly:
            config.stash[RUN].begin()
    except BackendUnavailable as error:
        pytest.exit(one_line(error), returncode=_EXIT_UNAVAILABLE)
    except DmlctsError as error:
        raise pytest.UsageError(as_text(str(error))) from None


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is judged, so that a typo shows."""
    settings, replaced = config.stash[_SETTINGS], config.stash[RUN].replaces
    chosen = "; ".join(f"{name}: {', '.join(values)}" for name, values in settings.selection.items())
    lines = [
        f"dmlcts: backend {settings.backend}, level {settings.level or 'as claimed'}, profile {settings.profile}, "
        f"seed {settings.seed}{', strict' if settings.strict else ''}{'; ' + chosen if chosen else ''}"
    ]
    lines += [f"dmlcts: replaces {replaced} in {settings.results}, with its first record"] if replaced else []
    return list(map(one_line, lines))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A vendor's backend is judged by the conformance modules only."""
    if config.getoption("--backend") and collection_path.resolve() == _SELFTEST:
        return True
    return None


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collect a module of conformance tests as a family: an item for each operator."""
    return FamilyFile.from_parent(parent, path=module_path) if is_conformance(module_path) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every property-based selftest the run's seed; drop what the shard or a resumed run leaves out.

    The shard counts the conformance items in the order in which they were collected, after all selection.
    """
    settings = config.stash[_SETTINGS]
    part, parts = settings.shard or (1, 1)
    done = set(config.workerinput[DONE]) if hasattr(config, "workerinput") else set()
    run = config.stash[RUN]
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    counted = mine = 0
    for item in items:
        if isinstance(item, FamilyItem):
            chosen, key = counted % parts == part - 1, key_of(item.nodeid)
            counted += 1
            mine += chosen
            (kept if chosen and key not in done and run.is_left(key) else dropped).append(item)
            continue
        function = getattr(item, "obj", None)
        if function is not None and hasattr(function, "hypothesis"):
            draw_from_the_run_seed(function, settings.seed)
        kept.append(item)
    config.stash[ALONE] = all(isinstance(item, FamilyItem) for item in items)
    collect_rarely(hardly=config.stash[ALONE])  # what was collected stays as well
    draw_for_the_first_time()
    config.stash[COLLECTION] = Collection(mine, counted)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what an item found into its report, and write failures as people read them."""
    report = yield
    if not isinstance(item, FamilyItem):
        return report
    if report.when != "call" and not (report.when in ("setup", "teardown") and report.failed):
        return report
    settings = item.config.stash[_SETTINGS]
    error = None if call.excinfo is None else call.excinfo.value
    record = broken_record(item.nodeid, error, report) if item.record is None else item.record
    report.user_properties.append((RECORD, json.dumps(record.to_json())))
    if isinstance(error, Broken):
        report.longrepr = as_text(_reported(record, item.config.stash[_FAULTS]))
        if settings.waivers.apply([record])[0].outcome is Outcome.WAIVED:
            report.outcome, report.wasxfail = "skipped", f"waived: {one_line(record.failures[0].title)}"
        elif not within([record], settings.selection)[0].outcome.breaks_conformance:
            report.outcome, report.wasxfail = "skipped", f"not selected: {record.failures[0].clause}"
    elif report.failed and as_text(report.longreprtext) != report.longreprtext:
        report.longrepr = as_text(report.longreprtext)  # an error's words may be an implementation's
    return report


def _reported(record: ItemRecord, known: set[Fault]) -> str:
    """A test's failures as people read them; a fault that was reported before takes one line."""
    texts = []
    for failure in record.failures:
        fault = fault_of(failure)
        brief = f"{failure.operator} on {failure.data_type}: {failure.title} ({failure.clause}, as reported above)"
        texts.append(brief if fault in known else failure.text)
        known |= set() if fault is None else {fault}
    return "\n\n".join(texts)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Register the collector, except in a pytest-xdist worker."""
    config, run = session.config, session.config.stash[RUN]
    plugin = Counting(run) if hasattr(config, "workerinput") else Collector(config, run)
    config.pluginmanager.register(plugin, "dmlcts-collector")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Collect garbage as often as before; not at all in a process of pytest-xdist, which ends with it."""
    if hasattr(config, "workerinput"):
        gc.freeze()  # pytest looks for garbage next, among all that was kept
    if (before := config.stash.get(_THRESHOLDS, None)) is not None:
        gc.set_threshold(*before)
