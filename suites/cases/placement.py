"""Where the tensors of a case stand in the memory: offsets, order, gaps, and which share a region.

:func:`aliases_of` says which tensors an output may alias. Which in-place cases are tried is chosen by
``suites/conformance/tensors/test_aliasing.py``, and in covering arrays by :mod:`dmlcts.suites.combinations.building`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from dmlcts.specs import OperatorDesc, Region, TensorDesc, UsageError
from dmlcts.specs.computed import computed
from dmlcts.specs.description_data import DataReader
from dmlcts.specs.models import OperatorTable

_ALIGNMENT = 16
MOVED_FRONT = 1040
"""Bytes before the first tensor of a case that is moved: an odd multiple of 16."""
_MOST_BYTES = 1 << 32
_LATER_FLAGS = ("one_region", "inputs_turned", "overlapping")
_NAME = r"[A-Za-z][A-Za-z0-9]{0,40}"


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def aliases_of(table: OperatorTable, operator: OperatorDesc) -> tuple[str, ...]:
    """The inputs whose memory the output may be, where the description gives them the output's layout."""
    allowed = table.tensors[table.output].may_alias
    return tuple(name for name, tensor in operator.inputs.items() if name in allowed and tensor == operator.output)


@dataclass(frozen=True)
class Placement:
    """Where the tensors stand in the memory, in bytes; all counts but ``slack`` are multiples of 16.

    Attributes:
        front: guard bytes before the first tensor.
        gap: guard bytes between any two.
        tail: guard bytes after the last.
        in_place: the output is bound to an input's region.
        output_first: the output stands before the inputs.
        slack: bytes by which a bound region is larger than its tensor's total size.
        alias: in place, the input whose region it is; "" for the first one.
        one_region: inputs with equal descriptions are bound to one region, and hold the same elements.
        inputs_turned: the last input stands first.
        overlapping: out of place, each input begins 16 bytes behind the one before, in its region; what is stored last
            holds.
        apart: a tensor that stands behind all others, which stay where they are without it; "" for none.
    """

    front: int = 512
    gap: int = 256
    tail: int = 512
    in_place: bool = False
    output_first: bool = False
    slack: int = 0
    alias: str = ""
    one_region: bool = False
    inputs_turned: bool = False
    overlapping: bool = False
    apart: str = ""

    def __hash__(self) -> int:
        return self._hash

    @computed
    def _hash(self) -> int:
        return hash(
            (
                self.front,
                self.gap,
                self.tail,
                self.in_place,
                self.output_first,
                self.slack,
                self.alias,
                self.one_region,
                self.inputs_turned,
                self.overlapping,
                self.apart,
            )
        )

    def __reduce__(self) -> tuple[type[Placement], tuple[Any, ...]]:
        """The arguments alone: a hash holds in its own process only."""
        return Placement, tuple(self.to_json().values())

    @computed
    def moved(self) -> Placement:
        """The same with everything at another place of the memory."""
        return replace(self, front=MOVED_FRONT)

    def aliased(self, operator: OperatorDesc) -> str | None:
        """The name of the input whose region the output is bound to; ``None`` out of place."""
        return (self.alias or operator.input_name) if self.in_place else None

    def regions(self, operator: OperatorDesc) -> tuple[Mapping[str, Region], int]:
        """The region of each tensor by its name, and the size of the memory."""
        return _regions(self, tuple(operator.tensors.items()), operator.output_name)

    def placed(self, operator: OperatorDesc) -> tuple[Mapping[str, Region], int]:
        """As :meth:`regions`, found anew: for who keeps what follows."""
        return _placed(self, operator.tensors, operator.output_name)

    def to_json(self) -> dict[str, Any]:
        """The placement as plain data."""
        return {
            "front": self.front,
            "gap": self.gap,
            "tail": self.tail,
            "in_place": self.in_place,
            "output_first": self.output_first,
            "slack": self.slack,
            "alias": self.alias,
            "one_region": self.one_region,
            "inputs_turned": self.inputs_turned,
            "overlapping": self.overlapping,
            "apart": self.apart,
        }

    @classmethod
    def from_json(cls, reader: DataReader) -> Placement:
        """The placement that :meth:`to_json` wrote; what earlier versions did not write is as it was then.

        Raises:
            UsageError: it is not one.
        """
        sizes: dict[str, Any] = {name: reader.number(name, _MOST_BYTES) for name in ("front", "gap", "tail", "slack")}
        if any(sizes[name] % _ALIGNMENT for name in ("front", "gap", "tail")):
            raise UsageError("placement.front, gap and tail are not multiples of 16", "round them up")
        flags = {name: reader.flag(name) for name in ("in_place", "output_first")}
        flags |= {name: reader.flag(name) for name in _LATER_FLAGS if name in reader.data}
        alias, apart = (reader.text(name, _NAME) if reader.data.get(name) else "" for name in ("alias", "apart"))
        return cls(**sizes, **flags, alias=alias, apart=apart)


@lru_cache(maxsize=1 << 14)  # a case is asked several times, and many cases have the same tensors
def _regions(
    placement: Placement, tensors: tuple[tuple[str, TensorDesc], ...], output: str
) -> tuple[Mapping[str, Region], int]:
    return _placed(placement, dict(tensors), output)


def _placed(placement: Placement, tensors: Mapping[str, TensorDesc], output: str) -> tuple[Mapping[str, Region], int]:
    inputs = [name for name in tensors if name != output]
    order = inputs[::-1] if placement.inputs_turned else list(inputs)
    alias = (placement.alias or (inputs[0] if inputs else output)) if placement.in_place else None
    if alias is None:
        order = [output, *order] if placement.output_first else [*order, output]
    regions: dict[str, Region] = {}
    position, most, before = placement.front, 0, output
    for name in order:
        tensor = tensors[name]
        if placement.overlapping and alias is None and output not in (name, before):
            position = regions[before].offset + _ALIGNMENT
        before = name
        if placement.one_region and name != output:
            shared = next(
                (placed_name for placed_name in regions if placed_name != output and tensors[placed_name] == tensor),
                None,
            )
            if shared is not None:
                regions[name] = regions[shared]
                continue
        size = tensor.total_size_in_bytes
        if alias is not None and (name == alias or (placement.one_region and tensors[alias] == tensor)):
            size = max(size, tensors[output].total_size_in_bytes)
        regions[name] = region = Region(position, size + placement.slack)
        most = max(most, region.end)
        position = _aligned(most) + placement.gap
    if placement.apart in regions:
        regions[placement.apart] = Region(position, regions[placement.apart].size)
        most = max(region.end for region in regions.values())
    if alias is not None:
        regions[output] = regions[alias]
    return MappingProxyType(regions), _aligned(most) + placement.tail
