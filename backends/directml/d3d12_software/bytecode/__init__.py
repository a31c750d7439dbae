"""Shaders in the bytecode of shader model 5, as Windows' library sends them, rewritten as DXIL.

``codegen`` gives the DXIL its meaning, as it does for shaders that come as DXIL.
"""
