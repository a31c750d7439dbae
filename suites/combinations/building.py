"""From levels to a case, and from a case to the same one with a factor at its base level."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.specs import ScaleBias, TensorDesc, UsageError
from dmlcts.specs.checks import OwnCheck
from dmlcts.specs.computed import computed
from dmlcts.specs.identity import ByIdentity
from dmlcts.specs.models import FactorsTable
from dmlcts.specs.tables.fusing import FUSED
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement
from dmlcts.suites.cases.recipe import Recipe, generator_of
from dmlcts.suites.cases.values import Array, Streams, Values
from dmlcts.suites.combinations import drawing, magnitudes, sizes
from dmlcts.suites.combinations.classifying import ACTIVATIONS, looked_at, stored_count
from dmlcts.suites.combinations.constraints import INPUT_LAYOUTS, OUTPUT_LAYOUT
from dmlcts.suites.combinations.factors import Space, counts_of, space_of
from dmlcts.suites.generation import distinct, operands
from dmlcts.suites.generation.attributes import fitting_numbers
from dmlcts.suites.generation.descriptions import tensor
from dmlcts.suites.generation.subject import Subject

_PLACEMENTS = {
    "apart": Placement(),
    "in-place": Placement(in_place=True),
    "touching": Placement(gap=0),
    "output-first": Placement(output_first=True),
    "one-region": Placement(one_region=True),
}
_EXTRA = (4, 60, 256)  # bytes
_RANKS = range(1, 9)
_HISTORIES = {"again": "dispatched again", "after-another": "after another", "beside-another": "beside another"}
_STRIDE_CLAUSES = {
    "packed": "packed",
    "padded": "padded",
    "gap-2-16": "padded",
    "gap-2-24": "padded",
    "permuted": "permuted",
    "reversed": "permuted",
    "broadcast": "broadcast",
}


def subject_of(bench: Bench, case: Case) -> Subject:
    """The subject of a case that a covering array made."""
    table = bench.tables.operator(case.operator.name)
    seed = 0 if case.recipe is None else case.recipe.seed
    return Subject.of(table, case.operator, bench.level, seed)


def space(subject: Subject, factors: FactorsTable | None, profile: str = "quick") -> Space:
    """The factors and constraints of a subject.

    Raises:
        UsageError: no table of factors was loaded.
    """
    if factors is None:
        raise UsageError("there is no table of factors", "reinstall dmlcts")
    return space_of(factors, subject.table, subject.data_type, subject.ranks, profile)


def without(bench: Bench, case: Case, factor: str) -> Case | None:
    """The case with one factor at its base level and all else as it is.

    Returns:
        ``None`` where the case is no covering array's, has no such factor, has it at its base level already, or
        where a constraint forbids that (strides in another order need their dimensions): then the factor cannot
        be taken away by itself.
    """
    if case.recipe is None or bench.tables.factors is None:
        return None
    subject = subject_of(bench, case)
    where = space(subject, bench.tables.factors)
    known = where.factor(factor)
    if known is None or case.recipe.level(factor) in (None, known.base):
        return None
    recipe = case.recipe.at(factor, known.base)
    return build(subject, recipe, bench.tables.factors) if where.allows(dict(recipe.levels)) else None


def removable(bench: Bench, case: Case) -> tuple[str, ...]:
    """The factors of a case that are not at their base level and can be set to it, by :func:`without`."""
    if case.recipe is None:
        return ()
    return tuple(factor for factor, _ in case.recipe.levels if without(bench, case, factor) is not None)


@lru_cache(maxsize=1 << 12)
def _shape(seed: int, rank: int, spread: str, sides: str, least: int, greatest: int) -> tuple[int, ...]:
    return sizes.choose(generator_of(seed, "sizes"), rank, spread, sides, least, greatest)


@lru_cache(maxsize=1 << 13)
def _strides(seed: int, factor: str, shape: tuple[int, ...], layout: str) -> tuple[int, ...] | None:
    return sizes.strides_for(generator_of(seed, factor), shape, layout)


def build(subject: Subject, recipe: Recipe, factors: FactorsTable) -> Case:
    """The case of these levels for a subject; what the levels leave open is drawn with the recipe's seed.

    Args:
        subject: the operator, the type and the level.
        recipe: a level for every factor of the subject's space, which its constraints allow.
        factors: the table of factors.
    """
    levels, own = recipe.by_factor, ByIdentity(subject)
    laid = _laid(_formed(own), recipe, counts_of(factors)[levels["count"]])
    attributes: Mapping[str, Any]
    values: Values | Streams
    if subject.of_one_type:
        attributes, values = _attributes(_attributed(own), recipe, laid.count)
    else:
        attributes, values = _reported(subject, recipe), _together(subject, recipe, laid)
    expectation = _HISTORIES.get(levels["history"], "oracle")
    if not subject.data_type.is_floating and levels.get("bounds") in ("beyond", "no-number"):
        expectation = "one value"
    return Case(
        subject.described(_of_types(subject, laid), attributes),
        values,
        value_clause(subject, levels, attributes),
        layout_clause(subject, levels),
        expectation,
        laid.placement,
        recipe,
    )


@dataclass(frozen=True)
class _Alike:
    """A subject in whose place any other may stand of which the same follows from a recipe.

    Attributes:
        by: all that this depends on.
        subject: one of them.
    """

    by: Hashable
    subject: Subject = field(compare=False)

    def __hash__(self) -> int:
        return self._hash

    @computed
    def _hash(self) -> int:
        return hash(self.by)


@lru_cache(maxsize=1024)
def _first(alike: _Alike) -> _Alike:
    return alike


@lru_cache(maxsize=1024)
def _formed(subject_key: ByIdentity[Subject]) -> _Alike:
    """By all that layouts and places depend on: of the types, which tensors have the first type variable's."""
    subject, table = subject_key.value, subject_key.value.table
    single = tuple((name, tuple(subject.one_element(name, rank).rank for rank in _RANKS)) for name in subject.single)
    own = tuple((name, data_type is subject.data_type) for name, data_type in subject.types.items())
    may_alias = tuple(table.tensors[table.output].may_alias)
    return _first(_Alike((own, tuple(subject.inputs), single, table.output, may_alias), subject))


