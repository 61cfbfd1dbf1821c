"""Verdicts and their check in whole numbers, independent of how verdicts are found.

``canonical`` reads and hashes the rows. ``constraints`` defines the constraints on weights and the
integer arithmetic, also for the search. ``verdicts``, ``errors`` and ``cycles`` are the claims,
each with its check, for which ``checking`` reads the rows once; ``proofs`` reads claims from JSON,
by the annotations of their classes (``json_fields``). ``python -m linsep.check`` checks the same
proofs without any of these files.
"""
