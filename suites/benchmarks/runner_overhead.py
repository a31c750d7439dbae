"""What a runner costs beyond isolation: ``python -m dmlcts.suites.benchmarks.runner_overhead``.

A backend that computes nothing in the isolated process, and a runner that computes nothing behind the same process, are
dispatched in turn in one run, so that what else the machine does weighs on both alike. What the second takes longer
is what the runner costs; of *bulk* dispatches, on shared memory, it is shown as a share of what judging one takes.
"""

from __future__ import annotations

import contextlib
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Self

import click
import numpy as np
from numpy.typing import NDArray

from dmlcts.backends import DeviceInfo
from dmlcts.specs import OperatorDesc, Region, UsageError
from dmlcts.suites.benchmarks.isolation_overhead import clip_case, dispatcher, in_turn, print_figures, timed
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.running.options import Settings

MOST_SECONDS_A_DISPATCH = 0.0001
MOST_BULK_SHARE = 0.20
_SMALL = 64


class IdleKernel:
    """Computes nothing."""

    def dispatch(self, memory: NDArray[np.uint8], bindings: Mapping[str, Region]) -> None:
        """Leave the memory as it is."""

    def close(self) -> None:
        """Nothing is held."""


class IdleDevice:
    """Takes every description."""

    info = DeviceInfo(name="idle", feature_level="5.0")

    def create(self, operator: OperatorDesc) -> IdleKernel:
        """A kernel that computes nothing."""
        return IdleKernel()

    def close(self) -> None:
        """Nothing is held."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class IdleBackend:
    """What ``skeleton_runner.c`` is, without a runner."""

    name = "idle"

    def open(self) -> IdleDevice:
        """A device that computes nothing."""
        return IdleDevice()


@contextlib.contextmanager
def skeleton() -> Iterator[str]:
    """The kit's smallest runner, built in a folder of its own, as ``--backend`` names it.

    Raises:
        UsageError: there is no C compiler.
    """
    if shutil.which("cc") is None:
        raise UsageError("there is no C compiler, cc", "name a runner that computes nothing: --runner exec:COMMAND")
    sources = resources.files("dmlcts.backends.runners") / "c"
    with tempfile.TemporaryDirectory(prefix="dmlcts-") as folder, resources.as_file(sources) as kit:
        program = Path(folder) / "skeleton"
        words = ["cc", "-O2", "-o", str(program), str(kit / "skeleton_runner.c"), str(kit / "dmlcts_runner.c")]
        subprocess.run(words, check=True)  # noqa: S603  # our own source
        yield f"exec:{program}"


def measure(runner: str, rounds: int, bulk_rounds: int, elements: int) -> dict[str, Any]:
    """Seconds of dispatches without and with a runner: medians, and what is added.

    Args:
        runner: one that computes nothing, as ``--backend`` names it.
        rounds: small dispatches each way.
        bulk_rounds: bulk dispatches each way, and judgements.
        elements: of a bulk case.
    """
    names = ("dmlcts.suites.benchmarks.runner_overhead:IdleBackend", runner, "cpu")
    benches = [Settings.read(backend=name, isolation="process").open() for name in names]
    try:
        first, other = (dispatcher(bench, clip_case(bench, _SMALL)) for bench in benches[:2])
        small = in_turn(first, other, rounds)
        first, other = (dispatcher(bench, clip_case(bench, elements)) for bench in benches[:2])
        bulk = in_turn(first, other, bulk_rounds)
        case = clip_case(benches[2], elements)
        judging = statistics.median(timed(lambda: judge_case(benches[2], case)) for _ in range(bulk_rounds))
    finally:
        for bench in benches:
            bench.close()
    without, with_one = (statistics.median(kept) for kept in small)
    plain, through = (statistics.median(kept) for kept in bulk)
    return {
        "runner": runner,
        "rounds": rounds,
        "bulk_rounds": bulk_rounds,
        "elements": elements,
        "numpy": np.__version__,
        "dispatch_seconds": {"isolation": without, "runner": with_one, "added": with_one - without},
        "bulk_seconds": {
            "isolation": plain,
            "runner": through,
            "judging": judging,
            "added_share": (through - plain) / judging,
        },
    }


@click.command()
@click.option("--runner", help="A runner that computes nothing (default: the kit's skeleton, built with cc).")
@click.option("--rounds", default=2000, show_default=True, help="Small dispatches each way.")
@click.option("--bulk-rounds", default=30, show_default=True, help="Bulk dispatches each way.")
@click.option("--elements", default=1 << 20, show_default=True, help="Elements of a bulk case.")
def main(runner: str | None, rounds: int, bulk_rounds: int, elements: int) -> None:
    """Measure what a runner costs; exit code 1 where it is more than it may."""
    with contextlib.ExitStack() as stack:
        figures = measure(runner or stack.enter_context(skeleton()), rounds, bulk_rounds, elements)
    sys.exit(print_figures(figures, MOST_SECONDS_A_DISPATCH, MOST_BULK_SHARE))


if __name__ == "__main__":
    main()
