"""What a shader container holds: parts, bitcode, resources, the intermediate representation.

Nothing here makes native code.
"""
