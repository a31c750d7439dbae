"""Substitutes let a build for CUDA be loaded for its CPU, compute nothing, and hide nothing else that is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from dmlcts.backends.compiling import run_compiler
from dmlcts.backends.contract import BackendUnavailable
from dmlcts.suites.history.judging import Judging
from dmlcts.suites.history.packages import FromPyPI
from dmlcts.suites.history.substitutes import place_substitutes
from dmlcts.suites.running.options import Settings

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="ELF objects"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler, cc"),
    pytest.mark.skipif(find_spec("elftools") is None, reason="not installed: pyelftools"),
]

CUDART, NCCL = "libcudart.so.12", "libnccl.so.2"
RUNTIME = """
void *__cudaRegisterFatBinary(void *code) { return code; }
int cudaGetDeviceCount(int *count) { *count = 8; return 0; }
int cudaMalloc(void **place, unsigned long size) { return 0; }
"""
SENDS = "int ncclSend(void) { return 7; }"
PROCESSOR = """
void *__cudaRegisterFatBinary(void *);
int cudaGetDeviceCount(int *);
int cudaMalloc(void **, unsigned long);
int ncclSend(void);
static void *registered;
static int (*const kept)(void) = ncclSend;
__attribute__((constructor)) static void load(void) { registered = __cudaRegisterFatBinary(&registered); }
int is_registered(void) { return registered != 0; }
int twice(int x) { return 2 * x; }
int devices(int *count) { return cudaGetDeviceCount(count); }
int allocates(void) { void *place; return cudaMalloc(&place, 8); }
int sends(void) { return kept(); }
"""


def compiled(path: Path, code: str, *needed: Path, version: str = "") -> Path:
    """A shared object that needs others; its own symbols are of ``version``."""
    source, script = path.with_suffix(".c"), path.with_suffix(".versions")
    source.write_text(code)
    script.write_text(f"{version} {{ global: *; }};")
    linking = [f"-soname,{path.name}", "-rpath,$ORIGIN", "--no-as-needed"]
    linking += [f"--version-script={script}"] if version else []
    run_compiler(
        [
            "-shared",
            "-fPIC",
            "-w",
            "-fno-builtin",
            *(f"-Wl,{option}" for option in linking),
            "-o",
            str(path),
            str(source),
            *map(str, needed),
        ]
    )
    return path


def built(folder: Path, processor: str = PROCESSOR, *others: Path) -> Path:
    """Objects as in a wheel for CUDA: _C needs libtorch_cpu, and that the libraries of CUDA, which are not there."""
    away = folder / "away"
    away.mkdir(parents=True)
    absent = [compiled(away / CUDART, RUNTIME, version=CUDART), compiled(away / NCCL, SENDS)]
    inner = compiled(folder / "libtorch_cpu.so", processor, *absent, *others)
    root = compiled(folder / "_C.so", "int twice(int); int four_times(int x) { return twice(twice(x)); }", inner)
    shutil.rmtree(away)
    return root


def called(root: Path, expression: str) -> subprocess.CompletedProcess[str]:
    """What a process says that loads ``root`` and evaluates an expression of it."""
    code = f"import ctypes; it = ctypes.CDLL({str(root)!r}); count = ctypes.c_int(5); print({expression})"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


def test_what_needs_cuda_is_loaded_and_computes_with_substitutes_alone(tmp_path: Path) -> None:
    root = built(tmp_path)
    assert f"{CUDART}: cannot open shared object file" in called(root, "it.four_times(3)").stderr
    assert place_substitutes(tmp_path, [root]) == [CUDART, NCCL]
    done = called(root, "it.four_times(3), it.is_registered(), it.devices(ctypes.byref(count)), count.value")
    assert done.stdout == "12 1 100 0\n"
    assert done.stderr == ""


def test_a_substitute_has_the_versions_that_are_wanted_of_it_and_no_others(tmp_path: Path) -> None:
    place_substitutes(tmp_path, [built(tmp_path)])
    assert [versions(tmp_path / name) for name in (CUDART, NCCL)] == [{CUDART, f"{CUDART} of cudaMalloc"}, set()]


def versions(path: Path) -> set[str]:
    """The versions that a library defines beside its own name's, and that of cudaMalloc if it has one."""
    from elftools.elf import elffile

    with path.open("rb") as file:
        elf = elffile.ELFFile(file)
        section = elf.get_section_by_name(".gnu.version_d")
        if section is None:
            return set()
        defined = {
            definition["vd_ndx"]: next(names).name
            for definition, names in section.iter_versions()
            if definition["vd_ndx"] > 1
        }
        indices = elf.get_section_by_name(".gnu.version")
        named = {
            f"{defined.get(indices.get_symbol(place)['ndx'])} of cudaMalloc"
            for place, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols())
            if symbol.name == "cudaMalloc"
        }
        return {*defined.values(), *named}


@pytest.mark.parametrize("function, name", [("allocates", "cudaMalloc"), ("sends", "ncclSend")])
def test_whatever_would_compute_ends_the_process_with_its_name(function: str, name: str, tmp_path: Path) -> None:
    root = built(tmp_path)
    place_substitutes(tmp_path, [root])
    done = called(root, f"it.{function}()")
    assert (done.returncode, done.stdout) == (-6, "")
    assert f"{name} was called: the CUDA libraries are substitutes" in done.stderr


