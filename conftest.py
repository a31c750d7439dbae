"""Load the conformance plugin and the sizes of the selftests; everything else lives in ``suites``."""

pytest_plugins = ["dmlcts.suites.plugin", "dmlcts.suites.selftest.sizes"]
