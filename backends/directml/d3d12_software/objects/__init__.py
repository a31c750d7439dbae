"""Direct3D 12 objects in software: device, resources, command lists, root signatures.

Shaders are translated in ``codegen``.
"""
