"""Files of tables and the YAML in them: read with every position, so that whatever is wrong is reported at its place.

Nothing here knows what a table says.
"""
