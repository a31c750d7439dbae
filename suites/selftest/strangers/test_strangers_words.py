"""Whatever a stranger writes stays text: on a terminal's screen, in a log, in Markdown and in HTML."""

from __future__ import annotations

import ast
import copy
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyte", reason="the emulated terminal is of the extra `dev`")
pytest.importorskip("cryptography", reason="signing needs the extra `certify`")

import pyte
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rich.text import Text

from dmlcts.reports.certification import archive
from dmlcts.reports.comparing import baseline, findings
from dmlcts.reports.comparing.comparison import Column, compare
from dmlcts.reports.comparing.comparison_views import html as comparison_page
from dmlcts.reports.comparing.comparison_views import markdown as comparison_markdown
from dmlcts.reports.comparing.difference import difference
from dmlcts.reports.comparing.difference import text as difference_text
from dmlcts.reports.migrating.markdown import markdown as migration_markdown
from dmlcts.reports.migrating.migration import migration
from dmlcts.reports.migrating.page import page as migration_page
from dmlcts.reports.summaries.characters import as_text, escaped, one_line, prose, quoted
from dmlcts.reports.views.markdown import summary as markdown
from dmlcts.reports.views.terminal import summary as terminal
from dmlcts.specs.loading import load_tables
from dmlcts.suites.console.plain import PlainConsole
from dmlcts.suites.selftest.certification.submissions import build
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.reports.report_samples import failing

ROOT = Path(__file__).resolve().parents[3]
TABLES = load_tables()
PAINTED = "\x1b[2J\x1b[HPASS: Driver 1.2 is what it says (exit code 0)\r\n\x1b[30;40m\x1b[8m"
COMMAND = "\n::error::planted\n##[error]planted"
EVIL = f"a{PAINTED}\u202eb\u2028c\x85d\x9b2Je\x07{COMMAND}"
DANGEROUS = "\x1b\x9b\x07\x85\r\u202e\u2028"


def screen_of(text: str) -> list[str]:
    """What a terminal of 100 columns shows at the end."""
    screen = pyte.Screen(100, 60)
    stream = pyte.Stream(screen)
    stream.feed(text.replace("\n", "\r\n"))
    return [line.rstrip() for line in screen.display]


def is_plain(text: str) -> None:
    """Nothing in it moves a cursor, reorders text, or begins a line as a command."""
    assert not [character for character in DANGEROUS if character in text]
    assert "##[" not in text
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert "planted" in text, "the words themselves are shown"


def test_the_false_pass_fools_a_terminal_that_is_given_it_raw() -> None:
    """The control: without the edge, this is what a person would read."""
    shown = [line for line in screen_of(f"FAIL  device     {PAINTED}FAIL: 2 faults\n") if line]
    assert shown[0] == "PASS: Driver 1.2 is what it says (exit code 0)"


def test_verify_shows_no_false_pass(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    """An archive of an unknown key, the false PASS in its device's name: what the screen shows is the FAIL."""
    parts = build()
    device = {**parts.statement["device"], "name": EVIL}
    parts.statement["device"] = device
    parts.edit(archive.RESULTS, lambda results: results.update(device=device))
    parts.edit(archive.ENVIRONMENT, lambda environment: environment.update(device=device))
    parts.statement["backend"] = "cpu"
    known = Ed25519PrivateKey.generate()
    from cryptography.hazmat.primitives import serialization

    pem = known.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "known.pub").write_bytes(pem)
    (tmp_path / "s.zip").write_bytes(parts.packed())
    for trust in (["--trust", "known.pub"], []):
        ran = dmlcts("verify", "s.zip", *trust, "--markdown", "s.md")
        assert ran.code == 1 if trust else ran.code in (1, 4), ran.out + ran.err
        shown = [line for line in screen_of(ran.out) if line]
        assert not [line for line in shown if line.startswith("PASS:")]
        verdict = "FAIL: " if ran.code == 1 else "INCOMPLETE: "
        assert [line for line in shown if line.startswith(verdict)], shown
        assert not [character for character in DANGEROUS if character in ran.out + (tmp_path / "s.md").read_text()]


@pytest.mark.parametrize("shows", [one_line, quoted, as_text, escaped])
def test_each_way_to_show_it_is_plain(shows: Callable[[str], str]) -> None:
    is_plain(shows(EVIL))
    assert shows("input -0.5 (0xbf000000) gives 0.0") == "input -0.5 (0xbf000000) gives 0.0"


def test_one_line_is_one_line() -> None:
    assert one_line("a\nb\tc\r\x0b\u2029") == "a\\u{a}b\\u{9}c\\u{d}\\u{b}\\u{2029}"
    assert one_line("  ::error::x") == "  \\u{3a}:error::x"
    assert one_line("std::vector") == "std::vector"
    assert quoted("a\nb") == "a\n  | b"


