"""Where this backend keeps what it has fetched and compiled for a user: in the cache of all of dmlcts."""

from dmlcts.specs.cache import cache_folder

__all__ = ["cache_folder"]
