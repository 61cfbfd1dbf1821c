"""Kills, interrupts, disk faults and damaged input, over and over, with counts.

``make campaign`` runs all of it in about an hour; ``python -m campaign PART=COUNT ...`` some of it,
``--seed`` draws other cases than those of the day, ``--minutes`` gives more time or less.
The tests run a few cases of every part.
"""
