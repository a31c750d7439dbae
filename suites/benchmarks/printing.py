"""What ``dmlcts bench`` prints."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Column, Table
from rich.text import Text

from dmlcts.suites.benchmarks import command_times
from dmlcts.suites.benchmarks.bench_document import TOLERATED, dearer, slower
from dmlcts.suites.console.plain import PlainConsole
from dmlcts.suites.sweeping.showing import rate_text

_WIDTH = 160  # of a table that is written to a file


def _beside(figure: Mapping[str, Any]) -> list[str]:
    reached = {None: "", True: "reached", False: "MISSED"}[figure["reached"]]
    bar = f"{figure['bar'] / 1e6:.0f} M/s {reached}" if figure["bar"] else ""
    ratios = [f"{figure[name]:.2f}" for name in ("of_rint", "of_compare", "of_copy")]
    return [figure["what"], str(figure["threads"]), rate_text(figure["elements_per_second"]), *ratios, bar]


def _spent(figure: Mapping[str, Any]) -> str:
    """Where a sweep's time went."""
    stages = figure["details"]["stages"]
    spent = sum(stages.values()) or 1.0
    parts = ", ".join(f"{name} {100 * seconds / spent:.0f} %" for name, seconds in stages.items())
    held = figure["details"].get("memory")
    most = f", at most {held / (1 << 20):,.0f} MiB of memory in all processes" if held else ""
    return f"{figure['what']}: {figure['details']['seconds']:.1f} s; of its time {parts}{most}."


def _held_to(value: float, most: float, unit: str) -> str:
    places = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{places}f} {unit} ({'within' if value <= most else 'MISSED:'} {most:g})"


def _commands(benchmark: Mapping[str, Any], backend: str) -> Iterator[str]:
    """What commands cost their user, and what a quick run costs beside the same on cpu."""
    run, on_cpu = benchmark["quick_run"], benchmark["quick_run_on_cpu"]
    yield (
        f"`dmlcts --help`: {_held_to(benchmark['help_seconds'], command_times.HELP_BAR, 's')}; "
        "`dmlcts run` to its first case: "
        f"{_held_to(benchmark['first_case_seconds'], command_times.FIRST_CASE_BAR, 's')}; "
        f"a Python that does nothing: {benchmark['python_seconds']:.2f} s."
    )
    seconds = f"{run['seconds']:.1f} s"
    if backend == "cpu":
        seconds = _held_to(run["seconds"], command_times.QUICK_RUN_BAR, "s")
    held = _held_to(run["memory"] / (1 << 20), command_times.MEMORY_BAR / (1 << 20), "MiB")
    if not run["memory"]:  # Windows
        yield f"A quick run of {', '.join(command_times.QUICK_OPERATORS)} on {backend}: {seconds}."
        return
    yield (
        f"A quick run of {', '.join(command_times.QUICK_OPERATORS)} on {backend}, -n auto: {seconds}, "
        f"{run['processor_seconds']:.1f} s of processor time, the largest process at most {held}."
    )
    if on_cpu is not None:
        ratio = run["processor_seconds"] / max(on_cpu["processor_seconds"], 0.01)
        yield f"Its processor time beside that of cpu: {_held_to(ratio, command_times.PROCESSOR_BAR, 'times')}."


def _parts_of(run: Mapping[str, Any]) -> str:
    return (
        f"Of a quick run in one process, {run['seconds']:.1f} s: collection {run['collection_seconds']:.1f} s, judging "
        f"{run['judging_seconds']:.1f} s, hypothesis {100 * run['hypothesis_share']:.0f} %; slowest test "
        f"{run['slowest_test_seconds']:.1f} s ({run['slowest_test']})."
    )


def _engine(engine: Mapping[str, Any]) -> Iterator[str]:
    """What the engine costs beside bare numpy."""
    case = engine["case"]
    yield (
        f"The engine takes {case['case_microseconds']:.1f} µs of processor time for a small case whose dispatch costs "
        f"nothing, {case['ratio']:.0f} times bare np.rint of its elements."
    )
    for row in engine["operators"]:
        yield (
            f"A quick run of {row['operator']} on cpu takes {row['seconds']:.1f} s of processor time, "
            f"{row['ratio']:.1f} times what its {row['dispatches']:,} dispatches take alone "
            f"({row['bare_seconds']:.2f} s)."
        )


def _table(heads: list[str], rows: list[list[str]], console: PlainConsole) -> None:
    table = Table(*(Column(head, justify="left" if index in (0, 6) else "right") for index, head in enumerate(heads)))
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def print_benchmark(benchmark: Mapping[str, Any], *, markdown: bool = False) -> None:
    """Print the benchmark's figures, each beside the yardsticks, as a table for a terminal or in Markdown."""
    heads = ["what", "threads", "elements", "of np.rint", "of bit compare", "of copy", "bar"]
    rows = [_beside(figure) for figure in benchmark["figures"]]
    width = None if sys.stdout.isatty() else _WIDTH
    console = PlainConsole(sys.stdout, highlight=False, soft_wrap=True, width=width)
    if markdown:
        console.print("| " + " | ".join(heads) + " |", markup=False)
        console.print("|---|" + "---:|" * 5 + "---|", markup=False)
        for row in rows:
            console.print("| " + " | ".join(row) + " |", markup=False)
        console.print()
    else:
        _table(heads, rows, console)
    anchor = benchmark["anchor"]
    lines = [
        f"Beside them, measured on another day: {anchor['what']}: {rate_text(anchor['elements_per_second'])}, "
        f"{anchor['of_rint']:.2f} of np.rint ({anchor['source']}).",
        *(_spent(figure) for figure in benchmark["figures"] if figure["details"].get("stages")),
        *(_commands(benchmark["commands"], benchmark["backend"]) if benchmark["commands"] is not None else ()),
        *(_engine(benchmark["engine"]) if benchmark.get("engine") is not None else ()),
        *([_parts_of(benchmark["ordinary_run"])] if benchmark["ordinary_run"] is not None else ()),
    ]
    for line in lines:
        console.print(line, markup=False)


def print_slower(compared: Mapping[str, tuple[float, float]], reference: str) -> int:
    """Say which figures lost more of ``np.rint``'s rate than is tolerated; the exit code, 1 where some did."""
    console = PlainConsole(sys.stdout, highlight=False, soft_wrap=True)
    slow = slower(compared)
    for what in slow:
        now, then = compared[what]
        console.print(f"slower: {what}: {now:.2f} of np.rint, {then:.2f} in {reference}", markup=False)
    if not slow:
        console.print(
            f"no slower than in {reference}: {len(compared)} figures within {100 * TOLERATED:.0f} %", markup=False
        )
    return 1 if slow else 0


def print_dearer(compared: Mapping[str, tuple[float, float]], reference: str) -> int:
    """Say what of the engine's cost grew more than is tolerated; the exit code, 1 where some did."""
    console = PlainConsole(sys.stdout, highlight=False, soft_wrap=True)
    dear = dearer(compared)
    for name in dear:
        now, then = compared[name]
        what = f"a quick run of {name}" if name else "the engine, a case"
        console.print(f"dearer: {what}: {now:.1f} times bare numpy, {then:.1f} in {reference}", markup=False)
    if compared and not dear:
        console.print(f"the engine costs no more than in {reference}: {len(compared)} figures", markup=False)
    return 1 if dear else 0
