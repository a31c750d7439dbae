"""What a wheel and a source archive hold: the suite's files, and no others: ``.ci/packaged.py DIST``.

Exit code 0 where that is so; otherwise 1, after a line for each file that is missing or that should not be there.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from dmlcts.reports.certification.files import suite_files

BESIDE = {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg"}  # of a source archive


def differing(archive: str, held: Collection[str], wanted: Collection[str]) -> Iterator[str]:
    """A line for each file that only one of them has."""
    for name in sorted(set(held) ^ set(wanted)):
        yield f"{archive}: {name} {'should not be there' if name in held else 'is missing'}"


def of_wheel(path: Path) -> set[str]:
    """Its files, but for the folder that describes it; those of the suite without the package's name."""
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.split("/")[0].endswith(".dist-info")]
    return {name.removeprefix("dmlcts/") for name in names}


def of_source(path: Path) -> set[str]:
    """Its files, but for those that setuptools writes about it."""
    with tarfile.open(path) as archive:
        names = [entry.name.partition("/")[2] for entry in archive.getmembers() if entry.isfile()]
    return {name for name in names if not name.startswith("dmlcts.egg-info/")}


def main(words: Sequence[str]) -> int:
    """Compare both archives in a folder with the checkout."""
    (folder,) = map(Path, words)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    files = set(suite_files())
    differences = [
        *differing(wheel.name, of_wheel(wheel), files),
        *differing(source.name, of_source(source), files | BESIDE),
    ]
    print(*differences, sep="\n", end="\n" if differences else "")  # noqa: T201  # what it is for
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
