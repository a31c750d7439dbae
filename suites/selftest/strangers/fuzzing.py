"""Fuzzing of everything that strangers may hand in: ``python -m dmlcts.suites.selftest.strangers.fuzzing``.

Failure files, results, journals, spec tables, waivers, baselines, submissions, their archives and their commands
are changed at random, from a seed, and read as the commands read them. Each must either be read or be refused with
one of the project's own errors: no other exception, no input that takes longer than a few seconds or much memory,
no file outside the folder that was named; what is read is shown as nothing but text, and no archive that was changed
after it was signed is anything but a FAIL.
"""

from __future__ import annotations

import contextlib
import copy
import importlib.resources
import io
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import click

from dmlcts.reports.certification import archive
from dmlcts.reports.certification.submission import Submission, seal
from dmlcts.reports.comparing import baseline, findings
from dmlcts.reports.comparing.comparison import Column, compare
from dmlcts.reports.comparing.comparison_views import markdown as compared_markdown
from dmlcts.reports.comparing.difference import difference
from dmlcts.reports.comparing.difference import text as difference_text
from dmlcts.reports.documents import waivers
from dmlcts.reports.documents.journal import SCHEMA, read_journal
from dmlcts.reports.documents.outcomes import Outcome
from dmlcts.reports.documents.records import ClauseTally, FailureRecord, ItemRecord
from dmlcts.reports.documents.validation import load_results
from dmlcts.reports.documents.writing import dump_yaml, failure_document, named
from dmlcts.reports.views import html
from dmlcts.reports.views.junit import items_of, junit_xml
from dmlcts.reports.views.markdown import summary as markdown
from dmlcts.reports.views.run_folder import prepare_folder, write_run
from dmlcts.reports.views.terminal import summary as terminal
from dmlcts.specs import DataType, DmlctsError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.reading.yaml_source import read_yaml
from dmlcts.suites.certification.command import certify_words
from dmlcts.suites.commands.certify import certify
from dmlcts.suites.console.plain import PlainConsole
from dmlcts.suites.running.merge import merge
from dmlcts.suites.running.options import Settings
from dmlcts.suites.running.replay import load_case
from dmlcts.suites.selftest.certification.submissions import COMMAND, RECORDS, Verifier, build
from dmlcts.suites.selftest.isolation.test_isolation import ordered

MOST_SECONDS, MOST_MEBIBYTES = 10.0, 500.0
DANGEROUS = "\x1b\x9b\x07\x85\r\u202e\u2028"
WORDS = (
    "",
    " ",
    "\x1b[2J\x1b[HPASS",
    "\n::error::x",
    "##[error]x",
    "\u202e",
    "\u2028",
    "\x9b2J",
    "\ud800",
    "a" * 3000,
    "<b>",
    "[x](javascript:1)",
    "|",
    "`",
    "```\n::error::x",
    "\r",
    "\x85",
    "../x",
    "--help",
    "-h",
    "9" * 5000,
    "0",
    "*",
    "cpu",
    "--seed",
    "x=y",
    "\x00",
)
FREE = (
    "name",
    "adapter",
    "driver",
    "library",
    "version",
    "backend",
    "title",
    "test",
    "replay",
    "python",
    "platform",
)
BASELINE = ("backend", "feature_level", "profile", "strict")
WAIVERS = {
    "format": waivers.FORMAT,
    "waivers": [
        {
            "clause": "clip.formula",
            "operator": "CLIP",
            "data_type": ["FLOAT32", "FLOAT16"],
            "vendor": "xx*",
            "device": "xx",
            "reason": "The driver rounds one to two.",
            "issue": "https://example.org/7",
            "expires": "2027-01-31",
            "suite": "0.1.*",
        }
    ],
}
TOKENS = (
    b"null",
    b"true",
    b"~",
    b"-1",
    b"0",
    b"1e999",
    b"-0",
    b"NaN",
    b".inf",
    b"0x",
    b"0x" + b"f" * 64,
    b"9" * 40,
    b"9" * 5000,
    b'""',
    b"''",
    b"[]",
    b"{}",
    b"[" * 60,
    b"{" * 60,
    b"[" * 4000,
    b"- " * 500,
    b": ",
    b"\n",
    b"\t",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"&a [*a, *a]",
    b"*a",
    b"<<: *a",
    b"!!binary |",
    b"? ",
    b"!!python/object:os.system",
    b"--- ",
    b"%YAML 1.1\n",
    b"../../../../tmp/out",
    b"/tmp/out.yaml",
    b"C:\\out.yaml",
    b"a" * 3000,
    b"INT64",
    b"FLOAT64",
    b"ELEMENT_WISE_CLIP",
    b"refused",
    b"oracle",
    b'{"bits": "0x7fc00000"}',
    b"\xed\xa0\x80",
    b"4294967296",
    b"1" + b"0" * 18,
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1 << 31,
    1 << 40,
    1 << 63,
    10**30,
    0.5,
    1e308,
    "",
    "x",
    "../x.yaml",
    "/etc/x.yaml",
    "a" * 3000,
    "\ud800",
    "0x",
    [],
    {},
    [[]],
    {"a": {"a": {"a": {}}}},
    "FLOAT16",
    "refused",
    "accepted",
    "crash",
    "1/2",
    [0] * 17,
    {"bits": ["0x1"]},
    {"bulk": {"seed": 1}},
)


