"""Submissions tampered with by someone who has the vendor's key: changed, listed anew, and signed again.

Each change stands in :data:`EDITS` with the check that has to notice it and what that must say.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dmlcts.reports.certification import archive
from dmlcts.reports.certification.files import digest_of
from dmlcts.suites.selftest.certification.submissions import COMMAND, NOW, RECORDS, STARTED, VERSION, Parts

ROW = ("clip.formula", "ELEMENT_WISE_CLIP", "FLOAT32")
WAIVER = {
    "clause": "clip.formula",
    "operator": "CLIP",
    "data_type": "FLOAT32",
    "vendor": platform.machine(),
    "device": platform.machine(),
    "reason": "The driver clamps one value too low.",
    "issue": "https://example.org/1",
    "expires": "2027-01-31",
    "suite": VERSION,
}


# Tampering with the parts of a submission, before it is signed again.

EDITS: dict[str, tuple[Callable[[Parts], object], str, str]] = {}
"""Name to: the change, the check that must notice it, and what it must say."""


def edit(check: str, text: str) -> Callable[[Callable[[Parts], object]], Callable[[Parts], object]]:
    def add(change: Callable[[Parts], object]) -> Callable[[Parts], object]:
        EDITS[change.__name__.replace("_", " ")] = (change, check, text)
        return change

    return add


def state(**changed: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.statement.update(changed)


def both(name: str, value: Any) -> Callable[[Parts], object]:
    """Change a member of the statement and of the results alike."""

    def change(parts: Parts) -> None:
        parts.statement[name] = value
        parts.edit(archive.RESULTS, lambda results: results.__setitem__(name, value))

    return change


def result(name: str, value: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.edit(archive.RESULTS, lambda results: results.__setitem__(name, value))


def suite(**changed: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.statement["suite"].update(changed)


def other_file(name: str) -> Callable[[Parts], object]:
    """Another suite than here, as it states itself: one file is another, or there is one more."""

    def change(parts: Parts) -> None:
        report = parts.statement["suite"]
        report["files"] = {**report["files"], name: "0" * 64}
        report["digest"] = digest_of(report["files"])

    return change


def tally_of(record: dict[str, Any], row: tuple[str, str, str] = ROW) -> dict[str, Any] | None:
    rows = (tally for tally in record["tallies"] if (tally["clause"], tally["operator"], tally["data_type"]) == row)
    return next(rows, None)


def holder(records: list[dict[str, Any]], row: tuple[str, str, str] = ROW) -> dict[str, Any]:
    return next(record for record in records if tally_of(record, row))


EDITS |= {
    # the suite and the tables
    "another version of the suite": (suite(version="0.2.0"), "suite", f"judged by suite 0.2.0, this is {VERSION}"),
    "another suite of this version": (other_file("suites/plugin.py"), "suite", "the digests of its files differ"),
    "another file of the suite": (other_file("suites/plugin.py"), "suite", r"plugin\.py is another file than here"),
    "a file that is not here": (other_file("suites/more.py"), "suite", r"suites/more\.py is not here"),
    "another digest": (suite(digest="0" * 64), "suite", "do not amount to the digest that it names"),
    "another commit": (suite(commit="f" * 40), "suite", "the results name another suite"),
    "a modified checkout": (
        lambda parts: (
            suite(modified=True)(parts),
            parts.edit(archive.RESULTS, lambda report: report["suite"].update(modified=True)),
        ),
        "unmodified",
        "the suite is modified",
    ),
    "a modified checkout in the results": (
        lambda parts: parts.edit(archive.RESULTS, lambda text: text["suite"].update(modified=True)),
        "suite",
        "the results name another suite",
    ),
    "a modified file": (
        suite(modified=True, changed=["suites/plugin.py"]),
        "unmodified",
        r"the suite is modified: suites/plugin\.py",
    ),
    "a suite that is not installed": (
        lambda parts: (
            suite(version="unknown")(parts),
            parts.edit(archive.RESULTS, lambda message: message["suite"].update(version="unknown")),
        ),
        "suite",
        "judged by suite unknown",
    ),
    "other tables": (state(tables={"operators/clip.yaml": "0" * 64}), "tables", "the statement rests on other tables"),
    "other tables in the run": (result("specs", {}), "tables", "the run rests on other tables"),
    # the options
    "a quick profile": (both("profile", "quick"), "options", "profile is quick, a certification needs certification"),
    "a quick profile relabelled": (
        result("profile", "quick"),
        "options",
        "profile is certification in the statement, quick in the results",
    ),
    "a selection": (result("selection", {"data_types": ["FLOAT32"]}), "options", "only a part was run: data_types"),
    "a selection of operators": (
        result("selection", {"operators": ["ELEMENT_WISE_CLIP"]}),
        "operators",
        "names ELEMENT_WISE_THRESHOLD, which was not selected in the run",
    ),
    "an operator that the statement leaves out": (
        lambda parts: parts.statement["operators"].remove("ELEMENT_WISE_CLIP"),
        "operators",
        "the run selected ELEMENT_WISE_CLIP, which the statement does not name",
    ),
    "an operator that the level does not oblige": (
        lambda parts: parts.statement["operators"].append("ELEMENT_WISE_BIT_AND"),
        "operators",
        r"level 1\.0 obliges nothing of ELEMENT_WISE_BIT_AND",
    ),
    "an operator that nobody knows": (
        lambda parts: parts.statement["operators"].append("ELEMENT_WISE_FROB"),
        "operators",
        "ELEMENT_WISE_FROB is no operator of the tables",
    ),
    "an operator named twice": (
        lambda parts: parts.statement["operators"].append("ELEMENT_WISE_CLIP"),
        "operators",
        "names ELEMENT_WISE_CLIP 2 times",
    ),
    "a command of fewer operators": (
        state(command=[*COMMAND, "--operators", "clip"]),
        "command",
        r"operators: the command says \['ELEMENT_WISE_CLIP'\]",
    ),
    "a command of no operators": (state(command=[*COMMAND, "--operators", ","]), "command", "names no operators"),
    "no operators": (state(operators=[]), "statement", "/operators"),
    "operators in small letters": (state(operators=["clip"]), "statement", "/operators/0"),
    "a strict run": (result("strict", True), "options", "the run was strict"),
    "no isolation": (state(isolation="none"), "options", "isolation is none"),
    "another backend": (state(backend="wgpu"), "options", "backend is wgpu in the statement, cpu in the results"),
    "a level above the device's": (both("feature_level", "5.0"), "level", "level 5.0 is submitted, the device"),
    "another seed than the command's": (both("seed", 7), "command", "seed: the command says 0, the statement 7"),
    "an option that is not allowed": (
        state(command=[*COMMAND, "--clause", "clip.*"]),
        "command",
        "No such option:? '?--clause",
    ),
    "another command": (state(command=["run", *COMMAND[1:]]), "command", "is not `dmlcts certify`"),
    "a quick command": (
        state(command=[*COMMAND, "--profile", "quick"]),
        "command",
        "profile: the command says 'quick'",
    ),
    "another vendor than the command's": (state(vendor="Evil"), "command", "vendor: the command says 'ACME'"),
    "a draft's command": (state(command=[*COMMAND, "--draft"]), "command", "draft: the command says True"),
    # the device
    "another device's results": (
        lambda parts: parts.edit(archive.RESULTS, lambda results: results["device"].update(adapter="other")),
        "device",
        "the results are another device's",
    ),
    "another device's environment": (
        lambda parts: parts.edit(archive.ENVIRONMENT, lambda environment: environment["device"].update(driver="other")),
        "device",
        "the environment is another device's",
    ),
    "another machine's environment": (
        lambda parts: parts.edit(
            archive.ENVIRONMENT, lambda environment: environment["environment"].update(machine="other")
        ),
        "device",
        "the environment is not the one that the results name",
    ),
    # the clock
    "ended before it began": (
        state(finished=(STARTED - timedelta(hours=1)).isoformat()),
        "clock",
        "it ended before it began",
    ),
    "submitted in the future": (
        state(made=(NOW + timedelta(days=3)).isoformat()),
        "clock",
        "submitted 2026-11-24, which is yet to come",
    ),
    "older than the suite": (state(started="1999-12-31T23:59:59+00:00"), "clock", "before there was a suite"),
    "a day that does not exist": (state(started="2026-02-31T00:00:00+00:00"), "clock", "does not exist"),
    "other times than the results'": (
        state(started=(STARTED - timedelta(minutes=1)).isoformat()),
        "clock",
        "the results name other times",
    ),
    # the draft's marks
    "a verdict that does not follow": (both("verdict", "NOT_CONFORMANT"), "form", "/verdict: is NOT_CONFORMANT where"),
    "a draft that hides why": (
        lambda parts: (state(draft=["for fun"], isolation="none")(parts), parts.statement["command"].append("--draft")),
        "draft",
        "the draft does not say that the implementation did not run in a process of its own",
    ),
}


@edit("options", "the run was interrupted")
def an_interrupted_run(parts: Parts) -> None:
    parts.edit(archive.RESULTS, lambda results: results.update(interrupted=True, verdict="INCOMPLETE"))
    parts.statement["verdict"] = "INCOMPLETE"


@edit("clock", "a test took 90000 s, longer than the run")
def a_test_longer_than_the_run(parts: Parts) -> None:
    parts.edit_records(lambda records: records[0].update(seconds=90000.0))


@edit("digests", "sweep.json is in the statement and not in the archive")
def a_file_listed_and_left_out(parts: Parts) -> None:
    parts.members[archive.SWEEP] = b"{}\n"


@edit("signature", "signed by key .*, which is not trusted")
def signed_with_another_key(parts: Parts) -> None:
    parts.key = Ed25519PrivateKey.generate()


@edit("signature", "the statement is not signed")
def not_signed(parts: Parts) -> None:
    parts.key = None


# Shards.


def sharded(parts: Parts, count: int) -> None:
    """The same records in ``count`` parts."""
    lines = parts.members.pop(RECORDS).splitlines(keepends=True)
    parts.statement["shards"] = []
    for index in range(1, count + 1):
        name = archive.records_name(index, count)
        mine = lines[index - 1 :: count]
        parts.members[name] = b"".join(mine)
        shard = {"file": name, "index": index, "count": count, "records": len(mine)}
        parts.statement["shards"].append(shard)


@edit("shards", "^part 10 of 16 is missing$")
def a_missing_shard(parts: Parts) -> None:
    sharded(parts, 16)
    del parts.members[parts.statement["shards"].pop(9)["file"]]


@edit("shards", "the records of part 2 are missing")
def a_shard_without_records(parts: Parts) -> None:
    sharded(parts, 3)
    del parts.members[archive.records_name(2, 3)]


@edit("shards", "part 2 is there 2 times")
def a_shard_twice(parts: Parts) -> None:
    sharded(parts, 3)
    parts.statement["shards"].append(parts.statement["shards"][1])


@edit("shards", "records-2-of-2.jsonl belongs to no part")
def records_of_no_part(parts: Parts) -> None:
    parts.members[archive.records_name(2, 2)] = parts.members[RECORDS]


@edit("shards", r"the parts disagree on how many there are: 1, 2")
def shards_of_two_runs(parts: Parts) -> None:
    name = archive.records_name(2, 2)
    parts.members[name] = parts.members[RECORDS]
    parts.statement["shards"].append({"file": name, "index": 2, "count": 2, "records": 1214})


@edit("shards", r"part 1 names records-1-of-2\.jsonl for its records")
def a_shard_that_names_another_file(parts: Parts) -> None:
    name = archive.records_name(1, 2)
    parts.members[name] = parts.members.pop(RECORDS)
    parts.statement["shards"][0]["file"] = name


@edit("shards", r"has \d+ records, not 7")
def a_shard_with_another_count(parts: Parts) -> None:
    parts.statement["shards"][0]["records"] = 7


# Records and results.


@edit("records", r"test_\S+ has 2 records")
def a_duplicated_record(parts: Parts) -> None:
    parts.edit_records(lambda records: records.append({**records[5], "tallies": []}))


@edit("records", r"test_\S+ has no record")
def a_removed_record(parts: Parts) -> None:
    parts.edit_records(lambda records: records.pop(5))


@edit("records", "test_evil.py::test_evil is no test of this suite")
def a_record_of_no_test(parts: Parts) -> None:
    parts.edit_records(lambda records: records.append({**records[0], "test": "test_evil.py::test_evil", "tallies": []}))


@edit("records", "is pass with a fail in it")
def a_failure_inside_a_passing_record(parts: Parts) -> None:
    parts.edit_records(lambda records: tally_of(holder(records)).update(outcome="fail"))  # type: ignore[union-attr]


@edit("records", "is waived in its record, where a run never writes that")
def a_waiver_written_into_a_record(parts: Parts) -> None:
    parts.edit_records(lambda records: tally_of(holder(records)).update(outcome="waived"))  # type: ignore[union-attr]


@edit("form", "is no JSON")
def a_line_that_is_no_record(parts: Parts) -> None:
    parts.members[RECORDS] += b"{\n"
    parts.statement["shards"][0]["records"] += 1


@edit("form", "ends in the middle of a line")
def half_a_line(parts: Parts) -> None:
    parts.members[RECORDS] = parts.members[RECORDS][:-1]
    parts.statement["shards"][0]["records"] -= 1


@edit("form", 'the key "outcome" stands twice')
def a_key_twice(parts: Parts) -> None:
    data, twice = b'"outcome": "pass"', b'"outcome": "fail", "outcome": "pass"'
    parts.members[RECORDS] = parts.members[RECORDS].replace(data, twice, 1)


@edit("results", "clip.formula ELEMENT_WISE_CLIP FLOAT32: the results say outcome pass, not fail; failures 0, not 3")
def a_flipped_outcome(parts: Parts) -> None:
    def fail(records: list[dict[str, Any]]) -> None:
        record = holder(records)
        record["outcome"] = "fail"
        tally_of(record).update(outcome="fail", failures=3)  # type: ignore[union-attr]

    parts.edit_records(fail)


@edit("results", "the results lack the row clip.formula ELEMENT_WISE_CLIP FLOAT32")
def a_removed_clause(parts: Parts) -> None:
    def remove(results: dict[str, Any]) -> None:
        rows = results["clauses"]
        rows.remove(next(row for row in rows if (row["id"], row["operator"], row["data_type"]) == ROW))

    parts.edit(archive.RESULTS, remove)


@edit("records|results", "the records amount to INCOMPLETE, the statement says CONFORMANT")
def a_clause_removed_from_records_and_results(parts: Parts) -> None:
    idle = {"tallies": [], "outcome": "not_supported", "reason": "not obliged"}
    parts.edit_records(lambda records: holder(records).update(idle))
    a_removed_clause(parts)


@edit("results", "which no record supports")
def an_invented_row(parts: Parts) -> None:
    def add(results: dict[str, Any]) -> None:
        results["clauses"].append({**results["clauses"][0], "id": "round.toward-zero", "data_type": "FLOAT16"})

    parts.edit(archive.RESULTS, add)


@edit("results", "the results say elements 30000, not 30")
def inflated_counts(parts: Parts) -> None:
    parts.edit(archive.RESULTS, lambda results: results["clauses"][0].update(elements=30000))


@edit("results", "behaviours of the results does not follow from the records")
def an_invented_behaviour(parts: Parts) -> None:
    seen = dict(zip(("clause", "operator", "data_type"), ROW, strict=True), behaviour="is good", example="")
    parts.edit(archive.RESULTS, lambda results: results.update(behaviours=[seen]))


def skipped(parts: Parts) -> None:
    def skip(records: list[dict[str, Any]]) -> None:
        tally_of(holder(records)).update(outcome="skipped", cases=0, elements=0)  # type: ignore[union-attr]

    parts.edit_records(skip)
    parts.rebuild()


@edit("draft", "the verdict is INCOMPLETE; only CONFORMANT can be certified")
def an_incomplete_run(parts: Parts) -> None:
    skipped(parts)
    assert parts.statement["verdict"] == "INCOMPLETE"


@edit("results", "the records amount to INCOMPLETE, the statement says CONFORMANT")
def an_incomplete_run_relabelled_in_the_statement(parts: Parts) -> None:
    skipped(parts)
    parts.statement["verdict"] = "CONFORMANT"


@edit("form", "/verdict: is CONFORMANT where the rows and failures amount to INCOMPLETE")
def an_incomplete_run_relabelled_everywhere(parts: Parts) -> None:
    an_incomplete_run_relabelled_in_the_statement(parts)
    parts.edit(archive.RESULTS, lambda results: results.update(verdict="CONFORMANT"))


@edit("draft", "the verdict is NOT_CONFORMANT; only CONFORMANT can be certified")
def a_failing_run(parts: Parts) -> None:
    a_flipped_outcome(parts)
    parts.rebuild()


# Waivers.


def waived(parts: Parts, **changed: str) -> None:
    """A genuine waived failure; ``changed`` is what its waiver says otherwise."""
    a_flipped_outcome(parts)
    parts.members[archive.WAIVERS] = waivers_file(**changed)
    parts.statement["command"] += ["--waivers", "w.yaml"]
    parts.rebuild()


def waivers_file(**changed: str) -> bytes:
    """A waivers file."""
    return json.dumps({"format": "dmlcts/waivers/1", "waivers": [{**WAIVER, **changed}]}).encode()


@edit("waivers", "the results name waivers that are not in the submission")
def a_removed_waiver(parts: Parts) -> None:
    waived(parts)
    del parts.members[archive.WAIVERS]


@edit("waivers", "the results name other waivers than those in the submission")
def an_edited_waiver(parts: Parts) -> None:
    waived(parts)
    parts.members[archive.WAIVERS] = waivers_file(reason="The driver clamps one value too high.")


@edit("waivers", "expired on 2026-11-20")
def an_expired_waiver(parts: Parts) -> None:
    waived(parts, expires="2026-11-20")


@edit("waivers", "is for vendor other")
def a_waiver_for_another_device(parts: Parts) -> None:
    waived(parts, vendor="other")


@edit("waivers", rf"is for suite 0\.0\.\*, this is {re.escape(VERSION)}")
def a_waiver_for_another_suite(parts: Parts) -> None:
    waived(parts, suite="0.0.*")


@edit("waivers", "matches nothing that ran or was required")
def a_waiver_about_nothing(parts: Parts) -> None:
    parts.members[archive.WAIVERS] = waivers_file(clause="clip.cast.integer", data_type="INT8")
    parts.statement["command"] += ["--waivers", "w.yaml"]
    parts.rebuild()


@edit("draft", "the verdict is NOT_CONFORMANT")
def a_crash_under_a_waiver(parts: Parts) -> None:
    def crash(records: list[dict[str, Any]]) -> None:
        record = holder(records)
        record["outcome"] = "crash"
        tally_of(record).update(outcome="crash", failures=3)  # type: ignore[union-attr]

    parts.edit_records(crash)
    parts.members[archive.WAIVERS] = waivers_file()
    parts.statement["command"] += ["--waivers", "w.yaml"]
    parts.rebuild()


for _name, _changed, _refusal in (
    ("a waiver of every clause", {"clause": "*"}, "/waivers/0/clause: "),
    ("a waiver of a family of clauses", {"clause": "clip.*"}, "/waivers/0/clause: "),
    ("a waiver of every operator", {"operator": "*"}, "/waivers/0/operator: "),
    ("a waiver of every type", {"data_type": "*"}, "/waivers/0/data_type: "),
    ("a waiver of a list with a wildcard", {"data_type": ["FLOAT32", "*"]}, "/waivers/0/data_type/1: "),
    ("a waiver of every vendor", {"vendor": "*"}, "its vendor '\\*' names nothing"),
    ("a waiver of nearly every vendor", {"vendor": "?*"}, r"its vendor '\?\*' names nothing"),
    ("a waiver of every device", {"device": "*"}, "its device '\\*' names nothing"),
    ("a waiver of every suite", {"suite": "*"}, "its suite '\\*' is no version"),
    ("a waiver of every suite of a number", {"suite": "0.*"}, "its suite '0.\\*' is no version"),
    ("a waiver without a word", {"reason": " "}, "its reason ' ' says nothing"),
    ("a waiver with a word", {"reason": "known"}, "its reason 'known' says nothing"),
    ("a waiver with a dotted line", {"reason": "." * 40}, "says nothing"),
    ("a waiver tracked nowhere", {"issue": "https://example.org/"}, "is no report's address"),
    ("a waiver tracked in a script", {"issue": "javascript:alert(1)"}, "/waivers/0/issue: "),
    ("a waiver for ever", {"expires": "9999-12-31"}, "holds until 9999-12-31, more than a year from 2026-11-21"),
    ("a waiver for two years", {"expires": "2028-11-21"}, "holds until 2028-11-21, more than a year"),
    ("a waiver until a day that is none", {"expires": "2027-02-30"}, "2027-02-30 is no date"),
):

    def _of(parts: Parts, changed: dict[str, Any] = _changed) -> None:
        a_flipped_outcome(parts)
        sealed = waivers_file()
        parts.members[archive.WAIVERS] = sealed
        parts.statement["command"] += ["--waivers", "w.yaml"]
        parts.rebuild()
        parts.members[archive.WAIVERS] = waivers_file(**changed)
        parts.edit(archive.RESULTS, lambda results: results["waivers"][0].update(changed))

    EDITS[_name] = (_of, "(form|waivers)", _refusal)


@edit("waivers", "expired on 2026-11-20")
def a_run_put_back_to_revive_a_waiver(parts: Parts) -> None:
    """Begun, by its own account, while the waiver still held."""
    moved = timedelta(days=30)
    began, ended = STARTED - moved, STARTED - moved + timedelta(hours=2)
    waived(parts, expires="2026-11-20")
    parts.statement.update(started=began.isoformat(), finished=ended.isoformat())
    times = {"started": began.isoformat(), "finished": ended.isoformat(), "seconds": 7200.0}
    parts.edit(archive.RESULTS, lambda results: results["timings"].update(times))


# Records that say less than any run's do.


def every_tally(**changed: Any) -> Callable[[Parts], object]:
    """The same change to every tally, and results that follow."""

    def change(parts: Parts) -> None:
        def edit_all(records: list[dict[str, Any]]) -> None:
            for record in records:
                for report in record["tallies"]:
                    report.update(changed)

        parts.edit_records(edit_all)
        parts.rebuild()

    return change


@edit("records", "is pass and checked nothing")
def a_record_that_checked_nothing(parts: Parts) -> None:
    def claim(records: list[dict[str, Any]]) -> None:
        records[5].update(tallies=[])

    parts.edit_records(claim)


@edit("records", "is not_supported without a reason")
def a_skipped_test_without_a_reason(parts: Parts) -> None:
    def silence(records: list[dict[str, Any]]) -> None:
        records[5].update(tallies=[], outcome="not_supported")

    parts.edit_records(silence)


@edit("records", "is skipped without a reason")
def a_skipped_test_with_a_reason_of_blanks(parts: Parts) -> None:
    def silence(records: list[dict[str, Any]]) -> None:
        records[5].update(tallies=[], outcome="skipped", reason=" \t")

    parts.edit_records(silence)


@edit("records", r"bounds\[CLIP-FLOAT32\] judged nothing \(of no interest\), and has something to judge on")
def a_test_hidden_by_a_reason(parts: Parts) -> None:
    """Its item's tallies are those of its other tests: the results follow from what is left."""

    def hide(records: list[dict[str, Any]]) -> None:
        spare = next(record for record in records if record["test"].endswith("::clamping[CLIP]"))
        spare.update(idle={"test_ordinary_bounds[CLIP-FLOAT32]": "of no interest"})

    parts.edit_records(hide)


