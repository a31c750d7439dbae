"""Certification in its parts: releases, evidence, the three commands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="signing needs the extra `certify`")

import click

from dmlcts.reports.certification import archive, identity, signing
from dmlcts.reports.certification.drafts import draft_reasons, requires_sweep
from dmlcts.reports.certification.verdict import Line, Standing, Status, Verification
from dmlcts.reports.documents.validation import schema
from dmlcts.specs import FeatureLevel, UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.suites.certification import evidence, submit
from dmlcts.suites.certification import verify as reverifying
from dmlcts.suites.certification.command import certify_words
from dmlcts.suites.commands.certify import certify
from dmlcts.suites.running import pytest_run
from dmlcts.suites.running.options import Settings, required_rows
from dmlcts.suites.selftest.certification.submissions import COMMAND, Parts, build
from dmlcts.suites.selftest.conftest import Ran

TABLES = load_tables()
LEVEL = FeatureLevel("1.0")
FIRST = ("ELEMENT_WISE_CLIP", "ELEMENT_WISE_ROUND", "ELEMENT_WISE_THRESHOLD")
OF_SEVERAL_INPUTS = ("ELEMENT_WISE_IF", "ELEMENT_WISE_LOGICAL_EQUALS", "ELEMENT_WISE_MAX")
FEW = "clip"
"""The operator of the drafts that are made here: a run of few tests."""


@pytest.fixture(scope="module")
def parts() -> Parts:
    return build()


# The suite.


def test_what_makes_a_draft() -> None:
    suite = {"version": "0.1.0", "commit": None, "modified": None, "tagged": None}
    good: dict[str, Any] = {
        "suite": suite,
        "profile": "certification",
        "isolation": "process",
        "verdict": "CONFORMANT",
        "signed": True,
        "sweep": "",
    }
    assert draft_reasons(**good) == []
    assert draft_reasons(**good | {"verdict": None}) == []
    changes = {"profile": "full", "isolation": "none", "verdict": "INCOMPLETE", "signed": False, "sweep": "missing"}
    for name, value in changes.items():
        assert len(draft_reasons(**good | {name: value})) == 1, name
    assert len(draft_reasons(**good | changes)) == len(changes)


def test_the_sweep_is_required_from_the_level_that_lists_round() -> None:
    assert not requires_sweep(TABLES, "1.0")
    assert requires_sweep(TABLES, "5.0")


@pytest.mark.parametrize(
    "statuses, draft, standing",
    [
        ((Status.PASS,), False, Standing.PASS),
        ((Status.PASS, Status.OPEN), False, Standing.INCOMPLETE),
        ((Status.PASS, Status.OPEN), True, Standing.DRAFT),
        ((Status.PASS,), True, Standing.DRAFT),
        ((Status.FAIL, Status.OPEN), True, Standing.FAIL),
        ((), False, Standing.FAIL),
    ],
)
def test_a_draft_never_passes(statuses: tuple[Status, ...], draft: bool, standing: Standing) -> None:
    lines = tuple(Line("check", status, "said") for status in statuses)
    verification = Verification(lines, draft, {})
    assert verification.standing is standing
    assert verification.exit_code == {"PASS": 0, "FAIL": 1, "DRAFT": 4, "INCOMPLETE": 4}[standing]
    assert verification.markdown("s.zip").startswith(f"# Submission s.zip: {standing}")


# The command.


def test_the_words_of_a_command_are_understood() -> None:
    text = certify_words(COMMAND)
    assert text == {
        "product": "Driver 1.2",
        "vendor": "ACME",
        "backend": "cpu",
        "feature_level": None,
        "profile": "certification",
        "options": {"feature_level": "1.0"},
        "seed": 0,
        "challenge": "",
        "waived": False,
        "draft": False,
        "signed": True,
        "operators": "clip,threshold",
        "isolation": "process",
    }


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["run"],
        ["certify"],
        [*COMMAND, "--help"],
        [*COMMAND, "-h"],
        [*COMMAND, "--seed", "x"],
        [*COMMAND, "--seed", "9" * 5000],
        [*COMMAND, "--clause", "*"],
        [*COMMAND, "more"],
        [*COMMAND, "--option", "nothing"],
        [*COMMAND, "--profile", "none"],
        [*COMMAND, "--operator"],
        [*COMMAND, "--key"],
        [*COMMAND, "\ud800"],
    ],
)
def test_other_words_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError):
        certify_words(words)
    assert capsys.readouterr().out == ""


def test_a_command_may_name_any_file_and_none_is_looked_up() -> None:
    assert certify_words([*COMMAND, "--waivers", "\x00\ud800", "--key", "/etc/passwd", "--from", ".."])["waived"]
    kinds = {type(parameter.type) for parameter in certify.params}
    assert click.Path not in kinds
    assert click.File not in kinds


# Evidence.


def test_a_plan_follows_from_tables_level_and_seed() -> None:
    first, again, other = (evidence.plan(TABLES, LEVEL, seed) for seed in (0, 0, 1))
    assert evidence.digest(first) == evidence.digest(again) != evidence.digest(other)
    assert len({item.identity for item in first}) == len(first)
    lattices = [item.case for item in first if "lattice" in item.identity]
    assert lattices == [item.case for item in other if "lattice" in item.identity], "the lattice knows no seed"


@pytest.mark.size("thorough")
def test_the_plan_of_a_known_level_is_known_and_a_plan_of_some_is_a_part_of_it() -> None:
    """Another plan would leave older submissions unverifiable: change this on purpose only."""
    level = FeatureLevel("5.0")
    planned = evidence.plan(TABLES, level, 0)
    subjects = {tuple(item.identity.split()[:2]) for item in planned}
    assert len(planned) == 19106
    some = {chosen: evidence.plan(TABLES, level, 0, "", chosen) for chosen in (FIRST, OF_SEVERAL_INPUTS)}
    assert len(some[FIRST]) == 1134
    for chosen, part in some.items():
        assert {item.case.operator.name for item in part} == set(chosen)
        assert [item for item in planned if item.case.operator.name in chosen] == part
    required = {(row[1], row[2]) for row in required_rows(TABLES, FeatureLevel("5.0"))}
    listed = {(name, item.name) for name, table in TABLES.operators.items() for item in table.data_types}
    assert subjects == required & listed - {("ELEMENT_WISE_THRESHOLD", "INT64"), ("ELEMENT_WISE_THRESHOLD", "UINT64")}
    samples = [item.case for item in planned if "sample" in item.identity]
    assert {case.placement.in_place for case in samples} == {True, False}
    assert any(0 in case.operator.input.element_strides for case in samples), "broadcast"
    assert any(case.operator.attributes.get("ScaleBias") is not None for case in samples)


def test_right_outputs_pass_and_one_wrong_bit_does_not() -> None:
    bench = Settings.read(options=["feature_level=1.0"]).open()
    planned = evidence.plan(TABLES, LEVEL, 3)[::40]
    try:
        outputs, absent = evidence.gather(bench, planned)
    finally:
        bench.close()
    assert absent == []
    assert evidence.judge(planned, outputs, frozenset(), TABLES) == []
    flipped = bytearray(outputs)
    flipped[3] ^= 0x40
    wrongs = evidence.judge(planned, bytes(flipped), frozenset(), TABLES)
    assert [(wrong.planned, wrong.elements) for wrong in wrongs] == [(planned[0], 1)]
    assert evidence.judge(planned, bytes(flipped), frozenset({0}), TABLES) == []


def test_what_the_implementation_does_not_give_is_absent(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from dmlcts.backends.cpu import CpuBackend\n"
        "class InvalidArgument(Exception): ...\n"
        "class Backend:\n"
        "    name = 'mine'\n"
        "    def open(self):\n"
        "        device = CpuBackend().open(feature_level='1.0')\n"
        "        made = device.create\n"
        "        def create(operator):\n"
        "            if operator.name == 'ELEMENT_WISE_CLIP':\n"
        "                raise InvalidArgument('no')\n"
        "            return made(operator)\n"
        "        device.create = create\n"
        "        return device\n",
        encoding="utf-8",
    )
    bench = Settings.read(backend=f"{tmp_path}/mine.py:Backend").open()
    planned = evidence.plan(TABLES, LEVEL, 0)[::60]
    try:
        outputs, absent = evidence.gather(bench, planned)
    finally:
        bench.close()
    clips = [index for index, item in enumerate(planned) if "CLIP" in item.identity]
    assert clips
    assert [item.case for item in absent] == clips
    assert {(item.outcome, item.wording) for item in absent} == {("refused", "no")}
    assert len(outputs) == sum(item.size for item in planned)


# The documents and the commands.


def test_the_documents_of_a_submission_fit_their_schemas(parts: Parts) -> None:
    import jsonschema

    names = {"statement.json": "submission-1", "evidence.json": "evidence-1", "environment.json": "environment-1"}
    for name, wanted in names.items():
        jsonschema.Draft202012Validator.check_schema(schema(wanted))
        jsonschema.validate(json.loads(parts.sealed()[name]), schema(wanted))


@pytest.mark.size("thorough")
def test_keygen_and_verify_from_the_command_line(parts: Parts, dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    ran = dmlcts("keygen", "acme")
    assert ran.code == 0
    assert "fingerprint: " in ran.out
    assert dmlcts("keygen", "acme").code == 2
    mine = parts.copy()
    mine.key = signing.load_private(tmp_path / "acme.key")
    archive.write(tmp_path / "s.zip", mine.sealed())
    ran = dmlcts("verify", "s.zip", "--trust", "acme.pub", "--markdown", "s.md")
    modified = "PASS  unmodified" not in ran.out  # this checkout may be
    assert ran.code in ((1, 4) if modified or "PASS  suite" not in ran.out else (0,)), ran.out + ran.err
    assert "PASS  evidence" in ran.out
    assert "PASS  signature" in ran.out
    assert (tmp_path / "s.md").read_text(encoding="utf-8").startswith("# Submission s.zip: ")
    (tmp_path / "s.zip").write_bytes(b"no")
    assert dmlcts("verify", "s.zip").code == 1
    assert dmlcts("verify", "s.zip", "--trust", "nothing.pub").code == 2


def test_what_cannot_be_certified_is_refused_before_anything_runs(dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    ran = dmlcts("certify", "--backend", "cpu", "--product", "P", "--vendor", "V", "-o", "s.zip", "--profile", "quick")
    assert ran.code == 2
    assert "this cannot be certified" in ran.err
    assert "the profile was quick, and only certification runs certify" in ran.err
    assert "it is not signed" in ran.err
    assert "--draft" in ran.err
    assert not (tmp_path / "results").exists()
    assert not (tmp_path / "s.zip").exists()


@pytest.fixture
def few_tests(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The suite, for the time of a test, has one short module."""
    from dmlcts.suites.running import pytest_run

    arguments = pytest_run.pytest_arguments

    def fewer(*value: Any, **more: Any) -> list[str]:
        kept = [word for word in arguments(*value, **more) if not word.endswith(".py")]
        return [*kept, str(pytest_run.CONFORMANCE / "values" / "test_clamping.py")]

    monkeypatch.setattr(pytest_run, "pytest_arguments", fewer)
    monkeypatch.chdir(tmp_path)


