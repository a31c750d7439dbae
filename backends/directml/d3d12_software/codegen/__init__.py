"""From the intermediate representation to native code, with LLVM, and its execution in groups.

What a container holds is read in ``shaders``.
"""
