"""ROUND with the classic mistakes: wrong ties, wrong modes, conversions through narrower types, lost specials."""

from __future__ import annotations

import numpy as np

from dmlcts.suites.mutants.reference import Array, Reference

EVEN, ZERO, AWAY = "HALVES_TO_NEAREST_EVEN", "TOWARD_ZERO", "TOWARD_INFINITY"
DIRECTML = "DirectML's own FLOAT32 kernel, which computes round_z(FMad(sign(x), 0.5, x)) (directml_runtime.md, 7)"


def halves(x: Array) -> Array:
    """Which elements lie half-way between two integers."""
    return np.abs(x - np.trunc(x)) == 0.5


def away(x: Array) -> Array:
    """The next integer away from zero."""
    return np.trunc(x) + np.copysign(np.ones_like(x), x)


class _Mode(Reference):
    """One mode is wrong, the other two are right."""

    mode = EVEN

    def wrong(self, x: Array) -> Array:
        raise NotImplementedError

    def round(self, x: Array, mode: str) -> Array:
        return self.wrong(x).astype(x.dtype) if mode == self.mode else super().round(x, mode)


class _Nearest(_Mode):
    clause = "round.nearest-even"


class _Truncation(_Mode):
    mode = ZERO
    clause = "round.toward-zero"


class _HalvesAway(_Mode):
    mode = AWAY
    clause = "round.toward-infinity"


# Ties to even.


class NearestHalvesUp(_Nearest):
    """floor(x + 0.5): 0.5 gives 1 and -1.5 gives -1."""

    def wrong(self, x: Array) -> Array:
        return np.floor(x + x.dtype.type(0.5))


class NearestHalvesAway(_Nearest):
    """Halves go away from zero, as C's round() has it."""

    def wrong(self, x: Array) -> Array:
        return self.half_away(x)


class NearestHalvesTowardZero(_Nearest):
    """Halves go toward zero."""

    def wrong(self, x: Array) -> Array:
        return np.where(halves(x), np.trunc(x), np.rint(x))


class NearestHalvesOdd(_Nearest):
    """Halves go to the odd neighbour."""

    def wrong(self, x: Array) -> Array:
        return np.where(halves(x), 2 * x - np.rint(x), np.rint(x))


class OnlyOneHalfIsWrong(_Nearest):
    """0.5 and -0.5 go away from zero, all other halves to even."""

    def wrong(self, x: Array) -> Array:
        return np.where(np.abs(x) == 0.5, np.sign(x), np.rint(x))


class NegativeHalvesAway(_Nearest):
    """Halves are even for positive numbers, away from zero for negative ones."""

    clause = "round.odd"

    def wrong(self, x: Array) -> Array:
        return np.where(halves(x) & (x < 0), away(x), np.rint(x))


class PositiveHalvesTowardZero(_Nearest):
    """Halves of positive numbers are truncated."""

    def wrong(self, x: Array) -> Array:
        return np.where(halves(x) & (x > 0), np.trunc(x), np.rint(x))


class HalvesOfOneExponentAway(_Nearest):
    """Halves between 64 and 128 go away from zero."""

    def wrong(self, x: Array) -> Array:
        mask = (np.abs(x) > 64) & (np.abs(x) < 128)
        return np.where(halves(x) & mask, away(x), np.rint(x))


class LastHalvesAway(_Nearest):
    """Halves of the greatest exponent that has any go away from zero: from 2^22 on FLOAT32, 2^9 on FLOAT16."""

    def wrong(self, x: Array) -> Array:
        last = np.abs(x) >= 2.0 ** (np.finfo(x.dtype).nmant - 1)
        return np.where(halves(x) & last, away(x), np.rint(x))


class MagicNumber(_Nearest):
    """(x + 1.5 * 2^23) - 1.5 * 2^23 for all x, without a guard for the large ones."""

    def wrong(self, x: Array) -> Array:
        magic = x.dtype.type(1.5 * 2.0 ** np.finfo(x.dtype).nmant)
        return (x + magic) - magic


