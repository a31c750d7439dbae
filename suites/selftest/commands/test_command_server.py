"""The process that runs of the command line are forked from gives every answer, however late it is asked for."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dmlcts.suites.selftest.command_server import CommandServer

PROGRAM = """
from dmlcts.suites.selftest.command_server import become, serve

asked = serve()
if asked is not None:
    become(asked)
    print("done")
"""
"""Answers as the server of the commands does, without what these import."""


def test_two_answers_that_arrive_at_once_are_read_one_by_one(tmp_path: Path) -> None:
    streams = [str(tmp_path / name) for name in ("out", "err")]
    for stream in streams:
        Path(stream).touch()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    with CommandServer(program) as server:
        server.ask(arguments=(), folder=str(tmp_path), environment=dict(os.environ), streams=streams)
        while not Path(streams[0]).read_bytes():
            time.sleep(0.01)
        time.sleep(1)  # the process has ended, and its number and its exit code are both in the pipe
        process, code = server.answer(60), server.answer(5)
    assert (process > 0, code) == (True, 0)