@lru_cache(maxsize=1024)
def _attributed(subject_key: ByIdentity[Subject]) -> _Alike:
    """By all that the attributes and values of an only input's operator depend on."""
    table = subject_key.value.table
    named = tuple((item.name, item.type) for item in table.attributes)
    by = (subject_key.value.data_type, named, tuple(table.float_attributes), table.lower, table.upper)
    return _first(_Alike(by, subject_key.value))


@dataclass(frozen=True, eq=False)
class _Laid:
    """Where the tensors of a case stand, and how they are laid out.

    Attributes:
        tensors: their descriptions; of other types their sizes and strides are the same.
        extra: bytes by which each is to be larger.
        placement: their places.
        shown: the name of the input whose elements decide the level of ``input``.
        count: how many elements of it are dispatched, those that a stride of zero repeats once.
    """

    tensors: Mapping[str, TensorDesc]
    extra: int
    placement: Placement
    shown: str
    count: int


@lru_cache(maxsize=1 << 12)  # those of a form come again with the next signature, and with the next operator
def _laid(alike: _Alike, recipe: Recipe, counts: tuple[int, int]) -> _Laid:
    """Sizes, strides and places of a recipe's levels.

    Args:
        alike: for which subjects.
        recipe: the levels.
        counts: the least and the greatest number of elements.
    """
    subject, levels = alike.subject, recipe.by_factor
    shape = _shape(recipe.seed, int(levels["rank"]), levels["spread"], levels["sides"], *counts)
    factor_of = dict(zip(subject.inputs, INPUT_LAYOUTS, strict=False))
    laid = {
        name: _strides(recipe.seed, factor, shape, levels[factor])
        for name, factor in factor_of.items()
        if factor in levels
    }
    source = next(iter(laid.values()))
    target = _strides(recipe.seed, OUTPUT_LAYOUT, shape, levels[OUTPUT_LAYOUT])
    placement = _placement(recipe.seed, levels["placement"])
    if levels["room"] == "larger-region":
        placement = replace(placement, slack=60)
    if placement.in_place:
        known = subject.table.tensors[subject.table.output].may_alias
        aliases = [name for name in known if name in laid and levels[factor_of[name]] == levels[OUTPUT_LAYOUT]]
        alias = aliases[recipe.seed % len(aliases)]
        target = laid[alias]
        placement = replace(placement, alias="" if alias == next(iter(subject.types)) else alias)
    if placement.one_region:
        laid = dict.fromkeys(laid, source)
    operator = subject.describe(shape, {}, source, target, layouts=laid)
    shown = looked_at(operator, subject.data_type)
    count = stored_count(operator.inputs[shown])
    extra = _EXTRA[recipe.seed % len(_EXTRA)] if levels["room"] == "larger-total-size" else 0
    return _Laid(operator.tensors, extra, placement, shown, count)


