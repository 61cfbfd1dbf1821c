"""Verdicts and their check in whole numbers, independent of how verdicts are found.

``canonical`` reads and hashes the rows. ``integers`` and ``constraints`` define the constraints on
weights, also for the search. ``verdicts``, ``errors`` and ``cycles`` are the claims, each with its
check, for which ``checking`` reads the rows once; ``proofs`` reads claims from JSON, by the
annotations of their classes (``json_fields``). ``python -m linsep.check`` checks the same proofs
without any of these files.
"""
