"""Guides as their readers follow them: commands are typed, files are saved, outputs and exit codes are compared."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dmlcts.backends.interpreter import safe_environment
from dmlcts.suites.selftest.installing import HOUSE

CERTIFYING = HOUSE / "reports" / "CERTIFYING.md"
IMPLEMENTING = HOUSE / "backends" / "IMPLEMENTING.md"
RUNNERS = HOUSE / "backends" / "RUNNERS.md"
GUIDES = (CERTIFYING, IMPLEMENTING, RUNNERS)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^(?:board|device)?\$ (.*)$")
_LISTENING = "listening on"
_SECONDS = 120.0  # until a command of a shell, or a runner that shall listen, is given up


@dataclass(frozen=True)
class Command:
    """A command of a guide.

    Attributes:
        line: what is typed, without the prompt.
        shown: what the guide shows of its output; ``…`` stands for what is left out.
        code: the exit code that the guide shows.
    """

    line: str
    shown: str
    code: int


@dataclass(frozen=True)
class Program:
    """A block of code, and the file that the text before it says to save it as."""

    name: str
    kind: str
    content: str


@dataclass(frozen=True)
class Step:
    """What a command printed, and its exit code."""

    code: int
    printed: str


def commands_of(block: str) -> Iterator[Command]:
    """The commands of a console block.

    ``echo $?`` is no command of its own: it shows the exit code of the one before it. An output that ends with
    ``(exit code N)`` shows it as well. Any other command exits 0.
    """
    typed: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        prompted = _PROMPT.match(line)
        if prompted:
            typed.append((prompted[1], []))
        else:
            assert typed, f"an output without a command: {line}"
            typed[-1][1].append(line)
    for index, (line, shown) in enumerate(typed):
        if line == "echo $?":
            continue
        following = typed[index + 1] if index + 1 < len(typed) else ("", [])
        if following[0] == "echo $?":
            codes = following[1]
        else:
            codes = re.findall(r"\(exit code (\d+)\)$", "\n".join(shown), re.MULTILINE)
        yield Command(line, "\n".join(shown), int(codes[-1]) if codes else 0)


def steps_of(text: str) -> Iterator[Command | Program]:
    """The commands and programs of a guide, in its order."""
    name, end = "", 0
    for block in FENCE.finditer(text):
        named = re.findall(r"\bsave (?:this|it)\s+as `(\S+)`", text[end : block.start()], re.IGNORECASE)
        name = named[-1] if named else name
        end = block.end()
        if block[1] == "console":
            yield from commands_of(block[2])
        elif block[1] in ("python", "c"):
            yield Program(name, block[1], block[2])


def prose_of(text: str) -> list[str]:
    """The sentences and the rows of tables of a guide, without its blocks, each on one line."""
    paragraphs = re.split(r"\n\n|\n(?=[-|#]|\d\. )", FENCE.sub("\n\n", text))
    lines = [" ".join(paragraph.split()).removeprefix("- ") for paragraph in paragraphs]
    sentences = [[line] if line.startswith("|") else re.split(r"(?<=[.:]) (?=[A-Z`])", line) for line in lines]
    return [sentence for of_one in sentences for sentence in of_one]


def missing_line(block: str, printed: str) -> str:
    """The first line of the block that the output does not have, after those before it; "" where it has all."""
    lines = [line.rstrip() for line in printed.splitlines()]
    at = 0
    for line in block.splitlines():
        wanted = re.compile(".*".join(re.escape(part) for part in line.rstrip().split("…")))
        if line.strip() == "…":
            continue
        number = next((index for index in range(at, len(lines)) if wanted.fullmatch(lines[index])), None)
        if number is None:
            return line
        at = number + 1
    return ""


def _name_of(statement: ast.stmt) -> str | None:
    """What a top-level statement defines, where that is one name."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef):
        return statement.name
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def edited(program: str, block: str) -> str:
    """The program as a reader of the guide edits it: what the block defines replaces what had its name."""
    old, new = ast.parse(program).body, ast.parse(block).body
    defined = {_name_of(statement): statement for statement in new}
    known = {_name_of(statement) for statement in old} - {None}
    kept = [defined.get(_name_of(statement), statement) if _name_of(statement) else statement for statement in old]
    added = [statement for statement in new if _name_of(statement) not in known]
    return ast.unparse(ast.Module([*added, *kept], []))


