"""What a fault needs: the smallest combination of conditions under which it shows.

A case has *factors* beside its element type: ScaleBias, attributes out of the ordinary, strides, a place, a rank, a
shape, a number of elements, kinds of inputs, a history. Each has a *base level*, the one that an implementation is
most likely to have right: no ScaleBias, packed tensors, one element. Factors are taken back to their base level one at
a time, as long as the same clause stays broken. Of what is left each is needed without which the case is dispatched and
comes out wholly right: where another clause is broken then, or the case refused, "right without it" would be false, and
nothing is said of that factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from dmlcts.specs import TensorDesc
from dmlcts.suites.attribution.positions import PLACES, counted, is_last_alone
from dmlcts.suites.attribution.shrink import Effort, again, alike, asks_the_same, is_right, judged, resizable
from dmlcts.suites.attribution.simpler import FACTORS, SCALING, Factor, in_order, kind_of, long_axes
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.findings import WITHOUT_DISPATCH, Finding

_MOST_PASSES = 6
_FEWEST_TO_PERMUTE = 2  # dimensions

_RELATIONS = ("idempotent", "monotone", "odd", "contained", "threshold equivalence")


@dataclass(frozen=True)
class Need:
    """One condition that a fault needs.

    Attributes:
        factor: the factor's name.
        wording: its level in the case, in words: "output strides".
        right: under what the case comes out right: "with a packed output".
    """

    factor: str
    wording: str
    right: str


@dataclass(frozen=True)
class Needs:
    """What a fault needs, and the case that has nothing else.

    Attributes:
        finding: what is wrong with that case.
        needs: without any one of these the case comes out right, by every clause.
        complete: whether all factors were tried; otherwise ``needs`` is empty and says nothing.
    """

    finding: Finding
    needs: tuple[Need, ...]
    complete: bool

    @property
    def factors(self) -> frozenset[str]:
        """The names of the factors that remain."""
        return frozenset(need.factor for need in self.needs)

    def wording(self) -> str:
        """In words: "ScaleBias and input strides (right without ScaleBias; right with a packed input)"."""
        needs = self.needs[::-1]  # what a caller chooses first stands first
        words = [need.wording for need in needs]
        names = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
        return f"{names} ({'; '.join(f'right {need.right}' for need in needs)})"


def needed(bench: Bench, finding: Finding, effort: Effort) -> Needs:
    """Take every factor of a finding's case back to its base level, one at a time, where it stays wrong.

    The order is fixed: what is asked about first is what the pages are least likely to be about, so that of two
    conditions each of which would do, the simpler one to explain is left. When nothing can be removed any more, every
    factor that is left has been tried on the very case that is left.

    Args:
        bench: what to judge on.
        finding: what is wrong; the same clause must stay broken, with the same outcome.
        effort: how much may be tried.
    """
    left = effort.removals
    losses = bench.losses
    seen = again(bench, finding.case, finding.outcome)
    if seen is None or seen.clause != finding.clause:
        return Needs(finding, (), complete=False)  # it does not show by itself: nothing can be learnt from it
    for _ in range(_MOST_PASSES):
        needed_ones: list[Factor] = []
        removed = False
        for factor in _applicable(finding):
            tried = right = 0
            for candidate in _without(bench, factor, finding):
                if left <= 0 or bench.losses > losses:
                    return Needs(finding, (), complete=False)
                left -= 1
                tried += 1
                judgement = judged(bench, candidate)
                counterpart = next((other for other in judgement.findings if other.outcome == finding.outcome), None)
                if counterpart is not None and counterpart.clause == finding.clause:
                    if factor.replaces:
                        finding, removed = counterpart, True
                    break
                right += is_right(judgement)
            if tried and right == tried:
                needed_ones.append(factor)
        if not removed:
            return _needs(bench, finding, needed_ones)
    return Needs(finding, (), complete=False)


def confirmed(bench: Bench, finding: Finding, factors: tuple[str, ...]) -> Needs | None:
    """The needs of a finding, where they are known already and only have to be seen once more; ``None`` if they differ.

    Args:
        bench: what to judge on.
        finding: what is wrong, on a case that has nothing but what it needs.
        factors: the names of the factors that are needed.
    """
    place = next((name for name in PLACES if name in factors), "")
    if place and not is_last_alone(finding, finding.case.operator.output.element_count):
        return None
    needs = []
    for factor in _applicable(finding):
        known = place if place and factor.name == "count" else factor.name
        if known not in factors:
            continue
        if not _is_needed(bench, factor, finding):
            return None
        needs.append(_need(bench, factor, finding, known))
    return Needs(finding, tuple(needs), complete=True) if len(needs) == len(factors) else None


def needed_as_it_is(bench: Bench, finding: Finding) -> Needs:
    """What the very case of a finding needs: each factor is tried without, and none is taken away.

    Args:
        bench: what to judge on.
        finding: what is wrong, on the case that is shown.
    """
    return _needs(bench, finding, [factor for factor in _applicable(finding) if _is_needed(bench, factor, finding)])


def _is_needed(bench: Bench, factor: Factor, finding: Finding) -> bool:
    """Whether the case has the factor above its base level, and comes out wholly right without it."""
    candidates = list(_without(bench, factor, finding))
    return bool(candidates) and all(is_right(judged(bench, candidate)) for candidate in candidates)


def _without(bench: Bench, factor: Factor, finding: Finding) -> Iterator[Case]:
    """The cases without a factor that still ask what the clause asks: nothing follows from others."""
    return (candidate for candidate in factor.without(bench, finding) if asks_the_same(bench, candidate))


def _needs(bench: Bench, finding: Finding, factors: list[Factor]) -> Needs:
    """What a case needs that needs some factors, in words."""
    implied = _implied(bench, finding.case, {factor.name for factor in factors})
    needs = (_need(bench, factor, finding) for factor in factors if factor.name not in implied)
    return Needs(finding, tuple(needs), complete=True)


def _need(bench: Bench, factor: Factor, finding: Finding, known: str = "") -> Need:
    if factor.name == "count":
        return Need(*counted(bench, finding, known))
    return Need(factor.name, factor.wording(finding.case), factor.right(bench, finding.case))


def with_needs(needs: Needs) -> Finding:
    """The finding of ``needs``, with what it needs in its details."""
    finding = needs.finding
    if not needs.needs:
        return finding
    details = (*finding.details, ("needs", needs.wording()))
    return replace(finding, details=details, needs=tuple(sorted(needs.factors)))


def _implied(bench: Bench, case: Case, names: set[str]) -> set[str]:
    """Which needs others bring with them.

    Strides that matter need two elements, a shape its rank, and strides of two dimensions whose order matters both.
    """
    long = len(long_axes(case))
    implied = set()
    if names & {"shape", "input strides", "output strides"} and case.operator.output.element_count == 1 << long:
        implied.add("count")
    if "shape" in names and case.operator.output.rank == long:
        implied.add("rank")
    strided = names & {"input strides", "output strides"}
    if "shape" in names and strided and long == _FEWEST_TO_PERMUTE and "permuted" in map(kind_of, _tensors(case)):
        ordered = in_order(case)
        if ordered is not None and is_right(judged(bench, ordered)):
            implied.add("shape")
    return implied


def _tensors(case: Case) -> Iterable[TensorDesc]:
    return case.operator.tensors.values()


def _applicable(finding: Finding) -> Iterator[Factor]:
    case = finding.case
    if case.expectation in WITHOUT_DISPATCH:
        return
    open_bounds = case.expectation == "one value"
    sizeable = alike(case) if open_bounds else resizable(case)
    for factor in FACTORS:
        if open_bounds and factor.name in ("inputs", "bounds", "enumerator", SCALING):
            continue  # its values and attributes belong together: other ones are another case
        if case.expectation in _RELATIONS and factor.name in ("shape", "rank", "count", "inputs"):
            continue  # a relation is one between elements, of whatever kind
        if factor.name in ("input strides", "output strides", "shape", "rank", "count") and not sizeable:
            continue
        yield factor