WORDS = (
    "certify",
    "--backend",
    "cpu",
    "--product",
    "P",
    "--vendor",
    "V",
    "-o",
    "s.zip",
    "--draft",
    "--profile",
    "quick",
    "--option",
    "feature_level=1.0",
    "--operators",
    FEW,
)
GIVEN = {
    "backend": "cpu",
    "options": ["feature_level=1.0"],
    "results": "results",
    "feature_level": None,
    "profile": "quick",
    "seed": "0",
    "waivers": None,
    "product": "P",
    "vendor": "V",
    "contact": "",
    "key": None,
    "output": "s.zip",
    "draft": True,
    "isolation": "process",
    "timeout": "30",
    "parts": (),
    "workers": "",
    "operators": (FEW,),
}


@pytest.mark.usefixtures("few_tests")
@pytest.mark.size("thorough")
def test_a_draft_is_made_of_a_run(tmp_path: Path) -> None:
    """The whole way from a run to a verified archive, in this process."""
    texts: list[str] = []
    made = submit.certify(submit.Order.of(GIVEN, WORDS), texts.append)
    assert made.value == "INCOMPLETE"  # most of the suite did not run
    members = archive.read(tmp_path / "s.zip")
    assert b"INCOMPLETE: " in members[archive.LOG]
    verification = reverifying.verify(tmp_path / "s.zip", identity.Reference.here(TABLES))
    assert verification.standing is Standing.DRAFT, "\n".join(verification.text())
    assert any("DRAFT" in line for line in texts)
    strict = replace(identity.Reference.here(TABLES), digest="0" * 64)
    assert reverifying.verify(tmp_path / "s.zip", strict).standing is Standing.FAIL


