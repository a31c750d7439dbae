"""Profiles: how much a run generates. The one home of what quick leaves out and full takes.

What a quick run leaves out of one signature another one takes, or a kind of case that others have as well; each field
says which.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """How much is generated.

    Attributes:
        name: what ``--profile`` takes.
        examples: how many cases a test draws.
        covering: whether layouts, memory and state are tried on signatures that stand for all.
        shares_out: whether cases on which the type has no bearing are shared out among an operator's signatures; where
            there are many, those of layouts and scales too.
        combinations: the profile of the table of factors whose combinations are covered.
        every_partner: whether each number is tried beside every partner that a test knows, and not beside some.
        every_place: whether a layout that others have as well is tried at each rank and place, and not by turns.
        kernels_looked_at: how many of many kernels that are alive are judged.
        largest_on_every_type: whether the largest tensors are of every type, and not of that of the fewest bytes.
        bulk: how many seeded values are judged at once.
        bulk_scaled: how many with a ScaleBias.
        bulk_in_place: how many in place.
        powers_of_two: below which power lengths around it are tried.
        far: how many elements lie between two of a tensor with a wide stride.
        programs: how many programs of steps are drawn for an operator, shared out among its signatures; with none the
            test that draws them is not there.
        sweep_samples: how many samples a sweep draws where it cannot take all.
    """

    name: str
    examples: int
    covering: bool = False
    shares_out: bool = False
    combinations: str = "full"
    every_partner: bool = True
    every_place: bool = True
    kernels_looked_at: int = 3
    largest_on_every_type: bool = True
    bulk: int = 1_000_003
    bulk_scaled: int = 100_003
    bulk_in_place: int = 300_007
    powers_of_two: int = 18
    far: int = 1 << 24
    programs: int = 0
    sweep_samples: int = 1 << 28


QUICK = Profile(
    "quick",
    examples=8,
    covering=True,
    shares_out=True,
    combinations="quick",
    every_partner=False,
    every_place=False,
    kernels_looked_at=1,
    largest_on_every_type=False,
    bulk=50_021,
    bulk_scaled=20_011,
    bulk_in_place=70_001,
    powers_of_two=16,
    far=1 << 23,
    sweep_samples=1 << 24,
)
FULL = Profile("full", examples=150, programs=400)
CERTIFICATION = Profile("certification", examples=300, programs=800)

PROFILES = {profile.name: profile for profile in (QUICK, FULL, CERTIFICATION)}
