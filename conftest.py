"""Load the conformance plugin; everything else lives in ``suites``."""

pytest_plugins = ["dmlcts.suites.plugin"]
