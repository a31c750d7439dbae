"""Values that cannot be hashed as part of a cache's key: by which object they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, init=False, eq=False)
class ByIdentity(Generic[T]):
    """An object that equals another of its kind only where both hold the very same value.

    It keeps the value alive, so that no other object can take its identity while a cache knows it.
    """

    value: T

    def __init__(self, value: T) -> None:
        self.__dict__["value"] = value  # as object.__setattr__ would, in half the time: caches make many

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)
