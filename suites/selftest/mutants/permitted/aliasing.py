"""What the pages leave open of all tensors in one region, where the output may alias one of the inputs."""

from __future__ import annotations

from collections.abc import Mapping

from dmlcts.backends import DeviceLost, ExecutionFailed, InvalidArgument
from dmlcts.specs import OperatorDesc, Region
from dmlcts.specs.models import OperatorTable
from dmlcts.suites.selftest.mutants.permitted.steps import Permitted
from dmlcts.suites.selftest.mutants.reference import Array

Bindings = Mapping[str, Region]


class _AllInOneRegion(Permitted):
    """The base: something else happens where both inputs and the output of such an operator are one region."""

    level = "6.4"
    choice = ("all in one region",)
    among = ("SUBTRACT", "BIT_SHIFT_LEFT", "LOGICAL_AND")  # three for all: each is judged by all of its tests

    def dispatch_exact(self, operator: OperatorDesc, table: OperatorTable, memory: Array, bindings: Bindings) -> None:
        """As ever, but there."""
        one = len(bindings) > 2 and len(set(bindings.values())) == 1
        if one and table.alias_at_once(*operator.inputs) == "one":
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
    AllInOneRegionRefused, AllInOneRegionIsAnArgument, AllInOneRegionRemovesTheDevice, AllInOneRegionOtherwise,
)  # fmt: skip
