"""Finding and loading DirectML: Microsoft's library for Linux, and DirectML.dll on Windows."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.abi.com import HRESULT, NATIVE, PTR, Pointer, check, taken
from dmlcts.backends.directml.abi.dml import IDMLDevice1
from dmlcts.backends.directml.loading import fetching, windows_releases
from dmlcts.backends.directml.windows.bridge import Bridge, bridge
from dmlcts.backends.directml.windows.image import BadImage
from dmlcts.backends.directml.windows.library import load
from dmlcts.backends.directml.windows.version import stated_version
from dmlcts.specs import UsageError

WSL_FOLDER = Path("/usr/lib/wsl/lib")
WINDOWS, LINUX = "windows", "linux"
_CREATE = "DMLCreateDevice"
_ON_WINDOWS = sys.platform == "win32"
FILE_NAME = "DirectML.dll" if _ON_WINDOWS else fetching.LIBRARY
# Packages that carry the library, and where in them it lies.
_PACKAGES = (
    (("onnxruntime", "capi/DirectML.dll"), ("torch_directml", "DirectML.dll"))
    if _ON_WINDOWS
    else (("torch_directml", fetching.LIBRARY),)
)


@dataclass(frozen=True)
class Found:
    """A DirectML library.

    Args:
        path: where it is.
        origin: how it was chosen, for reports.
    """

    path: Path
    origin: str


def find(chosen: str, cache: Path) -> Found:
    """The library to judge.

    The one that ``chosen`` names; otherwise the fetched one, one in an installed package, the system's.

    Args:
        chosen: the path of a library or of a folder with one, "linux", "windows", or the version of one that was
            fetched for Windows; "" to look for one.
        cache: the folder into which ``dmlcts directml fetch`` puts it.

    Raises:
        UsageError: ``chosen`` names no library.
        BackendUnavailable: there is none on this machine, or the fetched one is damaged.
    """
    if chosen == WINDOWS or re.fullmatch(r"\d+(\.\d+)+", chosen):
        return _for_windows("" if chosen == WINDOWS else chosen, cache)
    if chosen == LINUX and _ON_WINDOWS:
        raise UsageError("library=linux: a library for Linux runs on Linux only", "leave the option out")
    if chosen not in ("", LINUX):
        path = Path(chosen).expanduser()
        path = path / FILE_NAME if path.is_dir() else path
        if not path.is_file():
            raise UsageError(f"library={chosen} names no file", f"give the path of {FILE_NAME} or of its folder")
        return Found(path.resolve(), "chosen by the option library")
    fetched = fetching.fetched_library(cache)
    if not _ON_WINDOWS and fetched.is_file():
        if fetching.digest_of(fetched) != fetching.DIGEST:
            raise BackendUnavailable(f"{fetched} is damaged", f"run `{fetching.COMMAND}`, which fetches it again")
        return Found(fetched, f"fetched from {fetching.DISTRIBUTION} {fetching.VERSION}")
    for package, inside in _PACKAGES:
        packaged = _in_package(package, inside)
        if packaged is not None:
            return Found(packaged, f"of the installed package {package}")
    for folder in _system_folders():
        if (folder / FILE_NAME).is_file():
            return Found(folder / FILE_NAME, "the system's")
    if _ON_WINDOWS:
        raise BackendUnavailable(
            "there is no DirectML.dll here", "pip install onnxruntime-directml, or give -o library=PATH"
        )
    raise BackendUnavailable(
        "Microsoft's DirectML library is not here",
        f"run `{fetching.COMMAND}` (a download of 25 MB), or give -o fetch=yes or -o library=PATH",
    )


def _for_windows(version: str, cache: Path) -> Found:
    """The library for Windows of that version that was fetched; for "" the newest; on Windows the one that is there."""
    if not version and _ON_WINDOWS:
        return find("", cache)
    wanted = windows_releases.fetched(cache, version)
    if wanted is None:
        newest = windows_releases.release(version or windows_releases.NEWEST)
        raise BackendUnavailable(
            f"DirectML {newest.version} for Windows is not here",
            f"run `{windows_releases.COMMAND} {newest.version}` (a download of 25 MB), or give -o library=PATH",
        )
    path = windows_releases.checked(wanted, cache)
    return Found(path, f"fetched from {wanted.distribution} {wanted.wheel}")


def _in_package(package: str, inside: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / inside
        if path.is_file():
            return path
    return None


def _system_folders() -> tuple[Path, ...]:
    if _ON_WINDOWS:
        return (Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32",)
    return (WSL_FOLDER,)


class Library:
    """A loaded DirectML.

    Args:
        library_file: which.
        bridge: what connects a library of Windows' on Linux; None for one of this system's.

    Raises:
        BackendUnavailable: it cannot be loaded here, or is no DirectML.
    """

    def __init__(self, library_file: Found, bridge: Bridge | None = None) -> None:
        check_processor()
        self.path = library_file.path
        self.origin = library_file.origin
        self._convention = bridge.convention if bridge is not None else NATIVE
        mend = "give another library with -o library=PATH"
        try:
            create = (
                _created_by(library_file.path) if bridge is None else load(bridge, library_file.path).function(_CREATE)
            )
        except (OSError, BadImage) as error:
            raise BackendUnavailable(f"{library_file.path} cannot be loaded: {error}", mend) from error
        if create is None:
            raise BackendUnavailable(f"{library_file.path} is no DirectML: it has no {_CREATE}", mend)
        self._create = ctypes.CFUNCTYPE(HRESULT, PTR, ctypes.c_int32, PTR, PTR)(create)

    def create_device(self, d3d12_device: int, flags: int) -> Pointer:
        """A DirectML device on a D3D12 device.

        Args:
            d3d12_device: the address of an ``ID3D12Device``.
            flags: of ``DML_CREATE_DEVICE_FLAGS``.

        Raises:
            ComError: the library refuses.
        """
        made = PTR()
        check("DMLCreateDevice", self._create(d3d12_device, flags, IDMLDevice1.iid, ctypes.byref(made)))
        return taken("DMLCreateDevice", IDMLDevice1, made, self._convention)

    def version(self, digest: str) -> str:
        """The version, as far as the library says or its digest shows."""
        if is_for_windows(self.path):
            return stated_version(self.path)
        if digest == fetching.DIGEST:
            return f"of {fetching.DISTRIBUTION} {fetching.VERSION}"
        return "unknown"


def check_processor() -> None:
    """Refuse a machine that cannot load DirectML.

    Raises:
        BackendUnavailable: structures and calls are not those of 64-bit x86, or the system has no DirectML.
    """
    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64") or ctypes.sizeof(PTR) != 8:
        raise BackendUnavailable(
            f"DirectML is called here as on 64-bit x86, and this is {machine}", "use such a machine"
        )
    if not _ON_WINDOWS and sys.platform != "linux":
        raise BackendUnavailable(f"there is no DirectML for {sys.platform}", "use Linux or Windows")


def bridge_for(library_file: Found, cache: Path) -> Bridge | None:
    """What connects a library that is not of this system: Windows' on Linux; None where nothing is needed.

    Raises:
        BackendUnavailable: the file is no library, or the bridge cannot be compiled.
    """
    if sys.platform == "win32" or not is_for_windows(library_file.path):
        return None
    check_processor()
    return bridge(cache)


def is_for_windows(path: Path) -> bool:
    """Whether a library is one for Windows and not for Linux.

    Raises:
        BackendUnavailable: it is neither.
    """
    with path.open("rb") as file:
        begins = file.read(4)
    if begins[:2] == b"MZ":
        return True
    if begins == b"\x7fELF":
        return False
    raise BackendUnavailable(
        f"{path} is no library: it begins with {begins!r}, neither as one for Linux (ELF) nor as one for Windows (PE)",
        "give libdirectml.so or DirectML.dll itself, not an archive or a text that stands for it",
    )


def _created_by(path: Path) -> int | None:
    """The address of the function that makes devices, of a library of this system; None where it has none.

    Raises:
        OSError: it cannot be loaded.
    """
    # On Linux the library brings its own C++ runtime, whose symbols must win over those of others in the process.
    mode = ctypes.DEFAULT_MODE if sys.platform == "win32" else os.RTLD_NOW | os.RTLD_DEEPBIND
    handle = ctypes.CDLL(str(path), mode=mode)
    try:
        return ctypes.cast(getattr(handle, _CREATE), PTR).value
    except AttributeError:
        return None