@dataclass
class Reader:
    """Somebody who follows a guide in a folder.

    Attributes:
        folder: where commands are typed and files saved.
        dmlcts: runs ``dmlcts`` with words in the folder.
        replaced: what is typed instead of a part of a command, such as a port that is free.
        left: commands that are not typed, each with the reason.
        typed: the commands that were typed, in order.
    """

    folder: Path
    dmlcts: Callable[[list[str]], Step]
    replaced: Mapping[str, str] = field(default_factory=dict)
    left: Mapping[str, str] = field(default_factory=dict)
    typed: list[str] = field(default_factory=list)
    _behind: subprocess.Popen[bytes] | None = None

    def follow(self, text: str) -> None:
        """Save every file and type every command; compare what each prints, and its exit code.

        Raises:
            AssertionError: a command does something else than the guide shows.
        """
        try:
            for step in steps_of(text):
                if isinstance(step, Program):
                    path = self.folder / step.name
                    before = path.read_text(encoding="utf-8") if path.exists() else ""
                    content = edited(before, step.content) if step.kind == "python" else step.content
                    path.write_text(content, encoding="utf-8")
                elif step.line not in self.left:
                    self._type(step)
        finally:
            self._stop()

    def _type(self, command: Command) -> None:
        line, shown = command.line, command.shown
        for part, instead in self.replaced.items():
            line, shown = line.replace(part, instead), shown.replace(part, instead)
        self.typed.append(command.line)
        if line.endswith(" &"):
            self._start(line.removesuffix(" &"))
            return
        if line == "kill $!":
            assert self._behind is not None, "nothing was started that could be killed"
            self._stop()
            return
        step = self._dmlcts(line) if line.startswith("dmlcts ") else self._shell(line)
        missing = missing_line(shown, step.printed)
        assert not missing, f"{line}\ndoes not print: {missing}\nbut:\n{step.printed[-3000:]}"
        assert step.code == command.code, f"{line}\nexits {step.code}, not {command.code}:\n{step.printed[-3000:]}"

    def _dmlcts(self, line: str) -> Step:
        return self.dmlcts([name for word in shlex.split(line)[1:] for name in self._expanded(word)])

    def _expanded(self, word: str) -> list[str]:
        """The files that a word with a folder and an asterisk matches, as a shell would write them; else the word."""
        if not ("*" in word and "/" in word):
            return [word]
        texts = [path.relative_to(self.folder).as_posix() for path in sorted(self.folder.glob(word))]
        assert texts, f"no file matches {word}"
        return texts

    def _shell(self, line: str) -> Step:
        done = subprocess.run(
            ["/bin/sh", "-uc", line],
            cwd=self.folder,
            env=safe_environment(),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return Step(done.returncode, done.stdout + done.stderr)

    def _start(self, line: str) -> None:
        """Start a program and wait until it says that it listens."""
        log = self.folder / "listening.txt"
        with log.open("wb") as target:
            self._behind = subprocess.Popen(shlex.split(line), cwd=self.folder, stdin=subprocess.DEVNULL, stderr=target)
        given_up = time.monotonic() + _SECONDS
        while _LISTENING not in log.read_text(encoding="utf-8"):
            assert self._behind.poll() is None, f"{line}\nends: {log.read_text(encoding='utf-8')}"
            assert time.monotonic() < given_up, f"{line}\ndoes not listen"
            time.sleep(0.02)

    def _stop(self) -> None:
        if self._behind is not None:
            self._behind.terminate()
            self._behind.wait()
            self._behind = None
