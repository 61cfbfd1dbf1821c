"""Stress tests with random kills, interrupts, disk faults and damaged input, and their counts.

``make campaign`` runs all of them in about an hour, ``python -m campaign PART=COUNT ...`` some.
``--seed`` draws other cases than the day's; ``--minutes`` sets the time limit. The tests run a few
cases of every part.
"""
