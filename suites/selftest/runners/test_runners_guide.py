"""The guide to runners is true: its examples are the codec's, what it names exists, a runner by it alone conforms."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from dmlcts.backends.registry import open_device, resolve
from dmlcts.backends.runners.authentication import wrong_with_secret
from dmlcts.backends.runners.definition import definition
from dmlcts.backends.runners.examples import SECRET, blocks, filled_in
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
    for name in re.findall(r"`(\w+_runner\.(?:c|cpp|h))`", text()):
        assert (kit.KIT / name).exists(), name


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
        backend=f"exec:node '{JAVASCRIPT}'", results=str(tmp_path), operators=("ROUND",), data_types=("FLOAT32",),
        clauses=("round.*", "tensor.strides.padded"),
    )  # fmt: skip
    assert execute(settings, quiet=True).verdict == "CONFORMANT"
