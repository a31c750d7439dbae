"""Tampered submissions: each is refused, and for its own reason.

Unless a forgery is about the signature, the forger has the vendor's key: everything is listed and signed again
after the change, so that the check for this very thing has to notice it.
"""

from __future__ import annotations

import io
import json
import random
import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="signing needs the extra `certify`")

from dmlcts.reports.certification import archive
from dmlcts.reports.certification.verdict import Standing, Status, Verification
from dmlcts.specs import UsageError
from dmlcts.suites.certification import evidence, reckoning
from dmlcts.suites.certification.verify import verify_members
from dmlcts.suites.running.options import Settings
from dmlcts.suites.selftest.certification.submissions import FEW, LEVEL, NOW, RECORDS, VERSION, Parts, build, rezipped
from dmlcts.suites.selftest.certification.tampered_bytes import ARCHIVES
from dmlcts.suites.selftest.certification.tampered_documents import (
    CHALLENGE,
    EDITS,
    a_flipped_outcome,
    challenged,
    sharded,
    waived,
)
from dmlcts.suites.selftest.certification.tampered_evidence import a_wrong_output
from dmlcts.suites.selftest.strangers.fuzzing import _changed_document as changed_document

RECKONED = ("feature_level", "profile", "seed", "device")
"""What of a statement decides on which tests have nothing to judge."""


@pytest.fixture(scope="session")
def genuine() -> Parts:
    return build()


@pytest.fixture(scope="session")
def _judged_once() -> Iterator[None]:
    """Plans and judgements of equal outputs are made once, so that a hundred verifications take a minute."""
    patch = pytest.MonkeyPatch()
    planned: dict[Any, Any] = {}
    judged: dict[Any, Any] = {}
    reckoned: dict[Any, Any] = {}
    plan, judge, reckon = evidence.plan, evidence.judge, reckoning.idle_tests

    def plan_once(tables: Any, level: Any, seed: int, challenge: str = "", operators: Any = None) -> Any:
        key = (str(level), seed, challenge, None if operators is None else frozenset(operators))
        if key not in planned:
            planned[key] = plan(tables, level, seed, challenge, operators)
        return planned[key]

    def judge_once(cases: Any, outputs: bytes, absent: Any, tables: Any) -> Any:
        key = (id(cases), outputs, absent)
        if key not in judged:
            judged[key] = judge(cases, outputs, absent, tables)
        return judged[key]

    def reckon_once(tests: Any, statement: Any, operators: Any) -> Any:
        named = tuple((item, tuple(sorted(inside))) for item, inside in sorted(tests.items()))
        key = named, json.dumps([statement[name] for name in RECKONED]), tuple(operators)
        if key not in reckoned:
            reckoned[key] = reckon(tests, statement, operators)
        return reckoned[key]

    patch.setattr(reckoning, "idle_tests", reckon_once)
    patch.setattr(evidence, "plan", plan_once)
    patch.setattr(evidence, "judge", judge_once)
    yield
    patch.undo()


@pytest.fixture
def parts(genuine: Parts, _judged_once: None) -> Parts:
    return genuine.copy()


def refused(verification: Verification, check: str, text: str) -> None:
    faults = [line for line in verification.lines if line.status is Status.FAIL]
    assert verification.standing is Standing.FAIL, "\n".join(verification.text())
    assert verification.exit_code == 1
    assert re.fullmatch(check, faults[0].check), "\n".join(verification.text())
    texts = [fault.wording for fault in faults if re.fullmatch(check, fault.check)]
    assert any(re.search(text, item) for item in texts), "\n".join(verification.text())


def test_the_untampered_submission_passes(parts: Parts) -> None:
    verification = parts.verifier.verify(parts.packed())
    assert verification.standing is Standing.PASS, "\n".join(verification.text())
    assert verification.exit_code == 0
    assert {line.status for line in verification.lines} == {Status.PASS}
    assert parts.packed() == parts.packed()
    by_hand = rezipped(parts.packed(), lambda made, members: None)
    assert parts.verifier.verify(by_hand).standing is Standing.PASS


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", EDITS)
def test_a_submission_tampered_with_and_signed_again_is_refused(name: str, parts: Parts) -> None:
    change, check, text = EDITS[name]
    change(parts)
    if name == "a file listed and left out":
        sealed = parts.sealed()
        del sealed[archive.SWEEP]
        packed = archive.pack(sealed)
    else:
        packed = parts.packed()
    refused(parts.verifier.verify(packed), check, text)


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_tampered_with_after_it_was_signed_is_refused(name: str, parts: Parts) -> None:
    tamper, check, text = ARCHIVES[name]
    refused(parts.verifier.verify(tamper(parts)), check, text)