class MagicNumberOfOneSign(_Nearest):
    """(x + 2^23) - 2^23, which keeps the halves of negative x."""

    def wrong(self, x: Array) -> Array:
        magic = x.dtype.type(2.0 ** np.finfo(x.dtype).nmant)
        return np.where(np.abs(x) < magic, (x + magic) - magic, x)


class NearestThroughInt32(_Nearest):
    """Rounds by way of INT32, which saturates."""

    def wrong(self, x: Array) -> Array:
        whole = np.clip(np.rint(x.astype(np.float64)), -(2.0**31), 2.0**31 - 1)
        return np.where(np.isfinite(x), whole, x)


class NearestWraps(_Nearest):
    """Results wrap modulo 2^32, as JavaScript's x | 0 does."""

    clause = "round.monotone"

    def wrong(self, x: Array) -> Array:
        whole = np.rint(x.astype(np.float64))
        return np.where(np.isfinite(x), np.fmod(np.where(np.isfinite(x), whole, 0), 2.0**32), x)


class Float32ThroughFloat16(Reference):
    """FLOAT32 is narrowed to FLOAT16 before it is rounded."""

    clause = "round.nearest-even"

    def round(self, x: Array, mode: str) -> Array:
        narrow = x.astype(np.float16)
        return super().round(np.where(np.isinf(narrow), x, narrow.astype(x.dtype)), mode)


class Float16ThroughInt16(Reference):
    """FLOAT16 is rounded by way of INT16, which saturates."""

    clause = "round.nearest-even"

    def round(self, x: Array, mode: str) -> Array:
        whole = super().round(x, mode)
        if x.dtype != np.float16:
            return whole
        return np.where(np.isfinite(x), np.clip(whole, np.float16(-32768), np.float16(32752)), whole)


# Truncation.


class TruncationIsFloor(_Truncation):
    """Negative numbers are rounded down."""

    def wrong(self, x: Array) -> Array:
        return np.floor(x)


class TruncationThroughInt32(_Truncation):
    """Truncates by way of INT32; what does not fit gives -2147483648, as on x86."""

    def wrong(self, x: Array) -> Array:
        whole = np.trunc(x.astype(np.float64))
        return np.where(np.isfinite(x) & (np.abs(whole) >= 2.0**31), -(2.0**31), whole)


class TruncationThroughUint32(_Truncation):
    """Truncates by way of UINT32, which makes negative numbers zero."""

    def wrong(self, x: Array) -> Array:
        return np.where(np.isfinite(x) & (x < 0), 0, np.trunc(x))


class TruncationOfLargeShiftWraps(_Truncation):
    """Masks the fraction's bits with a shift count modulo 32, so that numbers from 2^32 on lose digits."""

    def wrong(self, x: Array) -> Array:
        if x.dtype != np.float32:
            return np.trunc(x)
        bits = x.view(np.uint32)
        exponent = ((bits >> np.uint32(23)) & np.uint32(255)).astype(np.int64) - 127
        mask = np.uint32(0x7FFFFF) >> (exponent & 31).astype(np.uint32)
        masked = (bits & ~np.where(exponent < 32, np.uint32(0), mask)).view(np.float32)
        return np.where((exponent < 32) | ~np.isfinite(x), np.trunc(x), masked)


class TruncationKeepsSmallFractions(_Truncation):
    """Numbers between -1 and 1 are left as they are."""

    clause = "round.toward-zero"

    def wrong(self, x: Array) -> Array:
        return np.where(np.abs(x) < 1, x, np.trunc(x))


# Halves away from zero.


class AwayIsHalvesUp(_HalvesAway):
    """floor(x + 0.5): -2.5 gives -2."""

    def wrong(self, x: Array) -> Array:
        return np.floor(x + x.dtype.type(0.5))


