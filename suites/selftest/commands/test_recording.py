"""The README's recording: the terminal's own screens, as a picture that needs no script."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("pyte", reason="the emulated terminal is of the extra `dev`")
pytest.importorskip("pty", reason="there are no pseudo-terminals here")

from dmlcts.suites.selftest.commands.moving_picture import svg
from dmlcts.suites.selftest.commands.recording import BACKEND, SECONDS, recorded
from dmlcts.suites.selftest.commands.screens import Frame, Part, frames_of, lasting
from dmlcts.suites.selftest.installing import HOUSE

KEPT = HOUSE / "reports" / "examples" / "recording.svg"
SVG = "{http://www.w3.org/2000/svg}"
SHOWN = (
    "NOT CONFORMANT",
    "round.toward-infinity (required)",
    "$ dmlcts replay results/failures/round.toward-infinity-",
    "input        -0.5 (0xbf000000) at index [0]",
    "acceptable   -1.0 (0xbf800000)",
    "got          0.0 (0x00000000)",
)


def words_of(picture: str) -> list[str]:
    """The text of each screen, a line a line; neither script nor link to elsewhere is in the picture."""
    root = ElementTree.fromstring(picture)  # noqa: S314, it is our own
    assert not [
        element.tag for element in root.iter() if element.tag in (f"{SVG}script", f"{SVG}image", f"{SVG}foreignObject")
    ]
    assert not re.search(r"(?:href|src)=\"(?!#)|url\(|@import|\bon\w+=", picture)
    drawn = {element.attrib["id"]: text_of(element) for element in root.iterfind(f"{SVG}defs/{SVG}g")}
    (film,) = (element for element in root.iterfind(f"{SVG}g") if element.get("id") == "film")
    return ["\n".join(drawn[use.attrib["href"][1:]] for use in screen) for screen in film]


def text_of(line: ElementTree.Element) -> str:
    """The characters of a line, at their columns."""
    text = ""
    for part in line:
        words = part.text or ""
        width = float(part.attrib["textLength"]) / len(words)
        text = text.ljust(round((float(part.attrib["x"]) - 14) / width)) + words
    return text


def seconds_of(picture: str) -> float:
    (seconds,) = re.findall(r"animation:film ([\d.]+)s", picture)
    return float(seconds)


def frame(*lines: str, seconds: float = 1) -> Frame:
    return Frame(tuple((Part(0, line, "red", True),) if line else () for line in lines), seconds)


def test_a_picture_has_every_screen_in_order_and_its_time() -> None:
    picture = svg([frame("a < b", ""), frame("a < b", "c", seconds=3)], "<x>")
    assert words_of(picture) == ["a < b", "a < b\nc"]
    assert seconds_of(picture) == 4
    assert "25.000%{transform:translateX(-868px)}" in picture
    assert picture.count("a &lt; b") == 1, "a line that stays is drawn once"


def test_no_screens_make_no_picture() -> None:
    with pytest.raises(ValueError, match="no frames"):
        svg([], "x")
    with pytest.raises(ValueError, match="no frames"):
        lasting([], 20)
    assert [item.seconds for item in lasting([frame("a"), frame("b", seconds=3)], 20)] == [5, 15]


def test_the_kept_recording_shows_a_failure_and_its_replay() -> None:
    picture = KEPT.read_text(encoding="utf-8")
    screens = words_of(picture)
    assert not [words for words in SHOWN if words not in screens[-1]]
    assert screens[0] == "$", "the shell before anything is typed"
    assert seconds_of(picture) == SECONDS
    assert "reports/examples/recording.svg" in (HOUSE / "README.md").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell here")
def test_a_terminal_shows_what_a_shell_prints(tmp_path: Path) -> None:
    frames = frames_of(["printf '\\033[31mr%sd\\033[0m plain\\n' e"], tmp_path)
    (red, plain), *_ = [line for line in frames[-1].lines if line and line[0].text == "red"]
    assert (red.colour, plain.colour, plain.text) == ("red", "default", " plain")
    assert frames[-1].lines[0][0].text.startswith("$ printf")


@pytest.mark.size("all")
@pytest.mark.skipif(shutil.which("sh") is None, reason="no shell here")
def test_the_recording_can_be_made_anew() -> None:
    """On one clause, which takes some seconds."""
    picture = recorded("--operator ROUND --data-type FLOAT32 --clause round.toward-infinity")
    screens = words_of(picture)
    assert not [words for words in SHOWN if words not in screens[-1]]
    assert any(screen.endswith(f"$ cat {BACKEND}") for screen in screens), "typed, and not yet run"
    assert seconds_of(picture) == SECONDS
