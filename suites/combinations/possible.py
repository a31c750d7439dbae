"""Which combinations of levels there can be: exactly, by joining the constraints and eliminating factors.

A combination counts where a whole row has it whose other factors are at levels that mask nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dmlcts.suites.combinations.constraints import Relation
from dmlcts.suites.combinations.factors import Factor, Space

Bits = NDArray[np.bool_]
_Tensor = tuple[tuple[int, ...], Bits]
_Eliminated = tuple[int, ...]
"""A factor, and the identities of the tensors that it was eliminated from."""


def flat_offsets(space: Space) -> NDArray[np.intp]:
    """Where each factor's levels begin, if those of all factors are counted through."""
    return np.cumsum([0, *(len(factor.levels) for factor in space.factors)])[:-1].astype(np.intp)


@lru_cache(maxsize=512)  # spaces have many relations in common
def _allowed(relation: Relation, sizes: tuple[int, ...]) -> Bits:
    """What a relation allows, over its factors."""
    bitmap = np.zeros(sizes, bool)
    bitmap[tuple(np.array(list(relation.allowed)).T)] = True
    bitmap.setflags(write=False)
    return bitmap


def _projected(
    tensors: Sequence[_Tensor], kept: Sequence[int], sizes: Sequence[int], eliminated: dict[_Eliminated, _Tensor]
) -> Bits:
    """Which levels of the kept factors go together with some levels of the others.

    Args:
        tensors: what goes together, each over some factors.
        kept: the factors that are not eliminated.
        sizes: how many levels each factor has.
        eliminated: what is left of the same tensors (by identity) without a factor, of earlier calls; is added to.
    """
    pool = list(tensors)
    beside: dict[int, set[int]] = {}  # the factors that share a tensor with each, itself included
    for scope, _ in pool:
        for factor in scope:
            beside.setdefault(factor, set()).update(scope)
    gone = sorted(beside.keys() - set(kept))
    cells = {factor: math.prod([sizes[other] for other in beside[factor]]) for factor in gone}
    while gone:
        factor = min(gone, key=cells.__getitem__)
        gone.remove(factor)
        touched = [member for member in pool if factor in member[0]]
        left = beside[factor] - {factor}
        known = (factor, *sorted(map(id, touched)))
        if known not in eliminated:
            scope = tuple(sorted(left))
            joined = _joined(touched, (factor, *scope), sizes)
            eliminated[known] = (scope, np.asarray(joined.any(0)))
        pool = [member for member in pool if factor not in member[0]] + [eliminated[known]]
        for other in left:  # whose tensors with the factor are one now
            beside[other] |= left
            beside[other].discard(factor)
            if other in cells:
                cells[other] = math.prod([sizes[another] for another in beside[other]])
    return _joined(pool, kept, sizes)


def _joined(tensors: Sequence[_Tensor], scope: Sequence[int], sizes: Sequence[int]) -> Bits:
    bitmap = np.ones([sizes[factor] for factor in scope], bool)
    for names, bits in tensors:
        bitmap &= _spread(bits, names, scope, sizes)
    return bitmap


def _spread(bits: Bits, names: Sequence[int], scope: Sequence[int], sizes: Sequence[int]) -> Bits:
    """The bits over some factors with the dimensions of a scope, of which the other factors have one element."""
    shape = [sizes[factor] if factor in names else 1 for factor in scope]
    order = [names.index(factor) for factor in scope if factor in names]
    return bits.transpose(order).reshape(shape)


def _combinations(space: Space, together: int, usable: Sequence[Bits]) -> Bits:
    """A symmetric array over all levels counted through: which combinations some row has.

    Args:
        space: the factors and what goes together.
        together: how many levels a combination has.
        usable: for each factor the levels that it may have where it is not one of the combination's.
    """
    sizes = [len(factor.levels) for factor in space.factors]
    parts = [slice(start, start + size) for start, size in zip(flat_offsets(space).tolist(), sizes, strict=True)]
    place = space.position
    tensors: list[_Tensor] = []
    for relation in space.relations:
        scope = tuple(place[name] for name in relation.factors)
        tensors.append((scope, _allowed(relation, tuple(sizes[factor] for factor in scope))))
    bound = {factor for scope, _ in tensors for factor in scope}
    single: dict[int, _Tensor] = {factor: ((factor,), usable[factor]) for factor in bound if not usable[factor].all()}
    known: dict[tuple[int, ...], Bits] = {}
    eliminated: dict[_Eliminated, _Tensor] = {}
    bitmap = np.zeros([sum(sizes)] * together, bool)
    for kept in itertools.combinations(range(len(sizes)), together):
        inner = tuple(factor for factor in kept if factor in bound)  # the others go together with everything
        if inner not in known:
            others = [tensor for factor, tensor in single.items() if factor not in inner]
            known[inner] = _projected([*tensors, *others], inner, sizes, eliminated)
        bits = _spread(known[inner], inner, kept, sizes)
        for order in itertools.permutations(range(together)):
            bitmap[tuple([parts[kept[position]] for position in order])] = bits.transpose(order)
    bitmap.setflags(write=False)
    return bitmap


@lru_cache(maxsize=64)
def _unlimited(
    factors: tuple[tuple[str, tuple[str, ...], frozenset[str]], ...], relations: tuple[Relation, ...], together: int
) -> Bits:
    space = Space(
        tuple(Factor(name, levels, levels[0], masks, (3,) * len(levels)) for name, levels, masks in factors),
        relations,
        3,
    )
    clear = [np.array([level not in factor.masks for level in factor.levels]) for factor in space.factors]
    return _combinations(space, together, clear)


def possible(space: Space, together: int) -> Bits:
    """Which combinations of so many levels there can be; symmetric, over all levels counted through."""
    named = tuple((factor.name, factor.levels, factor.masks) for factor in space.factors)
    return _unlimited(named, space.relations, together)  # whatever the profile makes of them


@lru_cache(maxsize=64)
def asked(space: Space, together: int) -> Bits:
    """Which of them the profile asks for: all whose levels are combined so often there."""
    enough = np.array([strength >= together for factor in space.factors for strength in factor.strengths])
    if not enough.any():
        return np.zeros([enough.size] * together, bool)
    bitmap = _ordinary(space, together)
    for axis in range(together):
        shape = [1] * together
        shape[axis] = -1
        bitmap = bitmap & enough.reshape(shape)
    bitmap.setflags(write=False)
    return bitmap


@lru_cache(maxsize=16)  # what is asked of one space is asked for one number of levels after another
def _ordinary(space: Space, together: int) -> Bits:
    """Which combinations rows have whose other factors are at levels that mask nothing and are combined at all."""
    usable = []
    for factor in space.factors:
        levels = zip(factor.levels, factor.strengths, strict=True)
        usable.append(np.array([level not in factor.masks and strength > 0 for level, strength in levels]))
    if together >= min(space.strength, len(space.factors)):
        return _combinations(space, together, usable)
    larger = _ordinary(space, together + 1)  # a row of a combination has one of more levels, too
    ends = np.cumsum([0, *map(len, usable)]).tolist()
    parts = [slice(*both) for both in itertools.pairwise(ends)]
    bitmap = np.zeros([ends[-1]] * together, bool)
    for kept in itertools.permutations(range(len(parts)), together):
        other = next(factor for factor in range(len(parts)) if factor not in kept)
        index = tuple([parts[factor] for factor in kept])
        bitmap[index] = larger[(*index, parts[other])][..., usable[other]].any(-1)
    return bitmap
