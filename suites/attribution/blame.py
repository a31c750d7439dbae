"""Which clause a finding breaks, on the smallest case that shows it, and what the fault needs."""

from __future__ import annotations

from dataclasses import replace

from dmlcts.specs.deviations import Deviation
from dmlcts.suites.attribution.element import of_its_value
from dmlcts.suites.attribution.inputs import ordinary
from dmlcts.suites.attribution.kernels_alive import fewest_kernels, repeated
from dmlcts.suites.attribution.needs import Needs, needed, with_needs
from dmlcts.suites.attribution.positions import PLACES
from dmlcts.suites.attribution.shrink import Effort, again, judged, shrink
from dmlcts.suites.attribution.simpler import in_order, kind_of, scaled_clauses, strided_inputs, subject_of
from dmlcts.suites.attribution.steadiness import after, dependent, history, restated, unsteady
from dmlcts.suites.attribution.tracing import traced
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.judging.expectations import judge_case
from dmlcts.suites.judging.findings import Finding, plain, value_clauses

_MOST_PLAIN = 1 << 16
_MOST_ROUNDS = 3
_VALUES = (
    "oracle",
    "one value",
    "plain layout",
    "again",
    "many times",
    "beside others",
    "dispatched again",
    "after another",
    "beside another",
    "beside other tensors",
    "after a refusal",
)


def smallest(bench: Bench, finding: Finding, effort: Effort | None = None) -> Finding:
    """The finding on the smallest case that still shows something wrong, under the clause that it breaks.

    A value that is wrong by itself is reduced to a packed tensor of that one element, and then breaks the
    case's value clause; what needs its layout, position or neighbours keeps them, as small as they can be.
    What goes wrong in a packed tensor of as many elements as well, though not in one of a single element, breaks
    ``tensor.position``, whatever the case was about.
    Then every factor is taken back to its base level where it can be (:mod:`dmlcts.suites.attribution.needs`), and what
    is left decides on the clause (:func:`blamed`).
    What goes wrong beside other kernels only is reported with the fewest that suffice, a pair where one does.
    What does not go wrong every time is reported as unsteady, whatever else it breaks
    (:mod:`dmlcts.suites.attribution.steadiness`).
    What does not go wrong on a fresh device depends on what ran before, and breaks ``execution.independent``, where
    that decides it every time (:func:`dmlcts.suites.attribution.steadiness.dependent`).
    """
    with bench.steadily():
        return dependent(bench, _examined(bench, finding, effort or Effort()), finding)


def _examined(bench: Bench, finding: Finding, effort: Effort) -> Finding:
    """The same, before it is made sure that what breaks ``execution.independent`` does so every time."""
    if finding.case.beside and not finding.settled:
        fewest = fewest_kernels(bench, finding)
        if fewest is not None:
            others = ", ".join(neighbour.name for neighbour in fewest.case.beside if neighbour != fewest.case.operator)
            return replace(fewest, title=f"{fewest.title} beside {others}", needs=("history",), settled=True)
        finding = repeated(bench, finding) or finding
    unsteady_finding = unsteady(bench, finding)
    if unsteady_finding is not None:
        return unsteady_finding
    finding = restated(bench, finding)
    least = needing(bench, _anywhere(bench, shrink(bench, finding, effort), effort), effort)
    if finding.case.recipe is not None:
        least = _of_its_tensor(least)
    if least.outcome != "fail" or least.clause.startswith("execution."):
        return least
    fresh = bench.fresh()
    try:
        if not judge_case(fresh, least.case).findings:
            unsteady_finding = unsteady(bench, least) or unsteady(bench, finding)
            if unsteady_finding is not None:
                return unsteady_finding
            earlier = history(bench, finding)
            title = f"{least.title}, only after other kernels"
            unknown = replace(
                finding, clause="execution.independent", title=title, suspects=(), deviation=Deviation.AFTER_OTHERS
            )
            return after(finding, earlier) if earlier else unknown
        unsteady_finding = unsteady(fresh, least)
        if unsteady_finding is not None:
            return unsteady_finding  # its rhythm was that of the larger case
        if least.clause == "tensor.output.complete" and least.case.layout_clause is not None:
            count = least.case.operator.output.element_count
            packed = replace(plain(fresh, least.case, least.case.values, count), expectation="oracle")
            if packed.operator != least.case.operator and not judge_case(fresh, packed).findings:
                least = replace(least, clause=least.case.layout_clause)  # in a packed tensor all are written
                return _of_its_tensor(least) if finding.case.recipe is not None else least
    finally:
        fresh.close()
    return traced(bench, least)


