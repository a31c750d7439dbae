"""The environment of a target: made in the user's cache with pip, continued where it was cut off."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dmlcts.backends.contract import BackendUnavailable
from dmlcts.backends.interpreter import own_python, safe_environment
from dmlcts.specs import UsageError
from dmlcts.suites.checkout import checkout
from dmlcts.suites.targets.target import Target

PrintLine = Callable[[str], object]
Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]
_PROCESSES = "pytest-xdist>=3.6"  # for `dmlcts run -n`
# Opens the backend in the environment, and prints what it is, or why it cannot be opened and what to do.
_OPEN = """
import sys
from dmlcts.backends.registry import open_device, parse_options, resolve
from dmlcts.specs.errors import DmlctsError
try:
    with open_device(resolve(sys.argv[1])[1], parse_options(sys.argv[2:])) as device:
        print("opened", device.info.adapter, device.info.library, device.info.version)
except DmlctsError as error:
    print("refused", error)
"""


def run_command(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command, and keep what it prints."""
    return subprocess.run(  # noqa: S603 - our own command
        command, capture_output=True, text=True, check=False, env=safe_environment()
    )


@dataclass(frozen=True)
class Environment:
    """The environment of a target.

    Args:
        target: whose it is.
        cache: the user's cache.
        run: runs a command; for tests.
    """

    target: Target
    cache: Path
    run: Run = run_command

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self.cache / "targets" / self.target.name

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def command(self) -> str:
        """The command that judges the target."""
        words = ["run", *self.target.arguments, "--results", f"results/{self.target.name}"]
        return shlex.join([str(self.python.with_name("dmlcts")), *words])

    @property
    def _state(self) -> Path:
        return self.folder / "fetched.json"

    def opened(self) -> str | None:
        """What the backend was when it was fetched: "opened …" or "refused …"; ``None`` where it is not fetched."""
        try:
            state = json.loads(self._state.read_text("utf-8"))
            return str(state["opened"]) if state["packages"] == list(self.target.packages) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def fetch(self, print_line: PrintLine, accepted: bool = False, index: str = "", suite: str = "") -> str:
        """Make the environment, or finish it; of one that is complete only the suite is installed again.

        Args:
            print_line: prints what is done.
            accepted: whether the user accepts the target's terms.
            index: the index of packages; "" for the target's, or pip's own.
            suite: what of this suite is installed: a wheel or a folder; "" for this checkout.

        Returns:
            What the backend is there: "opened …", or "refused …" with the reason.

        Raises:
            UsageError: the terms are not accepted, or there is no suite to install.
            BackendUnavailable: this platform has no packages, or pip fails.
        """
        target, terms = self.target, self.target.terms
        if terms is not None:
            where = f", in {terms.file} of the environment" if terms.file else ""
            print_line(f"{target.name} holds files of {terms.holder}: {terms.title} ({terms.address}{where})")
            if not accepted:
                raise UsageError(f"the terms of {terms.holder} are not accepted", "add --accept-terms")
        lacking = target.lacking()
        if lacking.startswith("there are no packages"):
            raise BackendUnavailable(f"{target.name} cannot be installed: {lacking}", "fetch it on such a machine")
        source = suite or checkout()
        if not source:
            cause = "this suite was not installed from a checkout, so it cannot be installed once more"
            raise UsageError(cause, "give its wheel or its folder with --suite")
        if not self.python.is_file():
            print_line(f"making {self.folder}")
            self.folder.mkdir(parents=True, exist_ok=True)
            self._checked(own_python("-m", "venv", str(self.folder)), "making the environment")
        if self.opened() is None:
            print_line(f"installing {', '.join(target.packages)}")
            chosen = index or target.index
            self._pip(*target.packages, *(("--index-url", chosen) if chosen else ()))
        print_line(f"installing dmlcts from {source}")
        if suite:
            self._pip(suite, _PROCESSES)
            self._pip("--no-deps", "--force-reinstall", suite)
        else:  # editable, so that results name the checkout's commit
            self._pip("--editable", str(source), _PROCESSES)
        print_line(f"opening {' '.join(target.arguments)}")
        options = [f"{name}={value}" for name, value in target.options.items()]
        done = self.run([str(self.python), "-P", "-c", _OPEN, target.backend, *options])
        lines = [line for line in done.stdout.splitlines() if line.startswith(("opened ", "refused "))]
        opened = lines[-1] if lines else f"refused: its process ended with {done.returncode}"
        self._state.write_text(json.dumps({"packages": list(target.packages), "opened": opened}), "utf-8")
        return opened

    def _pip(self, *words: str) -> None:
        command = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
        self._checked(command, "pip")

    def _checked(self, command: Sequence[str], what: str) -> None:
        done = self.run(command)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            errors = [line for line in lines if line.startswith("ERROR")]
            cause = (errors or lines or ["no message"])[-1].removeprefix("ERROR:").strip()
            mend = "see that pip reaches its index; the same command goes on where this one stopped"
            raise BackendUnavailable(f"{what} failed for {self.target.name}: {cause}", mend)