@pytest.mark.parametrize("count", [2, 16])
def test_a_genuine_submission_in_shards_passes(count: int, parts: Parts) -> None:
    sharded(parts, count)
    verification = parts.verifier.verify(parts.packed())
    assert verification.standing is Standing.PASS, "\n".join(verification.text())


def rows_of(parts: Parts) -> int:
    return len(json.loads(parts.members[archive.RESULTS])["clauses"])


def test_a_genuine_waiver_passes_and_is_reported(parts: Parts) -> None:
    waived(parts)
    verification = parts.verifier.verify(parts.packed())
    assert verification.standing is Standing.PASS, "\n".join(verification.text())
    assert any("1 waiver for 1 row" in line.wording for line in verification.lines)
    assert "1 waiver for 1 row" in verification.markdown("s.zip")
    words = f"PASS with 1 waived clause (1 of {rows_of(parts)} rows, 0.8 %)"
    assert list(verification.text())[-1].startswith(f"{words}: Driver 1.2 is what it says")
    assert verification.markdown("s.zip").startswith(f"# Submission s.zip: {words}")


def answered(parts: Parts, challenge: str = CHALLENGE) -> None:
    """The same submission with evidence that is drawn from a challenge."""
    tables = parts.verifier.reference.tables
    bench = Settings.read(options=["feature_level=1.0"]).open()
    try:
        planned = evidence.plan(tables, LEVEL, 0, challenge, FEW)
        outputs, absent = evidence.gather(bench, planned)
    finally:
        bench.close()
    assert not absent
    report = {"cases": len(planned), "bytes": len(outputs), "plan": evidence.digest(planned)}
    challenged(parts, challenge)
    parts.statement["evidence"] = report
    parts.edit(archive.EVIDENCE, lambda document: document.update(report))
    parts.members[archive.OUTPUTS] = outputs


def test_a_challenge_is_answered_or_not(parts: Parts) -> None:
    plain = parts.copy()
    answered(parts)
    asked = replace(parts.verifier, challenge=CHALLENGE)
    verification = asked.verify(parts.packed())
    assert verification.standing is Standing.PASS, "\n".join(verification.text())
    assert any("drawn from the challenge that was handed out" in line.wording for line in verification.lines)
    verification = parts.verifier.verify(parts.packed())
    assert verification.standing is Standing.PASS
    assert any("who handed it out is not known here" in line.wording for line in verification.lines)
    other = replace(parts.verifier, challenge="f" * 32)
    refused(other.verify(parts.packed()), "challenge", f"drawn from challenge {CHALLENGE}, not from the one")
    refused(asked.verify(plain.packed()), "challenge", "drawn from no challenge")
    assert any("prepared beforehand" in line.wording for line in plain.verifier.verify(plain.packed()).lines)


def test_another_challenge_is_another_sample(parts: Parts) -> None:
    tables = parts.verifier.reference.tables
    plans = [evidence.digest(evidence.plan(tables, LEVEL, 0, text, FEW)) for text in ("", CHALLENGE, "f" * 32)]
    assert len(set(plans)) == 3
    assert evidence.new_challenge() != evidence.new_challenge()
    assert evidence.read_challenge(evidence.new_challenge())
    with pytest.raises(UsageError, match="is no challenge"):
        evidence.read_challenge("x")


def test_wrong_outputs_are_excused_only_where_the_run_found_them(parts: Parts) -> None:
    """A waiver for a clause that the run passed says nothing of outputs that are wrong."""
    waived(parts)
    row = next(row for row in json.loads(parts.members[archive.RESULTS])["clauses"] if row["outcome"] == "waived")
    first = evidence.plan(parts.verifier.reference.tables, LEVEL, 0, "", FEW)[0].case
    assert (first.clause, first.data_type.name) == (row["id"], row["data_type"])
    a_wrong_output(parts)
    verification = parts.verifier.verify(parts.packed())
    assert verification.standing is Standing.PASS, "\n".join(verification.text())
    assert any("all right but 1 case of waived clauses" in line.wording for line in verification.lines)
    assert verification.words == f"PASS with 1 waived clause (1 of {rows_of(parts)} rows, 0.8 %)"
    other = parts.copy()
    other.members[archive.OUTPUTS] = bytes(len(other.members[archive.OUTPUTS]))
    refused(other.verifier.verify(other.packed()), "evidence", "wrong output in")


