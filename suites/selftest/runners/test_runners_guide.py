"""The guide to runners is true: its examples are the codec's, what it names exists, a runner by it alone conforms."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dmlcts.backends.contract import InvalidArgument
from dmlcts.backends.registry import open_device, resolve
from dmlcts.backends.runners.authentication import wrong_with_secret
from dmlcts.backends.runners.definition import definition
from dmlcts.backends.runners.examples import SECRET, blocks, filled_in
from dmlcts.specs import DataType, FeatureLevel, OperatorDesc, TensorDesc, UsageError
from dmlcts.suites.selftest.commands.guides import Command, Program, Reader, steps_of
from dmlcts.suites.selftest.commands.test_guides import NOT_TYPED, typing
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.selftest.runners import kit
from dmlcts.suites.selftest.runners.test_transports import works

GUIDE = kit.HOUSE / "backends" / "RUNNERS.md"
pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason="the guides are in the checkout only")
JAVASCRIPT = kit.HOUSE / "backends" / "runners" / "javascript" / "runner.js"


def text() -> str:
    return GUIDE.read_text(encoding="utf-8")


def test_the_examples_are_what_the_codec_makes() -> None:
    """Where this fails: python -m dmlcts.backends.runners.examples backends/RUNNERS.md."""
    assert filled_in(text()) == text()


def test_an_example_that_is_out_of_date_is_seen() -> None:
    assert filled_in(text().replace("44 4d 4c 52", "44 4d 4c 53", 1)) == text()
    with pytest.raises(LookupError):
        filled_in("<!-- made: nothing -->\n\n<!-- end: nothing -->")


def test_every_message_has_its_examples() -> None:
    shown = set(re.findall(r"<!-- made: ([a-z _]+) -->", text()))
    wanted = {f"{kind}{way}" for kind in definition().kinds for way in ("", " reply")}
    assert wanted <= shown <= set(blocks())
    for name, layout in definition().layouts.items():
        for field in layout.fields:
            assert f"{name}.{field.name}" in text() or f"| `{field.name}` |" in text(), f"{name}.{field.name}"


def test_the_proofs_in_the_guide_are_those_of_its_secret() -> None:
    """By hand, not by the code that made them."""
    import hashlib
    import hmac

    suite, runner = bytes(range(32)), bytes(range(32, 64))
    assert SECRET.decode() in text()
    assert not wrong_with_secret(SECRET)
    for role in ("suite proves", "runner proves", "runner", "suite"):
        proof = hmac.new(SECRET, b"dmlcts-runner/1 " + role.encode() + suite + runner, hashlib.sha256).digest()
        assert proof.hex(" ") in text()


def test_its_links_and_files_exist() -> None:
    heads = re.findall(r"^#+ (.*)$", text(), re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", head.lower()).replace(" ", "-") for head in heads}
    assert set(re.findall(r"\]\(#([a-z0-9-]+)\)", text())) <= anchors
    for name in re.findall(r"`(backends/runners/\S+?)`", text()):
        assert (kit.HOUSE / name).exists(), name
    saved = {step.name for step in steps_of(text()) if isinstance(step, Program)}
    for name in set(re.findall(r"`(\w+_runner\.(?:c|cpp|h))`", text())) - saved:
        assert (kit.KIT / name).exists(), name


# What it shows.


@pytest.fixture
def port() -> str:
    """A port that is free; the guide's may be taken here."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        return str(asked.getsockname()[1])


@pytest.mark.skipif(sys.platform == "win32", reason="the runners here are POSIX's")
@pytest.mark.size("thorough")
def test_the_guide_to_runners_does_what_it_shows(tmp_path: Path, port: str, dmlcts: Callable[..., Ran]) -> None:
    """In a copy of the kit, as it says; the device is this machine."""
    if kit.missing():
        pytest.skip(kit.missing())
    place = Path(shutil.copytree(kit.KIT, tmp_path / "kit"))
    reader = Reader(place, typing(dmlcts, folder=place), replaced={"47800": port}, left=NOT_TYPED)
    reader.follow(text())
    shown = [step.line for step in steps_of(text()) if isinstance(step, Command)]
    assert reader.typed == [line for line in shown if line not in NOT_TYPED]


def test_the_times_and_places_in_the_guide_are_those_of_the_code() -> None:
    from dmlcts.backends.runners.backend import PATIENCE_SECONDS
    from dmlcts.suites.commands.main import main
    from dmlcts.suites.trial import trial

    source = (kit.KIT / "dmlcts_runner.c").read_text(encoding="utf-8")
    kept = {name: int(value) for name, value in re.findall(r"^ +([A-Z_]+) = (\d+),", source, re.MULTILINE)}
    (timeout,) = (parameter.default for parameter in main.commands["run"].params if parameter.name == "timeout")
    for sentence in (
        f"the default is {PATIENCE_SECONDS:g} s, and {trial._PATIENCE[1]} s with `--check`",
        f"up to {kept['MOST_CONVERSATIONS']} connections at a time",
        f"has {kept['MOST_CONVERSATIONS']} places for conversations and {kept['MOST_UNPROVEN']} for connections",
        f"has proven nothing has {kept['UNPROVEN_TIME'] // 1000} s",
        f"loses its place after {kept['CROWDED_TIME'] // 1000} s",
        f"32 to {kept['MOST_SECRET']} bytes",
        f"`--dispatch-timeout` ({float(timeout):g} s, and more for large memories)",
    ):
        assert sentence in " ".join(text().split()), sentence


def test_the_feature_levels_and_the_most_length_in_the_guide_are_those_of_the_code() -> None:
    page = " ".join(text().split())
    assert ", ".join(f"{level.dml_value:#x} is {level}" for level in FeatureLevel) in page
    head, binding = (definition().layouts[name].size for name in ("dispatch", "binding"))
    assert f"in the header of `dispatch`: {head} bytes, {binding} for each binding, and the memory" in page
    assert head + binding * definition().limits["most_tensors"] <= 4096


