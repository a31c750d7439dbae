"""How an implementation is probed: case generation, the properties, the pytest plugin and the command line."""
