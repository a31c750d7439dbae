"""Where the pages leave a value open: one and the same value everywhere, whichever it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dmlcts.specs import DataType, OperatorDesc
from dmlcts.specs.oracle.outcome import Unconstrained
from dmlcts.specs.oracle.vectorised import VectorOracle
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.outcomes import Execution
from dmlcts.suites.cases.values import text
from dmlcts.suites.judging.findings import Array, Judgement, filled_with, plain, shown
from dmlcts.suites.judging.outputs import executed
from dmlcts.suites.judging.relations import free_among, relation, same_values


def judge_plain_layout(bench: Bench, case: Case) -> Judgement:
    """The same elements give the same results in a packed tensor, out of place, whatever rank, strides, position.

    Results may differ where both are right: a loop over vectors and the one over what is left may take two
    polynomials, or flush and not flush, and no page asks for the same.
    """
    run = executed(bench, case)
    if isinstance(run, Judgement):
        return run
    flat = executed(bench, plain(bench, case, filled_with(case, run.inputs), run.output.size), turn=1)
    if isinstance(flat, Judgement):
        return flat
    wrong = np.flatnonzero(~same_values(run.output, flat.output))
    few = {name: array[wrong] for name, array in run.inputs.items()}
    wrong = wrong[~free_among(bench, case, few, run.output[wrong], flat.output[wrong])]
    judgement = relation(
        case,
        (run, flat),
        wrong,
        lambda i: f"{shown(run.inputs, i, run.output[i])} here and {text(flat.output[i])} in a packed tensor",
    )
    findings = tuple(replace(finding, clause=case.layout_clause or case.clause) for finding in judgement.findings)
    return replace(judgement, findings=findings)


def judge_one_value(bench: Bench, case: Case) -> Judgement:
    """Bounds that no integer follows from act as one integer each, whichever it is.

    The case's values must hold the least and the greatest value of the type: what those become shows which
    integers the implementation took. Under a ScaleBias, whose sums must all be exact, the least and the greatest of
    them show it: beyond them a bound may be anything. Where the page documents no cast (THRESHOLD's Min), the
    maximum may also be taken in a wider type and stored wrapped or saturated.
    """
    run = executed(bench, case)
    if isinstance(run, Judgement):
        return run
    oracle, casts = adopted_oracle(bench, case, run)
    wrong = oracle.judge(run.x, run.output)
    if wrong.size and wider_maximum(bench, case, run) is not None:
        wrong = wrong[:0]
    taken = ", ".join(f"{name} = {value}" for name, value in casts.items())
    judgement = relation(
        case,
        (run,),
        wrong,
        lambda i: (
            f"input {text(run.x[i])} gives {text(run.output[i])}, though {_distinguishing_text(case)} show {taken}"
        ),
    )
    findings = tuple(replace(finding, clause=case.layout_clause or case.clause) for finding in judgement.findings)
    return replace(judgement, findings=findings)


def _distinguishing_text(case: Case) -> str:
    scaled = case.operator.scale_bias is not None
    return "the least and the greatest scaled values" if scaled else "the limits of the type"


def distinguishing_places(operator: OperatorDesc, x: Array) -> tuple[int, int]:
    """Where the elements stand that show what open bounds became: the type's limits, or the extremes after ScaleBias.

    Args:
        operator: what was dispatched. Under a ScaleBias all products and sums must be exact and within the type, so
            that there is one value that meets the bounds.
        x: the elements; without ScaleBias the type's limits are among them.
    """
    scale_bias = operator.scale_bias
    if scale_bias is not None:
        scaled = x.astype(np.float64) * float(scale_bias.scale)  # which the bias leaves in their order
        return int(np.argmin(scaled)), int(np.argmax(scaled))
    limits = np.iinfo(x.dtype)
    return int(np.flatnonzero(x == limits.min)[0]), int(np.flatnonzero(x == limits.max)[0])


def wider_maximum(bench: Bench, case: Case, run: Execution) -> int | None:
    """The value that every output has, where it is a bound that the type cannot hold, as a wider type stores it.

    Only where the latitude ``wider-maximum`` acts, and for a single FLOAT attribute.
    """
    table = bench.tables.operator(case.operator.name)
    names = table.float_attributes
    latitudes = bench.tables.law(table).latitudes(case.data_type, strict=bench.strict)
    if len(names) != 1 or "wider-maximum" not in latitudes or not (run.output == run.output[0]).all():
        return None
    stored, bound = int(run.output[0]), case.operator.attributes[names[0]]
    assert isinstance(bound, np.float32), "a FLOAT attribute"  # noqa: S101  # OperatorDesc makes it one
    return stored if stored in stored_beyond(bound, case.data_type) else None


def stored_beyond(bound: np.float32, data_type: DataType) -> frozenset[int]:
    """What a ``bound`` above the integer type may become where it is stored into it; none for one that is not above.

    Saturated; wrapped; saturated in a 32-bit integer and then wrapped, as Direct3D's conversions and stores do; or
    wrapped from the indefinite integer, 2^31 or 2^63, that x86 makes of a number beyond that range. A NaN, which the
    maximum may give too, becomes 0, a limit of the type, or what the indefinite integer becomes.
    """
    limits = np.iinfo(data_type.numpy)
    values = {int(limits.max)}
    if np.isnan(bound):
        values |= {0, int(limits.min), 1 << 31, 1 << 63}
    elif float(bound) < int(limits.max) + 1:
        return frozenset()
    else:
        if np.isfinite(bound):
            values.add(int(bound))
        values.update((1 << power) for power in (31, 63) if bound >= 2.0**power)
        if limits.bits < 32:
            values.add(int(min(float(bound), (1 << 31) - 1)))  # whose low bits are those of UINT32's greatest too
    span = 1 << limits.bits
    return frozenset((value - int(limits.min)) % span + int(limits.min) for value in values)


def adopted_oracle(bench: Bench, case: Case, run: Execution) -> tuple[VectorOracle, dict[str, int]]:
    """The oracle with the integers that the implementation took for the bounds that the pages leave open."""
    low, high = distinguishing_places(case.operator, run.x)
    table = bench.tables.operator(case.operator.name)
    seen = {table.lower: int(run.output[low]), table.upper: int(run.output[high])}
    casts: dict[str, int] = {}
    for name in table.float_attributes:
        attributes = dict.fromkeys(table.float_attributes, np.float32(0)) | {name: case.operator.attributes[name]}
        alone = OperatorDesc(case.operator.name, case.operator.tensors, {**case.operator.attributes, **attributes})
        try:
            _ = bench.vector_oracle(alone).attributes
        except Unconstrained:
            casts[name] = seen[name]
    oracle = VectorOracle(bench.tables.law(table), case.operator, strict=bench.strict, casts=casts)
    return oracle, casts
