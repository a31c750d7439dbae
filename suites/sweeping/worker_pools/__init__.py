"""Who works on a sweep's blocks: processes of this machine, or the workers of a Dask cluster.

The work on one block lives in ``blocks``.
"""
