"""Verdicts and their check in whole numbers, independent of how verdicts are found.

``numbers`` and ``canonical`` read and hash the rows. ``integers`` and ``constraints`` define the
constraints on weights, also for the search; ``checking`` checks them. ``verdicts`` and ``cycles``
are the claims; ``proofs`` reads both from JSON, by the annotations of their classes
(``json_fields``). ``python -m linsep.check`` checks the same proofs without any of these files.
"""
