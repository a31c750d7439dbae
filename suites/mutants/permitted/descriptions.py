"""Which descriptions and bindings are accepted, which level is claimed, and what becomes of padding."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dmlcts.backends import DeviceLost, ExecutionFailed, InvalidArgument
from dmlcts.specs import OperatorDesc, Region, TensorDesc
from dmlcts.specs.models import OperatorTable
from dmlcts.specs.rules import Violation
from dmlcts.suites.mutants.permitted.steps import Permitted
from dmlcts.suites.mutants.reference import Array

Bindings = Mapping[str, Region]
_MOST_PLACES = 1 << 20  # of so many elements at most it is looked whether they overlap


class PaddingCleared(Permitted):
    """All of the output's total size is written, zeros where no element stands."""

    choice = ("padding",)

    def write(self, memory: Array, region: Region, tensor: TensorDesc, values: Array) -> None:
        """Clear, then write."""
        memory[region.offset : region.offset + tensor.total_size_in_bytes] = 0
        super().write(memory, region, tensor, values)


class ZeroOutputStrideRefused(Permitted):
    """An output with a stride of zero is refused."""

    choice = ("output stride",)

    def refuses(self, operator: OperatorDesc) -> str:
        """Look for zeros."""
        zero = 0 in (operator.output.strides or ())
        return super().refuses(operator) or ("the output has a stride of zero" if zero else "")


class OverlappingOutputRefused(Permitted):
    """An output two of whose elements stand at one place is refused."""

    choice = ("output stride",)

    def refuses(self, operator: OperatorDesc) -> str:
        """Count the places."""
        output = operator.output
        if output.strides is None or output.element_count > _MOST_PLACES:
            return super().refuses(operator)
        places = np.zeros(1, np.int64)
        for size, stride in zip(output.sizes, output.strides, strict=True):
            places = np.add.outer(places, np.arange(size) * stride).ravel()
        overlap = np.unique(places).size < places.size
        return super().refuses(operator) or ("elements of the output overlap" if overlap else "")


class LaterLevelsAccepted(Permitted):
    """Level 3.0 is claimed, and what later levels list is accepted and right."""

    choice = ("level",)
    level = "3.0"

    def overlooks(self, violation: Violation) -> bool:
        """What a later level lists."""
        return violation.clause.endswith(".support.later-level") or super().overlooks(violation)


class LaterLevelsAcceptedAtLevel1(LaterLevelsAccepted):
    """Level 1.0 is claimed, and what later levels list is accepted and right, ROUND too."""

    level = "1.0"


class UnlistedTypesAccepted(Permitted):
    """Types that no level lists are accepted and right: ROUND on integers, THRESHOLD on 64 bits, all on FLOAT64."""

    choice = ("unlisted",)

    def overlooks(self, violation: Violation) -> bool:
        """Types that no level lists."""
        return violation.clause.endswith(".support.unlisted") or super().overlooks(violation)

    def round(self, x: Array, mode: str) -> Array:
        """Integers are whole already."""
        return x if x.dtype.kind != "f" else super().round(x, mode)


class UnlistedConditionsAccepted(UnlistedTypesAccepted):
    """IF takes conditions of every type, and is right on them."""

    level = "6.4"
    alone = True
    among = ("IF",)


class UnlistedTruthAccepted(UnlistedTypesAccepted):
    """LOGICAL_LESS_THAN gives 1 and 0 in every type."""

    level = "6.4"
    alone = True
    among = ("LOGICAL_LESS_THAN",)


class Level10(Permitted):
    """Level 1.0 is claimed, and what later levels list is refused."""

    choice = ("level",)
    level = "1.0"


class Level21(Permitted):
    """Level 2.1 is claimed, and what later levels list is refused."""

    choice = ("level",)
    level = "2.1"


class Level30(Permitted):
    """Level 3.0 is claimed, and what later levels list is refused."""

    choice = ("level",)
    level = "3.0"


class Level50(Permitted):
    """Level 5.0 is claimed."""

    choice = ("level",)
    level = "5.0"


class Level62(Permitted):
    """Level 6.2 is claimed."""

    choice = ("level",)
    level = "6.2"


class _AllInOneRegion(Permitted):
    """The base: something else happens where both inputs and the output of such an operator are one region."""

    level = "6.4"
    choice = ("all in one region",)
    among = ("SUBTRACT", "BIT_SHIFT_LEFT", "LOGICAL_AND")  # three for all: each is judged by all of its tests

    def dispatch_exact(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """As ever, but there."""
        single_region = len(bindings) > 2 and len(set(bindings.values())) == 1
        if single_region and table.alias_at_once(*operator.inputs) == "one":
            self.together(operator, table, memory, bindings)
        else:
            super().dispatch_exact(operator, table, memory, bindings)

    def together(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """What happens there."""
        raise NotImplementedError


class AllInOneRegionRefused(_AllInOneRegion):
    """A dispatch with both inputs and the output in one region fails, where the output may alias one of them."""

    def together(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """Refuse it, as an execution that fails."""
        raise ExecutionFailed("the output may alias one of the inputs")


class AllInOneRegionIsAnArgument(AllInOneRegionRefused):
    """It is refused as an invalid argument."""

    def together(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """Refuse it."""
        raise InvalidArgument("the output may alias one of the inputs")


class AllInOneRegionRemovesTheDevice(AllInOneRegionRefused):
    """The device is removed, as DirectML's is by bindings that it does not take."""

    def together(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """Remove it."""
        raise DeviceLost("removed by an invalid binding")


class AllInOneRegionOtherwise(_AllInOneRegion):
    """Nothing is written there: the elements stay as they are."""

    def together(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """Leave them."""


PERMITTED_TOGETHER: tuple[type[Permitted], ...] = (
    AllInOneRegionRefused,
    AllInOneRegionIsAnArgument,
    AllInOneRegionRemovesTheDevice,
    AllInOneRegionOtherwise,
)
