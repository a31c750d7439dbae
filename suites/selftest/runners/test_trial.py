"""``dmlcts backends --check``: every kind of backend, every kind of fault, each with what to mend."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dmlcts.backends import DeviceInfo
from dmlcts.specs import DataType
from dmlcts.suites.commands.main import main
from dmlcts.suites.running.options import Settings
from dmlcts.suites.selftest.runners.test_bad_runners import spec
from dmlcts.suites.selftest.runners.test_transports import listening
from dmlcts.suites.trial.causes import next_commands
from dmlcts.suites.trial.printing import print_trial
from dmlcts.suites.trial.trial import Trial, Tried

MODULE = "dmlcts.suites.selftest.isolation.hostile_backends"
SELECTED = ("--operator", "CLIP", "--data-type", "FLOAT32")


def check(backend: str, *words: str) -> Result:
    return CliRunner().invoke(main, ["backends", "--check", backend, *words])


def test_what_works_states_so_and_what_to_do_next() -> None:
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


PARTIAL = """
class InvalidArgument(Exception): ...
class Device:
    def __init__(self, device, only, refused):
        self.device, self.refused = device, refused
        self.info = {"name": "partial", "feature_level": "5.0", "only": only.split("+") if only else None}
    def create(self, operator):
        if not operator.name.endswith(("_ABS", "_ROUND")) or operator.data_type.name == self.refused:
            raise InvalidArgument(f"no {operator.name} on {operator.data_type.name}, case {hash(operator.name)}")
        return self.device.create(operator)
    def close(self):
        self.device.close()
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.close()
class Backend:
    name = "partial"
    def open(self, only="", refused=""):
        from dmlcts.backends.cpu import CpuBackend
        return Device(CpuBackend().open(), only, refused)