def _anywhere(bench: Bench, finding: Finding, effort: Effort) -> Finding:
    """The finding in a packed tensor, out of place, where wrong values show there as well."""
    case, count = finding.case, finding.case.operator.output.element_count
    if finding.outcome != "fail" or not finding.wrong or finding.clause != case.layout_clause or count > _MOST_PLAIN:
        return finding
    if finding.clause in ("tensor.position", "tensor.output.complete", "binding.offset"):
        return finding  # a packed tensor has a position, is written and stands at an offset as well
    packed = plain(bench, case, case.values, count)
    expectation = case.expectation if case.expectation == "one value" else "oracle"
    packed_finding = again(bench, replace(packed, layout_clause="tensor.position", expectation=expectation), "fail")
    return (
        finding
        if packed_finding is None or packed_finding.clause != "tensor.position"
        else shrink(bench, packed_finding, effort)
    )


def needing(bench: Bench, finding: Finding, effort: Effort) -> Finding:
    """The finding with what it needs, and under the clause that this is about."""
    if finding.settled or finding.outcome != "fail":
        return finding  # every case that ends a process costs one; a factor would cost several
    needs = needed(bench, ordinary(bench, finding), effort)
    for _ in range(_MOST_ROUNDS):  # without what is not needed, fewer elements may do
        if not needs.complete or not needs.needs:
            break
        less = shrink(bench, replace(needs.finding, suspects=()), effort)
        if less.case == needs.finding.case:
            break
        needs = needed(bench, less, effort)
    least = with_needs(needs)
    clause = blamed(bench, least, needs)
    if clause != least.clause:
        if clause == _value_clause(bench, least.case):
            least = replace(least, clause=clause, case=replace(least.case, clause=clause, layout_clause=None))
        else:
            least = replace(least, clause=clause, case=replace(least.case, layout_clause=clause))
    return replace(of_its_value(bench, least), because=_explaining(bench, least))


def blamed(bench: Bench, finding: Finding, needs: Needs) -> str:
    """The clause that wrong values break, by what they need.

    Args:
        bench: for the operator's own clauses.
        finding: what is wrong, on the case that has nothing but what it needs.
        needs: what that is.

    Returns:
        By the first of these that applies:

        - the clause as found, where it is not about values (memory, refusals, relations between elements), where not
          all factors could be tried, and for a value that is wrong alone in a packed tensor: the case was made for it;
        - as found, where the clause is about a type and a rank that may be refused: right values are part of it;
        - as found, where other dispatches or kernels are needed: the case's clause is about just that;
        - the clause on in-place execution, where the output has to be bound to the input's region: no other clause
          speaks of it;
        - a clause on strides, where one tensor or both need them (:func:`_strides`): ScaleBias, bounds, a rank or a
          number of elements that are needed besides choose a path through the kernel, and the strides are what that
          path has wrong, since the same attributes come out right in a packed tensor;
        - ``tensor.total-size.larger``, ``binding.same-resource`` or ``binding.offset``, where a larger total size,
          inputs in one region or the output's place, or an offset is needed;
        - ``tensor.position``, where a rank, a shape or a number of elements is: an element's value does not depend
          on those, with whatever attributes;
        - the case's value clause, where nothing of all that is needed; the one of its other attributes, where the
          case was made for ScaleBias or for an activation and is wrong without.
    """
    case = finding.case
    factors = needs.factors
    about_values = finding.wrong and finding.clause in value_clauses(case) and case.expectation in _VALUES
    about_description = case.layout_clause is None and bench.tables.clause(case.clause).subject == "descriptions"
    if not about_values or about_description or not needs.complete or "history" in factors:
        return finding.clause
    table = bench.tables.operator(case.operator.name)
    in_place = table.clause_of("in-place")
    if "in place" in factors and in_place is not None:
        return in_place
    if factors & {"input strides", "output strides"}:
        return _strides(case, factors)
    places = {
        "total size": "tensor.total-size.larger",
        "one region": "binding.same-resource",
        "placement": "binding.same-resource",
        "offset": "binding.offset",
        "shape": "tensor.position",
        "rank": "tensor.position",
        **dict.fromkeys(("count", *PLACES), "tensor.position"),
    }
    return next((clause for factor, clause in places.items() if factor in factors), _value_clause(bench, case))


