"""The command line: options, help, messages; a module for each group of commands.

What a command does lives in the other rooms.
"""
