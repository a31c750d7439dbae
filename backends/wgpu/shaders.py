"""Shader source: one template an idea, rendered for what a kernel needs.

``kernel.wgsl.j2`` has the parameters and the entry point, ``layout`` says where an element stands, ``memory`` how it
is loaded and stored, ``clamp``, ``round`` and ``formula`` compute, ``scale_bias`` before them. What a formula calls is
taken from the library of its type: ``integers``, ``pairs``, ``floats``, ``float64`` or ``words``; ``float16`` emulates
what an adapter lacks.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from dataclasses import dataclass
from pathlib import Path

import jinja2

from dmlcts.backends.wgpu.elements import Element
from dmlcts.backends.wgpu.formulas import ACTIVATIONS, OF_MIXED_TYPES, ON_WORDS, called, expression, identifier
from dmlcts.backends.wgpu.layout import Axes, source_is_flat, target_is_flat
from dmlcts.backends.wgpu.programs import CLIP, ROUND, THRESHOLD, Program, Scaling
from dmlcts.specs import UsageError

GROUP = 64  # invocations of a workgroup
_SCALINGS: dict[Scaling, str] = {
    "": "",
    "value": "with ScaleBias",
    "integer": "with ScaleBias in integers",
    "float": "with ScaleBias in FLOAT32",
}
_BUILTIN = (CLIP, THRESHOLD, ROUND)
_BODIES = {CLIP: "clamp", THRESHOLD: "clamp", ROUND: "round", **dict.fromkeys(OF_MIXED_TYPES, "mixed")}


@dataclass(frozen=True)
class Tensor:
    """A tensor as a shader sees it.

    Attributes:
        name: in WGSL.
        number: 0 for the target, the sources from 1 on.
        element: of its memory.
        flat: it is visited from one end to the other, without looking at the axes.
        atomic: its memory is accessed atomically.
    """

    name: str
    number: int
    element: Element
    flat: bool
    atomic: bool


@dataclass(frozen=True)
class Shader:
    """Everything that a shader's text depends on.

    Attributes:
        operator, inputs, elements, target_element, mode, upper, scaling, activation: as in :class:`Program`.
        sources_flat: for each source, whether it is read from one end to the other, without looking at the axes.
        target_flat: the target is written from one end to the other.
        builtin: use WGSL's ``clamp``, ``round`` and ``trunc``.
    """

    operator: str
    inputs: tuple[str, ...]
    elements: tuple[Element, ...]
    target_element: Element
    mode: str
    upper: bool
    scaling: Scaling
    sources_flat: tuple[bool, ...]
    target_flat: bool
    builtin: bool
    activation: str = ""

    @classmethod
    def of(cls, program: Program, axes: Axes, builtin: bool) -> Shader:
        """The shader that computes ``program`` on elements laid out as ``axes`` say."""
        flat = tuple(source_is_flat(axes, number) for number in range(len(program.sources)))
        return cls(
            program.operator,
            program.inputs,
            program.sources,
            program.target,
            program.mode,
            program.upper,
            program.scaling,
            flat,
            target_is_flat(axes),
            builtin and program.operator in _BUILTIN,
            program.activation,
        )

    @property
    def element(self) -> Element:
        """The element that is computed with: that of the first source which is no condition."""
        return self.elements[self.inputs[0] == "ConditionTensor"]

    @property
    def target(self) -> Tensor:
        """The output."""
        return Tensor("target", 0, self.target_element, self.target_flat, self.atomic)

    @property
    def sources(self) -> tuple[Tensor, ...]:
        """The inputs. Where the target is written atomically it may be the memory of one, which then is read so."""
        return tuple(
            Tensor(identifier(name), number, element, flat, self.atomic and element.elements_per_word > 1)
            for number, (name, element, flat) in enumerate(
                zip(self.inputs, self.elements, self.sources_flat, strict=True), start=1
            )
        )

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The output, then the inputs."""
        return self.target, *self.sources

    @property
    def rows(self) -> int:
        """Vectors of four words that an axis takes: its size, and a stride of each tensor."""
        return rows_of_axis(len(self.elements))

    @property
    def rounding(self) -> str:
        """ROUND's mode, or ""."""
        return self.mode if self.operator == ROUND else ""

    @property
    def native_float16(self) -> bool:
        """Whether any element is computed in the adapter's own FLOAT16."""
        return any(tensor.element.native_float16 for tensor in self.tensors)

    @property
    def whole_words(self) -> bool:
        """Whether an invocation writes a whole word of packed elements."""
        return self.target_element.elements_per_word > 1 and self.target_flat

    @property
    def atomic(self) -> bool:
        """Whether several invocations may write into one word."""
        return self.target_element.elements_per_word > 1 and not self.target_flat

    @property
    def title(self) -> str:
        """What it does, in words."""
        words = [self.operator.removeprefix("ELEMENT_WISE_"), self.mode, "on", self.element.data_type.name]
        words.append(f"({self.element.path})" if self.element.path else "")
        if self.operator in OF_MIXED_TYPES:
            others = dict.fromkeys(element.data_type.name for element in self.elements[1:])
            words.append(f"with {' and '.join(others)}")
            zeros = [tensor.name for tensor in self.sources if tensor.name.endswith("zero_point")]
            words.append(f"and {' and '.join(zeros)}" if zeros else "")
        if self.target_element.data_type is not self.element.data_type:
            words.append(f"to {self.target_element.data_type.name}")
        words.append(_SCALINGS[self.scaling])
        words.append(f"with {self.activation}" if self.activation else "")
        if not (all(self.sources_flat) and self.target_flat):
            *sources, target = ("packed" if flat else "strided" for flat in (*self.sources_flat, self.target_flat))
            words.append(f"from {' and '.join(sources)} to {target} elements")
        words.append("with WGSL's built-in functions" if self.builtin else "")
        return " ".join(filter(None, words))

    @property
    def slug(self) -> str:
        """The title as a file name."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    # What ``formula.wgsl.j2`` asks for.

    @property
    def parameters(self) -> str:
        """The parameters of the function that computes an element."""
        names = [tensor.name for tensor in self.sources]
        if self.scaling:
            names[0] = "given"
        return ", ".join(f"{name}: {element.value}" for name, element in zip(names, self.elements, strict=True))

    def has(self, name: str) -> bool:
        """Whether the optional tensor of that name in WGSL is there."""
        return any(tensor.name == name for tensor in self.sources)

    def tensor(self, name: str) -> Tensor:
        """The source of that name in WGSL."""
        return next(tensor for tensor in self.sources if tensor.name == name)

    @property
    def before(self) -> str:
        """What is computed before an activation, or ""."""
        return expression(self.operator, self.mode) if self.activation else ""

    @property
    def expression(self) -> str:
        """What it computes; the activation of ``x`` where there is one."""
        return ACTIVATIONS[self.activation] if self.activation else expression(self.operator, self.mode)

    def names(self, word: str) -> bool:
        """Whether the expression speaks of ``word``."""
        return re.search(rf"\b{word}\b", self.expression) is not None

    def source(self) -> str:
        """The WGSL text."""
        body = rendered(_BODIES.get(self.operator, "formula"), shader=self)
        memory = rendered("memory", shader=self)
        functions = called(rendered(_library(self.element, self.operator), shader=self), body)
        conversions = called(rendered("float16", shader=self), memory + functions + body)
        parts = {"conversions": conversions, "functions": functions, "memory": memory, "body": body}
        text = rendered("kernel", shader=self, group=GROUP, **parts)
        return re.sub(r"\n{3,}", "\n\n", text).rstrip() + "\n"


def rows_of_axis(sources: int) -> int:
    """Vectors of four words that hold an axis: its size, and a stride of the target and of each source."""
    return -(-(2 + sources) // 4)


def _library(element: Element, operator: str) -> str:
    """The template whose functions an operator on this element may call."""
    if not element.pattern:
        return "pairs" if element.pairs else "integers"
    if operator in ON_WORDS or not element.data_type.is_floating:
        return "words"
    return "float64" if element.pairs else "floats"


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


def rendered(template: str, **variables: object) -> str:
    """The text of a template, by its name without an ending."""
    return _templates().get_template(f"{template}.wgsl.j2").render(**variables)


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
