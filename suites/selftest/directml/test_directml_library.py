"""The library is found where it should be, fetched whole or not at all, and every absence says what to do."""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import platform
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from dmlcts.backends import compiling
from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.backend import DirectMLBackend
from dmlcts.backends.directml.d3d12_software.objects import shim
from dmlcts.backends.directml.hosting import choosing
from dmlcts.backends.directml.loading import fetching, library
from dmlcts.specs import UsageError
from dmlcts.specs.cache import cache_folder
from dmlcts.suites.commands.main import main

CONTENT = b"pretend to be libdirectml.so"
FILES = {
    "torch_directml/libdirectml.so": CONTENT,
    f"torch_directml-{fetching.VERSION}.dist-info/LICENSE": b"MIT License",
    f"torch_directml-{fetching.VERSION}.dist-info/NOTICE": b"notices",
    "torch_directml/__init__.py": b"import torch",
}
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
PipRun = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


class Pip:
    """A pip that leaves a wheel of our own making; counts its calls."""

    def __init__(self, files: dict[str, bytes] = FILES, code: int = 0, errors: str = "", wheels: int = 1) -> None:
        self.files, self.code, self.errors, self.wheels = files, code, errors, wheels
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        folder = Path(command[command.index("--dest") + 1])
        folder.mkdir()
        for number in range(self.wheels):
            with zipfile.ZipFile(folder / f"torch_directml-{number}.whl", "w") as archive:
                for name, content in self.files.items():
                    archive.writestr(name, content)
        return subprocess.CompletedProcess(command, self.code, "", self.errors)


@pytest.fixture(autouse=True)
def _pretended_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "DIGEST", hashlib.sha256(CONTENT).hexdigest())


def _nothing_is_left(cache: Path) -> bool:
    return not cache.exists() or not list(cache.iterdir())


def test_the_pinned_digest_is_the_one_of_microsofts_library() -> None:
    source = Path(fetching.__file__).read_text(encoding="utf-8")
    assert 'DIGEST = "fd54a8c578630f62a31d6d971d1f7e758e8497df8afccefe5efb1517d791692c"' in source


def test_fetching_keeps_the_library_with_its_licence_and_nothing_else(tmp_path: Path) -> None:
    texts: list[str] = []
    pip = Pip()
    fetched = fetching.fetch(tmp_path / "cache", texts.append, pip)
    assert fetched.downloaded
    assert fetched.library.read_bytes() == CONTENT
    assert sorted(path.name for path in fetched.library.parent.iterdir()) == ["LICENSE", "NOTICE", "libdirectml.so"]
    assert list((tmp_path / "cache").iterdir()) == [fetched.library.parent]
    assert "MIT" in texts[0]
    assert str(fetched.library.parent) in texts[1]
    (command,) = pip.commands
    assert {"--no-deps", "--only-binary=:all:", f"torch-directml=={fetching.VERSION}"} <= set(command)


def test_fetching_again_downloads_nothing(tmp_path: Path) -> None:
    pip = Pip()
    first = fetching.fetch(tmp_path, lambda line: None, pip)
    again = fetching.fetch(tmp_path, lambda line: None, pip)
    assert (again.library, again.downloaded) == (first.library, False)
    assert len(pip.commands) == 1


def test_a_damaged_library_is_fetched_again(tmp_path: Path) -> None:
    texts: list[str] = []
    library_path = fetching.fetch(tmp_path, texts.append, Pip()).library
    library_path.write_bytes(CONTENT[:-1])
    again = fetching.fetch(tmp_path, texts.append, Pip())
    assert again.downloaded
    assert library_path.read_bytes() == CONTENT
    assert any("damaged" in line for line in texts)
    assert list(tmp_path.iterdir()) == [library_path.parent]


def test_a_folder_that_lost_its_library_is_filled_again(tmp_path: Path) -> None:
    library_path = fetching.fetch(tmp_path, lambda line: None, Pip()).library
    library_path.unlink()
    assert fetching.fetch(tmp_path, lambda line: None, Pip()).library.read_bytes() == CONTENT


def test_another_library_than_the_pinned_one_is_refused_and_not_kept(tmp_path: Path) -> None:
    files = {**FILES, "torch_directml/libdirectml.so": CONTENT + b"!"}
    with pytest.raises(BackendUnavailable, match=r"has the SHA-256 \w{64}, not .*nothing was kept"):
        fetching.fetch(tmp_path / "cache", lambda line: None, Pip(files))
    assert _nothing_is_left(tmp_path / "cache")


