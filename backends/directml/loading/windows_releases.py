"""Windows' DirectML.dll, release by release: which wheels on PyPI hold it, fetching it out of them, what is there.

A wheel is another project's, so its licence says little of the library in it: the library's terms are shown, and it is
fetched only where they are accepted. It is loaded as it is, and neither changed nor passed on.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.directml.loading import fetching
from dmlcts.specs import UsageError

LIBRARY = "DirectML.dll"
COMMAND = "dmlcts directml fetch --windows"
NEWEST = "newest"
_ONNXRUNTIME, _TORCH = "onnxruntime-directml", "torch-directml"
_FOLDER = "directml-windows-"


@dataclass(frozen=True)
class Release:
    """A release of the library, and the wheel that it is taken from.

    Args:
        version: the library's own.
        distribution: the package.
        wheel: the package's version.
        python: the version of Python that the wheel is for.
        digest: the SHA-256 of the library.
    """

    version: str
    distribution: str
    wheel: str
    python: str
    digest: str

    def library(self, cache: Path) -> Path:
        """Where the fetched library is, or would be."""
        return cache / f"{_FOLDER}{self.version}" / LIBRARY

    @property
    def terms(self) -> tuple[str, ...]:
        """What there is to know of the library's terms, line by line."""
        return (
            f"DirectML.dll {self.version} is Microsoft's. It is taken from the wheel {self.distribution} {self.wheel},",
            "whose own licence is MIT. The same library's package on NuGet, Microsoft.AI.DirectML, has terms of",
            "Microsoft's own (MICROSOFT SOFTWARE LICENSE TERMS, MICROSOFT DIRECTML); read them there. dmlcts loads the",
            "library as it is on this machine, and neither changes it nor passes it on.",
        )


# In order. A release that several wheels hold is taken from the last of them; the wheels for other versions of Python
# hold it signed anew, with another digest. DirectML 1.5.1 (onnxruntime-directml
# 1.9.0) unpacks its shaders with Windows' Cabinet.dll, which the bridge does not provide, and is not among them.
RELEASES = (
    Release("1.8.0", _ONNXRUNTIME, "1.11.1", "3.8", "cd4d677a91cb6b8b7dadc6d711ded3dd85a32fe859406a5852e2254aebf6a14d"),
    Release("1.9.0", _ONNXRUNTIME, "1.12.1", "3.8", "180a426675b76706350d8d070fde4219c62d71cfc54154d134b11934218da6ff"),
    Release("1.9.1", _ONNXRUNTIME, "1.13.1", "3.8", "b0f9f8ca65b2782599949f337d9b7a387921fa0fd351167c114b52fd41e7052a"),
    Release(
        "1.10.1", _ONNXRUNTIME, "1.14.1", "3.8", "e16d23067bc3348a89d457ea5dce1bf21d116420edeacf79292239e3a1c886aa"
    ),
    Release(
        "1.12.0", _ONNXRUNTIME, "1.15.1", "3.11", "13e0d786be8568f25558362ee729cddb5b43ce4bf6c126fcd9f470e884e6de4d"
    ),
    Release(
        "1.12.1", _ONNXRUNTIME, "1.16.3", "3.11", "ad81ea396c042e52829d5d77ca573ba255cc0f61cbd801d4071a94e24c6df343"
    ),
    Release(
        "1.13.1", _TORCH, "0.2.5.dev240914", "3.11", "5ab77cc5db8e1544d386fd28586598317da8dcbef098fb86d8d8a60e739e0e5d"
    ),
    Release(
        "1.14.1", _ONNXRUNTIME, "1.18.1", "3.11", "88f7d345acfaa95932e36f803946543610a6821e0a22381a5c8ad9eb455b5ba2"
    ),
    Release(
        "1.15.1", _ONNXRUNTIME, "1.19.2", "3.11", "177cbec33d5d04703be95701bb1bf7d8c06c66a0adcef96dd2592c627a921678"
    ),
    Release(
        "1.15.2", _ONNXRUNTIME, "1.20.1", "3.11", "0690ed74f6e119aa669584b651ea2527d3c3d09234bf3546b9ce01687138f946"
    ),
    Release(
        "1.15.4", _ONNXRUNTIME, "1.24.4", "3.12", "b73972115320e906a49602f2027a3266622881b0d325ba685e0f165a9482a8d7"
    ),
)


