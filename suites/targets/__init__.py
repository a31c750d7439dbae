"""Where users of DirectML move: runtimes in environments of their own, each with the command that judges it."""
