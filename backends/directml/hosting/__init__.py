"""Which Direct3D device the library runs on: the machine's own adapter, or the software one.

The software device itself lives in ``d3d12_software``.
"""
