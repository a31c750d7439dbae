"""Whether a block's totals account for each of its elements; totals that do not are left out.

Totals come over pipes, over a network and out of journals. A sum that does not come out right there would become a
verdict that nobody can explain, so it is refused where it comes in.
"""

from __future__ import annotations

from dmlcts.suites.sweeping.blocks.targets import Block, Target
from dmlcts.suites.sweeping.blocks.totals import Totals

_BOUNDS_ELEMENTS = 1 << 16


def unaccounted(totals: Totals, target: Target, block: Block) -> str:
    """What is missing or too much in the totals of a block, in words; "" where all of it adds up."""
    due = target.elements_in(block)
    judged = totals.exact + totals.equal + totals.other + totals.wrong
    amiss = bool(totals.stopped or totals.strays or totals.altered or totals.unwritten)
    wanted = {
        "it is one block": totals.blocks == 1,
        f"it has {due} elements, of which {totals.elements} were judged and {totals.unjudged} not": (
            totals.elements + totals.unjudged == due
        ),
        f"of its {totals.elements} judged elements {judged} were found right or wrong": judged == totals.elements,
        f"the classes of its {totals.elements} judged elements": sum(totals.classes.values()) == totals.elements,
        f"the classes of its {totals.wrong} wrong elements": sum(totals.wrong_classes.values()) == totals.wrong,
        f"the exponents of its {totals.wrong} wrong elements": sum(totals.exponents.values()) == totals.wrong,
        f"the fractions of its {totals.wrong} wrong elements": sum(totals.fractions.values()) == totals.wrong,
        f"examples of its {totals.wrong} wrong elements": bool(totals.suspects) == bool(totals.wrong),
        f"{totals.unwritten} elements that were not written": totals.unwritten <= totals.elements,
        "why elements were not judged": bool(totals.stopped) or not totals.unjudged,
        "what was amiss with its tensors": bool(totals.troubles) == amiss,
        "whether it failed": totals.failing == int(not totals.clean),
        "where its examples stand": _placed(totals, target, block),
    }
    return next((f"{figure}, which does not come out" for figure, holds in wanted.items() if not holds), "")


def _placed(totals: Totals, target: Target, block: Block) -> bool:
    """Whether suspects and troubles lie in the block, and suspects are patterns of its types."""
    inputs, outputs = 1 << target.input_bits, 1 << (8 * target.output_type.itemsize)
    most = max(block.count, _BOUNDS_ELEMENTS)
    places = [(suspect.start, suspect.count) for suspect in totals.suspects]
    places += [(trouble.start, trouble.count) for trouble in totals.troubles]
    return all(0 <= start - block.start < block.count and 0 < count <= most for start, count in places) and all(
        suspect.bits < inputs and suspect.got < outputs for suspect in totals.suspects
    )
