"""Verdicts and their check in whole numbers, independent of how verdicts are found.

``canonical`` reads and hashes the rows. ``constraints`` defines the constraints on weights, the
case in which a claim is checked, and the integer arithmetic, also for the search. ``verdicts``,
``errors`` and ``cycles`` are the claims, each with its check; ``proofs`` reads them from JSON, by
the annotations of their classes (``json_fields``). ``python -m linsep.check`` uses none of these.
"""