def test_what_is_there_stays_and_nothing_is_compiled_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = built(tmp_path)
    there = [compiled(tmp_path / CUDART, RUNTIME, version=CUDART), compiled(tmp_path / NCCL, SENDS)]
    contents = [path.read_bytes() for path in there]
    monkeypatch.setenv("CC", "false")
    assert place_substitutes(tmp_path, [root]) == []
    assert [path.read_bytes() for path in there] == contents
    assert called(root, "it.devices(ctypes.byref(count)), count.value, it.sends()").stdout == "0 8 7\n"
    there[1].unlink()
    with pytest.raises(BackendUnavailable, match="the C compiler 'false' failed"):
        place_substitutes(tmp_path, [root])


def test_a_library_that_is_not_of_cuda_is_not_stood_in_for(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    foreign = [compiled(tmp_path / "elsewhere" / name, "") for name in ("libcumulus.so.4", "libmagma.so.1")]
    root = built(tmp_path, PROCESSOR, *foreign)
    shutil.rmtree(tmp_path / "elsewhere")
    assert place_substitutes(tmp_path, [root]) == [CUDART, NCCL]
    for name in ("libcumulus.so.4", "libmagma.so.1"):
        assert f"{name}: cannot open shared object file" in called(root, "it.four_times(3)").stderr
        compiled(tmp_path / name, "")
    assert called(root, "it.four_times(3)").stdout == "12\n"


def test_a_function_that_is_not_of_cuda_is_not_stood_in_for(tmp_path: Path) -> None:
    root = built(tmp_path, PROCESSOR + "int magma(void); int uses(void) { return magma(); }")
    place_substitutes(tmp_path, [root])
    assert "undefined symbol: magma" in called(root, "it.four_times(3)").stderr


def test_objects_that_are_not_loaded_with_the_first_are_left_alone(tmp_path: Path) -> None:
    root = compiled(tmp_path / "_C.so", "int four_times(int x) { return 4 * x; }")
    built(tmp_path / "later")
    assert place_substitutes(tmp_path, [root]) == []
    assert place_substitutes(tmp_path / "later", [root, tmp_path / "later" / "libtorch_cpu.so"]) == [CUDART, NCCL]


@pytest.mark.parametrize("content", [b"", b"no object", b"\x7fELF" + bytes(60)])
def test_what_is_no_object_is_reported(content: bytes, tmp_path: Path) -> None:
    root = tmp_path / "_C.so"
    root.write_bytes(content)
    with pytest.raises(BackendUnavailable, match=r"_C\.so cannot be read: .*; choose another release"):
        place_substitutes(tmp_path, [root])


# In a history.


class Wheels:
    """Stands for pip: installs releases of a made-up torch, which load their objects and have nothing else."""

    def __init__(self, folder: Path, broken: Sequence[str]) -> None:
        self.folder, self.broken = folder, broken

    def __call__(self, command: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        target = Path(command[command.index("--target") + 1])
        (wanted,) = [argument for argument in command if "==" in argument]
        version = wanted.partition("==")[2]
        (target / "torch" / "lib").mkdir(parents=True)
        others = []
        if version in self.broken:
            self.folder.mkdir()
            others = [compiled(self.folder / "libmagma.so.1", "")]
        root = built(target / "torch" / "lib", PROCESSOR, *others)
        root.rename(target / "torch" / "lib" / "libtorch_global_deps.so")
        loads = (
            "from ctypes import CDLL\nfrom pathlib import Path\nCDLL(str(Path(__file__).parent / 'lib' / {name!r}))\n"
        )
        loads = loads.format(name="libtorch_global_deps.so")
        (target / "torch" / "__init__.py").write_text(f"{loads}__version__ = {version!r}\n")
        if version in self.broken:
            shutil.rmtree(self.folder)
        info = target / f"torch-{version}.dist-info"
        info.mkdir()
        needs = ["nvidia-cublas-cu12==12.8", "triton==3.4.0", "cuda-bindings", "numpy"]
        lines = ["Name: torch", f"Version: {version}", *(f"Requires-Dist: {requirement}" for requirement in needs)]
        (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", *lines]))
        return subprocess.CompletedProcess(command, 0, "", "")


def test_a_release_that_needs_something_else_is_reported_and_the_rest_goes_on(tmp_path: Path) -> None:
    messages = list[str]()
    torch = FromPyPI("torch", Wheels(tmp_path / "others", ["1.0"]))
    tables = Settings.read().tables
    judging = Judging(
        torch, tmp_path / "cache", ["--operator=CLIP", "--data-type=INT8"], tables, False, messages.append
    )
    broken, loaded = judging.judge("1.0"), judging.judge("2.0")
    assert "libmagma.so.1: cannot open shared object file" in broken.reason
    # The made-up release is imported, and only then found to have no functions.
    assert "has no attribute" in loaded.reason
    assert "cannot" not in loaded.reason
    assert messages.count(f"a build for CUDA, of which the CPU is judged, with substitutes for {CUDART}, {NCCL}") == 2
    assert [line for line in messages if line.startswith("installing")] == [
        "installing torch==1.0",
        "installing torch==2.0",
    ]
    assert list((tmp_path / "cache" / "history" / "releases").iterdir()) == []


def test_a_release_that_was_installed_in_part_leaves_nothing(tmp_path: Path) -> None:
    def installs(command: Sequence[str], **_: object) -> subprocess.CompletedProcess[str]:
        library = Path(command[command.index("--target") + 1], "torch", "lib")
        library.mkdir(parents=True)
        (library / "libtorch_global_deps.so").write_text("no object")
        return subprocess.CompletedProcess(command, 0, "", "")

    with pytest.raises(BackendUnavailable, match=r"libtorch_global_deps\.so cannot be read"):
        FromPyPI("torch", installs).prepare("1.0", tmp_path, lambda line: None)
    assert list(tmp_path.iterdir()) == []
