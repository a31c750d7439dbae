"""The implementation under test in a process of its own: whatever it does to itself, the run goes on.

:class:`~dmlcts.suites.isolation.proxy.IsolatedBackend` implements the backend contract over a worker process; the
memory of a dispatch is shared between the two, everything else travels as small checked messages over two pipes.
"""
