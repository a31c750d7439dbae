"""The documents: the README is short, every link and anchor is there, and what the README says it found was found."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from dmlcts.suites.selftest.installing import HOUSE

README, MANUAL = HOUSE / "README.md", HOUSE / "suites" / "MANUAL.md"
MOST_WORDS = 1200
ROOMS = ("specs", "backends", "reports", "suites", ".github")
LINK = re.compile(r"\[[^\]\[]*(?:\[[^\]]*\][^\]\[]*)*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^ *(```+|~~~+).*?^ *\1`* *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?:(?!\1).)+?\1")
FOUND = re.compile(r"^\| .* \| \[report\]\((.*)\) \| `dmlcts (run .*)` \|$", re.MULTILINE)
UNREPORTED = re.compile(r"^\| .* \| — \| `dmlcts (run .*)` \|$", re.MULTILINE)
WRONG = {"fail", "crash", "timeout", "device_lost", "resource_error"}

pytestmark = pytest.mark.skipif(not README.exists(), reason="the documents are in the checkout only")


def documents() -> list[Path]:
    return [*sorted(HOUSE.glob("*.md")), *(path for room in ROOMS for path in sorted((HOUSE / room).rglob("*.md")))]


def headings(text: str) -> list[str]:
    return re.findall(r"^#{1,6} +(.*?) *#* *$", FENCE.sub("", text), re.MULTILINE)


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    words = LINK.sub(lambda link: link[0].partition("](")[0].lstrip("["), heading).lower()
    kept = [c for c in words if c in " -_" or unicodedata.category(c)[0] in "LN"]
    return "".join(kept).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Those of all headings; of two that are alike the second has a number."""
    seen: Counter[str] = Counter()
    result = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for name in map(anchor, headings(text)):
        result.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return result


def broken(path: Path, text: str) -> Iterator[str]:
    """The relative links of a document whose file or anchor is not there."""
    for target in LINK.findall(CODE.sub("", FENCE.sub("", text))):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        name, _, place = target.partition("#")
        file = path.parent / unquote(name) if name else path
        if not file.exists():
            yield f"{target}: no such file"
        elif place and place not in anchors(text if file == path else file.read_text(encoding="utf-8")):
            yield f"{target}: no such heading"


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").split()) <= MOST_WORDS, "what is more belongs to suites/MANUAL.md"


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(HOUSE).as_posix())
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    assert list(broken(path, path.read_text(encoding="utf-8"))) == []


def test_a_link_that_leads_nowhere_is_seen() -> None:
    text = "# A `b`: c\n## Two\n## Two\n[1](#a-b-c) [2](#two-1) ![x](pyproject.toml) [3](https://a.example/#x)\n"
    assert list(broken(README, text)) == []
    wrong = text + "[4](#b) [`5`](nothing.md) [![6](none.png)](none.html)\n```\n[in code](nothing)\n```\n`[7](x)`\n"
    assert list(broken(README, wrong)) == ["#b: no such heading", "nothing.md: no such file", "none.html: no such file"]


def test_the_readme_begins_with_its_two_commands() -> None:
    """`.ci/steps/readme.sh` runs the first two blocks of the kind ``sh``."""
    main, tests = re.findall(r"^```sh\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[:2]
    assert main.rstrip().endswith(".venv/bin/dmlcts run --backend cpu -n auto")
    assert ".venv/bin/pytest -q" in tests


def found_by_the_readme() -> list[tuple[str, str]]:
    """Which report each of its ten lines leads to, and with which command."""
    return FOUND.findall(README.read_text(encoding="utf-8")) if README.exists() else []


def option(words: list[str], name: str) -> list[str]:
    return words[words.index(name) + 1].split(",") if name in words else ["*"]


def options_of(results: dict[str, Any]) -> dict[str, str]:
    """What the provider and the kernels of a kept result were chosen with; nothing for those of the backend itself."""
    options = results["device"]["details"].get("options", {})
    usual = {"provider": "CPUExecutionProvider", "kernels": "default", "device": "cpu", "platform": "cpu"}
    chosen = {name: options[name] for name in usual if options.get(name, usual[name]).lower() != usual[name].lower()}
    return chosen | ({"shapes": "row"} if options.get("shapes") == "row" else {})


def failing_rows(command: str) -> list[str]:
    """The clauses that a command selects and that failed in the kept results of its backend with its options."""
    words = shlex.split(command)
    chosen = dict(words[place + 1].split("=") for place, word in enumerate(words) if word == "-o")
    kept = (HOUSE / "reports/examples/all_operators").glob(f"{option(words, '--backend')[0]}*.results.json.gz")
    return [
        row["id"]
        for results in (json.loads(gzip.decompress(path.read_bytes())) for path in kept)
        if results["backend"] == option(words, "--backend")[0] and chosen == options_of(results)
        for row in results["clauses"]
        if row["outcome"] in WRONG
        and row["operator"].removeprefix("ELEMENT_WISE_") in option(words, "--operator")
        and row["data_type"] in option(words, "--data-type")
        and any(fnmatch(row["id"], pattern) for pattern in option(words, "--clause"))
    ]


def test_the_readme_has_ten_findings_with_all_upstream_reports() -> None:
    result = found_by_the_readme()
    assert len(result) == 10
    reports = {path.name for path in (HOUSE / "reports/examples/upstream").glob("*.md")} - {"README.md"}
    assert {Path(report).name for report, _ in result} == reports


def unreported_by_the_readme() -> list[str]:
    """The commands of its lines without a report: differences of two specifications, and what is not reported yet."""
    return UNREPORTED.findall(README.read_text(encoding="utf-8")) if README.exists() else []


@pytest.mark.parametrize("command", [*(command for _, command in found_by_the_readme()), *unreported_by_the_readme()])
def test_what_the_readme_reports_fails_in_the_kept_results(command: str) -> None:
    assert failing_rows(command)


def test_a_finding_that_no_result_has_is_seen() -> None:
    command = "run --backend directml --operator ROUND --data-type FLOAT32 --clause round.toward-zero"
    assert failing_rows(command) == []
    assert set(failing_rows(command.replace("zero", "infinity"))) == {"round.toward-infinity"}
    other = command.replace("directml", "directml -o kernels=none")
    assert failing_rows(other.replace("zero", "infinity")) == [], "results of other options are none"
