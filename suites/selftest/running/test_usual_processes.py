"""In how many processes a run goes where ``-n`` does not say."""

from __future__ import annotations

import importlib.util
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from dmlcts.backends.directml.hosting import choosing
from dmlcts.suites.running import pytest_run
from dmlcts.suites.running.options import Settings


@pytest.fixture(autouse=True)
def _linux_with_many_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing.sys, "platform", "linux")
    monkeypatch.setattr(choosing, "has_own_d3d12", lambda: False)
    monkeypatch.setattr(pytest_run, "usable_processors", lambda: 64)


def of(backend: str = "directml", **options: Any) -> int:
    return pytest_run.usual_processes(Settings.read(backend=backend, **options))


@pytest.mark.parametrize("options", [(), ("library=windows",), ("adapter=software",)])
def test_directml_on_the_software_adapter_goes_in_several(options: tuple[str, ...]) -> None:
    assert of(options=options) == 16


def test_a_selection_that_only_leaves_clauses_out_goes_in_several() -> None:
    assert of(clauses=("!max.pair",)) == 16


def test_there_are_no_more_processes_than_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pytest_run, "usable_processors", lambda: 3)
    assert of() == 3


@pytest.mark.parametrize("backend", ["cpu", "wgpu", "torch", "mine.py:Backend", "exec:runner"])
def test_every_other_backend_goes_in_one(backend: str) -> None:
    assert of(backend) == 1


@pytest.mark.parametrize(
    "options", [{"options": ("adapter=0",)}, {"clauses": ("clip.formula",)}, {"isolation": "none"}], ids=str
)
def test_an_adapter_in_hardware_few_cases_and_a_shared_process_go_in_one(options: dict[str, Any]) -> None:
    assert of(**options) == 1


def test_a_system_with_its_own_d3d12_has_one_process_unless_the_software_adapter_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(choosing, "has_own_d3d12", lambda: True)
    assert (of(), of(options=("adapter=software",))) == (1, 16)


def test_without_pytest_xdist_there_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "xdist" else find_spec(name))
    assert of() == 1


@pytest.mark.parametrize(("workers", "count"), [("auto", 3), ("5", 5)], ids=["auto", "a number"])
def test_as_many_as_there_are_is_as_many_as_may_be_used(
    workers: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container of three processors psutil, which pytest-xdist asks where it is installed, counts all of them."""
    xdist = pytest.importorskip("xdist.plugin")
    monkeypatch.setitem(sys.modules, "psutil", SimpleNamespace(cpu_count=lambda logical: 64))
    monkeypatch.setattr(pytest_run, "usable_processors", lambda: 3)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    words = pytest_run.pytest_arguments(Settings.read(), workers=workers)
    of_processes = words[words.index("xdist.plugin") - 1 : words.index("worksteal") + 1]
    if "--maxprocesses" in words:
        of_processes += words[words.index("--maxprocesses") :][:2]
    config = pytest.Config.fromdictargs({}, of_processes)
    xdist.pytest_cmdline_main(config)
    assert config.option.tx == ["popen"] * count
