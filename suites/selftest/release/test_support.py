"""reports/VERSIONS.md: supported software and readable formats are those of pyproject.toml and of the code."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement

from dmlcts.backends.directml.loading.windows_releases import RELEASES
from dmlcts.reports.documents.results import READ, SCHEMA
from dmlcts.suites.selftest.installing import HOUSE

GUIDE = HOUSE / "reports" / "VERSIONS.md"
pytestmark = pytest.mark.skipif(not GUIDE.is_file(), reason="the guides are in the checkout only")


def rows() -> dict[str, tuple[str, str]]:
    """The table of supported software: what is required, and what was judged."""
    table = GUIDE.read_text(encoding="utf-8").partition("## What is supported")[2]
    return {
        name: (needed, seen) for name, needed, seen in re.findall(r"^\| (.+) \| (.+) \| (.+) \|$", table, re.MULTILINE)
    }


def required() -> dict[str, str]:
    """By name, the versions that pyproject.toml asks for, of every extra."""
    project = tomllib.loads((HOUSE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(dependency for extra in project["optional-dependencies"].values() for dependency in extra),
    ]
    specifiers = {requirement.name: str(requirement.specifier) for requirement in map(Requirement, wanted)}
    return specifiers | {"Python": project["requires-python"]}


def environments() -> list[dict[str, Any]]:
    """What the kept results were made with."""
    folder = HOUSE / "reports" / "examples"
    plain = [json.loads(path.read_bytes()) for path in folder.glob("*.results.json")]
    packed = [json.loads(gzip.decompress(path.read_bytes())) for path in folder.glob("*/*.results.json.gz")]
    return [results["environment"] for results in plain + packed]


def test_what_is_required_is_what_pyproject_states() -> None:
    stated = {name: needed.strip("`") for name, (needed, _) in rows().items() if needed.startswith("`")}
    assert stated.keys() >= {"Python", "numpy", "wgpu", "onnxruntime", "torch", "llvmlite"}
    assert stated == {name: required()[name] for name in stated}


def test_what_was_judged_is_what_results_and_pins_state() -> None:
    stated = rows()
    for line in (HOUSE / ".ci" / "versions.txt").read_text(encoding="utf-8").splitlines():
        if "==" in line:
            name, _, version = line.partition("==")
            assert version in stated[name][1], f"{name} {version} is pinned and not named"
    made = environments()
    assert made
    assert {document["numpy"] for document in made} <= set(re.findall(r"\d+\.\d+\.\d+", stated["numpy"][1]))
    pythons = {".".join(document["python"].split()[1].split(".")[:2]) for document in made}
    assert pythons <= set(re.findall(r"\d+\.\d+", stated["Python"][1]))


def test_the_releases_of_directml_are_those_that_are_known() -> None:
    assert rows()["DirectML.dll of Windows"][0] == f"{RELEASES[0].version} to {RELEASES[-1].version}"
    assert len(RELEASES) == 11


def test_the_formats_are_those_that_are_written_and_read() -> None:
    last = SCHEMA.rpartition("/")[2]
    assert [schema_name.rpartition("/")[2] for schema_name in READ] == [
        str(number) for number in range(1, int(last) + 1)
    ]
    assert f"writes `{SCHEMA}` and reads 1 to {last}" in GUIDE.read_text(encoding="utf-8")