@pytest.mark.parametrize(
    "pip, cause",
    [
        (Pip(code=1, errors="WARNING: x\nERROR: no matching distribution\n"), "no matching distribution"),
        (Pip(code=1), "no message"),
        (Pip(wheels=0), "left 0 wheels"),
        (Pip(wheels=2), "left 2 wheels"),
        (Pip({"torch_directml/__init__.py": b""}), "cannot be used"),
    ],
)
def test_a_download_that_fails_states_why_and_leaves_nothing(pip: Pip, cause: str, tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailable, match=cause):
        fetching.fetch(tmp_path / "cache", lambda line: None, pip)
    assert _nothing_is_left(tmp_path / "cache")


def test_a_wheel_that_is_cut_off_leaves_nothing(tmp_path: Path) -> None:
    class Cut(Pip):
        def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
            done = super().__call__(command)
            wheel = next(Path(command[command.index("--dest") + 1]).glob("*.whl"))
            wheel.write_bytes(wheel.read_bytes()[:50])
            return done

    with pytest.raises(BackendUnavailable, match="cannot be used"):
        fetching.fetch(tmp_path / "cache", lambda line: None, Cut())
    assert _nothing_is_left(tmp_path / "cache")


def test_an_interrupt_while_downloading_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        Pip()(command)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetching.fetch(tmp_path / "cache", lambda line: None, interrupted)
    assert _nothing_is_left(tmp_path / "cache")


def test_two_processes_that_fetch_at_once_both_succeed(tmp_path: Path) -> None:
    def overtaken(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        fetching.fetch(tmp_path, lambda line: None, Pip())
        return Pip()(command)

    fetched = fetching.fetch(tmp_path, lambda line: None, overtaken)
    assert fetched.library.read_bytes() == CONTENT
    assert list(tmp_path.iterdir()) == [fetched.library.parent]


def test_the_command_states_what_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMLCTS_CACHE", str(tmp_path))
    monkeypatch.setattr(fetching, "run_command", Pip())
    done = CliRunner().invoke(main, ["directml", "fetch"])
    assert done.exit_code == 0, done.output
    assert "torch-directml" in done.output
    assert "MIT" in done.output
    assert "there already" in CliRunner().invoke(main, ["directml", "fetch"]).output


def test_the_cache_is_where_the_user_puts_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DMLCTS_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("DMLCTS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert cache_folder() == tmp_path / "dmlcts"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.delenv("LOCALAPPDATA")
    assert cache_folder() == Path.home() / ".cache" / "dmlcts"


# Finding.


@on_linux
def test_the_fetched_library_is_found(tmp_path: Path) -> None:
    fetched = fetching.fetch(tmp_path, lambda line: None, Pip())
    find = library.find("", tmp_path)
    assert find.path == fetched.library
    assert "torch-directml" in find.origin


@on_linux
def test_a_damaged_library_is_not_loaded(tmp_path: Path) -> None:
    fetched = fetching.fetch(tmp_path, lambda line: None, Pip())
    fetched.library.write_bytes(CONTENT[::-1])
    with pytest.raises(BackendUnavailable, match="damaged; run `dmlcts directml fetch`"):
        library.find("", tmp_path)


@on_linux
def test_without_a_library_the_error_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_PACKAGES", ())
    monkeypatch.setattr(library, "WSL_FOLDER", tmp_path)
    with pytest.raises(BackendUnavailable, match="dmlcts directml fetch"):
        library.find("", tmp_path)


@on_linux
def test_a_package_and_then_the_system_are_looked_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_package_with_directml"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('not to be imported')")
    (tmp_path / "libdirectml.so").write_bytes(CONTENT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(library, "_PACKAGES", (("some_package_with_directml", "libdirectml.so"),))
    monkeypatch.setattr(library, "WSL_FOLDER", tmp_path)
    assert library.find("", tmp_path / "cache").path == tmp_path / "libdirectml.so"
    (package / "libdirectml.so").write_bytes(CONTENT)
    assert library.find("", tmp_path / "cache").path == package / "libdirectml.so"


@on_linux
def test_a_chosen_library_wins_and_must_exist(tmp_path: Path) -> None:
    fetching.fetch(tmp_path, lambda line: None, Pip())
    (tmp_path / "libdirectml.so").write_bytes(CONTENT)
    for chosen in (tmp_path, tmp_path / "libdirectml.so"):
        assert library.find(str(chosen), tmp_path).path == tmp_path / "libdirectml.so"
    with pytest.raises(UsageError, match="names no file"):
        library.find(str(tmp_path / "absent.so"), tmp_path)


@on_linux
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="of 64-bit x86")
def test_a_file_that_is_no_library_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "libdirectml.so").write_bytes(CONTENT)
    with pytest.raises(BackendUnavailable, match="cannot be loaded"):
        library.Library(library.find(str(tmp_path), tmp_path))
    host = next(iter(sorted(Path("/lib/x86_64-linux-gnu").glob("libm.so.6"))), None)
    if host is None:
        pytest.skip("no libm.so.6 at its usual place")
    with pytest.raises(BackendUnavailable, match="no DMLCreateDevice"):
        library.Library(library.find(str(host), tmp_path))


