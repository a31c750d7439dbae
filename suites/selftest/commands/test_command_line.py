"""The commands as their users meet them: exit codes, one clear line for every bad input, no traceback."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dmlcts.specs.loading import load_tables

HALF_UP = """
import numpy as np
from dmlcts.suites.mutants.reference import Reference


class HalfUp(Reference):
    def half_away(self, x):
        return np.floor(x + np.asarray(0.5, x.dtype))


class Absent(Reference):
    def open(self):
        raise BackendUnavailable("no adapter; plug one in")


class BackendUnavailable(Exception):
    pass


class Overruns(Reference):
    def dispatch(self, operator, memory, bindings):
        super().dispatch(operator, memory, bindings)
        memory[bindings["OutputTensor"].offset + bindings["OutputTensor"].size] ^= 1


class Zeros(Reference):
    def compute(self, operator, x):
        return np.full_like(x, 77)


class Level(Reference):
    level = "9.9"


class FewerTypes(Reference):
    @property
    def info(self):
        from dmlcts.backends import DeviceInfo
        return DeviceInfo("few", "5.0", data_types={"CLIP": ["FLOAT32"]})

    def refuses(self, operator):
        if operator.name.endswith("CLIP") and operator.input.data_type.name != "FLOAT32":
            return "not claimed"
        return super().refuses(operator)
