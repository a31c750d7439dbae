"""Worker pools: processes and Dask workers do the same work, and one that is lost takes nothing with it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dmlcts.reports.views.sweeps import load_sweep
from dmlcts.specs import DataType
from dmlcts.suites.selftest.conftest import Ran
from dmlcts.suites.sweeping.blocks.targets import Block, Target
from dmlcts.suites.sweeping.worker_pools.processes import Processes
from dmlcts.suites.sweeping.worker_pools.workers import Orders

DEADLY = '''
import os, time
import numpy as np
from pathlib import Path
from dmlcts.suites.mutants.reference import Reference

class Deadly(Reference):
    """Takes the process down where 0x4000 comes in: every time, or with `once` the first time only."""
    def open(self, once="", slow=""):
        self.once, self.slow = once, float(slow or 0)
        return self
    def compute(self, operator, x):
        time.sleep(self.slow)
        deadly = (x.reshape(-1).view("u2") == 0x4000).any()
        if deadly and not self.slow and not (self.once and Path(self.once).exists()):
            if self.once:
                Path(self.once).touch()
            os._exit(9)
        return super().compute(operator, x)
'''


def targets() -> list[Target]:
    return [
        Target("ELEMENT_WISE_ROUND", DataType.FLOAT16, {"RoundingMode": mode}, "round.toward-zero", "patterns", 1 << 16)
        for mode in ("TOWARD_ZERO", "HALVES_TO_NEAREST_EVEN")
    ]


@pytest.fixture
def deadly(tmp_path: Path) -> Path:
    path = tmp_path / "deadly.py"
    path.write_text(DEADLY, encoding="utf-8")
    return path


def jobs() -> list[tuple[Target, Block]]:
    return [
        (target, Block(number, start, 1 << 13))
        for number, target in enumerate(targets())
        for start in range(0, 1 << 16, 1 << 13)
    ]


both = pytest.mark.parametrize("isolation", ["process", "none"])


@both
@pytest.mark.size("all", thorough=1)
def test_a_block_whose_worker_dies_is_judged_by_another(deadly: Path, tmp_path: Path, isolation: str) -> None:
    marker_file = tmp_path / "spent"
    processes = Processes(Orders(f"{deadly}:Deadly", (f"once={marker_file}",), compiled=False, isolation=isolation), 2)
    try:
        results = list(processes.judge(jobs()))
    finally:
        processes.close()
    assert marker_file.exists()
    assert sorted(block.id for block, _ in results) == sorted(block.id for _, block in jobs())
    assert all(totals.clean for _, totals in results)
    assert sum(totals.elements for _, totals in results) == 2 << 16


@both
@pytest.mark.size("all", thorough=1)
def test_a_block_that_takes_down_two_workers_is_a_crash(deadly: Path, isolation: str) -> None:
    processes = Processes(Orders(f"{deadly}:Deadly", compiled=False, isolation=isolation), 1)
    try:
        totals_by_block = dict(processes.judge(jobs()[:3]))
    finally:
        processes.close()
    (wrong,) = [block for block, totals in totals_by_block.items() if not totals.clean]
    assert wrong.start == 0x4000
    (trouble,) = totals_by_block[wrong].troubles
    assert (trouble.outcome, "exit code 9" in trouble.text) == ("crash", True)
    assert (totals_by_block[wrong].elements, totals_by_block[wrong].unjudged) == (0, 1 << 13)


@pytest.mark.size("thorough")
def test_what_follows_a_loss_in_its_block_is_left_out_and_counted(deadly: Path) -> None:
    processes = Processes(Orders(f"{deadly}:Deadly", compiled=False, tensor_elements=1 << 12, slot_count=1), 1)
    try:
        ((_, totals), (_, control)) = processes.judge(
            [(targets()[0], Block(0, start, 1 << 15)) for start in (0, 1 << 15)]
        )
    finally:
        processes.close()
    assert (totals.stopped, totals.elements, totals.unjudged) == (1, 4 << 12, 4 << 12), "0x4000 begins the fifth tensor"
    assert (control.stopped, control.elements, control.unjudged) == (0, 1 << 15, 0)


@both
@pytest.mark.size("all", thorough=1)
def test_a_block_that_takes_too_long_is_a_timeout(deadly: Path, isolation: str) -> None:
    processes = Processes(Orders(f"{deadly}:Deadly", ("slow=60",), compiled=False, isolation=isolation, timeout=0.2), 1)
    try:
        ((_, totals),) = processes.judge(jobs()[:1])
    finally:
        processes.close()
    (trouble,) = totals.troubles
    assert (trouble.outcome, trouble.text.startswith("no answer")) == ("timeout", True)


CLUSTER = """
import json, os, signal, sys
from pathlib import Path
from distributed import Client, LocalCluster
from dmlcts.specs import DataType
from dmlcts.suites.running.options import Settings
from dmlcts.suites.sweeping.worker_pools.cluster import Cluster
from dmlcts.suites.sweeping.conducting import Sweep, conduct, held
from dmlcts.suites.sweeping.record import publish
from dmlcts.suites.sweeping.worker_pools.workers import Orders