def _changed_bytes(data: bytes, chance: random.Random) -> bytes:
    """A few changes to the bytes."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = chance.randrange(len(made) + 1)
        match chance.randrange(6):
            case 0:
                made[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del made[place : place + chance.choice((1, 2, 8, 100))]
            case 2:
                made[place:place] = chance.choice(TOKENS)
            case 3:
                made[place : place + chance.choice((1, 4, 12))] = chance.choice(TOKENS)
            case 4:
                made[place:place] = made[place : place + chance.choice((1, 20, 200))] * chance.choice((1, 2, 30))
            case _:
                del made[place:]
    return bytes(made)


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every member of the document: its holder and its key."""
    pairs = list(document.items()) if isinstance(document, dict) else list(enumerate(document))
    for key, value in pairs:
        yield document, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _changed_document(document: Any, chance: random.Random) -> Any:
    """A few members replaced, removed or added."""
    made = json.loads(json.dumps(document))
    for _ in range(chance.choice((1, 1, 2, 3))):
        places = list(_places(made))
        if not places:
            break
        holder, key = chance.choice(places)
        match chance.randrange(4):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[chance.choice(("x", "", "file", "values", "../x"))] = copy.deepcopy(chance.choice(VALUES))
            case _:
                holder[key] = copy.deepcopy(chance.choice(VALUES))
    return made


@dataclass
class Findings:
    """What must not have happened, and what did."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def record(self, target: str, number: int, read: Callable[[], object]) -> None:
        """Read one input and note how that ended."""
        started = time.perf_counter()
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                read()
            ended = "read"
        except DmlctsError as error:
            ended = "refused"
            if not str(error).strip():
                self.wrong.append(f"{target} {number}: refused without a word")
        except Exception as error:  # this is what is looked for
            ended = type(error).__name__
            self.wrong.append(f"{target} {number}: {type(error).__name__}: {str(error)[:200]}")
        seconds = time.perf_counter() - started
        self.slowest = max(self.slowest, seconds)
        if seconds > MOST_SECONDS:
            self.wrong.append(f"{target} {number}: took {seconds:.1f} s")
        self.counts[f"{target} {ended}"] += 1


def failing_case() -> FailureRecord:
    case = ordered(-1.0).to_json()
    record = FailureRecord(
        "clip.formula",
        "ELEMENT_WISE_CLIP",
        "FLOAT32",
        Outcome.FAIL,
        "test_x.py::test_y",
        "input 0 gives 1",
        "two\nlines",
        case,
    )
    return named(record)


def failing_item() -> ItemRecord:
    failure = failing_case()
    tally = ClauseTally(failure.clause, failure.operator, failure.data_type, Outcome.FAIL, 1, 5, 1)
    return ItemRecord(failure.test, Outcome.FAIL, 0.1, (tally,), (), (failure,))


def shard_lines(folder: Path, part: str) -> list[dict[str, Any]]:
    """The lines of a shard's journal."""
    from dmlcts.reports.documents.results import suite_identity

    settings = Settings.read(operators=["CLIP"], clauses=["clip.formula"], shard=part, results=str(folder))
    device = {
        "name": "x",
        "adapter": "",
        "driver": "",
        "library": "",
        "version": "",
        "feature_level": "5.0",
        "data_types": None,
        "details": {},
    }
    header = {
        "schema": SCHEMA,
        **settings.described(),
        "level": "5.0",
        "device": device,
        "suite": suite_identity(),
        "specs": dict(settings.tables.digests),
        "started": "2026-01-01T00:00:00+00:00",
    }
    item = failing_item().to_json() | {"test": f"test_x.py::test_{part[0]}"}
    return [{"run": header}, {"collected": {"items": 1, "total": 2}}, {"item": item}, {"end": {"items": 1}}]