def test_the_exit_codes_of_errors_before_hello_in_the_guide_are_those_of_the_code() -> None:
    """A refused option and a wrong secret are mistakes of the command line, as the help of --check says too."""
    from dmlcts.backends.runners import session
    from dmlcts.suites.commands.main import main

    page = text()
    for names, code in (("unavailable, bad_version", 3), ("bad_option, denied", 2)):
        (row,) = re.findall(rf"^\| {names} \| (.*) \|$", page, re.MULTILINE)
        assert f"exit code {code}" in row
        for name in names.split(", "):
            error = session._not_greeted(session.Refused(name, "no"))
            assert (isinstance(error, UsageError), name) == (code == 2, name)
    refused = "bad_option or denied instead of the reply to hello, or not_supported to begin"
    assert f"| {refused} | no run: exit code 2," in page
    help_text = " ".join((main.commands["backends"].help or "").split())
    assert "2 if there is no such backend or it refuses an option or the secret, 3 if it cannot be reached" in help_text


def test_the_families_of_clauses_in_the_guide_are_those_of_the_tables() -> None:
    """Those that hold for all operators, and which of them say that something is refused."""
    from dmlcts.specs.loading import load_tables

    families: dict[str, list[str]] = {}
    for rules in load_tables().rules:
        for clause in rules.clauses:
            families.setdefault(clause.id.partition(".")[0], []).append(clause.text)
    page = " ".join(text().split())
    assert len(families) == 3
    assert "Three families of clauses hold for all operators" in page
    assert all(f"`{name}.*` (" in page for name in families)
    assert {name for name, texts in families.items() if any("is refused" in words for words in texts)} == {"tensor"}


# The smallest runner, which the guide shows whole.


def minimal_runner(folder: Path, *changed: str) -> Path:
    """It is built of the guide's text, where a part of it may be replaced by another."""
    (program,) = (step for step in steps_of(text()) if isinstance(step, Program))
    assert program.name == "minimal_runner.c"
    assert not changed or program.content.count(changed[0]) == 1
    source = folder / program.name
    source.write_text(program.content.replace(*changed) if changed else program.content, encoding="utf-8")
    target = source.with_suffix("")
    command = ["cc", "-std=c11", *kit.STRICT, "-o", str(target), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert not done.returncode, done.stderr
    return target


def verdict_of(runner: Path, results: Path) -> str:
    from dmlcts.suites.running.options import Settings
    from dmlcts.suites.running.pytest_run import execute

    settings = Settings.read(
        backend=f"exec:{runner}",
        results=str(results),
        operators=("CLIP",),
        data_types=("FLOAT32",),
        clauses=("clip.formula",),
        isolation="none",
    )
    return execute(settings, quiet=True).verdict


FLOATS = TensorDesc(DataType.FLOAT32, (4,))
compiled = pytest.mark.skipif(sys.platform == "win32" or bool(kit.missing()), reason=kit.missing() or "POSIX only")


@compiled
def test_the_smallest_runner_is_conformant_on_what_it_claims(tmp_path: Path) -> None:
    """And refuses what it does not claim, options and messages that it does not know."""
    runner = minimal_runner(tmp_path)
    assert verdict_of(runner, tmp_path / "results") == "CONFORMANT"
    with open_device(resolve(f"exec:{runner}")[1], {}) as device:
        assert works(device)
        assert device.info.only == {"ELEMENT_WISE_CLIP", "ELEMENT_WISE_THRESHOLD"}
        assert set(device.info.data_types.values()) == {frozenset({DataType.FLOAT32})}
        assert device.ping() >= 0
        with pytest.raises(InvalidArgument, match="CLIP and THRESHOLD on FLOAT32 only"):
            device.create(OperatorDesc("ELEMENT_WISE_SIGN", dict.fromkeys(("InputTensor", "OutputTensor"), FLOATS), {}))
    with pytest.raises(UsageError, match="there are no options"):
        open_device(resolve(f"exec:{runner}")[1], {"adapter": "1"})


@compiled
def test_a_fault_in_the_smallest_runner_is_seen(tmp_path: Path) -> None:
    from dmlcts.suites.running.options import Settings
    from dmlcts.suites.trial.trial import try_backend

    runner = minimal_runner(tmp_path, "x = x < min ? min : x;", "")
    trial = try_backend(Settings.read(backend=f"exec:{runner}", operators=("CLIP", "THRESHOLD")))
    assert [(attempt.operator, attempt.outcome) for attempt in trial.wrong] == [("CLIP", "fail"), ("THRESHOLD", "fail")]


# A runner in another language.

node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here to run the JavaScript runner")


@node
def test_a_runner_in_javascript_computes() -> None:
    with open_device(resolve(f"exec:node '{JAVASCRIPT}'")[1], {}) as device:
        assert device.info.name == "javascript"
        assert device.info.details["refusals"] == "by the suite, from the spec tables"
        assert works(device)
        assert works(device, 100_000)


@node
def test_a_runner_in_javascript_is_conformant_where_it_claims_to_be(tmp_path: Path) -> None:
    """On a few clauses of values, layout and refusals; all of them take minutes."""
    from dmlcts.suites.running.options import Settings
    from dmlcts.suites.running.pytest_run import execute

    settings = Settings.read(
        backend=f"exec:node '{JAVASCRIPT}'",
        results=str(tmp_path),
        operators=("ROUND",),
        data_types=("FLOAT32",),
        clauses=("round.*", "tensor.strides.padded"),
    )
    assert execute(settings, quiet=True).verdict == "CONFORMANT"
