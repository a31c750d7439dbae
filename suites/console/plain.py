"""Where the commands print tables and colours: rich, on which nothing but text is printed."""

from __future__ import annotations

from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.segment import Segment

from dmlcts.reports.summaries.characters import as_text
from dmlcts.suites.console.listeners import unread


class _Plain:
    """Anything that rich can render, its text cleaned; control segments, which are rich's own, stay."""

    def __init__(self, inner: ConsoleRenderable) -> None:
        self.inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.inner, options):
            yield segment if segment.control else Segment(as_text(segment.text), segment.style)


class _Cleaning(RenderHook):
    """Is given what a console is about to print."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Plain(renderable) for renderable in renderables]


class PlainConsole(Console):
    """A rich console that shows characters which are more than text as their code points.

    Args:
        file: where to print; ``None`` for standard output.
        options: further arguments of :class:`rich.console.Console`.
    """

    def __init__(self, file: TextIO | None = None, **options: Any) -> None:
        super().__init__(file=file, **options)
        self.push_render_hook(_Cleaning())

    def on_broken_pipe(self) -> None:
        """Print nothing further, or leave it to the command line: rich would end with 1, which is a verdict."""
        unread(BrokenPipeError("broken pipe"), cast(TextIO, self.file))
        self.quiet = True
