"""Plans: where the elements of a case stand in its memory, found once for all types and operators that share them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dmlcts.specs import OperatorDesc, Region
from dmlcts.suites.batches.spots import MOST_BYTES, Spot
from dmlcts.suites.cases.bench import Bench
from dmlcts.suites.cases.case import Case
from dmlcts.suites.cases.placement import Placement

_PAGE = 4096
_MOST_ELEMENTS = 1 << 16
_MOST_KEPT_BYTES = 192 << 20


@dataclass(frozen=True, eq=False, init=False)
class Plan:
    """Where everything of a case stands, without its values.

    Attributes:
        regions: the regions by tensor name, in bytes of the case's memory.
        size: bytes of the memory.
        room: bytes of the slot that the memory takes in an arena: whole pages.
        count: logical elements of the output.
        read: by tensor name, where the element for each of the output's stands.
        stored: by input name, where the elements of its stream are put, in the stream's order.
        in_place: whether the output stands where an input does.
        noted: what others keep of the plan, by keys of theirs.
    """

    regions: Mapping[str, Region]
    size: int
    room: int
    count: int
    read: dict[str, Spot]
    stored: dict[str, Spot]
    in_place: bool
    noted: dict[Hashable, Any] = field(default_factory=dict)

    def __init__(
        self,
        regions: Mapping[str, Region],
        size: int,
        room: int,
        count: int,
        read: dict[str, Spot],
        stored: dict[str, Spot],
        in_place: bool,
    ) -> None:
        put = self.__dict__  # as object.__setattr__ would, in half the time
        put["regions"] = regions
        put["size"] = size
        put["room"] = room
        put["count"] = count
        put["read"] = read
        put["stored"] = stored
        put["in_place"] = in_place
        put["noted"] = {}

    @property
    def nbytes(self) -> int:
        """About how many bytes the plan takes."""
        return 512 + sum(spot.nbytes for spot in (*self.read.values(), *self.stored.values()))


def _made(operator: OperatorDesc, placement: Placement) -> Plan | None:
    count = operator.output.element_count
    if not 0 < count <= _MOST_ELEMENTS:
        return None
    regions, size = placement.placed(operator)
    if size > MOST_BYTES:
        return None
    read, stored = {}, {}
    for name, tensor in operator.tensors.items():
        region = regions[name]
        if tensor.element_count == count:
            read[name] = Spot.of(region, tensor)
        elif tensor.element_count == 1:
            read[name] = Spot.repeated(region, tensor, count)
        else:
            return None
        if name != operator.output_name:
            repeats = 0 in tensor.element_strides or tensor.element_count != count
            stored[name] = Spot.of_distinct(region, tensor) if repeats else read[name]
    return Plan(regions, size, -(-size // _PAGE) * _PAGE, count, read, stored, placement.in_place)


class Plans:
    """The plans that were made, those that were not asked for longest forgotten beyond some megabytes."""

    def __init__(self, most_bytes: int = _MOST_KEPT_BYTES) -> None:
        self._kept: OrderedDict[Hashable, Plan | None] = OrderedDict()
        self._bytes = 0
        self._most = most_bytes

    def of(self, operator: OperatorDesc, placement: Placement) -> Plan | None:
        """The plan of a description's tensors; ``None`` where they are too large for a batch."""
        tensors = operator.tensors
        key: tuple[Hashable, ...] = (placement, *tensors, *[tensor.layout for tensor in tensors.values()])
        if placement.one_region:  # which tensors of one type alone share
            key = (*key, *[tensor.data_type for tensor in tensors.values()])
        try:
            plan = self._kept[key]
        except KeyError:
            plan = self._kept[key] = _made(operator, placement)
            self._bytes += 256 if plan is None else plan.nbytes
            while self._bytes > self._most:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= 256 if gone is None else gone.nbytes
            return plan
        self._kept.move_to_end(key)
        return plan


def plan_on(bench: Bench, case: Case) -> Plan | None:
    """The plan of a case's tensors, among those that a bench keeps; ``None`` where they are too large for a batch."""
    if bench.plans is None:
        bench.plans = Plans()
    plan: Plan | None = bench.plans.of(case.operator, case.placement)
    return plan