class AwayIsTruncatedSum(_HalvesAway):
    """trunc(x +- 0.5): 0.49999997 gives 1 and 8388609 gives 8388610, because the sum is rounded."""

    modelled_on = DIRECTML

    def wrong(self, x: Array) -> Array:
        return np.trunc(x + np.copysign(x.dtype.type(0.5), x))


class AwayJustBelowHalf(_HalvesAway):
    """Only the number just below one half is wrong: it gives 1."""

    modelled_on = DIRECTML

    def wrong(self, x: Array) -> Array:
        below = np.nextafter(x.dtype.type(0.5), x.dtype.type(0))
        return np.where(np.abs(x) == below, np.sign(x), self.half_away(x))


class AwayMovesOddIntegers(_HalvesAway):
    """Only odd integers from 2^23 to 2^24 are wrong (2^10 to 2^11 on FLOAT16): they become even."""

    modelled_on = DIRECTML

    def wrong(self, x: Array) -> Array:
        odd = (np.abs(x) >= 2.0 ** np.finfo(x.dtype).nmant) & (np.fmod(x, x.dtype.type(2)) != 0) & np.isfinite(x)
        return np.where(odd, x + np.sign(x), self.half_away(x))


class AwayIsCeiling(_HalvesAway):
    """TOWARD_INFINITY taken at its name: the ceiling."""

    def wrong(self, x: Array) -> Array:
        return np.ceil(x)


class AwayForAll(_HalvesAway):
    """All fractions go away from zero, not halves only."""

    def wrong(self, x: Array) -> Array:
        return np.copysign(np.ceil(np.abs(x)), x)


class AwayIsOneMore(_HalvesAway):
    """trunc(x) + sign(x): integers move as well, and move again."""

    clause = "round.idempotent"

    def wrong(self, x: Array) -> Array:
        return np.where(np.isfinite(x), np.trunc(x) + np.sign(x), x)


class AwayLosesTheSign(_HalvesAway):
    """The sign that was taken off before the rounding is not put back."""

    def wrong(self, x: Array) -> Array:
        return np.abs(self.half_away(x))


class AwayHalvesOfNegativesEven(_HalvesAway):
    """Halves of negative numbers go to even."""

    def wrong(self, x: Array) -> Array:
        return np.where(x < 0, np.rint(x), self.half_away(x))


# Modes.


class _Modes(Reference):
    """Modes taken for one another."""

    taken: dict[str, str]

    def round(self, x: Array, mode: str) -> Array:
        return super().round(x, self.taken.get(mode, mode))


class NearestAndTruncationSwapped(_Modes):
    """HALVES_TO_NEAREST_EVEN and TOWARD_ZERO stand for each other."""

    clause = "round.toward-zero"
    taken = {EVEN: ZERO, ZERO: EVEN}  # noqa: RUF012  # a constant of the class


class NearestAndAwaySwapped(_Modes):
    """HALVES_TO_NEAREST_EVEN and TOWARD_INFINITY stand for each other."""

    clause = "round.toward-infinity"
    taken = {EVEN: AWAY, AWAY: EVEN}  # noqa: RUF012  # a constant of the class


class TruncationAndAwaySwapped(_Modes):
    """TOWARD_ZERO and TOWARD_INFINITY stand for each other."""

    clause = "round.toward-zero"
    taken = {ZERO: AWAY, AWAY: ZERO}  # noqa: RUF012  # a constant of the class


class ModeIgnored(_Modes):
    """Every mode is HALVES_TO_NEAREST_EVEN."""

    clause = "round.toward-infinity"
    taken = {ZERO: EVEN, AWAY: EVEN}  # noqa: RUF012  # a constant of the class


class Float16ModeIgnored(Reference):
    """On FLOAT16 TOWARD_INFINITY is HALVES_TO_NEAREST_EVEN."""

    clause = "round.toward-infinity"

    def round(self, x: Array, mode: str) -> Array:
        return super().round(x, EVEN if mode == AWAY and x.dtype == np.float16 else mode)
