"""Selftests of the ``wgpu`` backend, with what measures it on a device.

They need a Vulkan driver and skip without.
"""
