"""No document, however made, takes more than seconds and 500 MB to be read or refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="signing needs the extra `certify`")

from dmlcts.reports.certification import archive, signing
from dmlcts.reports.documents.validation import DocumentError, load_results, load_yaml
from dmlcts.specs import UsageError
from dmlcts.specs.loading import load_tables
from dmlcts.specs.pages import PageError, load_page
from dmlcts.suites.selftest.conftest import Ran

_LINUX = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="memory is measured as Linux does")


@pytest.mark.sampled(4)
@_LINUX
@pytest.mark.parametrize("door", ["results", "journal", "yaml", "archive"])
@pytest.mark.size("thorough")
def test_a_small_input_asks_for_little(door: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dmlcts.suites.selftest.strangers.bombs", door, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr[-2000:]
    assert f"{door}: " in done.stderr


@_LINUX
@pytest.mark.size("thorough")
def test_the_measurement_sees_a_bomb(tmp_path: Path) -> None:
    """The control: an input that takes 600 MB, one that raises something else, and one that takes long are reported."""
    program = (
        "from dmlcts.suites.selftest.strangers import bombs\n"
        "bombs.MOST_SECONDS, bombs.MOST_YARDSTICKS = 0.5, 2.0\n"
        "bombs.DOORS['x'] = lambda folder: [('large', lambda: bytearray(600 << 20).count(1)), "
        "('wrong', lambda: 1 / 0), ('slow', lambda: [bombs._yardstick() for _ in range(5)]), "
        "('not so slow', bombs._yardstick), ('small', lambda: 0)]\n"
        "bombs.main('x', '.')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True)
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == ["large", "wrong", "slow"], done.stdout
    assert "ZeroDivisionError" in lines[1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in the file system here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    pipe = tmp_path / "x.yaml"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="it is no plain file"):
        archive.read(pipe)
    with pytest.raises(DocumentError, match="it is no plain file"):
        load_yaml(pipe, "failure-1", "x")
    with pytest.raises(DocumentError, match="it is no plain file"):
        load_results(pipe)
    with pytest.raises(signing.KeyProblem, match="it is no plain file"):
        signing.load_public(pipe)
    with pytest.raises(PageError, match="it is no plain file"):
        load_page(pipe)
    with pytest.raises(UsageError, match="it is no plain file"):
        load_tables(tmp_path)  # among the files of a folder
    with pytest.raises(UsageError, match="no table file or folder"):
        load_tables(pipe)
    for words, code in (
        (["verify", "x.yaml"], 2),
        (["verify", "s.zip", "--trust", "x.yaml"], 2),
        (["replay", "x.yaml", "--backend", "cpu"], 2),
        (["report", "x.yaml"], 2),
        (["spec", "lint", "."], 2),
        (["spec", "compare", "x.yaml"], 2),
        (["run", "--backend", "cpu", "--waivers", "x.yaml"], 2),
        (["baseline", "check", "x.yaml", "x.yaml"], 2),
    ):
        ran = dmlcts(*words)
        assert ran.code == code, (words, ran)
        assert "Traceback" not in ran.err


@pytest.mark.size("thorough")
def test_a_bad_table_is_reported_in_few_lines(tmp_path: Path, dmlcts: Callable[..., Ran]) -> None:
    good = "format: dmlcts/operator/2\n"
    (tmp_path / "x.yaml").write_text(good + "".join(f"k{number}: v\n" for number in range(8000)), encoding="utf-8")
    ran = dmlcts("spec", "lint", "x.yaml")
    assert ran.code == 2
    lines = ran.err.splitlines()
    assert len(lines) == 101
    assert lines[-1].startswith("dmlcts: and 7,9")
