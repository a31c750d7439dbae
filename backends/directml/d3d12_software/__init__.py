"""Compute shaders in DXIL on the processor: the arithmetic under the software D3D12 adapter.

``ShaderCompiler`` takes what Direct3D 12 calls a shader container, translates the DXIL in it to native code
with LLVM, and gives a ``Shader`` that runs dispatches over plain memory. What Direct3D leaves open about
floating-point arithmetic is a ``Personality``.
"""