"""
ROUNDING = ("--operator", "ROUND", "--data-type", "FLOAT32")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder outside the checkout with backends in one file."""
    (tmp_path / "third.py").write_text(HALF_UP, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def half_up(tmp_path_factory: pytest.TempPathFactory, dmlcts_in: Callable[..., Any]) -> tuple[Path, Any]:
    """A run that finds one fault on two types, and its folder with the results in ``out/there``; nobody writes there.

    For tests that follow one another: a process of pytest-xdist has its own.
    """
    folder = tmp_path_factory.mktemp("half-up")
    (folder / "third.py").write_text(HALF_UP, encoding="utf-8")
    ran = dmlcts_in(
        "run",
        "--backend",
        "third.py:HalfUp",
        "--operator",
        "ROUND",
        "--data-type",
        "FLOAT32,FLOAT16",
        "--clause",
        "round.toward-infinity",
        "--results",
        "out/there",
        folder=folder,
    )
    assert ran.code == 1, ran.out + ran.err
    return folder, ran


def test_a_conforming_selection_ends_with_0(dmlcts: Callable[..., Any]) -> None:
    ran = dmlcts("run", "--backend", "cpu", *ROUNDING, from_the_start=True)
    assert ran.code == 0, ran.out + ran.err
    assert ran.results["verdict"] == "CONFORMANT"
    assert ran.results["selection"] == {"operators": ["ELEMENT_WISE_ROUND"], "data_types": ["FLOAT32"]}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
@pytest.mark.size("thorough")
def test_a_run_leaves_its_results_folder_and_nothing_else(
    tmp_path: Path, dmlcts: Callable[..., Any], workers: tuple[str, ...]
) -> None:
    ran = dmlcts("run", "--backend", "cpu", *ROUNDING, "--clause", "round.odd", *workers)
    assert ran.code == 0, ran.out + ran.err
    assert {path.name for path in tmp_path.iterdir()} == {"results"}


def test_round_half_up_ends_with_1_and_a_single_tie(folder: Path, dmlcts: Callable[..., Any]) -> None:
    ran = dmlcts(
        "run", "--backend", "third.py:HalfUp", *ROUNDING, "--clause", "round.toward-infinity", from_the_start=True
    )
    assert ran.code == 1, ran.out + ran.err
    assert ran.results["verdict"] == "NOT_CONFORMANT"
    assert ran.outcomes("round.toward-infinity") == {"fail"}
    failures = sorted((folder / "results" / "failures").glob("*.yaml"))
    report = [dmlcts("replay", str(path), "--backend", "third.py:HalfUp").out for path in failures[:3]]
    first = next(text for text in report if text.startswith("ELEMENT_WISE_ROUND on FLOAT32: input -0.5 gives 0.0\n"))
    for literal in (
        "-0.5 (0xbf000000)",
        "acceptable",
        "-1.0 (0xbf800000)",
        "round.toward-infinity (required)",
        "needs        TOWARD_INFINITY (right with HALVES_TO_NEAREST_EVEN and TOWARD_ZERO)",
        "being rounded away from zero",
        "dmlcts replay ",
    ):
        assert literal in first
    again = dmlcts("replay", str(failures[0]), "--backend", "third.py:HalfUp")
    assert again.code == 1
    assert "acceptable" in again.out
    assert dmlcts("replay", str(failures[0]), "--backend", "cpu").code == 0


def test_an_unavailable_backend_ends_with_3(folder: Path, dmlcts: Callable[..., Any]) -> None:
    ran = dmlcts("run", "--backend", "third.py:Absent")
    assert (ran.code, ran.err) == (3, "dmlcts: no adapter; plug one in\n")


@pytest.mark.size("thorough")
def test_fewer_types_than_the_level_obliges_end_with_4(folder: Path, dmlcts: Callable[..., Any]) -> None:
    claimed_and_another = ("--operator", "CLIP", "--clause", "clip.formula", "--data-type", "FLOAT32,FLOAT16")
    ran = dmlcts("run", "--backend", "third.py:FewerTypes", *claimed_and_another)
    assert ran.code == 4, ran.out + ran.err
    assert ran.results["verdict"] == "INCOMPLETE"
    assert ran.outcomes("clip.formula") == {"pass", "not_supported"}


RAISES = """
import numpy as np
from dmlcts.suites.mutants.reference import Reference


def helper(x):
    return {}["absent"]


class Raises(Reference):
    def compute(self, operator, x):
        return helper(x) if x.size == 1 else super().compute(operator, x)


class FailsToOpen(Reference):
    def open(self):
        return helper(0)
"""


@pytest.mark.parametrize("isolation", ["process", "none"])
@pytest.mark.size("thorough")
def test_an_exception_of_a_backend_is_reported_with_its_own_lines(
    folder: Path, dmlcts: Callable[..., Any], isolation: str
) -> None:
    (folder / "third.py").write_text(RAISES, encoding="utf-8")
    ran = dmlcts(
        "run", "--backend", "third.py:Raises", *ROUNDING, "--clause", "round.toward-zero", "--isolation", isolation
    )
    assert ran.code == 1, ran.out + ran.err
    replayed = dmlcts("replay", "results", "--backend", "third.py:Raises", "--isolation", isolation)
    frames = [
        "KeyError: 'absent'",
        "at third.py:12 in compute: return helper(x) if x.size == 1 else super().compute(operator, x)",
        'at third.py:7 in helper: return {}["absent"]',
    ]
    at = [replayed.out.index(frame) for frame in frames]
    assert at == sorted(at), replayed.out
    block = replayed.out[at[0] : replayed.out.index("clause", at[0])]
    assert not re.search(r"(bench|worker|proxy|outputs|expectations)\.py:", block), (
        "no line of the suite's own among them"
    )
    assert frames[-1] in ran.results["failures"][0]["details"]["said"]
    opened = dmlcts("run", "--backend", "third.py:FailsToOpen", "--isolation", isolation)
    assert (opened.code, opened.err.count("\n")) == (2, 1), opened.err
    assert "KeyError: 'absent' (third.py:7 in helper: " in opened.err


@pytest.mark.size("thorough")
def test_a_verdict_on_selected_clauses_counts_these_alone(folder: Path, dmlcts: Callable[..., Any]) -> None:
    """What breaks other clauses is listed beside it."""
    right = dmlcts("run", "--backend", "third.py:Overruns", *ROUNDING, "--clause", "round.toward-zero")
    assert right.code == 0, right.out + right.err
    assert (right.results["verdict"], right.results["failures"]) == ("CONFORMANT", [])
    assert {row["id"] for row in right.results["clauses"]} == {"round.toward-zero"}
    assert {failure["clause"] for failure in right.results["besides"]} == {"tensor.output.bounds"}
    assert "FAIL  tensor.output.bounds · ROUND on FLOAT32" in right.out
    assert "replay: results/failures/tensor.output.bounds-" in right.out
    text = (folder / "results" / "results.html").read_text(encoding="utf-8")
    assert "Also failing, though not selected: tensor.output.bounds." in text
    assert 'failures="0"' in (folder / "results" / "junit.xml").read_text(encoding="utf-8")
    control = dmlcts("run", "--backend", "third.py:Overruns", *ROUNDING, "--clause", "tensor.output.bounds")
    assert (control.code, "besides" in control.results) == (1, False), control.out


@pytest.mark.size("thorough")
def test_a_selected_clause_of_which_nothing_came_right_is_not_reported_to_hold(
    folder: Path, dmlcts: Callable[..., Any]
) -> None:
    ran = dmlcts("run", "--backend", "third.py:Zeros", *ROUNDING, "--clause", "tensor.strides.padded")
    assert ran.code == 4, ran.out + ran.err
    assert ran.outcomes("tensor.strides.padded") == {"skipped"}
    assert ran.results["besides"], "what is wrong is said all the same"
    control = dmlcts("run", "--backend", "third.py:Zeros", *ROUNDING, "--clause", "round.toward-zero")
    assert control.code == 1, control.out + control.err


BAD_INPUT = {
    "unknown backend": (("run", "--backend", "cpux"), "cpu"),
    "missing file": (("run", "--backend", "nothing.py:Backend"), "nothing.py"),
    "missing attribute": (("run", "--backend", "third.py:Nothing"), "Nothing"),
    "file that does not import": (("run", "--backend", "broken.py:Backend"), "broken.py"),
    "unknown level": (("run", "--backend", "third.py:Level"), "9.9"),
    "level option": (("run", "--backend", "cpu", "--feature-level", "7"), "7"),
    "backend option": (("run", "--backend", "cpu", "-o", "nonsense=1"), "nonsense"),
    "backend option without value": (("run", "--backend", "cpu", "-o", "nonsense"), "nonsense"),
    "backend option value": (("run", "--backend", "cpu", "-o", "feature_level=abc"), "abc"),
    "operator": (("run", "--backend", "cpu", "--operator", "CLAP"), "CLAP"),
    "data type": (("run", "--backend", "cpu", "--data-type", "FLOAT8"), "FLOAT8"),
    "clause": (("run", "--backend", "cpu", "--clause", "clip.nothing"), "clip.nothing"),
    "profile": (("run", "--backend", "cpu", "--profile", "slow"), "slow"),
    "seed": (("run", "--backend", "cpu", "--seed", "-1"), "-1"),
    "workers": (("run", "--backend", "cpu", "-n", "x"), "x"),
    "malformed table": (("run", "--backend", "cpu", "--tables", "broken.yaml"), "broken.yaml:1:"),
    "table of nothing": (("spec", "lint", "empty"), "empty"),
    "missing table": (("spec", "lint", "nowhere.yaml"), "nowhere.yaml"),
    "results not a folder": (("run", "--backend", "cpu", "--results", "third.py"), "third.py"),
    "missing failure": (("replay", "nowhere.yaml", "--backend", "cpu"), "nowhere.yaml"),
    "malformed failure": (("replay", "broken.yaml", "--backend", "cpu"), "broken.yaml"),
    "missing page": (("spec", "compare", "nowhere.txt"), "nowhere.txt"),
    "page of nothing": (("spec", "compare", "third.py"), "third.py"),
    "operator to show": (("spec", "show", "CLAP"), "CLAP"),
    "clause to show": (("spec", "show", "clip.nothing"), "clip.nothing"),
    "no selection": (("run", "--backend", "cpu", "--data-type", "INT64", "--clause", "round.nan"), ""),
}


@pytest.mark.parametrize("arguments, named", BAD_INPUT.values(), ids=BAD_INPUT)
@pytest.mark.size("thorough", brief=12)
def test_bad_input_is_one_clear_line_and_2(
    folder: Path, dmlcts: Callable[..., Any], arguments: tuple[str, ...], named: str
) -> None:
    (folder / "broken.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    (folder / "broken.yaml").write_text("format: [dmlcts\n", encoding="utf-8")
    (folder / "empty").mkdir()
    ran = dmlcts(*arguments)
    assert ran.code == 2, ran.out + ran.err
    assert "Traceback" not in ran.err + ran.out
    lines = [line for line in ran.err.splitlines() if not line.startswith(("Usage:", "Try ")) and line]
    assert len(lines) == 1, ran.err
    assert named in lines[0]


@pytest.mark.size("thorough")
def test_coverage_names_a_test_for_every_clause(dmlcts: Callable[..., Any]) -> None:
    ran = dmlcts("spec", "coverage", "--all")
    assert ran.code == 0, ran.out
    assert "0 of them checked by no test" in ran.out
    assert "test_clamping.py::test_inverted_bounds" in ran.out.replace("\n", "")


def test_a_clause_that_nothing_checks_is_refused(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    from dmlcts.suites.selftest.tables.test_fourth_operator import CLAUSE, table

    text = table("OWN_CEIL", 907, "ceil(x)", "FLOAT32")
    words = {"prefix": "own-ceil", "name": "untested", "text": "nobody looks", "subject": "formula"}
    for check, code in (("monotone", 0), ("nobody", 2)):
        (tmp_path / "own_ceil.yaml").write_text(text + CLAUSE.format(check=check, **words), encoding="utf-8")
        ran = dmlcts("spec", "lint", "own_ceil.yaml")
        assert ran.code == code, ran.out + ran.err
    line = text.count("\n") + 3
    assert f"own_ceil.yaml:{line}:12: clauses[6].check: 'nobody' is not allowed here" in ran.out + ran.err


def test_probe_prints_the_fingerprint(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    ran = dmlcts("probe", "--backend", "cpu", "--operator", "CLIP", "--data-type", "FLOAT32", "--json", "print.json")
    assert ran.code == 0, ran.out + ran.err
    assert "NaN input gives NaN" in ran.out
    assert '"schema": "dmlcts-fingerprint/1"' in (tmp_path / "print.json").read_text(encoding="utf-8")
    assert not (tmp_path / "results").exists()


@pytest.mark.size("thorough")
def test_the_same_seed_gives_the_same_results(tmp_path: Path, dmlcts: Callable[..., Any]) -> None:
    """In two interpreters, whose sets have other orders; on operators of one, two and three inputs, and of modes."""
    from dmlcts.reports.documents.results import stable

    path, two = tmp_path / "one", tmp_path / "two"
    result = []
    for folder in (path, two):
        folder.mkdir()
        ran = dmlcts(
            "run",
            "--backend",
            "cpu",
            "--operator",
            "CLIP,ADD,IF,BIT_SHIFT_LEFT",
            "--clause",
            "*.formula",
            "--data-type",
            "INT8",
            "--seed",
            "7",
            folder=folder,
            from_the_start=True,
        )
        assert ran.code == 0, ran.out + ran.err
        result.append(stable(ran.results))
    assert result[0] == result[1]
    assert result[0]["seed"] == 7


def test_help_does_not_import_the_heavy_modules() -> None:
    program = (
        "import sys; from click.testing import CliRunner; from dmlcts.suites.commands.main import main; "
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0; "
        "print([name for name in ('numpy', 'pytest', 'hypothesis', 'pydantic', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_examples_in_the_help_keep_their_lines(dmlcts: Callable[..., Any]) -> None:
    for command in ("run", "compare", "certify", "replay", "merge"):
        text = dmlcts(command, "--help").out
        assert f"\n  dmlcts {command} " in text
        assert "\\b" not in text


@pytest.mark.size("thorough")
def test_several_failures_and_whole_folders_are_replayed(
    half_up: tuple[Path, Any], tmp_path: Path, dmlcts: Callable[..., Any]
) -> None:
    (tmp_path / "third.py").write_text(HALF_UP, encoding="utf-8")
    shutil.copytree(half_up[0] / "out" / "there", tmp_path / "results")
    files = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "results" / "failures").glob("*.yaml"))
    assert len(files) == 2, "one fault is reported once for each type"
    backend = ("--backend", "third.py:HalfUp", "--isolation", "none")
    two = dmlcts("replay", *files[:2], *backend)
    assert two.code == 1, two.err
    for data_type in ("FLOAT32", "FLOAT16"):
        assert two.out.count(f"ELEMENT_WISE_ROUND on {data_type}: ") == 1
    for name in files[:2]:
        command = f"dmlcts replay {name} --backend third.py:HalfUp --isolation none\n"
        assert (f"== {name}\n" in two.out, command in two.out) == (True, True), two.out
    assert two.out.endswith("2 cases: 2 fail, 0 pass\n")
    for name in ("results", "results/failures"):
        whole = dmlcts("replay", name, files[0], *backend)
        assert whole.out.endswith(f"{len(files)} cases: {len(files)} fail, 0 pass\n"), whole.out
    right = dmlcts("replay", "results", "--backend", "cpu")
    assert (right.code, right.out.endswith(f"{len(files)} cases: 0 fail, {len(files)} pass\n")) == (0, True), right.out
    (tmp_path / "nothing").mkdir()
    empty = dmlcts("replay", "nothing", *backend)
    assert (empty.code, empty.err.count("\n"), "nothing holds no failure files" in empty.err) == (2, 1, True)


@pytest.mark.size("thorough")
def test_the_page_s_replay_command_runs_in_the_results_folder(
    half_up: tuple[Path, Any], dmlcts: Callable[..., Any]
) -> None:
    import shlex

    place = half_up[0] / "out" / "there"
    command = re.search(r"dmlcts replay failures/\S+ --backend [^\s<]+", (place / "results.html").read_text("utf-8"))
    assert command is not None
    again = dmlcts(*shlex.split(command[0])[1:], folder=place)
    assert (again.code, "acceptable" in again.out) == (1, True), again.out + again.err


MANY = """
import numpy as np
from dmlcts.suites.mutants.reference import Reference


class Shifted(Reference):
    def compute(self, operator, x):
        y = super().compute(operator, x)
        y.reshape(-1)[3:] += 1
        return y
"""


def test_replay_shows_and_dumps_every_wrong_element(folder: Path, dmlcts: Callable[..., Any]) -> None:
    import numpy as np

    from dmlcts.reports.documents.writing import dump_yaml
    from dmlcts.specs import DataType, OperatorDesc, TensorDesc
    from dmlcts.suites.cases.case import Case
    from dmlcts.suites.cases.values import Values

    (folder / "third.py").write_text(MANY, encoding="utf-8")
    values = np.arange(30, dtype=np.float32)
    tensor = TensorDesc(DataType.FLOAT32, (5, 6))
    operator = OperatorDesc(
        "ELEMENT_WISE_ROUND", {"InputTensor": tensor, "OutputTensor": tensor}, {"RoundingMode": "TOWARD_ZERO"}
    )
    case = Case(operator, Values.of(values, DataType.FLOAT32), "round.toward-zero")
    written = {
        "format": "dmlcts/failure/1",
        "title": "t",
        "clause": case.clause,
        "operator": operator.name,
        "data_type": "FLOAT32",
        "outcome": "fail",
        "test": "t",
        "suite_version": "0.1.0",
        "text": "t",
        "details": {},
        "case": case.to_json(),
    }
    (folder / "many.yaml").write_text(dump_yaml(written), encoding="utf-8")
    ran = dmlcts("replay", "many.yaml", "--backend", "third.py:Shifted", "--dump", "arrays")
    assert ran.code == 1, ran.err
    assert re.search(r"\n  index +input +acceptable +got\n  \[0, 3\] +3\.0 \(0x40400000\) +3\.0 .* +4\.0 ", ran.out)
    assert "… and 7 more of 30 elements; --dump DIR writes them all" in ran.out
    arrays = {path.stem: np.load(path) for path in (folder / "arrays").glob("*.npy")}
    assert set(arrays) == {"input", "output", "acceptable", "wrong"}
    assert {name: array.shape for name, array in arrays.items() if name != "acceptable"} == dict.fromkeys(
        ("input", "output", "wrong"), (5, 6)
    )
    assert arrays["acceptable"].shape[1:] == (5, 6)
    assert arrays["wrong"].sum() == 27
    assert (arrays["output"] == np.where(arrays["wrong"], arrays["input"] + 1, arrays["input"])).all()
    assert (arrays["acceptable"] == arrays["input"]).any(axis=0).all()
    control = dmlcts("replay", "many.yaml", "--backend", "cpu", "--dump", "right")
    assert (control.code, np.load(folder / "right" / "wrong.npy").any()) == (0, False), control.out
    refused = dmlcts("replay", "many.yaml", "--backend", "cpu", "--dump", "third.py/arrays")
    assert (refused.code, "cannot write into" in refused.err) == (2, True), refused.err


@pytest.mark.size("thorough")
def test_a_run_states_each_fault_once_and_more_or_less_of_it_when_asked(
    half_up: tuple[Path, Any], folder: Path, dmlcts: Callable[..., Any]
) -> None:
    command = ("run", "--backend", "third.py:HalfUp", *ROUNDING, "--clause", "round.toward-infinity")
    account = "ELEMENT_WISE_ROUND on FLOAT32: input -0.5 gives 0.0\n"
    report, quiet, verbose = half_up[1], dmlcts(*command, "-q"), dmlcts(*command, "-v")
    assert (quiet.code, verbose.code) == (1, 1), quiet.err + verbose.err
    assert report.out.count("FAIL  round.toward-infinity (required)") == 1
    first = " ".join(report.out.split())
    assert (
        "first: ROUND FLOAT16 with RoundingMode TOWARD_INFINITY: -0.5 gives 0.0, must be -1.0 (0xbc00) "
        "needs: TOWARD_INFINITY (right with HALVES_TO_NEAREST_EVEN and TOWARD_ZERO) "
        "replay: out/there/failures/round.toward-infinity-"
    ) in first
    assert account not in report.out
    assert len(report.out.splitlines()) < 50, report.out
    assert quiet.out.lstrip().startswith("FAIL  round.toward-infinity (required)")
    assert quiet.out.splitlines()[-1].startswith("NOT CONFORMANT: ")
    assert verbose.out.count(account) == 1
    assert verbose.out.count("\n  needs        TOWARD_INFINITY (right with ") == 1
    assert verbose.out.count("(round.toward-infinity, as reported above)\n") > 1
    assert verbose.out.index(account) < verbose.out.rindex("[ROUND]"), "at once, not at the end"
    right = dmlcts("run", "--backend", "cpu", *ROUNDING, "--clause", "round.odd", "-q")
    assert (right.code, right.out) == (0, "CONFORMANT: 1 clause row holds (exit code 0)\n")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("option", [("-x",), ("--maxfail", "2"), ("--maxfail", "1", "-n", "1")], ids=" ".join)
def test_a_run_stops_after_so_many_failures(folder: Path, dmlcts: Callable[..., Any], option: tuple[str, ...]) -> None:
    command = ("run", "--backend", "third.py:HalfUp", *ROUNDING, "--clause", "round.toward-infinity")
    ran = dmlcts(*command, *option)
    assert ran.code == 1, ran.out + ran.err
    assert ran.results["interrupted"], ran.out
    assert "The run was stopped before its end." in ran.out
    failing = {failure["test"] for failure in ran.results["failures"]}
    assert len(failing) == (2 if "2" in option else 1)
    resumed = dmlcts("run", "--resume", "results")
    done = re.search(r"dmlcts: (\d+) of (\d+) tests of results were done before; (\d+) are left\n", resumed.out)
    assert done is not None, resumed.out
    assert 0 < int(done[1]) == int(done[2]) - int(done[3])
    assert (resumed.code, resumed.results["interrupted"]) == (1, False)
    assert len({failure["test"] for failure in resumed.results["failures"]}) > len(failing)


def test_every_clause_that_a_failure_cites_can_be_shown(dmlcts: Callable[..., Any]) -> None:
    own = dmlcts("spec", "show", "clip.cast.float16")
    assert (own.code, own.out.splitlines()[0]) == (0, "clip.cast.float16  required")
    assert "  about CLIP on FLOAT16\n" in own.out
    shared = dmlcts("spec", "show", "tensor.strides.output")
    assert (shared.code, shared.out.startswith("tensor.strides.output  ")) == (0, True), shared.err
    for operator in ("CLIP", "ROUND", "THRESHOLD"):
        assert f"  about {operator} on FLOAT32, " in shared.out
    several = dmlcts("spec", "show", "clip.cast.*")
    heads = [line.split()[0] for line in several.out.splitlines() if line.startswith("clip.")]
    assert len(heads) > 2
    assert "clip.cast.float16" in heads


def test_operators_are_listed_and_shown_with_attributes_and_limits(dmlcts: Callable[..., Any]) -> None:
    listed = dmlcts("spec", "show")
    assert listed.code == 0, listed.err
    for operator in ("CLIP", "ROUND", "THRESHOLD"):
        assert f" {operator} " in listed.out
    shown = " ".join(dmlcts("spec", "show", "ROUND").out.split())
    for literal in ("Attributes and limits", "HALVES_TO_NEAREST_EVEN", "dimensions, at most", "4,294,967,295"):
        assert literal in shown, literal


OWN_RULES = """
from pathlib import Path

from dmlcts.backends.cpu import CpuBackend


class Backend:
    name = "mine"

    def open(self):
        device = CpuBackend().open()
        made = device.create

        def create(operator):
            with Path(__file__).with_name("offered").open("a") as offered:
                print(operator.name, *operator.tensors, file=offered)
            try:
                return made(operator)
            except Exception as error:
                raise type(error)("E_INVALIDARG") from None
        device.create = create
        return device
"""


@pytest.mark.size("thorough")
def test_refusals_of_the_suite_s_own_rules_are_disclosed(folder: Path, dmlcts: Callable[..., Any]) -> None:
    """cpu uses the suite's rule checks; another implementation refuses the same by itself."""
    (folder / "third.py").write_text(OWN_RULES, encoding="utf-8")
    text = "by the suite's own rule checks (dmlcts.specs.rules), not by the implementation"
    for backend, flag in (("cpu", True), ("third.py:Backend", False)):
        ran = dmlcts("run", "--backend", backend, *ROUNDING, "--clause", "round.odd")
        assert ran.code == 0, ran.out + ran.err
        assert ran.results["device"]["details"].get("refusals") == (text if flag else None)
        assert ("Forbidden descriptions were refused by the suite's" in ran.out) == flag
        for name in ("results.html",):
            assert (text.replace("'", "&#39;") in (folder / "results" / name).read_text("utf-8")) == flag
    # A tensor left out is null to an implementation, which may end the process at that.
    offered = {tuple(line.split()) for line in (folder / "offered").read_text("utf-8").splitlines()}
    assert len(offered) > 30
    for operator, *tensors in offered:
        rows = load_tables().operator(operator).tensors
        assert {name for name, row in rows.items() if not row.optional} <= set(tensors)


@pytest.mark.parametrize("group", [(), ("spec",), ("backends", "--nothing")])
def test_a_group_without_a_command_shows_its_help_in_lines(dmlcts: Callable[..., Any], group: tuple[str, ...]) -> None:
    done = dmlcts(*group)
    assert done.code == 2
    assert "\\u{a}" not in done.err
    assert done.err.count("\n") > 2


@pytest.mark.parametrize("group", [(), ("spec",), ("baseline",), ("directml",)], ids=lambda group: " ".join(group))
def test_a_list_of_commands_cuts_no_sentence(dmlcts: Callable[..., Any], group: tuple[str, ...]) -> None:
    text = dmlcts(*group, "--help").out
    listed = text[text.index("Commands:" if group else "Judge:") :]
    assert len(listed.splitlines()) > 1
    assert "..." not in listed
    assert "…" not in listed


def test_an_installed_copy_states_that_it_has_no_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    from dmlcts.specs import UsageError
    from dmlcts.suites.checkout import proof_of_the_suite
    from dmlcts.suites.commands.main import selftest

    module_type = proof_of_the_suite()
    assert module_type is not None
    assert module_type.catalogues()[0]
    for name in [name for name in sys.modules if name.startswith("dmlcts.suites.proof")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dmlcts.suites.proof", None)
    assert proof_of_the_suite() is None
    with pytest.raises(UsageError, match="run it in one, installed with pip -e"):
        selftest.main(["--list"], standalone_mode=False)


def test_a_proof_begins_as_many_processes_as_it_may_use_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    from dmlcts.specs import UsageError
    from dmlcts.suites.commands import main as commands

    begun: list[int] = []

    def prove(seeds: tuple[int, ...], workers: int, *given: Any, **named: Any) -> None:
        begun.append(workers)
        raise UsageError("nothing is proved here", "look at the number")

    monkeypatch.setattr(commands, "proof_of_the_suite", lambda: SimpleNamespace(prove=prove))
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5, 9}, raising=False)
    for arguments in ([], ["-n", "7"]):
        with pytest.raises(UsageError, match="nothing is proved here"):
            commands.selftest.main(arguments, standalone_mode=False)
    assert begun == [3, 7]
