"""What a run shows while it runs: a line on a terminal, a line now and then in a log, and the first failure at once.

:mod:`.watching` follows the run, :mod:`.status_line` draws the line, :mod:`.estimate` computes the time that is left.
"""
