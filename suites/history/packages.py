"""The packages whose releases can be judged: which releases there are, and getting one of them beside the others."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.loading import windows_releases
from dmlcts.backends.interpreter import own_python, safe_environment
from dmlcts.specs import UsageError
from dmlcts.suites.history.substitutes import place_substitutes

# What builds of torch for CUDA require and the CPU does not need: CUDA's libraries, and the compiler of its kernels.
_OF_CUDA = re.compile(r"nvidia-.+|cuda-.+|triton")
PrintLine = Callable[[str], object]


@dataclass(frozen=True)
class Prepared:
    """A release that can be judged.

    Args:
        arguments: of ``dmlcts run``.
        environment: variables to be set for it.
        folder: what was installed for it alone; None for nothing.
    """

    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None

    def throw_away(self) -> None:
        """Remove what was installed for it alone."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


class Package(Protocol):
    """A package with releases."""

    @property
    def name(self) -> str:
        """What users call it."""

    def versions(self) -> list[str]:
        """The releases there are, the oldest first.

        Raises:
            BackendUnavailable: they cannot be listed.
        """

    def prepare(self, version: str, cache: Path, print_line: PrintLine) -> Prepared:
        """Get a release.

        Raises:
            BackendUnavailable: it cannot be had.
            UsageError: its terms are not accepted.
        """


@dataclass(frozen=True)
class DirectML:
    """Windows' DirectML.

    Args:
        accepted: whether the user accepts the library's terms.
    """

    accepted: bool = False
    name: str = "directml"

    def versions(self) -> list[str]:
        """Those that a wheel is known to hold."""
        return [release.version for release in windows_releases.RELEASES]

    def prepare(self, version: str, cache: Path, print_line: PrintLine) -> Prepared:
        """Fetch it into the cache, where it stays."""
        windows_releases.fetch(windows_releases.release(version), cache, print_line, self.accepted)
        return Prepared(["--backend", "directml", "-o", f"library={version}"])


@dataclass(frozen=True)
class FromPyPI:
    """A package of PyPI's, each release installed into a folder of its own.

    Of torch the CPU alone is judged: of a build for CUDA neither CUDA's libraries nor triton are installed, and where
    such a build would not be imported without them, substitutes are put in their place.

    Args:
        name: the package, and the backend that judges it.
        run: runs a command; for tests.
        index: the URL of another index than pip's own; "" for that.
    """

    name: str
    run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
    index: str = ""

    def versions(self) -> list[str]:
        """Those that pip would install into this Python, without releases before a final one.

        Raises:
            BackendUnavailable: pip lists none.
        """
        done = self._pip("index", "versions", self.name)
        listing = re.search(r"^Available versions: (.*)$", done, re.MULTILINE)
        if listing is None:
            raise BackendUnavailable(f"pip lists no releases of {self.name}", "see that pip works and reaches PyPI")
        return [str(version) for version in sorted(_versions(listing[1].split(", "))) if not version.is_prerelease]

    def prepare(self, version: str, cache: Path, print_line: PrintLine) -> Prepared:
        """Install it, and of what it requires all that this environment has not, or has in another version."""
        folder = cache / f"{self.name}-{version}"
        if not (folder / "complete").is_file():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            try:
                self._install(version, folder, print_line)
            except BaseException:  # whatever stopped it, half a release is of no use and may take gigabytes
                shutil.rmtree(folder, ignore_errors=True)
                raise
            (folder / "complete").touch()
        return Prepared(["--backend", self.name], {"PYTHONPATH": str(folder)}, folder)

    def _install(self, version: str, folder: Path, print_line: PrintLine) -> None:
        wanted = [Requirement(f"{self.name}=={version}")]
        installed: set[str] = set()
        while wanted:
            print_line(f"installing {', '.join(map(str, wanted))}")
            # Nothing is kept in pip's own cache, which would grow by hundreds of megabytes a release.
            self._pip(
                "install",
                "--quiet",
                "--no-deps",
                "--only-binary=:all:",
                "--no-cache-dir",
                "--target",
                str(folder),
                "--upgrade",
                *(str(requirement) for requirement in wanted),
            )
            installed |= {requirement.name.lower() for requirement in wanted}
            wanted = [
                requirement
                for requirement in _required(folder)
                if requirement.name.lower() not in installed and self._needs(requirement)
            ]
        if self.name == "torch" and sys.platform == "linux":
            library = folder / "torch" / "lib"
            names = place_substitutes(
                library, [*library.glob("libtorch_global_deps.so"), *folder.glob("torch/_C.*.so")]
            )
            if names:
                print_line(f"a build for CUDA, of which the CPU is judged, with substitutes for {', '.join(names)}")

    def _needs(self, requirement: Requirement) -> bool:
        return self.name != "torch" or _OF_CUDA.fullmatch(requirement.name.lower()) is None

    def _pip(self, *arguments: str) -> str:
        command = own_python("-m", "pip", *arguments, "--disable-pip-version-check")
        if self.index:
            command += ["--index-url", self.index]
        done = self.run(command, capture_output=True, text=True, check=False, env=safe_environment())
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            errors = [line for line in lines if line.startswith("ERROR")]
            cause = (errors or lines or ["no message"])[-1].removeprefix("ERROR:").strip()
            raise BackendUnavailable(f"pip {arguments[0]} failed: {cause}", "see that pip works and reaches PyPI")
        return done.stdout