def main():
    with LocalCluster(n_workers=3, processes=True, threads_per_worker=1, dashboard_address=None) as local:
        pool = Cluster(Orders("cpu", compiled=False), local.scheduler_address)
        sizes = [pool.size]
        settings = Settings.read(backend="cpu", results="swept", operators=["CLIP"], data_types=["INT8", "INT16"])
        sweep = Sweep.planned(settings, pool.describe())
        victim = next(iter(local.workers.values())).pid
        came = []
        def finished(block, totals):
            came.append(block.id)
            if len(came) == 5:
                os.kill(victim, signal.SIGKILL)
        with held(sweep) as journal:
            conduct(sweep, pool, finished, journal)
            publish(sweep, pool.size)
        pool.close()
        print(json.dumps({"came": len(came), "distinct": len(set(came)), "size": sizes[0]}))

if __name__ == "__main__":
    main()
"""


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs distributed (the extra `cluster`)")
def test_a_cluster_that_loses_a_worker_judges_every_block_once(tmp_path: Path) -> None:
    (tmp_path / "spread.py").write_text(CLUSTER, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "spread.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout.strip().splitlines()[-1])
    assert counts["size"] == 3
    assert counts["came"] == counts["distinct"] > 40
    record = load_sweep(tmp_path / "swept")
    assert record["verdict"] == "CONFORMANT"
    assert all(row["elements"] == row["elements_planned"] for row in record["sweeps"])


@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs distributed (the extra `cluster`)")
def test_a_scheduler_that_does_not_answer_is_reported_in_one_line(dmlcts: Callable[..., Ran]) -> None:
    ran = dmlcts("sweep", "--backend", "cpu", "--scheduler", "nonsense")
    assert (ran.code, ran.out) == (2, "")
    assert "no scheduler answers at nonsense" in ran.err


@pytest.mark.size("thorough")
def test_the_command_sweeps_and_exits_by_its_verdict(dmlcts: Callable[..., Ran], tmp_path: Path) -> None:
    ran = dmlcts("sweep", "--backend", "cpu", "--operator", "ROUND", "--data-type", "FLOAT16", "-n", "1")
    assert ran.code == 0, ran.err
    assert "CONFORMANT" in ran.out
    assert "196,608 elements judged" in ran.out
    assert load_sweep(tmp_path / "results")["device"]["name"] == "cpu"
    again = dmlcts("sweep", "--backend", "cpu", "--operator", "ROUND", "--data-type", "FLOAT16", "--resume", "results")
    assert again.code == 0
    assert "this sitting 0 in" in again.out
    missing = dmlcts("sweep", "--backend", "no-such-backend")
    assert missing.code == 2
    assert missing.err.startswith("dmlcts: ")
    assert missing.err.count("\n") == 1


def test_a_pool_has_no_more_processes_than_it_may_use_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5, 9}, raising=False)
    with contextlib.closing(Processes(Orders("cpu", compiled=False))) as processes:
        assert processes.size == 3
