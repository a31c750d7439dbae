"""``dmlcts backends --check``: every kind of backend, every kind of fault, each with what to mend."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dmlcts.suites.commands.main import main
from dmlcts.suites.selftest.runners.test_bad_runners import spec
from dmlcts.suites.selftest.runners.test_transports import listening

MODULE = "dmlcts.suites.selftest.isolation.hostile_backends"
SELECTED = ("--operator", "CLIP", "--data-type", "FLOAT32")


def check(backend: str, *words: str) -> Result:
    return CliRunner().invoke(main, ["backends", "--check", backend, *words])


def test_what_works_says_so_and_what_to_do_next() -> None:
    ran = check("cpu", "--operator", "ROUND")
    assert ran.exit_code == 0
    for line in (
        "device     cpu, feature level",
        "works      ROUND on FLOAT32, FLOAT16",
        "ms for a few elements",
        "2 of 2 operators and types work",
        "next: dmlcts run --backend cpu",
    ):
        assert line in ran.output


def test_a_module_and_a_file(tmp_path: Path) -> None:
    assert check(f"{MODULE}:Obedient", *SELECTED).exit_code == 0
    (tmp_path / "mine.py").write_text(f"from {MODULE} import Obedient as Backend\n", encoding="utf-8")
    assert check(f"{tmp_path}/mine.py:Backend", *SELECTED).exit_code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="the runners here are POSIX's")
class TestRunners:
    def test_the_kit_over_both_transports(self, plain_runner: Path) -> None:
        ran = check(f"exec:{plain_runner}")
        assert ran.exit_code == 0, ran.output
        assert "protocol   dmlcts-runner/1" in ran.output
        assert "works      CLIP on FLOAT32, FLOAT16, UINT32, UINT16, UINT8, INT32, INT16, INT8, UINT64" in ran.output
        with listening(plain_runner) as (port, _):
            assert check(f"tcp:{port}", *SELECTED).exit_code == 0

    @pytest.mark.parametrize(
        "name, words, mend",
        [
            ("off_by_one", "fail       CLIP on FLOAT32", "dmlcts spec show"),
            ("refuses", "not today", "claim fewer types"),
            ("no_way", "no way", "express it in create()"),
            ("crashes", "about to fall", "--isolation none"),
            ("lost_device", "device lost CLIP on FLOAT32", "fresh one"),
            ("out_of_memory", "full", "no more than the memory"),
            ("hangs_in_dispatch", "timeout    CLIP on FLOAT32", "--dispatch-timeout"),
            ("prints", "computing, one", "last words"),
        ],
    )
    @pytest.mark.size("thorough", brief=2)
    def test_each_fault_has_its_mend(self, name: str, words: str, mend: str) -> None:
        ran = check(spec(name), *SELECTED, "--dispatch-timeout", "1" if "hangs" in name else "20")
        assert ran.exit_code == 1, ran.output
        assert words in ran.output, ran.output
        assert mend in ran.output
        assert "next:" not in ran.output

    def test_what_cannot_be_reached_is_one_line(self) -> None:
        for name in ("ends_with_words", "prints_before_hello", "other_version"):
            ran = check(spec(name))
            assert ran.exit_code == 3
            assert len(ran.output.strip().splitlines()) <= 3, ran.output

    @pytest.mark.size("thorough")
    def test_a_silent_runner_has_four_seconds(self) -> None:
        """And others where the user says so."""
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            for backend in ("exec:sleep 600", f"tcp:127.0.0.1:{silent.getsockname()[1]}"):
                for words, seconds in (((), "4"), (("-o", "patience=0.5"), "0.5")):
                    ran = check(backend, *words)
                    assert ran.exit_code == 3, ran.output
                    (line,) = ran.output.strip().splitlines()
                    assert f"no hello from the runner within {seconds} s" in line
                    assert "-o patience=SECONDS" in line

    def test_it_gives_up_on_what_is_always_lost(self) -> None:
        ran = check(spec("crashes"), "--operator", "CLIP", "--dispatch-timeout", "20")
        assert ran.exit_code == 1
        assert "the rest was left out" in ran.output


def test_a_wrong_name_is_a_usage_error() -> None:
    assert check("nobody").exit_code == 2
    assert check("exec:").exit_code == 2


def test_nothing_claimed_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        f"from {MODULE} import Obedient\nclass Backend(Obedient):\n    def told(self):\n        return "
        "{'name': 'nothing', 'feature_level': '5.0', 'data_types': {'CLIP': []}}\n",
        encoding="utf-8",
    )
    ran = check(f"{tmp_path}/mine.py:Backend", *SELECTED)
    assert ran.exit_code == 1
    assert "unclaimed  CLIP on FLOAT32" in ran.output
    assert "nothing was tried" in ran.output
