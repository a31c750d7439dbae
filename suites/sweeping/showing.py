"""What a sweep shows while it runs and at its end."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from dmlcts.reports.summaries.measured import error_sentences
from dmlcts.suites.console.plain import PlainConsole
from dmlcts.suites.sweeping.blocks.targets import Block
from dmlcts.suites.sweeping.blocks.totals import Totals
from dmlcts.suites.sweeping.conducting import Report, Sweep

_EVERY_SECONDS = 10.0
_FAILURES_SHOWN = 8


def rate_text(rate: float) -> str:
    """Elements a second, in the unit that fits."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if rate >= size:
            return f"{rate / size:.2f} {unit}/s"
    return f"{rate:.0f} /s"


class _Rate(ProgressColumn):
    """Elements judged a second, over the last seconds."""

    def render(self, task: Task) -> Text:
        """The rate, or nothing yet."""
        return Text("" if task.speed is None else rate_text(task.speed))


@contextlib.contextmanager
def progress(sweep: Sweep, workers: int) -> Iterator[Report]:
    """Shows progress: a bar on a terminal, elsewhere a line now and then.

    Yields:
        The function to call with each finished block.
    """
    console = PlainConsole(sys.stderr)
    targets, elements = len(sweep.plan.targets), sweep.plan.elements
    console.print(
        f"dmlcts: sweeping {targets} target{'s' * (targets != 1)}, {elements:,} elements, "
        f"{workers} worker{'s' * (workers != 1)}, feature level {sweep.description.level}",
        highlight=False,
        soft_wrap=True,
    )
    if sweep.plan.open:
        open_ones = len(sweep.plan.open)
        console.print(
            f"dmlcts: not swept: {open_ones} signature{'s' * (open_ones != 1)} whose values the tables leave open: "
            f"{', '.join(sweep.plan.open)}",
            highlight=False,
            soft_wrap=True,
        )
    if console.is_terminal:
        with _bar(sweep, console) as report:
            yield report
        return
    began = last = time.monotonic()

    def report_line(block: Block, totals: Totals) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < _EVERY_SECONDS:
            return
        last = now
        done = sweep.elements
        rate = (done - sweep.resumed) / (now - began)
        left = (elements - done) / rate if rate else 0.0
        wrong = sum(target_totals.wrong for target_totals in sweep.totals.values())
        text = f"{100 * done / elements:.1f} %  {rate_text(rate)}  {left:.0f} s left  {wrong:,} wrong"
        console.print(text, highlight=False, soft_wrap=True)

    yield report_line


@contextlib.contextmanager
def _bar(sweep: Sweep, console: Console) -> Iterator[Report]:
    columns = (
        TextColumn("{task.percentage:>5.1f} %"),
        BarColumn(),
        _Rate(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[wrong]} wrong  {task.fields[target]}"),
    )
    with Progress(*columns, console=console, refresh_per_second=4, transient=True, speed_estimate_period=10) as bar:
        task = bar.add_task("", total=sweep.plan.elements, wrong="0", target="")

        def report_block(block: Block, totals: Totals) -> None:
            wrong = sum(target_totals.wrong for target_totals in sweep.totals.values())
            target = sweep.plan.targets[block.target].key
            bar.update(task, completed=sweep.elements, wrong=f"{wrong:,}", target=target)

        yield report_block


def summary(record: Mapping[str, Any], written: list[Path]) -> None:
    """Print what came of a sweep."""
    console = PlainConsole(sys.stdout, highlight=False, soft_wrap=True)
    timings = record["timings"]
    judged = sum(row["elements"] for row in record["sweeps"])
    console.print(
        f"{judged:,} elements judged; this sitting {timings['elements']:,} in {timings['seconds']:.1f} s, "
        f"{rate_text(timings['elements_per_second'])} on {timings['workers']} worker{'s' * (timings['workers'] != 1)}"
    )
    stages = timings["stages"]
    spent = sum(stages.values())
    if spent:
        parts = ", ".join(f"{stage} {100 * seconds / spent:.0f} %" for stage, seconds in stages.items())
        console.print(
            f"time of all slots: {parts} (device: with all transfers); "
            f"tensors through a device at {timings['device_bytes_per_second'] / 1e9:.1f} GB/s"
        )
    for row in record["sweeps"]:
        faults = [
            f"{row[name]:,} {name}" for name in ("wrong", "unwritten", "strays", "altered", "stopped") if row[name]
        ]
        if faults:
            console.print(f"  {row['target']}: {', '.join(faults)}", markup=False)
    for sentence in error_sentences(record):
        console.print(f"  {sentence}", markup=False)
    for failure in record["failures"][:_FAILURES_SHOWN]:
        console.print(f"  {failure['clause']}: {failure['title']}  ({failure['file']})", markup=False)
    if record["environment"]["isolation"] == "none":
        console.print("judged in one process with the implementation, which can change what the judge does there")
    if record["interrupted"]:
        folder = written[0].parent
        console.print(f"stopped before its end; go on with --resume {folder}", markup=False)
    console.print(record["verdict"].replace("_", " "))
    console.print("written: " + ", ".join(str(path) for path in written), markup=False)