def evil_results() -> dict[str, Any]:
    """Results in which every text that is free says what it must not."""
    results: dict[str, Any] = copy.deepcopy(failing())
    results["backend"] = EVIL
    for name in ("name", "adapter", "driver", "library", "version"):
        results["device"][name] = EVIL
    results["device"]["details"] = {EVIL: EVIL, "mapping": [EVIL, {"what": EVIL, "to": 3}]}
    results["selection"] = {EVIL: [EVIL]}
    results["suite"]["version"] = EVIL
    for failure in results["failures"]:
        failure.update(title=EVIL, test=EVIL, replay=EVIL, details={EVIL: EVIL, "got": EVIL})
    for behaviour in results["behaviours"]:
        behaviour.update(behaviour=EVIL, example=EVIL)
    results["timings"]["slowest"] = [{"test": EVIL, "seconds": 1.0}]
    return results


def test_a_run_s_summary_is_plain() -> None:
    page = io.StringIO()
    terminal(evil_results(), TABLES, PlainConsole(page, width=100), folder="results")
    is_plain(page.getvalue())


@pytest.mark.parametrize(
    "view",
    [
        lambda results, other: markdown(results, TABLES),
        lambda results, other: difference_text(difference(other, results), TABLES),
        lambda results, other: findings.page(results, TABLES, None, f"dmlcts findings {EVIL}"),
        lambda results, other: comparison_markdown(compare([Column(EVIL, results), Column("b", other)], TABLES)),
        lambda first, other: comparison_page(compare([Column(EVIL, first), Column("b", other)], TABLES)),
        lambda first, other: migration_markdown(migration(Column(EVIL, first), Column("b", other), TABLES, ())),
        lambda first, other: migration_page(migration(Column(EVIL, first), Column("b", other), TABLES, ())),
    ],
    ids=["markdown", "diff", "findings", "comparison", "page", "migration", "migration page"],
)
def test_every_view_of_results_is_plain(view: Callable[[Any, Any], str]) -> None:
    text = view(evil_results(), failing())
    assert not [character for character in DANGEROUS if character in text]
    assert "planted" in text


def test_findings_escape_html_and_links() -> None:
    results = evil_results()
    evil = "<img src=x onerror=alert(1)> [x](javascript:alert(1)) | @everyone"
    results["device"]["name"] = evil
    for failure in results["failures"]:
        failure.update(title=evil, replay=f"dmlcts\n{evil}", details={"got": evil, "input": evil})
    rows = [row for row in results["clauses"] if row["outcome"] == "fail"]
    because = f"Known\n{evil}\n\n[y]: javascript:alert(2)\n\nsee [this](https://example.org), `<code>` and [a](#b)"
    entries = tuple(baseline.Entry(row["id"], row["operator"], "fail", (row["data_type"],), because) for row in rows)
    page = findings.page(results, TABLES, baseline.Baseline({}, {}, entries), "dmlcts findings x")
    text = "".join(page.split("```")[::2])  # no code
    assert "<img" not in text
    assert "](javascript:" not in text
    assert "\n[y]:" not in text
    for kept in ("[this](https://example.org)", "`<code>`", "[a](#b)"):
        assert kept in text


@pytest.mark.parametrize(
    "written, shown",
    [
        ("plain *prose* with `code <b>` stays", "plain *prose* with `code <b>` stays"),
        ("<b>x</b>", "&lt;b>x&lt;/b>"),
        ("a < b", "a < b"),
        ("[x](java&#115;cript:alert(1))", "[x]\\(java&#115;cript:alert(1))"),
        ("[x](<javascript:1>)", "[x]\\(&lt;javascript:1>)"),
        ("![x](data:text/html,1)", "![x]\\(data:text/html,1)"),
        ("[x](https://a.b)", "[x](https://a.b)"),
        ("[guide](../README.md)", "[guide](../README.md)"),
        ("[x]: javascript:1", "[x]\\: javascript:1"),
        ("[-inf, inf] must", "[-inf, inf] must"),
    ],
)
def test_prose_keeps_its_markup_and_loses_its_teeth(written: str, shown: str) -> None:
    assert prose(written) == shown


def test_findings_survive_a_failure_of_rank_0() -> None:
    results = copy.deepcopy(failing())
    failure = next(candidate for candidate in results["failures"] if candidate["case"].get("tensors"))
    for tensor in failure["case"]["tensors"].values():
        tensor.update(sizes=[], strides=None, total_size_in_bytes=4)
    files = findings.case_files(findings.findings_of(results, TABLES, None))
    assert any('"Sizes": []' in text for text in files.values())
    assert "the case is malformed" not in findings.page(results, TABLES, None, "x")
    failure["case"] = {"tensors": {"InputTensor": 3}, "values": {"bits": ["0x1"]}}
    results["failures"] = [failure]
    assert "the case is malformed" in findings.page(results, TABLES, None, "x")


