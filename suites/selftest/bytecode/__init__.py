"""Selftests of the shaders in the bytecode of shader model 5, one instruction and one block at a time."""
