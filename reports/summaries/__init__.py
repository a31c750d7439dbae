"""What several views say alike: overview, causes, wording, strangers' characters, drawings.

Nothing here writes a file.
"""