@edit("records", r"is not_supported and names no test that judged nothing")
def an_item_hidden_by_a_reason(parts: Parts) -> None:
    def hide(records: list[dict[str, Any]]) -> None:
        records[5].update(tallies=[], outcome="not_supported", reason="of no interest")

    parts.edit_records(hide)


@edit("clock", "the run, or every test of it, took no time at all")
def a_run_of_no_time(parts: Parts) -> None:
    parts.edit_records(lambda records: [record.update(seconds=0.0) for record in records])


@edit("clock", "took no time at all")
def a_run_that_ends_when_it_begins(parts: Parts) -> None:
    parts.edit_records(lambda records: [record.update(seconds=1e-9) for record in records])
    parts.statement.update(finished=parts.statement["started"])
    times = {"finished": parts.statement["started"], "seconds": 0.0}
    parts.edit(archive.RESULTS, lambda results: results["timings"].update(times))


EDITS["one case a tally"] = (every_tally(cases=1, elements=1), "records", "cases for .* tallies: a certification run")

# Challenges.

CHALLENGE = "0123456789abcdef" * 2


def challenged(parts: Parts, stated: str = CHALLENGE) -> None:
    """A statement that names a challenge, in its command too."""
    parts.statement["challenge"] = stated
    parts.statement["command"] += ["--challenge", stated]