def test_a_waiver_counts_on_the_verifier_s_own_day(parts: Parts) -> None:
    waived(parts, expires="2026-11-25")
    assert parts.verifier.verify(parts.packed()).standing is Standing.PASS
    later = replace(parts.verifier, now=NOW + timedelta(days=30))
    refused(later.verify(parts.packed()), "waivers", "expired on 2026-11-25")
    then = replace(later, day=NOW.date())
    verification = then.verify(parts.packed())
    assert verification.standing is Standing.PASS
    assert any("as of 2026-11-21" in line.wording for line in verification.lines)


def test_another_suites_submission_is_reported_as_such_even_where_its_documents_look_otherwise(parts: Parts) -> None:
    parts.edit(archive.RESULTS, lambda results: results.update(weather="fine"))
    parts.statement["suite"]["version"] = "0.2.0"
    verification = parts.verifier.verify(parts.packed())
    faults = [line.wording for line in verification.lines if line.status is Status.FAIL]
    assert faults == [f"judged by suite 0.2.0, this is {VERSION}: verify with the same version"]


def test_without_a_trusted_key_nothing_passes(parts: Parts) -> None:
    nobody = replace(parts.verifier, trusted=())
    assert nobody.verify(parts.packed()).standing is Standing.INCOMPLETE
    stranger = replace(parts.verifier, trusted=(bytes(32),))
    assert stranger.verify(parts.packed()).standing is Standing.FAIL


def test_without_the_library_the_signature_is_left_open(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    verification = parts.verifier.verify(parts.packed())
    assert verification.standing is Standing.INCOMPLETE
    assert "pip install 'dmlcts[certify]'" in verification.summary()


def test_a_verifier_that_is_no_release_accepts_nothing(parts: Parts) -> None:
    modified = replace(parts.verifier.reference, modified=True)
    verification = replace(parts.verifier, reference=modified).verify(parts.packed())
    assert verification.standing is Standing.INCOMPLETE
    assert verification.exit_code == 4


def test_a_draft_is_a_draft(parts: Parts) -> None:
    a_flipped_outcome(parts)
    parts.rebuild()
    parts.statement["draft"] = ["the verdict is NOT_CONFORMANT", "it is not signed"]
    command = parts.statement["command"]
    del command[command.index("--key") : command.index("--key") + 2]
    command.append("--draft")
    parts.key = None
    verification = parts.verifier.verify(parts.packed())
    assert verification.standing is Standing.DRAFT, "\n".join(verification.text())
    assert verification.exit_code == 4
    assert verification.about["verdict claimed"] == "NOT_CONFORMANT"
    wrong = parts.copy()
    a_wrong_output(wrong)
    assert wrong.verifier.verify(wrong.packed()).standing is Standing.DRAFT, "a draft may be wrong, and says so"
    forged = parts.copy()
    forged.statement["verdict"] = "CONFORMANT"
    assert forged.verifier.verify(forged.packed()).standing is Standing.FAIL


@pytest.mark.parametrize("start", range(0, 100, 10))
def test_no_change_to_a_document_ends_in_anything_but_a_verdict(start: int, parts: Parts) -> None:
    documents = {name: json.loads(data) for name, data in parts.sealed().items() if name.endswith(".json")}
    lines = [json.loads(line) for line in parts.members[RECORDS].splitlines()][:20]
    few = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    for seed in range(start, start + 10):
        chance = random.Random(seed)  # noqa: S311  # nothing is kept secret here
        members = {**parts.sealed(), RECORDS: few}
        name = chance.choice([*documents, RECORDS])
        if name == RECORDS:
            changed = [changed_document(line, chance) if chance.random() < 0.2 else line for line in lines]
            members[name] = "".join(f"{json.dumps(line)}\n" for line in changed).encode()
        else:
            members[name] = json.dumps(changed_document(documents[name], chance)).encode()
        reference = parts.verifier.reference
        verification = verify_members(
            members, reference, parts.verifier.expected, trusted=parts.verifier.trusted, now=NOW
        )
        assert verification.standing is Standing.FAIL
        assert verification.markdown("s.zip").startswith("# Submission s.zip: FAIL")


def test_markup_in_a_submission_stays_text(parts: Parts) -> None:
    parts.statement["product"] = "<script>alert(1)</script> | [x](javascript:1)"
    page = parts.verifier.verify(parts.packed()).markdown("s.zip")
    assert "<script>" not in page
    assert "[x](" not in page


def test_the_archive_keeps_nothing_of_the_day(parts: Parts) -> None:
    with zipfile.ZipFile(io.BytesIO(parts.packed())) as made:
        assert {entry.date_time for entry in made.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert made.namelist() == sorted(made.namelist())


def test_there_are_enough_of_them() -> None:
    assert len(EDITS) >= 150
    assert len(ARCHIVES) >= 100