def _value_clause(bench: Bench, case: Case) -> str:
    """The case's clause, or that of its other attributes where it is about what the case has lost."""
    if bench.tables.clause(case.clause).check == "activation" and case.operator.activation is None:
        return subject_of(bench, case).values_clause(case.operator.attributes)
    table = bench.tables.operator(case.operator.name)
    if case.clause not in scaled_clauses(table) or case.operator.scale_bias is not None:
        return case.clause
    return subject_of(bench, case).values_clause(case.operator.attributes)


def _explaining(bench: Bench, finding: Finding) -> str:
    """The clause on strides that the case's own strides are about, where the test's is another one; else "".

    A clause on input strides does not explain what output strides alone are needed for, nor one on repeated elements
    what gaps do as well. The test's clause stays the one that fails: it was made for such strides among others.
    """
    case, factors = finding.case, set(finding.needs)
    if not finding.clause.startswith("tensor.strides.") or not factors & {"input strides", "output strides"}:
        return ""
    clause = "tensor.strides.output"
    if "input strides" in factors:
        kind = _kind_of_inputs(case)
        ordered = in_order(case) if kind in ("broadcast", "permuted") else None
        if ordered is not None and judged(bench, ordered).findings:
            kind = "padded"
        if "output strides" not in factors or kind in ("broadcast", "permuted"):
            clause = f"tensor.strides.{kind}"
    return "" if clause == finding.clause else clause


def _kind_of_inputs(case: Case) -> str:
    """What kind of strides the inputs have that have any: the first of these that one of them has."""
    kinds = [kind_of(case.operator.inputs[name]) for name in strided_inputs(case)]
    return next((kind for kind in ("broadcast", "permuted", "padded") if kind in kinds), "packed")


def _strides(case: Case, factors: frozenset[str]) -> str:
    """The clause on the strides that a fault needs.

    A clause that the case was made for stays, as long as its kind of strides is among those that are needed: which
    kind a fault is about shows in the first case that it breaks, not in the last one, where few dimensions are left.
    """
    made_for = case.layout_clause or ""
    if "input strides" not in factors or "output strides" in factors:
        return made_for if made_for.startswith("tensor.strides.") else "tensor.strides.output"
    kind = _kind_of_inputs(case)
    if made_for.startswith("tensor.strides.") and made_for != "tensor.strides.output" and kind != "broadcast":
        return made_for
    return f"tensor.strides.{kind}"


def _of_its_tensor(finding: Finding) -> Finding:
    """What a combination showed of the output's strides alone, under the clause on those.

    A combination was made for no tensor of the two: whether it gave both the same strides hangs on the seed.
    """
    factors = {"input strides", "output strides"} & set(finding.needs)
    if factors != {"output strides"} or not finding.clause.startswith("tensor.strides."):
        return finding
    clause = "tensor.strides.output"
    return replace(finding, clause=clause, case=replace(finding.case, layout_clause=clause))
