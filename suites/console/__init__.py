"""What every command prints through, and the exit codes.

Text from outside passes here before it reaches a terminal or a log.
"""
