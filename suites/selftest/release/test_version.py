"""One version: pyproject.toml, CITATION.cff, the newest release in CHANGELOG.md and ``dmlcts --version`` agree."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml
from click.testing import CliRunner

from dmlcts.suites.commands.main import main
from dmlcts.suites.selftest.installing import HOUSE

pytestmark = pytest.mark.skipif(not (HOUSE / "CITATION.cff").is_file(), reason="only a checkout has these files")

RELEASE = re.compile(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})$", re.MULTILINE)
CITED = ("cff-version", "message", "title", "type", "authors", "version", "date-released", "license")


def declared() -> str:
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def citation() -> dict[str, object]:
    """CITATION.cff as it stands; dates stay text, as its format asks for."""
    return yaml.load((HOUSE / "CITATION.cff").read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506  # text alone


def released(changelog: str) -> tuple[str, str]:
    """Version and date of the newest release; what is not released yet may stand above it."""
    match = RELEASE.search(changelog)
    assert match is not None, "CHANGELOG.md has no heading `## VERSION - YYYY-MM-DD`"
    return match[1], match[2]


def test_the_version_is_the_same_everywhere() -> None:
    changelog = (HOUSE / "CHANGELOG.md").read_text(encoding="utf-8")
    cited = citation()
    assert released(changelog) == (declared(), cited["date-released"])
    assert cited["version"] == declared()


def test_the_installed_version_is_that_of_the_checkout() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"dmlcts, version {declared()}\n", "install the checkout again: pip install -e '.[dev]'"


def test_the_newest_release_is_found_below_what_is_not_released() -> None:
    assert released("# C\n\n## Unreleased\n\n## 2.0.0 - 2030-01-02\n\n## 1.0.0 - 2029-01-01\n") == (
        "2.0.0",
        "2030-01-02",
    )
    with pytest.raises(AssertionError, match="no heading"):
        released("# C\n\n## 2.0.0\n")


def test_the_citation_has_what_its_format_requires() -> None:
    cited = citation()
    assert cited.keys() >= set(CITED)
    assert cited["cff-version"] == "1.2.0"
    assert cited["authors"] == [{"name": "the dmlcts maintainers"}], "as LICENSE says: an entity, nobody in person"
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (cited["license"], cited["keywords"]) == (project["license"], project["keywords"])


def test_classifiers_and_addresses_are_those_of_a_release() -> None:
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stated = set(project["classifiers"])
    assert {"Development Status :: 5 - Production/Stable", "Typing :: Typed"} <= stated
    assert not [classifier for classifier in stated if classifier.startswith("License ::")], (
        "PEP 639: the SPDX expression says it alone"
    )
    tables = "".join(path.read_text(encoding="utf-8") for path in (HOUSE / "specs/operators").glob("*.yaml"))
    assert f"address: {project['urls']['Specification']}\n" in tables, "an address that a table rests on"