def _of_types(subject: Subject, laid: _Laid) -> dict[str, TensorDesc]:
    """The tensors of a layout in a subject's types."""
    tensors = {name: tensor(subject.types[name], layout.sizes, layout.strides) for name, layout in laid.tensors.items()}
    for name, tensor_desc in tensors.items() if laid.extra else ():
        tensors[name] = tensor(
            tensor_desc.data_type, tensor_desc.sizes, tensor_desc.strides, tensor_desc.total_size_in_bytes + laid.extra
        )
    return tensors


def _reported(subject: Subject, recipe: Recipe) -> dict[str, Any]:
    """The attributes of an operator of several inputs, or with an output or bounds of another type.

    Numbers are no factor: they are drawn.
    """
    levels, generator = recipe.by_factor, generator_of(recipe.seed, "attributes")
    attributes = dict(subject.revealing())
    for item in subject.table.attributes:
        if item.type == "ENUM":
            attributes[item.name] = levels[item.name]
        elif item.type == "DML_SCALE_BIAS":
            attributes[item.name] = magnitudes.plain_scale_bias(generator, subject.data_type, levels.get("scale-bias"))
        elif item.type == FUSED:
            attributes[item.name] = ACTIVATIONS.get(levels["activation"])
        elif item.is_number and item.role == "other":
            numbers = fitting_numbers(subject.table, subject.signature, item)
            attributes[item.name] = numbers[int(generator.integers(len(numbers)))]
    return attributes


def _together(subject: Subject, recipe: Recipe, laid: _Laid) -> Streams:
    """The streams of several inputs, or of one whose output has another type, of the recipe's level of ``input``."""
    level = recipe.by_factor["input"]
    if level == "bulk":
        return subject.bulk(recipe.seed)
    names = tuple(subject.ones)
    count = min(laid.count, drawing.LENGTH)
    streams = _streams(_streamed(ByIdentity(subject)), recipe.seed, level, names.index(laid.shown), count)
    return Streams(tuple(zip(names, streams, strict=True)))


@lru_cache(maxsize=1024)
def _streamed(subject_key: ByIdentity[Subject]) -> _Alike:
    """By all that the streams of a subject depend on besides their seed, whatever its tensors are called."""
    subject, rows = subject_key.value, subject_key.value.table.tensors
    inputs = tuple(
        (values.data_type, rows[name].nonzero, name in subject.single) for name, values in subject.ones.items()
    )
    output = subject.types[subject.table.output] if len(subject.inputs) == 1 else None  # else it makes no difference
    return _first(_Alike((inputs, output, subject.data_type), subject))


@lru_cache(maxsize=3072)  # those of a signature come again with the next operator; 25 kilobytes at most, mostly 8
def _streams(alike: _Alike, seed: int, level: str, place: int, count: int) -> tuple[Values, ...]:
    """The streams of all inputs, in their order.

    Args:
        alike: for which subjects.
        seed: what they are drawn with.
        level: the level of ``input``, one of an explicit stream.
        place: of the input whose elements decide it.
        count: how many elements of that are dispatched.
    """
    subject, generator = alike.subject, generator_of(seed, "input")
    shown = tuple(subject.ones)[place]
    if level == "lattice":
        elements = subject.of_arrays(operands.mixed(subject.inputs, seed))
    else:
        output = subject.types[subject.table.output]
        arrays = distinct.drawn_once(tuple(subject.inputs.items()), output, drawing.LENGTH, seed + 11)
        elements = subject.of_arrays(arrays)
        power = drawing.exponent(generator_of(seed, "power"), subject.data_type, "none", fractions=True)
        if level != "distinct":
            drawn = {
                name: drawing.stream(generator, data_type, level, power)
                for name, data_type in subject.inputs.items()
                if data_type.is_floating
            }
            elements = subject.of_arrays(elements.arrays | drawn)
        elif subject.inputs[shown].is_floating:
            numbers = drawing.stream(generator, subject.inputs[shown], level, power)
            mixed = drawing.mostly_numbers(elements.arrays[shown], numbers, generator)
            elements = subject.of_arrays(elements.arrays | {shown: mixed})
    at = drawing.beginning(elements.arrays[shown], subject.inputs[shown], level, count, generator)
    return tuple(elements[at].streams.values())


@lru_cache(maxsize=1 << 12)
def _placement(seed: int, level: str) -> Placement:
    """A placement of a level; where tensors do not stand apart, at any multiple of 16 bytes."""
    numbers = generator_of(seed, "placement").integers(0, 40, 2)
    if level == "odd-offset":
        front, gap = 16 * (1 + 2 * numbers)
        return Placement(front=int(front), gap=int(gap))
    known = _PLACEMENTS[level]
    return known if level == "apart" else replace(known, front=16 * (1 + int(numbers[0])))