def release(version: str) -> Release:
    """The release of that version; the newest for "newest".

    Raises:
        UsageError: there is none; the message lists those there are.
    """
    if version == NEWEST:
        return RELEASES[-1]
    for candidate in RELEASES:
        if candidate.version == version:
            return candidate
    known = ", ".join(candidate.version for candidate in RELEASES)
    raise UsageError(f"no wheel is known to hold DirectML {version} for Windows", f"write one of {known}")


def fetched(cache: Path, version: str = "") -> Release | None:
    """The newest release that was fetched into ``cache``, or the one of that version; None where there is none."""
    there = [
        candidate for candidate in RELEASES if candidate.library(cache).is_file() and version in ("", candidate.version)
    ]
    return there[-1] if there else None


def checked(wanted: Release, cache: Path) -> Path:
    """The fetched library of a release.

    Raises:
        BackendUnavailable: it is damaged.
    """
    path = wanted.library(cache)
    if fetching.digest_of(path) != wanted.digest:
        command = f"{COMMAND} {wanted.version} --accept-terms"
        raise BackendUnavailable(f"{path} is damaged", f"run `{command}`, which fetches it again")
    return path


def fetch(
    wanted: Release, cache: Path, print_line: Callable[[str], object], accepted: bool, run: fetching.Run | None = None
) -> fetching.Fetched:
    """Make sure that a release is in ``cache``, downloading its wheel with pip where it is not.

    Args:
        wanted: the release.
        cache: the cache folder; made where it is missing.
        print_line: called with each line that states what is done, the library's terms among them.
        accepted: whether the user accepts these.
        run: runs a command; for tests.

    Raises:
        UsageError: the terms are not accepted.
        BackendUnavailable: pip failed, or what it brought is not the library that is meant.
    """
    library = wanted.library(cache)
    if library.is_file():
        if fetching.digest_of(library) == wanted.digest:
            print_line(f"{library} is there already (SHA-256 {wanted.digest})")
            return fetching.Fetched(library, downloaded=False)
        print_line(f"{library} is damaged and is fetched again")
    for line in wanted.terms:
        print_line(line)
    if not accepted:
        raise UsageError("the library's terms are not accepted", "add --accept-terms where you accept them")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as work:
        print_line(f"downloading {wanted.distribution} {wanted.wheel} with pip, without its dependencies")
        wheel = fetching.downloaded(
            Path(work), run or fetching.run_command, wanted.distribution, wanted.wheel, "win_amd64", wanted.python
        )
        made = Path(work) / "made"
        made.mkdir()
        _extract(wheel, made, wanted)
        fetching.put(made, library, wanted.digest)
    print_line(f"{LIBRARY} {wanted.version} is in {library.parent}, with the wheel's licence (SHA-256 {wanted.digest})")
    return fetching.Fetched(library, downloaded=True)


def _extract(wheel: Path, target: Path, wanted: Release) -> None:
    mend = f"the wheel is not the one published as {wanted.distribution} {wanted.wheel}; nothing was kept of it"
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in _members(archive.namelist()):
                with archive.open(name) as source, (target / Path(name).name).open("wb") as made:
                    shutil.copyfileobj(source, made, 1 << 20)
    except zipfile.BadZipFile as error:
        raise BackendUnavailable(f"{wheel.name} cannot be used: {error}", mend) from error
    if not (target / LIBRARY).is_file():
        raise BackendUnavailable(f"{wheel.name} holds no {LIBRARY}", mend)
    digest = fetching.digest_of(target / LIBRARY)
    if digest != wanted.digest:
        raise BackendUnavailable(f"{LIBRARY} in {wheel.name} has the SHA-256 {digest}, not {wanted.digest}", mend)


def _members(names: Sequence[str]) -> list[str]:
    """The library and the licences beside it, wherever a wheel of that year puts them."""
    wanted = (LIBRARY, "LICENSE", "NOTICE", "ThirdPartyNotices.txt")
    return [name for name in names if Path(name).name in wanted]
