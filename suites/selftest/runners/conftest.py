"""What the tests of runners share: the C runner, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from dmlcts.suites.selftest.runners import kit


@pytest.fixture(scope="session")
def plain_runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runner of CLIP, ROUND and THRESHOLD in plain C."""
    if kit.missing():
        pytest.skip(kit.missing())
    return kit.built(tmp_path_factory.mktemp("kit"), "-O2")