def _required(folder: Path) -> list[Requirement]:
    """What the packages in a folder require and neither the folder nor this environment has."""
    missing: dict[str, Requirement] = {}
    for distribution in importlib.metadata.distributions(path=[str(folder)]):
        for written in distribution.requires or ():
            requirement = Requirement(written)
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
                continue
            requirement.marker = None
            there = _there(requirement.name, folder)
            if there is None or not requirement.specifier.contains(there, prereleases=True):
                missing[requirement.name.lower()] = requirement
    return list(missing.values())


def _there(name: str, folder: Path) -> str | None:
    for path in ([str(folder)], sys.path):
        for distribution in importlib.metadata.distributions(name=name, path=path):
            return distribution.version
    return None


def _versions(written: Sequence[str]) -> list[Version]:
    versions = []
    for text in written:
        try:
            versions.append(Version(text.strip()))
        except InvalidVersion:
            continue  # what no current tool could install
    return versions


def package(name: str, accepted: bool = False, index: str = "") -> Package:
    """The package that a user names.

    Args:
        name: directml, onnxruntime or torch.
        accepted: whether the user accepts the terms of DirectML.
        index: the URL of the index that pip is to ask; "" for its own.

    Raises:
        UsageError: there is none of that name, or its releases are known by their digests and an index is named.
    """
    if name == "directml":
        if index:
            raise UsageError("the releases of directml are known by their digests", "leave out --index-url")
        return DirectML(accepted)
    if name in ("onnxruntime", "torch"):
        return FromPyPI(name, index=index)
    raise UsageError(f"there is no history of {name!r}", "write directml, onnxruntime or torch")


def chosen(there: Sequence[str], written: str) -> list[str]:
    """The releases that a user's words mean, the oldest first.

    Args:
        there: the releases there are, the oldest first.
        written: versions and spans of them, as "1.19.2,1.22.0..1.24.4"; "all"; "" for the last of each minor release.

    Raises:
        UsageError: a version is not among those there are.
    """
    if written == "all":
        return list(there)
    if not written:
        last: dict[tuple[int, ...], str] = {}
        for release in there:
            last[Version(release).release[:2]] = release
        return list(last.values())
    wanted: set[str] = set()
    for part in written.split(","):
        first, dots, end = part.strip().partition("..")
        if not dots:
            wanted |= {_known(there, first)}
            continue
        low, high = _known(there, first or there[0]), _known(there, end or there[-1])
        wanted |= {release for release in there if Version(low) <= Version(release) <= Version(high)}
    return [release for release in there if release in wanted]


def _known(there: Sequence[str], version: str) -> str:
    """The release of that name, or else its build: "2.8.0+cpu" where "2.8.0" is written."""
    if version not in there:
        builds = [release for release in there if Version(release).public == version]
        if builds:
            return builds[-1]
        raise UsageError(f"there is no release {version!r} to be had", f"the releases are {', '.join(there)}")
    return version