RARELY_WRONG = """
from pathlib import Path

import numpy as np
from dmlcts.backends.cpu import CpuBackend


class Backend:
    name = "mine"

    def open(self, feature_level="1.0"):
        device = CpuBackend().open(feature_level=feature_level)
        made = device.create

        def create(operator):
            kernel = made(operator)
            dispatch = kernel.dispatch

            def dispatched(memory, bindings):
                dispatch(memory, bindings)
                wanted = {WANTED}
                if wanted:
                    memory[bindings["OutputTensor"].offset] ^= 1
            kernel.dispatch = dispatched
            return kernel
        device.create = create
        return device
"""
PLANTED = 'operator.attributes.get("Min") == np.float32(1.00048828125) and Path("after-the-run").exists()'


@pytest.mark.usefixtures("few_tests")
@pytest.mark.parametrize(
    "verdict, made, code", [("CONFORMANT", "INCOMPLETE", 4), ("NOT_CONFORMANT", "NOT_CONFORMANT", 1)]
)
@pytest.mark.size("all", thorough=1)
def test_a_draft_ends_with_the_code_that_it_prints(
    verdict: str, made: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A draft of a conformant run with 4, never with 0; of another one with 1."""
    run_now, verifying = submit._run_now, submit.verify.verify_members

    def ended(order: submit.Order) -> submit.Ran:
        ran = run_now(order)
        return replace(ran, results={**ran.results, "verdict": verdict})

    def accepted(*value: Any, **more: Any) -> Verification:
        return replace(verifying(*value, **more), lines=(Line("all", Status.OPEN, "said"),))

    monkeypatch.setattr(submit, "_run_now", ended)
    monkeypatch.setattr(submit.verify, "verify_members", accepted)
    texts: list[str] = []
    assert submit.certify(submit.Order.of(GIVEN, WORDS), texts.append).value == made
    (last,) = [line for line in texts if "exit code" in line]
    assert last.startswith("DRAFT: ")
    assert last.endswith(f"(exit code {code})")


def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, *, draft: bool) -> tuple[str, list[str]]:
    """What becomes of an implementation whose run is conformant: the verdict, and what was said."""
    (tmp_path / "mine.py").write_text(RARELY_WRONG.replace("{WANTED}", wanted), encoding="utf-8")
    run_now = submit._run_now

    def conformant(order: submit.Order) -> submit.Ran:
        ran = run_now(order)
        (tmp_path / "after-the-run").touch()
        return ran if draft else replace(ran, results={**ran.results, "verdict": "CONFORMANT"})

    if not draft:
        monkeypatch.setattr(submit, "draft_reasons", lambda **_: [])
    monkeypatch.setattr(submit, "_run_now", conformant)
    texts: list[str] = []
    words = ["mine.py:Backend" if word == "cpu" else word for word in WORDS]
    order = submit.Order.of({**GIVEN, "backend": "mine.py:Backend"}, words)
    made = submit.certify(replace(order, draft=draft), texts.append)
    return made.value, texts


@pytest.mark.usefixtures("few_tests")
@pytest.mark.parametrize("draft", [False, True])
@pytest.mark.size("all", thorough=1)
def test_wrong_evidence_is_reported_in_full_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, draft: bool
) -> None:
    """A fault that the run does not find: it is a failure like any other."""
    made, texts = certified(tmp_path, monkeypatch, PLANTED, draft=draft)
    text = "\n".join(texts)
    assert made == "NOT_CONFORMANT", text
    assert "Min          1.0004883 (0x3f801000)" in text
    assert "clause       clip." in text, text
    (file,) = (tmp_path / "results" / "failures").glob("clip.*.yaml")
    assert f"dmlcts replay results/failures/{file.name} --backend mine.py:Backend" in text
    assert (tmp_path / "s.zip").exists() == draft
    if draft:
        assert text.index("the evidence is wrong in") < text.index("written: s.zip")


@pytest.mark.usefixtures("few_tests")
@pytest.mark.size("thorough")
def test_right_evidence_goes_into_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    made, texts = certified(tmp_path, monkeypatch, "False", draft=True)
    assert "the evidence is wrong" not in "\n".join(texts)
    assert (made, (tmp_path / "s.zip").exists()) == ("INCOMPLETE", True), texts


@pytest.mark.parametrize("output", [".", "missing/s.zip"])
def test_a_place_that_cannot_be_written_is_reported_before_the_run(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="cannot write"):
        submit.certify(submit.Order.of({**GIVEN, "output": output}, WORDS), lambda _: None)
    assert not (tmp_path / "results").exists()


@pytest.mark.usefixtures("few_tests")
@pytest.mark.size("all")
def test_a_draft_is_made_of_shards(tmp_path: Path) -> None:
    for part in (1, 2):
        settings = Settings.read(
            options=["feature_level=1.0"],
            isolation="process",
            shard=f"{part}/2",
            results=f"part{part}",
            operators=[FEW],
        )
        assert pytest_run.execute(settings, quiet=True).verdict is not None
    words = (*WORDS, "--from", "part1", "--from", "part2")
    order = submit.Order.of({**GIVEN, "parts": ("part2", "part1")}, words)
    submit.certify(order, lambda _: None)
    members = archive.read(tmp_path / "s.zip")
    assert {archive.records_name(1, 2), archive.records_name(2, 2)} <= set(members)
    verification = reverifying.verify(tmp_path / "s.zip", identity.Reference.here(TABLES))
    assert verification.standing is Standing.DRAFT, "\n".join(verification.text())
    assert [line.wording for line in verification.lines if line.check == "shards"] == ["2 of 2 parts"]
    with pytest.raises(UsageError, match="missing"):
        submit.certify(submit.Order.of({**GIVEN, "parts": ("part1",)}, words), lambda _: None)
    other = {**GIVEN, "parts": ("part1", "part2"), "seed": "5"}
    with pytest.raises(UsageError, match="is of a run that differs in the seed"):
        submit.certify(submit.Order.of(other, words), lambda _: None)


@pytest.mark.usefixtures("few_tests")
@pytest.mark.size("thorough")
def test_altered_records_are_not_certified_and_leave_nothing(tmp_path: Path) -> None:
    """What an earlier run left, changed since: refused with an error, and no archive stands there."""
    settings = Settings.read(options=["feature_level=1.0"], isolation="process", results="part", operators=[FEW])
    assert pytest_run.execute(settings, quiet=True).verdict is not None
    words = (*WORDS, "--from", "part")
    order = submit.Order.of({**GIVEN, "parts": ("part",)}, words)
    journal = tmp_path / "part" / "records.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    number = next(index for index, line in enumerate(lines) if '"cases": ' in line)
    altered = json.loads(lines[number])
    altered["item"]["tallies"][0]["cases"] += 1000
    journal.write_text("".join([*lines[:number], json.dumps(altered) + "\n", *lines[number + 1 :]]), encoding="utf-8")
    texts: list[str] = []
    with pytest.raises(submit.NotVerifiable, match="nothing was written: the submission would not verify"):
        submit.certify(order, texts.append)
    assert any(line.startswith("FAIL  results") for line in texts)
    assert not (tmp_path / "s.zip").exists()
    journal.write_text("".join(lines), encoding="utf-8")
    submit.certify(order, texts.append)
    assert (tmp_path / "s.zip").exists()


def test_verify_writes_nothing_and_takes_no_one_s_options(
    parts: Parts, dmlcts: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, evil = tmp_path / "here", tmp_path / "evil"
    for folder in (place, evil):
        folder.mkdir()
    (tmp_path / "s.zip").write_bytes(parts.packed())
    (evil / "evil_plugin.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n", encoding="utf-8")
    for name in ("conftest.py", "pytest.ini", "tox.ini"):
        text = "raise SystemExit(0)\n" if name.endswith(".py") else "[pytest]\naddopts = -k nothing\n"
        (place / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(evil))
    monkeypatch.setenv("PYTEST_PLUGINS", "evil_plugin")
    monkeypatch.setenv("PYTEST_ADDOPTS", f"-k nothing --junitxml={tmp_path / 'ran'} --rootdir=/")
    before = sorted(place.rglob("*"))
    ran = dmlcts("verify", "../s.zip", folder=place, from_the_start=True)
    assert re.search(r"PASS  records    \d\d items, each once", ran.out), ran.out + ran.err
    assert sorted(place.rglob("*")) == before
    assert not (tmp_path / "ran").exists()


def test_a_challenge_is_printed_alone(dmlcts: Callable[..., Ran]) -> None:
    ran = dmlcts("challenge")
    assert ran.code == 0
    assert evidence.read_challenge(ran.out.strip())
    assert dmlcts("verify", "s.zip", "--challenge", "x").code == 2


def test_signing_without_the_extra_names_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['cryptography'] = None\n"
        "from dmlcts.suites.commands.main import main\n"
        f"main(['keygen', {str(tmp_path / 'a')!r}])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 2
    assert "pip install 'dmlcts[certify]'" in ran.stderr