EDITS |= {
    "evidence that was not drawn from the challenge": (
        challenged,
        "evidence",
        "the statement is of another plan: ",
    ),
    "a challenge that the command does not name": (
        state(challenge=CHALLENGE),
        "command",
        "challenge: the command says '', the statement '0123",
    ),
    "a challenge of the command alone": (
        state(command=[*COMMAND, "--challenge", CHALLENGE]),
        "command",
        "challenge: the command says '0123",
    ),
    "a challenge that is none": (state(challenge="x" * 32), "statement", "/challenge"),
    "a short challenge": (state(challenge="0123"), "statement", "/challenge"),
    "a challenge with a line behind it": (state(challenge=f"{CHALLENGE}\n"), "statement", "/challenge"),
}

# The form of documents: whatever is missing or of another kind, in the statement and in what it lists.


def without(member: str, name: str) -> Callable[[Parts], object]:
    return lambda parts: parts.edit(member, lambda document: document.pop(name))


def with_another(member: str, name: str, value: Any) -> Callable[[Parts], object]:
    return lambda parts: parts.edit(member, lambda document: document.__setitem__(name, value))


def unstated(name: str) -> Callable[[Parts], object]:
    return lambda parts: parts.statement.pop(name)


_STATED = (
    "format",
    "draft",
    "product",
    "vendor",
    "suite",
    "tables",
    "backend",
    "options",
    "device",
    "feature_level",
    "profile",
    "seed",
    "isolation",
    "verdict",
    "started",
    "finished",
    "made",
    "command",
    "shards",
    "evidence",
)
EDITS |= {f"a statement without {name}": (unstated(name), "statement", f"lacks {name}") for name in _STATED}
EDITS |= {f"a statement whose {name} is a number": (state(**{name: 7.5}), "statement", f"/{name}") for name in _STATED}
_HELD = {
    archive.RESULTS: (
        "schema",
        "verdict",
        "backend",
        "device",
        "clauses",
        "behaviours",
        "failures",
        "timings",
        "environment",
        "suite",
        "specs",
        "selection",
        "seed",
        "strict",
        "interrupted",
    ),
    archive.EVIDENCE: ("format", "cases", "bytes", "plan", "absent"),
    archive.ENVIRONMENT: ("format", "environment", "device"),
}
EDITS |= {
    f"{member} without {name}": (without(member, name), "form", f"{re.escape(member)}: lacks {name}")
    for member, names in _HELD.items()
    for name in names
}
EDITS |= {
    f"{member} whose {name} is a number": (with_another(member, name, -7.5), "form", f"{re.escape(member)} /{name}")
    for member, names in _HELD.items()
    for name in names
}


