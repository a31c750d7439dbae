"""What is started begins as it should: no code of the current folder, no idle threads, the user's environment."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmlcts.backends import BackendUnavailable, interpreter
from dmlcts.suites.isolation.proxy import IsolatedBackend

ROOT = Path(__file__).resolve().parents[3]
HOME = "backends/interpreter.py"
HOSTILE = ("threading", "execnet", "dmlcts", "pip", "numpy", "random", "queue", "json", "click", "pytest", "xdist")
WRONG = """
import numpy as np
from dmlcts.backends.cpu import CpuBackend

class Backend(CpuBackend):
    def open(self, **options):
        device = super().open(**options)
        create = device.create
        def wrong(operator):
            kernel = create(operator)
            dispatch = kernel.dispatch
            def inverted(memory, bindings):
                dispatch(memory, bindings)
                region = bindings["OutputTensor"]
                memory[region.offset : region.offset + region.size] ^= 0xFF
            kernel.dispatch = inverted
            return kernel
        device.create = wrong
        return device
"""
SHOWS_ITS_ENVIRONMENT = "dmlcts.suites.selftest.isolation.faulty:ShowsItsEnvironment"
FEW = ["--operator", "IS_NAN", "--data-type", "FLOAT16"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A current folder in which modules lie that leave a mark when they are imported."""
    place = tmp_path / "hostile"
    place.mkdir()
    for name in HOSTILE:
        mark = place / f"{name}.ran"
        (place / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n", encoding="utf-8")
    (place / "wrong.py").write_text(WRONG, encoding="utf-8")
    return place


def marks(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.ran"))


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``dmlcts`` as its script does, in a process that nobody made safe."""
    script = folder.parent / "bin" / "dmlcts"
    script.parent.mkdir()
    script.write_text(
        "from dmlcts.suites.commands.entry import main\n\nif __name__ == '__main__':\n    main()\n", encoding="utf-8"
    )
    environment = interpreter.users_environment() | {
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": os.devnull,
    }
    if words[0] == "history":  # the others need nothing but the tables, which are kept in the user's cache
        environment["DMLCTS_CACHE"] = str(folder.parent / "cache")
    return subprocess.run(
        [sys.executable, str(script), *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    "words, code, message",
    [
        (["run", "--backend", "wrong.py:Backend", *FEW, "--clause", "is-nan.formula", "-n", "2"], 1, "NOT CONFORMANT"),
        (
            ["sweep", "--backend", "wrong.py:Backend", "--operator", "ROUND", "--data-type", "FLOAT16", "-n", "2"],
            1,
            "NOT CONFORMANT",
        ),
        (["compare", "cpu", "wrong.py:Backend", *FEW, "--clause", "is-nan.sign"], 0, "wrong.py:Backend"),
        (["backends", "--check", "cpu", *FEW], 0, "next:"),
        (["spec", "lint"], 0, "no fault"),
        (["history", "onnxruntime", "--versions", "1.20.0", "--index-url", "http://127.0.0.1:9/", *FEW], 3, "pip"),
    ],
    ids=["run", "sweep", "compare", "check", "lint", "history"],
)
@pytest.mark.size("all", brief=1, thorough=3)
def test_no_module_of_the_current_folder_runs(folder: Path, words: list[str], code: int, message: str) -> None:
    done = command(folder, *words)
    assert marks(folder) == [], done.stdout + done.stderr
    assert (done.returncode, message in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr


@pytest.mark.parametrize(
    "words, ran",
    [
        (["-c", "import queue"], ["queue"]),
        (["-m", "pip", "--version"], ["pip"]),
        (["-c", "import sys;exec(eval(sys.stdin.readline()))"], ["execnet"]),  # how pytest-xdist's processes begin
    ],
)
def test_python_runs_them_where_nothing_keeps_it_from_that(folder: Path, words: list[str], ran: list[str]) -> None:
    unsafe, asked = [sys.executable, *words], "'import execnet'\n"
    environment = interpreter.users_environment()
    settings = {"cwd": folder, "capture_output": True, "text": True, "input": asked, "check": False}
    subprocess.run(interpreter.own_python(*words), env=environment, **settings)
    subprocess.run(unsafe, env=environment | interpreter.safe_environment(), **settings)
    assert marks(folder) == []
    subprocess.run(unsafe, env=environment, **settings)
    assert set(ran) <= set(marks(folder))


def test_python_m_leaves_the_current_folder_before_anything_else_is_imported(folder: Path) -> None:
    (folder / "dmlcts.py").unlink()  # the user's own Python imports that one before any of ours
    words = [sys.executable, "-m", "dmlcts.suites.commands.entry", "--version"]
    environment = interpreter.users_environment()
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert marks(folder) == []
    assert (done.returncode, done.stdout.startswith("dmlcts")) == (0, True), done.stderr


@pytest.mark.parametrize("name", ["PYTHONSAFEPATH", "OPENBLAS_NUM_THREADS"])
def test_the_implementation_has_the_environment_of_its_user(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert interpreter.keep_children_safe()
    assert os.environ[name]
    assert name not in interpreter.users_environment()
    assert in_a_worker(name) is None
    assert not interpreter.keep_children_safe()
    interpreter.leave_children_alone()
    assert name not in os.environ
    monkeypatch.setenv(name, "1")
    assert interpreter.keep_children_safe() == (name != "PYTHONSAFEPATH")
    assert interpreter.users_environment()[name] == in_a_worker(name) == "1"


def test_a_command_keeps_its_own_number_of_threads_from_the_implementation(folder: Path) -> None:
    ran = command(folder, "run", "--backend", SHOWS_ITS_ENVIRONMENT, "-o", "variable=OPENBLAS_NUM_THREADS")
    assert (ran.returncode, "OPENBLAS_NUM_THREADS is None" in ran.stderr) == (3, True), ran.stderr


def in_a_worker(name: str) -> str | None:
    """A variable of the environment that an isolated implementation sees."""
    backend = IsolatedBackend(SHOWS_ITS_ENVIRONMENT, 30)
    with pytest.raises(BackendUnavailable) as unavailable:
        backend.open(variable=name)
    value = re.fullmatch(f"{name} is (.*)", unavailable.value.cause)
    assert value is not None
    return None if value[1] == "None" else value[1]


@pytest.mark.skipif(sys.platform != "linux" or os.cpu_count() == 1, reason="threads are counted as Linux does")
def test_processes_of_the_suite_begin_without_threads_that_wait_busily() -> None:
    counted = interpreter.own_python("-c", "import numpy, os; print(len(os.listdir('/proc/self/task')))")
    threads = [
        int(subprocess.run(counted, env=environment, capture_output=True, text=True, check=True).stdout)
        for environment in (
            interpreter.users_environment(),
            interpreter.users_environment() | {"OPENBLAS_NUM_THREADS": ""} | interpreter.safe_environment(),
            interpreter.workers_environment(),
        )
    ]
    if threads[0] == 1:
        pytest.skip("numpy here is without OpenBLAS, or a variable says how many threads it begins")
    assert threads[1:] == [1, 1]


def unsafe_starts(source: str) -> Iterator[str]:
    """What starts Python, or lets a library do so, without what makes it safe."""
    tree = ast.parse(source)
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        if node.attr == "executable" and isinstance(node.value, ast.Name) and node.value.id == "sys":
            yield "sys.executable"
        if node.attr in ("get_context", "set_start_method"):
            yield node.attr
        if node.attr in ("Process", "Pool") and isinstance(node.value, ast.Name) and "multiproc" in node.value.id:
            yield f"multiprocessing.{node.attr}"
        if node.attr == "ProcessPoolExecutor" and "spawn_context" not in named:
            yield "ProcessPoolExecutor"


@pytest.mark.size("thorough")
def test_every_process_of_the_suite_is_started_by_the_one_home() -> None:
    """Tests aside, whose environment is made safe; and two modules that run pytest on a copy of the house."""
    rooms = ("specs", "backends", "reports", "suites")
    paths = [path for room in (*rooms, ".ci") for path in sorted((ROOT / room).rglob("*.py"))]
    starts_by_module = {
        name: starts
        for path in paths
        if not path.name.startswith("test_") and (name := path.relative_to(ROOT).as_posix()) != HOME
        if (starts := sorted(set(unsafe_starts(path.read_text(encoding="utf-8")))))
    }
    assert starts_by_module == {
        "suites/selftest/house/changed_module.py": ["sys.executable"],  # pytest on a copy of the house
        "suites/selftest/house/code_mutation.py": ["sys.executable"],
    }


@pytest.mark.parametrize(
    "line",
    [
        "subprocess.run([sys.executable, '-m', 'pip'])",
        "multiprocessing.get_context('spawn')",
        "multiprocessing.Process(target=f)",
        "concurrent.futures.ProcessPoolExecutor(2)",
    ],
)
def test_an_unsafe_start_is_seen(line: str) -> None:
    assert list(unsafe_starts(line))
    assert not list(unsafe_starts("subprocess.run(own_python('-m', 'pip'), env=safe_environment())"))