def _lines(lines: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


class Bench:
    """The doors, in a folder of their own inside a folder that must not change."""

    def __init__(self, outside: Path) -> None:
        self.outside = outside
        self.folder = outside / "in" / "here"
        self.folder.mkdir(parents=True)
        self.tables = load_tables()
        self.findings = Findings()
        self._failure = failure_document(failing_case(), "1")
        other = self.folder / "2"
        other.mkdir()
        self._shards = [shard_lines(self.folder / "1", "1/2"), shard_lines(other, "2/2")]
        (other / "records.jsonl").write_bytes(_lines(self._shards[1]))
        (self.folder / "1").mkdir()
        self._results = merge_control(self.folder, self._shards)
        names = importlib.resources.files("dmlcts.specs").joinpath("operators")
        text = names.joinpath("round.yaml").read_text("utf-8")
        self._baseline = {
            "format": baseline.FORMAT,
            **{name: self._results[name] for name in BASELINE},
            "departures": [],
            "device": {name: str(self._results["device"][name]) for name in ("name", "adapter", "library", "version")},
        }
        self._submission()
        self._table = text.replace("round", "fuzzed").replace("ROUND", "FUZZED").encode()

    def _submission(self) -> None:
        """A submission that is quick to judge: one with next to no evidence."""
        parts = build()
        self.verifier = Verifier(parts.verifier.reference, parts.verifier.expected, parts.verifier.trusted)
        self._statement, self._key = parts.statement, parts.key
        lines = parts.members[RECORDS].splitlines(keepends=True)[:20]
        self._members = {**parts.members, archive.OUTPUTS: b"1234", RECORDS: b"".join(lines)}
        self._packed = archive.pack(seal(self._members, self._statement, self._key))

    def failure(self, number: int, chance: random.Random) -> None:
        """A failure file, as ``dmlcts replay`` reads it."""
        if chance.random() < 0.5:
            data = dump_yaml(_changed_document(self._failure, chance)).encode("utf-8", "replace")
        else:
            data = _changed_bytes(dump_yaml(self._failure).encode(), chance)
        path = self.folder / "failure.yaml"
        path.write_bytes(data)
        self.findings.record("failure", number, lambda: load_case(path, self.tables))

    def results(self, number: int, chance: random.Random) -> None:
        """A results document, as every command reads it that takes one."""
        path = self.folder / "results.json"
        path.write_bytes(self._json(self._results, chance))
        self.findings.record("results", number, lambda: load_results(path))

    def views(self, number: int, chance: random.Random) -> None:
        """Results with a stranger's words in them, shown in every way."""
        document = json.loads(json.dumps(self._results))
        for _ in range(chance.choice((1, 3, 10))):
            texts = [(holder, key) for holder, key in _places(document) if isinstance(holder[key], str)]
            free = [(holder, key) for holder, key in texts if key in FREE]
            holder, key = chance.choice(texts if chance.random() < 0.1 else free)
            holder[key] = chance.choice(WORDS)
        path = self.folder / "shown" / "results.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")

        def read() -> None:
            results = load_results(path)
            page = io.StringIO()
            terminal(results, self.tables, PlainConsole(page, width=80), folder="results")
            column = Column("a", results)
            for text in (
                page.getvalue(),
                markdown(results, self.tables),
                findings.page(results, self.tables, None, "findings"),
                difference_text(difference(self._results, results), self.tables),
                compared_markdown(compare([column], self.tables)),
            ):
                if any(character in text for character in DANGEROUS):
                    raise AssertionError("a character that is more than text")
                if any(line.lstrip().startswith("::error") for line in text.splitlines()):
                    raise AssertionError("a line that is a command")
            if number // len(DOORS) % 20 == 0:
                html.page(results, self.tables)
                junit_xml(items_of(results), results)

        self.findings.record("views", number, read)

    def waivers(self, number: int, chance: random.Random) -> None:
        """A waivers file, and what it covers."""
        path = self.folder / "waivers.yaml"
        path.write_bytes(self._yaml(WAIVERS, chance))

        def read() -> None:
            loaded_waivers = waivers.load(path)
            loaded_waivers.check_run(self.tables, "0.1.0", date(2026, 11, 21))
            loaded_waivers.check_device({"name": "xx", "adapter": "xx1", "details": {}})
            rows = {
                (row["id"], row["operator"], row["data_type"])
                for row in loaded_waivers.used(self._results["clauses"])
                for row in row["waived"]
            }
            if len(rows) > len(loaded_waivers.entries) * len(DataType):
                raise AssertionError("a waiver covers more than its own types")

        self.findings.record("waivers", number, read)

    def baseline(self, number: int, chance: random.Random) -> None:
        """A baseline, and what it says of a run."""
        path = self.folder / "baseline.yaml"
        path.write_bytes(self._yaml(self._baseline, chance))
        whole = {**self._results, "selection": {}}
        self.findings.record("baseline", number, lambda: baseline.compare(whole, baseline.load(path)))

    def archive(self, number: int, chance: random.Random) -> None:
        """A submission's file, changed after it was signed: whatever it is, it is a FAIL."""
        packed = _changed_bytes(self._packed, chance)

        def read() -> None:
            try:
                members = archive.unpack(packed)
            except archive.ArchiveError:
                return
            verification = self.verifier.verify_members(members)
            if verification.exit_code != 1 and packed != self._packed:
                raise AssertionError(f"a changed archive is {verification.standing}")
            if verification.lines[-1].check not in ("statement", "digests", "signature") and packed != self._packed:
                raise AssertionError(f"a changed archive was read as far as {verification.lines[-1].check}")

        self.findings.record("archive", number, read)

    def submission(self, number: int, chance: random.Random) -> None:
        """A submission's documents, changed and signed again."""
        members = dict(self._members)
        documents = [name for name in members if name.endswith(".json")]
        name = chance.choice([*documents, "statement", RECORDS])
        statement = dict(self._statement)
        if name == "statement":
            statement = _changed_document(statement, chance)
        elif name.endswith("l"):
            members[name] = _changed_bytes(members[name], chance)
        else:
            members[name] = self._json(json.loads(members[name]), chance)

        def read() -> None:
            if not isinstance(statement, dict):
                return
            sealed = seal(members, {**self._statement, **statement}, self._key)
            if number // len(DOORS) % 20 == 0:
                verification = self.verifier.verify_members(sealed)
                list(verification.text())
                verification.markdown("s.zip")
            else:
                list(Submission(sealed).faults())

        self.findings.record("submission", number, read)

    def words(self, number: int, chance: random.Random) -> None:
        """The words of a command that a statement names."""
        words = list(COMMAND)
        for _ in range(chance.choice((1, 2, 5))):
            place = chance.randrange(len(words) + 1)
            word = chance.choice((*WORDS, *(parameter.opts[-1] for parameter in certify.params)))
            words[place : place + chance.choice((0, 1, 2))] = [word]
        self.findings.record("words", number, lambda: certify_words(words))

    def journal(self, number: int, chance: random.Random) -> None:
        """A shard's journal, as ``dmlcts merge`` and ``--resume`` read it, and what is written of it."""
        place = self.folder / "1" / "records.jsonl"
        if chance.random() < 0.5:
            place.write_bytes(_lines(_changed_document(self._shards[0], chance)))
        else:
            place.write_bytes(_changed_bytes(_lines(self._shards[0]), chance))

        def read() -> None:
            content = read_journal(place)
            if number // len(DOORS) % 10:
                return
            written = self.folder / "written"
            prepare_folder(written)
            write_run(written, self._results, content.records)
            if number // len(DOORS) % 50 == 0:  # reading the tables takes its time
                merge([str(place.parent), str(self.folder / "2")], str(self.folder / "joined"), lambda text: None)

        self.findings.record("journal", number, read)

    def table(self, number: int, chance: random.Random) -> None:
        """A spec table: its YAML each time, and now and then all that the tables' rules check."""
        data = _changed_bytes(self._table, chance)
        path = self.folder / "fuzzed.yaml"
        path.write_bytes(data)
        if number // len(DOORS) % 100:
            self.findings.record("yaml", number, lambda: read_yaml(data[:2000].decode("utf-8", "replace"), "fuzzed"))
        else:
            self.findings.record("table", number, lambda: load_tables(path))

    def _json(self, document: Any, chance: random.Random) -> bytes:
        if chance.random() < 0.5:
            return json.dumps(_changed_document(document, chance)).encode()
        return _changed_bytes(json.dumps(document).encode(), chance)

    def _yaml(self, document: dict[str, Any], chance: random.Random) -> bytes:
        if chance.random() < 0.5:
            return dump_yaml(_changed_document(document, chance)).encode("utf-8", "replace")
        return _changed_bytes(dump_yaml(document).encode(), chance)

    def strays(self) -> list[str]:
        """Files outside the folder."""
        return [
            str(path)
            for path in self.outside.rglob("*")
            if self.folder not in (path, *path.parents) and path != self.outside / "in"
        ]


