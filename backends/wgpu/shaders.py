"""Shader source: one template an idea, rendered for what a kernel needs.

``kernel.wgsl.j2`` has the parameters and the entry point, ``layout`` says where an element stands, ``direct``
and ``packed`` how it is loaded and stored, ``float16`` and ``pairs`` emulate types that an adapter lacks,
``clamp``, ``scale_bias`` and ``round`` compute.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from dataclasses import dataclass
from pathlib import Path

import jinja2

from dmlcts.backends.wgpu.elements import Element
from dmlcts.backends.wgpu.layout import Axes, source_is_flat, target_is_flat
from dmlcts.backends.wgpu.programs import Program, Scaling
from dmlcts.specs import UsageError

GROUP = 64  # invocations of a workgroup
_SCALINGS: dict[Scaling, str] = {
    "": "",
    "value": "with ScaleBias",
    "integer": "with ScaleBias in integers",
    "float": "with ScaleBias in FLOAT32",
}


@dataclass(frozen=True)
class Shader:
    """Everything that a shader's text depends on.

    Attributes:
        operator, element, rounding, upper, scaling: as in :class:`Program`.
        source_flat: the source is read from one end to the other, without looking at the axes.
        target_flat: the target is written from one end to the other.
        builtin: use WGSL's ``clamp``, ``round`` and ``trunc``.
    """

    operator: str
    element: Element
    rounding: str
    upper: bool
    scaling: Scaling
    source_flat: bool
    target_flat: bool
    builtin: bool

    @classmethod
    def of(cls, program: Program, axes: Axes, builtin: bool) -> Shader:
        """The shader that computes ``program`` on elements laid out as ``axes`` say."""
        flat = source_is_flat(axes), target_is_flat(axes)
        return cls(program.operator, program.element, program.rounding, program.upper, program.scaling, *flat, builtin)

    @property
    def whole_words(self) -> bool:
        """Whether an invocation writes a whole word of packed elements."""
        return self.element.lanes > 1 and self.target_flat

    @property
    def atomic(self) -> bool:
        """Whether several invocations may write into one word."""
        return self.element.lanes > 1 and not self.target_flat

    @property
    def title(self) -> str:
        """What it does, in words."""
        words = [self.operator.removeprefix("ELEMENT_WISE_"), self.rounding, "on", self.element.data_type.name]
        words.append(f"({self.element.path})" if self.element.path else "")
        words.append(_SCALINGS[self.scaling])
        if not (self.source_flat and self.target_flat):
            source, target = ("packed" if flat else "strided" for flat in (self.source_flat, self.target_flat))
            words.append(f"from {source} to {target} elements")
        words.append("with WGSL's built-in functions" if self.builtin else "")
        return " ".join(filter(None, words))

    @property
    def slug(self) -> str:
        """The title as a file name."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    def source(self) -> str:
        """The WGSL text."""
        text = _templates().get_template("kernel.wgsl.j2").render(shader=self, group=GROUP)
        return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def prepared_folder(written: str) -> Path:
    """The folder to dump shaders to, made where it is missing.

    Raises:
        UsageError: it cannot be made.
    """
    folder = Path(written)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        cause = f"the folder {written!r} cannot be made: {error.strerror}"
        raise UsageError(cause, "give -o dump= a folder that can be written to") from None
    return folder


@functools.cache
def _templates() -> jinja2.Environment:
    folder = importlib.resources.files("dmlcts.backends.wgpu.templates")
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8")),
        autoescape=False,  # noqa: S701 - WGSL, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