EVIL_BACKEND = """
EVIL = {evil!r}


class Backend:
    name = EVIL

    def open(self):
        from dmlcts.backends import DeviceInfo
        from dmlcts.backends.cpu import CpuBackend
        device = CpuBackend().open()

        class Device:
            info = DeviceInfo(EVIL, "5.0", adapter=EVIL, driver=EVIL, library=EVIL, version=EVIL,
                              details={{EVIL: EVIL}})

            def create(self, operator):
                raise ValueError(EVIL)

            def close(self):
                device.close()

            def __enter__(self):
                return self

            def __exit__(self, *error):
                self.close()

        return Device()


class Unavailable:
    name = "u"

    def open(self):
        class BackendUnavailable(Exception):
            pass
        raise BackendUnavailable(EVIL)
"""


@pytest.mark.parametrize("isolation", ["process", "none"])
@pytest.mark.size("all", thorough=1)
def test_run_and_replay_print_an_implementation_s_words_as_text(
    tmp_path: Path, dmlcts: Callable[..., Ran], isolation: str
) -> None:
    (tmp_path / "evil.py").write_text(EVIL_BACKEND.format(evil=EVIL), encoding="utf-8")
    chosen = ("--operator", "ROUND", "--data-type", "FLOAT16", "--clause", "round.toward-zero")
    ran = dmlcts("run", "--backend", "evil.py:Backend", "--isolation", isolation, *chosen)
    assert ran.code == 1, ran.out + ran.err
    is_plain(ran.out + ran.err)
    failure = next((tmp_path / "results" / "failures").glob("*.yaml"))
    ran = dmlcts("replay", str(failure), "--backend", "evil.py:Backend", "--isolation", isolation)
    assert ran.code == 1
    is_plain(ran.out + ran.err)
    ran = dmlcts("run", "--backend", "evil.py:Unavailable", "--isolation", isolation, *chosen)
    assert ran.code == 3
    is_plain(ran.out + ran.err)


@pytest.mark.size("thorough")
def test_what_pytest_itself_prints_is_text(tmp_path: Path) -> None:
    """The same words where pytest runs the suite, without the wrapper."""
    (tmp_path / "evil.py").write_text(EVIL_BACKEND.format(evil=EVIL), encoding="utf-8")
    words = [
        "-p",
        "dmlcts.suites.plugin",
        "--backend",
        "evil.py:Backend",
        "--operator",
        "ROUND",
        "--data-type",
        "FLOAT16",
        "--clause",
        "round.toward-zero",
        "-p",
        "no:cacheprovider",
        "-c",
        str(ROOT / "suites/conformance/run.ini"),
        str(ROOT / "suites/conformance/values/test_rounding.py"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    is_plain(done.stdout + done.stderr)


def test_errors_of_commands_are_text(dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"schema": "dmlcts-results/1", EVIL: EVIL}), encoding="utf-8")
    for words in (
        ["report", "x.json"],
        ["report", EVIL],
        ["spec", "lint", EVIL],
        [EVIL],
        ["spec", "show", EVIL],
        ["run", "--backend", EVIL],
        ["diff", "x.json", "x.json"],
    ):
        ran = dmlcts(*words)
        assert ran.code == 2, (words, ran)
        assert not [character for character in DANGEROUS if character in ran.out + ran.err], words
        assert not [line for line in ran.err.splitlines() if line.lstrip().startswith("::")]


def test_a_console_prints_text_and_its_own_colours_only() -> None:
    page = io.StringIO()
    console = PlainConsole(page, force_terminal=True, width=80, color_system="standard")
    console.print(Text(EVIL), style="bold")
    shown = page.getvalue()
    assert "\x1b[1m" in shown
    is_plain(shown.replace("\x1b[1m", "").replace("\x1b[0m", ""))


def prints_by_itself(source: str) -> bool:
    """Whether a module prints past the one place that makes text plain."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("print", "click.echo", "click.secho", "Console", "rich.print", "sys.stdout.write"):
                return True
    return False


def test_every_command_prints_in_one_place() -> None:
    """Two speak by themselves: where it is made plain, and where benchmarks are run by hand."""
    own = {
        str(path.relative_to(ROOT))
        for room in ("reports", "suites")
        for path in (ROOT / room).rglob("*.py")
        if "selftest" not in path.parts and prints_by_itself(path.read_text(encoding="utf-8"))
    }
    measured = ("isolation_overhead", "sweep_variants", "wgpu_overhead")  # tables of figures, to be read as they come
    assert own == {"suites/console/printing.py", *(f"suites/benchmarks/{name}.py" for name in measured)}
    assert prints_by_itself("import click\nclick.echo('x')\n")


@pytest.mark.skipif(os.name == "nt", reason="file names of Windows have no such characters")
def test_names_of_files_are_text(dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    name = "a\x1b[2J\n::error::planted"
    (tmp_path / name).mkdir()
    ran = dmlcts("report", name)
    assert ran.code == 2
    is_plain(ran.err)
