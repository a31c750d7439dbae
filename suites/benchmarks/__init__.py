"""What judging, isolation and runs cost, measured in one run beside the machine's own yardsticks.

Nothing here decides anything.
"""