def test_a_file_for_neither_system_is_named_with_what_it_begins_with(tmp_path: Path) -> None:
    (tmp_path / "libdirectml.so").write_bytes(b"version https://git-lfs")
    find = library.find(str(tmp_path), tmp_path)
    with pytest.raises(BackendUnavailable, match=r"begins with b'vers', neither .*ELF.* nor .*PE.*; give .*itself"):
        library.bridge_for(find, tmp_path)
    (tmp_path / "libdirectml.so").write_bytes(b"\x7fELF")
    assert not library.is_for_windows(tmp_path / "libdirectml.so")


@on_linux
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="of 64-bit x86")
def test_a_damaged_windows_library_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "DirectML.dll").write_bytes(b"MZ" + CONTENT)
    find = library.find(str(tmp_path / "DirectML.dll"), tmp_path)
    connected = library.bridge_for(find, cache_folder())
    assert connected is not None
    with pytest.raises(BackendUnavailable, match="cannot be loaded: the place of its header"):
        library.Library(find, connected)


def test_another_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(BackendUnavailable, match="aarch64"):
        library.check_processor()


# Options, which are checked before anything is looked for.


@pytest.mark.parametrize(
    "options, words",
    [
        ({"path": "both"}, "operator, graph"),
        ({"fetch": "maybe"}, "yes or no"),
        ({"flags": "DISABLE_META_COMMANDS,FAST"}, "FAST, which is no execution flag"),
        ({"denormals": "keep"}, "denormals cannot be 'keep'"),
        ({"mad": "both"}, "fused, separate"),
        ({"adapter": "0"}, "only WSL2 does"),
    ],
)
@on_linux
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, str], words: str) -> None:
    pytest.importorskip("llvmlite")
    if (library.WSL_FOLDER / "libd3d12.so").is_file():
        pytest.skip("here all adapters exist")
    with pytest.raises(UsageError, match=words):
        DirectMLBackend().open(**options)


@on_linux
def test_every_setting_of_the_arithmetic_is_an_option() -> None:
    pytest.importorskip("llvmlite")
    from dmlcts.backends.directml.d3d12_software.shaders.personality import settings

    assert set(settings()) <= set(inspect.signature(DirectMLBackend().open).parameters)
    for name, words in settings().items():
        with pytest.raises(UsageError, match=f"{name} cannot be 'nonsense'.*{words[0]}"):
            DirectMLBackend().open(**{"adapter": "software", name: "nonsense"})


@on_linux
def test_without_llvmlite_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BackendUnavailable, match=r"pip install 'dmlcts\[directml\]'"):
        DirectMLBackend().open(adapter="software")


# The two small libraries.


@on_linux
def test_the_small_libraries_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not compiling.shutil.which("cc"):
        pytest.skip("needs a C compiler")
    folder = shim.compiled(tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["libd3d12.so", "libdxcore.so"]
    assert list(tmp_path.iterdir()) == [folder]
    monkeypatch.setattr(shim, "_compile", None)
    assert shim.compiled(tmp_path) == folder


@on_linux
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_either_compiler_makes_small_libraries_that_hand_every_argument_on(
    compiler: str, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiling.shutil.which(compiler):
        pytest.skip(f"needs {compiler}")
    monkeypatch.setenv("CC", compiler)
    folder = shim.compiled(tmp_path, level, "-Wall", "-Wextra", "-Werror")
    seen: list[tuple[int | None, ...]] = []

    def target(*arguments: int | None) -> int:
        seen.append(arguments)
        return -1234567

    for name, function in {
        "libd3d12.so": "D3D12SerializeVersionedRootSignature",
        "libdxcore.so": "DXCoreCreateAdapterFactory",
    }.items():
        made = ctypes.CDLL(str(folder / name))
        call = shim.Forward((function, made))
        assert call(1, 2, 3) & 0xFFFFFFFF == 0x8000FFFF, "E_UNEXPECTED before there is a target"
        forward = shim.Forward(target)
        made.dmlcts_set_target(forward)
        assert call(1 << 40, None, (1 << 64) - 1) == -1234567
    assert seen == [(1 << 40, None, (1 << 64) - 1)] * 2


@on_linux
@pytest.mark.parametrize("compiler, cause", [("false", "failed"), ("/no/such/compiler", "cannot be run")])
def test_a_compiler_that_fails_is_named_and_leaves_nothing(
    compiler: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", compiler)
    with pytest.raises(BackendUnavailable, match=f"{compiler}.*{cause}"):
        shim.compiled(tmp_path)
    assert _nothing_is_left(tmp_path)


@on_linux
def test_without_a_compiler_the_error_states_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(compiling.shutil, "which", lambda name: None)
    with pytest.raises(BackendUnavailable, match="no C compiler; install one"):
        shim.compiled(tmp_path)
