"""Microsoft's library and what loading it needs: where it is, fetching it, options, signals, the cache.

Its interfaces are described in ``abi``.
"""
