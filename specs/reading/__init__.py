"""Files of tables and the YAML in them: read with every position, so that whatever is wrong is told at its place.

Nothing here knows what a table says.
"""