DOORS: tuple[Callable[[Bench, int, random.Random], None], ...] = (
    Bench.failure,
    Bench.results,
    Bench.journal,
    Bench.table,
    Bench.views,
    Bench.waivers,
    Bench.baseline,
    Bench.archive,
    Bench.submission,
    Bench.words,
)


def merge_control(folder: Path, shards: list[list[dict[str, Any]]]) -> dict[str, Any]:
    """Merge the unchanged shards: what all changes are measured against is accepted."""
    (folder / "1" / "records.jsonl").write_bytes(_lines(shards[0]))
    return merge([str(folder / "1"), str(folder / "2")], str(folder / "joined"), lambda text: None)


def fuzz(count: int, seed: int, report: Callable[[str], None] = lambda text: None) -> Findings:
    """Read ``count`` changed inputs, as many for each door.

    Returns:
        The findings; ``wrong`` is empty where all went well.
    """
    with tempfile.TemporaryDirectory(prefix="dmlcts-fuzz-") as place:
        bench = Bench(Path(place))
        for number in range(count):
            chance = random.Random(f"{seed} {number}")  # noqa: S311  # not a secret
            before = len(bench.findings.wrong)
            DOORS[number % len(DOORS)](bench, number, chance)
            for wrong in bench.findings.wrong[before:]:
                report(f"input {number}: {wrong}")
            if number % 5000 == 4999:
                report(f"{number + 1} inputs, {len(bench.findings.wrong)} wrong")
        bench.findings.wrong += [f"a file outside the folder: {path}" for path in bench.strays()]
        return bench.findings


def _peak_mebibytes() -> float:
    """The most memory that this process had; 0 where that is not known."""
    try:
        import resource
    except ImportError:
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)


@click.command()
@click.option("--count", default=100_000, show_default=True, help="How many inputs.")
@click.option("--seed", default=0, show_default=True)
def main(count: int, seed: int) -> None:
    """Fuzz what strangers may hand in; exit code 1 where something went wrong."""
    started = time.perf_counter()
    summary = fuzz(count, seed, lambda text: click.echo(text, err=True))
    for kind, times in sorted(summary.counts.items()):
        click.echo(f"{times:8} {kind}")
    for text in summary.wrong[:50]:
        click.echo(text)
    peak = _peak_mebibytes()
    if peak > MOST_MEBIBYTES:
        summary.wrong.append(f"took {peak:.0f} MiB")
        click.echo(summary.wrong[-1])
    spent = time.perf_counter() - started
    click.echo(
        f"{count} inputs (seed {seed}) in {spent:.0f} s, the slowest {summary.slowest:.2f} s, "
        f"at most {peak:.0f} MiB: {len(summary.wrong)} wrong"
    )
    sys.exit(bool(summary.wrong))


if __name__ == "__main__":
    main()
