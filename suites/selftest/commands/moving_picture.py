"""Screens as one animated SVG: no script, nothing loaded, the last screen where nothing is animated."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from dmlcts.suites.selftest.commands.screens import COLUMNS, ROWS, Frame, Line

CELL, HEIGHT, MARGIN = 8.4, 19, 14
SIZE = 14
WIDTH = round(COLUMNS * CELL) + 2 * MARGIN
TALL = ROWS * HEIGHT + 2 * MARGIN
COLOURS = {
    "default": "#d0d7de",
    "black": "#6e7681",
    "red": "#ff7b72",
    "green": "#7ee787",
    "brown": "#e3b341",
    "blue": "#79c0ff",
    "magenta": "#d2a8ff",
    "cyan": "#76e3ea",
    "white": "#f0f6fc",
}
BOLD = ' class="b"'
STYLE = """
text{{font:{size}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}}
.b{{font-weight:bold}}
#film{{transform:translateX({last}px)}}
@media (prefers-reduced-motion:no-preference){{#film{{animation:film {seconds:.2f}s steps(1,end) infinite}}}}
@keyframes film{{{steps}}}
"""


def svg(frames: Sequence[Frame], title: str) -> str:
    """The picture, as text.

    Args:
        frames: the screens, each with its duration.
        title: what it shows, for who cannot see it.

    Raises:
        ValueError: there are no frames.
    """
    if not frames:
        raise ValueError("no frames")
    known: dict[Line, str] = {}
    for frame in frames:
        for line in frame.lines:
            if line:
                known.setdefault(line, f"l{len(known)}")
    steps, shown, total = [], 0.0, sum(frame.seconds for frame in frames)
    for index, frame in enumerate(frames):
        steps.append(f"{100 * shown / total:.3f}%{{transform:translateX({-index * WIDTH}px)}}")
        shown += frame.seconds
    steps.append(f"100%{{transform:translateX({-(len(frames) - 1) * WIDTH}px)}}")
    style = STYLE.format(size=SIZE, last=-(len(frames) - 1) * WIDTH, seconds=total, steps="".join(steps))
    drawn = "\n".join(f'<g id="{name}">{_drawn(line)}</g>' for line, name in known.items())
    film = "\n".join(_screen(frame, index * WIDTH, known) for index, frame in enumerate(frames))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {TALL}" width="{WIDTH}" height="{TALL}" '
        f'role="img">\n<title>{escape(title)}</title>\n<style>{style}</style>\n<defs>\n{drawn}\n</defs>\n'
        f'<rect width="{WIDTH}" height="{TALL}" rx="8" fill="#0d1117"/>\n<g id="film">\n{film}\n</g>\n</svg>\n'
    )


def _drawn(line: Line) -> str:
    return "".join(
        f'<text x="{MARGIN + part.column * CELL:g}" textLength="{len(part.text) * CELL:g}"'
        f'{BOLD if part.bold else ""} fill="{_colour(part.colour)}">{escape(part.text)}</text>'
        for part in line
    )


def _colour(name: str) -> str:
    """pyte names eight colours, ``bright`` before the others, and gives the rest as six digits."""
    plain = name.removeprefix("bright")
    return COLOURS.get(plain, f"#{name}")


def _screen(frame: Frame, left: int, known: dict[Line, str]) -> str:
    placed = "".join(
        f'<use href="#{known[line]}" y="{MARGIN + SIZE + row * HEIGHT}"/>'
        for row, line in enumerate(frame.lines)
        if line
    )
    return f'<g transform="translate({left})">{placed}</g>'
