"""Compiled shaders are kept, found again, and never believed when damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the software adapter needs llvmlite")

from dmlcts.backends.directml.d3d12_software.codegen import shader as shader_module
from dmlcts.backends.directml.d3d12_software.codegen.shader import ShaderCompiler, compiler_of
from dmlcts.backends.directml.d3d12_software.shaders.cache import Cache
from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality
from dmlcts.suites.selftest.dxil.dxil_shaders import THREAD, container, each, module, store, structured, typed, view
from dmlcts.suites.selftest.dxil.test_dxil_memory import typed_load

TWICE = container(each(("float",), "float", "  %r = fadd float %a, %a\n"))


class Compilations:
    """Counts how often LLVM compiles."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        compile_ = shader_module.object_code

        def counted(text: str) -> bytes:
            self.count += 1
            return compile_(text)

        monkeypatch.setattr(shader_module, "object_code", counted)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Compilations:
    return Compilations(monkeypatch)


def twice(folder: Path | None, personality: Personality | None = None) -> None:
    shader = ShaderCompiler(personality or Personality(), folder).compile(TWICE)
    source, target = np.array([1.5, -2.0], "f4"), np.zeros(2, "f4")
    shader.dispatch((2, 1, 1), b"", [view(source, 4), view(target, 4)])
    assert target.tolist() == [3.0, -4.0]


def test_one_compiler_compiles_a_container_once(compilations: Compilations) -> None:
    compiler = ShaderCompiler(Personality(), None)
    assert compiler.compile(TWICE) is compiler.compile(bytes(bytearray(TWICE)))
    assert compilations.count == 1


def test_a_second_compiler_finds_the_code_on_disk(tmp_path: Path, compilations: Compilations) -> None:
    twice(tmp_path)
    twice(tmp_path)
    assert compilations.count == 1
    twice(None)
    assert compilations.count == 2


def test_devices_of_one_personality_share_what_is_compiled(tmp_path: Path, compilations: Compilations) -> None:
    first, again = (compiler_of(Personality(), tmp_path / "first").compile(TWICE) for _ in range(2))
    assert first is again
    assert compilations.count == 1
    others = [(Personality(), tmp_path / "second"), (Personality(mad="separate"), tmp_path / "first")]
    for number, (personality, folder) in enumerate(others):
        other = compiler_of(personality, folder)
        assert other.personality == personality
        assert other.compile(TWICE) is not first
        assert compilations.count == 2 + number


def test_a_second_process_needs_no_llvm_optimiser(tmp_path: Path) -> None:
    (tmp_path / "shader").write_bytes(TWICE)
    cache = tmp_path / "cache"
    program = (
        "import sys, pathlib\n"
        "from dmlcts.backends.directml.d3d12_software.codegen import codegen, shader\n"
        "from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality\n"
        "def never(text): raise SystemExit('compiled')\n"
        "if sys.argv[3] == 'cached': shader.object_code = shader.disassemble = never\n"
        "container = pathlib.Path(sys.argv[1]).read_bytes()\n"
        "shader.ShaderCompiler(Personality(), pathlib.Path(sys.argv[2])).compile(container)\n"
    )

    def run(word: str, folder: Path) -> str:
        command = [sys.executable, "-c", program, str(tmp_path / "shader"), str(folder), word]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.stderr.strip()

    assert run("fresh", cache) == ""
    assert run("cached", cache) == ""
    assert run("cached", tmp_path / "other") == "compiled"


@pytest.mark.parametrize(
    "other", [{"denormals": "flush"}, {"nan": "ones"}, {"mad": "separate"}, {"half": "zero"}, {"zeros": "operands"}]
)
def test_another_personality_has_code_of_its_own(
    other: dict[str, str], tmp_path: Path, compilations: Compilations
) -> None:
    twice(tmp_path)
    twice(tmp_path, Personality.parse(other))
    assert compilations.count == 2
    twice(tmp_path, Personality.parse(other))
    assert compilations.count == 2


def test_another_processor_or_translator_has_code_of_its_own(
    tmp_path: Path, compilations: Compilations, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice(tmp_path)
    monkeypatch.setattr(shader_module, "_environment", lambda: "another")
    twice(tmp_path)
    assert compilations.count == 2


@pytest.mark.parametrize("damage", ["empty", "short", "changed", "longer", "foreign"])
def test_a_damaged_file_is_compiled_anew(damage: str, tmp_path: Path, compilations: Compilations) -> None:
    twice(tmp_path)
    files = list(tmp_path.iterdir())
    assert len(files) == 2  # what the shader declares, and its code
    for file in files:
        content = bytearray(file.read_bytes())
        if damage == "changed":
            content[-5] ^= 1
        damaged = {
            "empty": b"",
            "short": bytes(content[:-1]),
            "changed": bytes(content),
            "longer": bytes(content) + b"\0",
            "foreign": b"something else altogether",
        }
        file.write_bytes(damaged[damage])
    twice(tmp_path)
    assert compilations.count == 2
    twice(tmp_path)
    assert compilations.count == 2


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path, compilations: Compilations) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    twice(blocked / "cache")
    twice(blocked / "cache")
    assert compilations.count == 2
    assert blocked.read_text() == "in the way"


def test_nothing_but_whole_entries_is_ever_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)

    def full(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache.put("key", b"content")
    assert list(tmp_path.iterdir()) == []
    assert cache.get("key") is None
    monkeypatch.undo()
    cache.put("key", b"content")
    assert cache.get("key") == b"content"


def test_each_format_of_a_typed_view_is_kept_too(tmp_path: Path, compilations: Compilations) -> None:
    loads = container(module(THREAD + typed_load("a") + store("i32", 1, "%a"), [typed(), structured(4)]))
    source, target = np.array([0xFF], "u1"), np.zeros(1, "i4")
    for _ in range(2):
        shader = ShaderCompiler(Personality(), tmp_path).compile(loads)
        for number, expected in ((62, 255), (64, -1)):
            shader.dispatch((1, 1, 1), b"", [view(source, format=number), view(target, 4)])
            assert target.tolist() == [expected]
    assert compilations.count == 2


def test_shaders_in_a_cycle_are_collected_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "shader").write_bytes(TWICE)
    program = (
        "import gc, pathlib, sys\n"
        "from dmlcts.backends.directml.d3d12_software.shaders.personality import Personality\n"
        "from dmlcts.backends.directml.d3d12_software.codegen.shader import ShaderCompiler\n"
        "content = pathlib.Path(sys.argv[1]).read_bytes()\n"
        "compiler = lambda: ShaderCompiler(Personality(), pathlib.Path(sys.argv[2]))\n"
        "class Owner: pass\n"
        "for _ in range(8):\n"
        "    owner = Owner()\n"
        "    owner.itself, owner.shader = owner, compiler().compile(content)\n"
        "del owner\n"
        "gc.collect()\n"
        "last = compiler().compile(content)\n"
        "print('through')\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "shader"), str(tmp_path / "cache")]
    # The collector finalises what is in a cycle in an order of its own: an engine can outlive its module's context.
    # glibc then scribbles over what is freed, so that a use of it is seen and not a matter of luck.
    scribbling = {**os.environ, "MALLOC_PERTURB_": "165"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=scribbling)
    assert (done.returncode, done.stdout, done.stderr) == (0, "through\n", "")
