"""The ``wgpu`` backend: the operators as WGSL compute shaders on any Vulkan, Metal or D3D12 adapter.

What fails here is the driver's arithmetic, naga's (the shader compiler inside wgpu), or these shaders';
``-o dump=DIR`` writes them down, ``-o builtin=yes`` and the emulations change them one idea at a time.
"""

from dmlcts.backends.wgpu.device import WgpuBackend

__all__ = ["WgpuBackend"]
