"""Implementations that the pages permit: every latitude alone, any two that can meet, and strict IEEE 754.

Each must be CONFORMANT without ``--strict``; :class:`StrictIeee` with it as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from dmlcts.suites.mutants.permitted.approximate import PERMITTED_APPROXIMATE
from dmlcts.suites.mutants.permitted.casting import (
    Float16OverflowSaturates,
    OutOfRangeIsIndefinite,
    OutOfRangeIsZero,
    OutOfRangeSaturates,
    OutOfRangeWraps,
    ThresholdMaximumSaturates,
    ThresholdMaximumWraps,
    ThresholdMinRoundedDown,
    ThresholdMinRoundedToNearest,
    ThresholdMinRoundedUp,
)
from dmlcts.suites.mutants.permitted.descriptions import (
    PERMITTED_TOGETHER,
    LaterLevelsAccepted,
    LaterLevelsAcceptedAtLevel1,
    Level10,
    Level21,
    Level30,
    Level50,
    Level62,
    OverlappingOutputRefused,
    PaddingCleared,
    UnlistedConditionsAccepted,
    UnlistedTruthAccepted,
    UnlistedTypesAccepted,
    ZeroOutputStrideRefused,
)
from dmlcts.suites.mutants.permitted.exact import PERMITTED_EXACT
from dmlcts.suites.mutants.permitted.integer_scaling import arithmetics
from dmlcts.suites.mutants.permitted.nans import (
    NanBoundGivesNan,
    NanBoundIgnored,
    NanBoundIsZero,
    NanInputGivesMax,
    NanInputGivesMin,
    NanInputGivesNan,
    NanMaxGivesMin,
    NansOfManyPatterns,
    NumbersWin,
)
from dmlcts.suites.mutants.permitted.scaling import (
    Float16ResultsTowardZero,
    ScaleBiasByItsFactors,
    ScaleBiasCorrectlyRounded,
    ScaleBiasFactorsInFloat16,
    ScaleBiasFactorsInFloat16Fused,
    ScaleBiasFactorsInFloat16InFloat64,
    ScaleBiasFactorsTowardZero,
    ScaleBiasFused,
    ScaleBiasFusedTruncated,
    ScaleBiasInFloat16,
    ScaleBiasInFloat16Fused,
    ScaleBiasInFloat64,
    ScaleBiasSeparate,
    ScaleBiasTruncated,
)
from dmlcts.suites.mutants.permitted.steps import Permitted
from dmlcts.suites.mutants.permitted.subnormals import (
    ComparesFlushedTakesFirst,
    ComparesFlushedTakesSecond,
    FlushBounds,
    FlushBoundsKeepingSign,
    FlushEverything,
    FlushEverythingKeepingSign,
    FlushInputs,
    FlushInputsKeepingSign,
    FlushResults,
    FlushResultsKeepingSign,
    FlushTinyBeforeRounding,
)
from dmlcts.suites.mutants.permitted.turns import PERMITTED_BY_TURNS
from dmlcts.suites.mutants.permitted.zeros import (
    FirstZeroWins,
    SecondZeroWins,
    ZerosAreNegative,
    ZerosArePositive,
)
from dmlcts.suites.mutants.reference import Reference


class StrictIeee(Reference):
    """IEEE 754-2019 throughout: nothing flushed, -0 below +0, NaN propagates, FLOAT32 arithmetic rounded each time."""

    among: tuple[str, ...] = ()  # the first three, as a Permitted that names none


PERMITTED: tuple[type[Permitted], ...] = (
    FlushInputs,
    FlushInputsKeepingSign,
    FlushBounds,
    FlushBoundsKeepingSign,
    FlushResults,
    FlushResultsKeepingSign,
    FlushEverything,
    FlushEverythingKeepingSign,
    FlushTinyBeforeRounding,
    ComparesFlushedTakesFirst,
    ComparesFlushedTakesSecond,
    NanInputGivesNan,
    NansOfManyPatterns,
    NanInputGivesMin,
    NanInputGivesMax,
    NumbersWin,
    NanBoundIgnored,
    NanBoundGivesNan,
    NanMaxGivesMin,
    NanBoundIsZero,
    ZerosArePositive,
    ZerosAreNegative,
    FirstZeroWins,
    SecondZeroWins,
    ScaleBiasFactorsTowardZero,  # before those that it changes, as Python's order of base classes wants it
    ScaleBiasFused,
    ScaleBiasSeparate,
    ScaleBiasTruncated,
    ScaleBiasFusedTruncated,
    ScaleBiasInFloat64,
    ScaleBiasCorrectlyRounded,
    ScaleBiasByItsFactors,
    ScaleBiasFactorsInFloat16,
    ScaleBiasFactorsInFloat16Fused,
    ScaleBiasFactorsInFloat16InFloat64,
    ScaleBiasInFloat16,
    ScaleBiasInFloat16Fused,
    Float16ResultsTowardZero,
    *arithmetics(),
    OutOfRangeSaturates,
    OutOfRangeWraps,
    OutOfRangeIsIndefinite,
    OutOfRangeIsZero,
    ThresholdMaximumSaturates,
    ThresholdMaximumWraps,
    Float16OverflowSaturates,
    ThresholdMinRoundedUp,
    ThresholdMinRoundedDown,
    ThresholdMinRoundedToNearest,
    PaddingCleared,
    ZeroOutputStrideRefused,
    OverlappingOutputRefused,
    UnlistedTypesAccepted,
    UnlistedConditionsAccepted,
    UnlistedTruthAccepted,
    LaterLevelsAccepted,
    LaterLevelsAcceptedAtLevel1,
    Level10,
    Level21,
    Level30,
    Level50,
    Level62,
    *PERMITTED_APPROXIMATE,
    *PERMITTED_EXACT,
    *PERMITTED_BY_TURNS,
    *PERMITTED_TOGETHER,
)


def meet(first: type[Permitted], second: type[Permitted]) -> bool:
    """Whether two latitudes make a pair: they choose different things, and change the same kind of tensor."""
    apart = not set(first.choice) & set(second.choice)
    if first.among or second.among:  # of a few operators alone
        apart = apart and bool(set(first.among) & set(second.among))
    return apart and bool(set(first.touches) & set(second.touches)) and not (first.alone or second.alone)


def paired(first: type[Permitted], second: type[Permitted]) -> type[Permitted]:
    """A class with both latitudes; the first one's level counts where it chooses one."""
    level = next(
        (
            implementation.level
            for implementation in (first, second)
            if "level" in implementation.choice or implementation.among
        ),
        Reference.level,
    )
    members = {
        "__doc__": f"{first.__doc__} {second.__doc__}",
        "__module__": __name__,
        "level": level,
        "choice": first.choice + second.choice,
    }
    return type(f"{first.__name__}_{second.__name__}", (first, second), members)


def pairs() -> Iterator[type[Permitted]]:
    """Every two latitudes that can meet, as one class."""
    for first, second in itertools.combinations(PERMITTED, 2):
        if meet(first, second):
            yield paired(first, second)


def __getattr__(name: str) -> type[Permitted]:
    """An implementation by its name, a pair's being ``FlushInputs_ScaleBiasFused``, so that each is a backend."""
    known = {implementation.__name__: implementation for implementation in PERMITTED}
    if name in known:
        return known[name]
    first, _, second = name.partition("_")
    if first in known and second in known and meet(known[first], known[second]):
        return paired(known[first], known[second])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
