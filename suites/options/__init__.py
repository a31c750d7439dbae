"""The options of a run and of every command: one table, and what click and pytest make of it."""