def nested(depth: int) -> Any:
    """A list in a list, so many levels deep."""
    results: Any = []
    for _ in range(depth):
        results = [results]
    return results


def raw_member(member: str, data: bytes) -> Callable[[Parts], object]:
    return lambda parts: parts.members.__setitem__(member, data)


def replaced(member: str, old: bytes, new: bytes) -> Callable[[Parts], object]:
    def change(parts: Parts) -> None:
        assert old in parts.members[member]
        parts.members[member] = parts.members[member].replace(old, new, 1)

    return change


EDITS |= {
    "a device nested without end": (
        lambda parts: state(device={**parts.statement["device"], "details": nested(100)})(parts),
        "statement",
        "is nested more than 64 levels deep",
    ),
    "results nested without end": (
        lambda parts: parts.edit(archive.RESULTS, lambda environment: environment["environment"].update(x=nested(100))),
        "form",
        "is nested more than 64 levels deep",
    ),
    "a seed of a thousand digits": (state(seed=10**1000), "statement", "a number has 1,001 digits"),
    "a seed beyond 32 bits": (both("seed", 1 << 32), "statement", "/seed"),
    "a count of a thousand digits": (
        lambda parts: parts.edit(
            archive.RESULTS, lambda environment: environment["clauses"][0].update(elements=10**1000)
        ),
        "form",
        "a number has 1,001 digits",
    ),
    "a number beyond all numbers": (
        replaced(archive.RESULTS, b'"seconds": 7200.0', b'"seconds": 1e999'),
        "form",
        "beyond all bounds",
    ),
    "a number that is none": (
        replaced(archive.RESULTS, b'"seconds": 7200.0', b'"seconds": NaN'),
        "form",
        "NaN is no JSON number",
    ),
    "a key twice in the results": (
        replaced(archive.RESULTS, b'"verdict":', b'"verdict": "CONFORMANT", "verdict":'),
        "form",
        "stands twice",
    ),
    "results in UTF-16": (
        lambda parts: raw_member(archive.RESULTS, parts.members[archive.RESULTS].decode().encode("utf-16"))(parts),
        "form",
        "is not UTF-8 text",
    ),
    "results that are a list": (raw_member(archive.RESULTS, b"[]\n"), "form", "is no JSON object"),
    "results that are nothing": (raw_member(archive.RESULTS, b""), "form", "is no JSON"),
    "evidence that is nothing": (raw_member(archive.EVIDENCE, b""), "form", "is no JSON"),
    "an environment of zeros": (raw_member(archive.ENVIRONMENT, bytes(100)), "form", "is no JSON"),
    "results with a hundred thousand faults": (
        lambda parts: parts.edit(archive.RESULTS, lambda environment: environment.update(clauses=[{}] * 100_000)),
        "form",
        "/clauses/0: lacks id",
    ),
    "more values than are read": (
        raw_member(archive.RESULTS, b"[" + b"0," * 1_600_000 + b"0]"),
        "statement",
        "may hold more than 750,000 values in its documents",
    ),
    "records of more values than are read": (
        raw_member(RECORDS, b"[" + b"0," * 2_100_000 + b"0]\n"),
        "statement",
        "may hold more than 2,000,000 values in its records",
    ),
    "waivers of a thousand anchors": (
        raw_member(archive.WAIVERS, b"a: &a [x]\n" + b"b: [" + b"*a, " * 1000 + b"]\n"),
        "form",
        "is no YAML that can",
    ),
    "waivers nested without end": (
        raw_member(archive.WAIVERS, b"[" * 10_000),
        "form",
        "is no YAML that can",
    ),
    "a waiver twice": (
        lambda parts: (
            waived(parts),
            raw_member(
                archive.WAIVERS,
                json.dumps(
                    {
                        "format": "dmlcts/waivers/1",
                        "waivers": [WAIVER, WAIVER],
                    }
                ).encode(),
            )(parts),
        ),
        "waivers",
        "the results name other waivers",
    ),
    "a suite with a line behind its version": (suite(version=f"{VERSION}\n"), "statement", "/suite/version"),
    "a digest with a line behind it": (
        lambda parts: parts.statement["suite"].update(digest=parts.statement["suite"]["digest"] + "\n"),
        "statement",
        "/suite/digest",
    ),
    "a product with a line behind it": (state(product="Driver 1.2\n"), "statement", "/product"),
    "a product that paints": (state(product="\x1b[2JPASS"), "statement", "/product"),
    "a vendor that hides": (state(vendor=""), "statement", "/vendor"),
    "a moment without a day": (state(made="now"), "statement", "/made"),
    "a command of another kind": (state(command=[["certify"]]), "statement", "/command/0"),
    "a thousand shards": (
        state(shards=[{"file": RECORDS, "index": 1, "count": 1, "records": 1}] * 1000),
        "statement",
        "/shards",
    ),
    "a shard beyond all": (
        state(shards=[{"file": RECORDS, "index": 65, "count": 65, "records": 1}]),
        "statement",
        "/shards/0/index",
    ),
}