@lru_cache(maxsize=1 << 12)  # most operators of one input have the same attributes
def _attributes(alike: _Alike, recipe: Recipe, count: int) -> tuple[Mapping[str, Any], Values]:
    levels, data_type, table = recipe.by_factor, alike.subject.data_type, alike.subject.table
    enumerations = {item.name: levels[item.name] for item in table.attributes if item.type == "ENUM"}
    scaling = levels.get("scale-bias", "none")
    power = drawing.exponent(generator_of(recipe.seed, "power"), data_type, scaling, fractions=bool(enumerations))
    x: Array
    if levels["input"] == "bulk":
        bulk = Values.bulk(data_type, recipe.seed)
        x = bulk.array(drawing.LENGTH)
    else:
        x = drawing.stream(generator_of(recipe.seed, "input"), data_type, levels["input"], power)
    attributes: dict[str, Any] = dict(enumerations)
    scale_bias: ScaleBias | None = None
    if table.has_scale_bias:
        scale_bias = drawing.scale_bias(generator_of(recipe.seed, "scale-bias"), data_type, scaling, power)
        attributes |= {item.name: scale_bias for item in table.attributes if item.type == "DML_SCALE_BIAS"}
    low, high = -math.inf, math.inf
    if table.float_attributes:
        seen = drawing.scaled(x, scale_bias, data_type)
        bounds = drawing.bounds(generator_of(recipe.seed, "bounds"), data_type, levels["bounds"], table, seen)
        attributes |= bounds
        low, high = float(bounds.get(table.lower or "", low)), float(bounds.get(table.upper or "", high))
    if levels["input"] == "bulk":
        return MappingProxyType(attributes), bulk

    def inside(values: Array) -> NDArray[np.bool_]:
        with np.errstate(all="ignore"):
            wide = values.astype(np.float64)
            wide = wide if scale_bias is None else wide * float(scale_bias.scale) + float(scale_bias.bias)
        return np.asarray((low < wide) & (wide < high))

    x = drawing.arranged(x, data_type, levels["input"], count, inside, generator_of(recipe.seed, "start"))
    if not data_type.is_floating and levels.get("bounds") in ("beyond", "no-number"):
        x = (
            magnitudes.with_limits(x, data_type)
            if scale_bias is None
            else magnitudes.kept_exact(x, scale_bias, data_type)
        )
    return MappingProxyType(attributes), Values.of(x, data_type)


def value_clause(subject: Subject, levels: Mapping[str, str], attributes: Mapping[str, Any]) -> str:
    """The clause that a wrong value breaks, if it is wrong in a packed tensor as well.

    Args:
        subject: the operator on its types.
        levels: by factor.
        attributes: of the description: of operators that are not of one type they say more than the levels.
    """
    if not subject.of_one_type:
        return subject.scaled_values_clause(attributes)
    floating = subject.data_type.is_floating
    wanted: list[OwnCheck] = []
    if levels.get("scale-bias", "none") != "none":
        wanted = ["scale-bias"] if floating else ["scale-bias.integer"]
    by_bounds: dict[str, list[OwnCheck]] = {
        "equal": ["bounds.equal"],
        "inverted": ["bounds.inverted"],
        "infinite": ["bounds.infinite"],
        "inexact": ["cast.float16" if floating else "cast.integer", "cast.inexact"],
        "beyond": ["cast.float16-overflow" if floating else "cast.out-of-range", "cast.inexact"],
        "no-number": ["nan.bound" if floating else "cast.nan"],
    }
    wanted += by_bounds.get(levels.get("bounds", ""), [])
    enumerators = {item.name: levels.get(item.name) for item in subject.table.attributes if item.type == "ENUM"}
    return subject.table.clause_of(*wanted) or subject.values_clause(enumerators)


def layout_clause(subject: Subject, levels: Mapping[str, str]) -> str:
    """The clause that is broken where the same values come out right from a packed tensor."""
    if levels["placement"] == "in-place":
        return subject.in_place_clause
    sources = [levels[name] for name in INPUT_LAYOUTS if name in levels]
    target = levels[OUTPUT_LAYOUT]
    if target not in ("none", "packed") and target not in sources:
        return "tensor.strides.output"
    for layout in (*sources, target):
        if layout in _STRIDE_CLAUSES:
            return f"tensor.strides.{_STRIDE_CLAUSES[layout]}"
    if levels["room"] == "larger-total-size":
        return "tensor.total-size.larger"
    places = {
        "odd-offset": "binding.offset",
        "touching": "binding.same-resource",
        "output-first": "binding.same-resource",
        "one-region": "binding.same-resource",
    }
    return places.get(levels["placement"], "tensor.position")