"""


def test_a_cause_on_many_operators_is_printed_once(tmp_path: Path) -> None:
    """With counts; -v lists each; what works is what the next command selects."""
    (tmp_path / "partial.py").write_text(PARTIAL, encoding="utf-8")
    backend = f"{tmp_path}/partial.py:Backend"
    ran = check(backend)
    assert ran.exit_code == 1
    assert len(ran.output.splitlines()) <= 14, ran.output
    assert "refused    ACOS, ACOSH, ADD and 60 other operators, 339 operators and types (-v lists them)" in ran.output
    assert ran.output.count("mend:") == 1
    assert f"next: dmlcts run --backend {backend} --operator ABS,ROUND\n" in ran.output
    listed = check(backend, "-v", "--data-type", "INT64")
    assert "refused    ADD, BIT_AND," in listed.output
    assert "-v lists" not in listed.output
    assert "--operator ABS --data-type INT64\n" in listed.output


def test_operators_that_work_on_some_types_are_selected_with_them(tmp_path: Path) -> None:
    (tmp_path / "partial.py").write_text(PARTIAL, encoding="utf-8")
    ran = check(f"{tmp_path}/partial.py:Backend", "--operator", "ROUND,ABS", "-o", "refused=FLOAT16")
    assert ran.exit_code == 1
    assert "refused    ABS, ROUND on FLOAT16" in ran.output
    first, second = (line for line in ran.output.splitlines() if line.startswith("next: "))
    types = "FLOAT32,INT32,INT16,INT8,INT64"
    assert first.endswith(f"-o refused=FLOAT16 --operator ABS --data-type {types} --results results-1"), ran.output
    assert second.endswith("-o refused=FLOAT16 --operator ROUND --data-type FLOAT32 --results results-2"), ran.output


def trial_of(works: dict[str, str], unclaimed: dict[str, str], claims: dict[str, list[str]] | None = None) -> Trial:
    tried = [Tried(name, DataType[word], "pass") for name, words in works.items() for word in words.split()]
    missing = {name: tuple(DataType[word] for word in words.split()) for name, words in unclaimed.items()}
    return Trial(DeviceInfo("partly", "5.1", data_types=claims), 0.1, tuple(tried), missing, None)


def lines(settings: Settings, trial: Trial) -> list[str]:
    return [command.line for command in next_commands(settings, trial)]


def test_the_next_commands_select_all_that_works_and_nothing_that_is_unclaimed() -> None:
    works = {"ADD": "FLOAT32 INT32", "CLIP": "FLOAT32 INT32", "LOGICAL_NOT": "UINT8", "ROUND": "FLOAT32"}
    trial = trial_of(works, dict.fromkeys(works, "UINT32"))
    assert lines(Settings.read(backend="mine"), trial) == [
        "dmlcts run --backend mine --operator ADD,CLIP --data-type FLOAT32,INT32 --results results-1",
        "dmlcts run --backend mine --operator LOGICAL_NOT --data-type UINT8 --results results-2",
        "dmlcts run --backend mine --operator ROUND --data-type FLOAT32 --results results-3",
    ]
    asked = Settings.read(backend="mine", data_types=("UINT8", "UINT32"))
    trial = trial_of({"ADD": "UINT8", "LOGICAL_NOT": "UINT8"}, {"ADD": "UINT32"})
    assert lines(asked, trial) == ["dmlcts run --backend mine --operator ADD,LOGICAL_NOT --data-type UINT8"]


def test_one_next_command_selects_nothing_if_everything_works() -> None:
    trial = trial_of({"ADD": "INT32", "ROUND": "FLOAT32"}, {})
    assert lines(Settings.read(backend="mine"), trial) == ["dmlcts run --backend mine"]


def test_a_next_command_that_ends_incomplete_names_the_operators_that_are_not_claimed() -> None:
    """And how to leave out the clauses that run them."""
    works = {"CLIP": "FLOAT32", "MAX": "FLOAT32"}
    trial = trial_of(works, dict.fromkeys(works, "INT8"), {"MIN": [], "THRESHOLD": ["INT8"]})
    printed: list[str] = []
    print_trial(Settings.read(backend="mine"), trial, printed.append)
    assert printed[-3:] == [
        "next: dmlcts run --backend mine --operator CLIP,MAX --data-type FLOAT32",
        "      INCOMPLETE (exit code 4) because the device does not claim THRESHOLD (for clip.threshold-equivalence), "
        "MIN (for max.pair)",
        "      to leave them out, add --clause '!clip.threshold-equivalence,!max.pair'",
    ]
    claimed = trial_of(works, dict.fromkeys(works, "INT8"), {"MIN": ["FLOAT32"], "THRESHOLD": ["FLOAT32"]})
    assert [command.lacking for command in next_commands(Settings.read(backend="mine"), claimed)] == [{}]


def test_of_many_clauses_that_cannot_be_tried_some_are_named() -> None:
    works = dict.fromkeys(("ABS", "CEIL", "CLIP", "MAX"), "FLOAT32")
    others = ("NEGATE", "FLOOR", "THRESHOLD", "MIN")
    trial = trial_of(works, dict.fromkeys(works, "FLOAT16"), {name: [] for name in others})
    printed: list[str] = []
    print_trial(Settings.read(backend="mine"), trial, printed.append)
    assert printed[-1].endswith("and what 1 other clause needs (-v lists them)"), printed[-1]
    print_trial(Settings.read(backend="mine"), trial, printed.append, verbose=True)
    assert printed[-1].endswith("!clip.threshold-equivalence,!max.pair'")


def test_of_many_next_commands_the_three_largest_are_printed() -> None:
    works = {"ADD": "INT32", "ABS": "INT8", "CLIP": "UINT8", "ROUND": "FLOAT32", "NEGATE": "INT64 INT16"}
    trial = trial_of(works, dict.fromkeys(works, "UINT32"))
    short: list[str] = []
    print_trial(Settings.read(backend="mine"), trial, short.append)
    assert [line.partition(":")[0] for line in short[-4:-1]] == ["next"] * 3, short
    assert "--operator NEGATE " in short[-4]
    assert short[-1] == "and 2 other commands (-v lists them)"
    whole: list[str] = []
    print_trial(Settings.read(backend="mine"), trial, whole.append, verbose=True)
    assert sum(line.startswith("next: ") for line in whole) == 5


def test_unclaimed_operators_are_counted(tmp_path: Path) -> None:
    """And listed with -v; ``only`` makes them so, and knows the names of operators."""
    (tmp_path / "partial.py").write_text(PARTIAL, encoding="utf-8")
    backend = f"{tmp_path}/partial.py:Backend"
    ran = check(backend, "-o", "only=ABS+ROUND")
    assert ran.exit_code == 0
    assert "unclaimed  63 operators that feature level 5.0 obliges (-v lists them)" in ran.output
    *_, command, why, mend = ran.output.splitlines()
    assert command == f"next: dmlcts run --backend {backend} -o only=ABS+ROUND --operator ABS,ROUND"
    assert why.endswith("because the device does not claim NEGATE (for abs.even)")
    assert mend.endswith("to leave it out, add --clause '!abs.even'")
    assert "unclaimed  ACOS, ACOSH," in check(backend, "-o", "only=ABS+ROUND", "-v").output
    wrong = check(backend, "-o", "only=ABS+ROUNDD")
    assert wrong.exit_code == 2
    assert "names ROUNDD, which is no operator; did you mean ROUND?" in wrong.output


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
            ("refuses", "not today", "claim less"),
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

    def test_words_that_are_shorter_than_a_header_are_shown(self) -> None:
        ran = check("exec:echo Hello world")
        assert ran.exit_code == 3
        ended = "ended by itself with exit code 0 after b'Hello world\\n', which is no whole message;"
        before_it_was_asked = "it sent bytes that nothing had asked for: b'Hello world\\n';"
        assert ended in ran.output or before_it_was_asked in ran.output

    def test_last_words_are_apart_from_the_exit_code(self) -> None:
        ran = check("exec:sh -c 'echo no board here >&2; exit 7'")
        assert ran.exit_code == 3
        assert "ended by itself with exit code 7, and said last: no board here;" in ran.output

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
        f"from {MODULE} import Obedient\nclass Backend(Obedient):\n    def device_info(self):\n        return "
        "{'name': 'nothing', 'feature_level': '5.0', 'data_types': {'CLIP': []}}\n",
        encoding="utf-8",
    )
    ran = check(f"{tmp_path}/mine.py:Backend", *SELECTED)
    assert ran.exit_code == 1
    assert "unclaimed  CLIP on FLOAT32" in ran.output
    assert "nothing was tried: the device claims none of what feature level 5.0 obliges" in ran.output
    unlisted = check("cpu", "--operator", "ROUND", "--data-type", "INT32", "--feature-level", "5.0")
    assert "feature level 5.0 obliges none of the selected operators on these types" in unlisted.output


LAX = """
from dmlcts.backends.cpu import CpuBackend
class Lax:
    def __init__(self, device):
        self.device = device
        self.info = {"name": "lax", "feature_level": "5.0", "only": ["ROUND"], "vendor": "ACME"}
    def create(self, operator):
        if len(operator.input.sizes) > 8:
            return object()
        return self.device.create(operator)
    def close(self):
        self.device.close()
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.close()
class Backend:
    name = "lax"
    def open(self):
        return Lax(CpuBackend().open())
"""


def test_a_forbidden_description_that_is_accepted_and_what_is_recorded_are_named(tmp_path: Path) -> None:
    (tmp_path / "lax.py").write_text(LAX, encoding="utf-8")
    ran = check(f"{tmp_path / 'lax.py'}:Backend", "--operator", "ROUND")
    assert "accepted   ROUND of tensors of nine dimensions, though no page permits more than eight\n" in ran.output
    assert "mend: raise InvalidArgument for what the pages forbid" in ran.output
    assert "details    vendor\n" in ran.output
    assert ran.exit_code == 0, "the trial is of what works"
    assert "accepted" not in check("cpu", "--operator", "ROUND").output
