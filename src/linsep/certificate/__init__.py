"""Verdicts, and the check of them in whole numbers: nothing here knows how verdicts are found.

``numbers`` and ``canonical`` read and hash the rows; ``integers`` and ``constraints`` say what is
asked of weights, which finders ask as well; ``checking`` checks it. ``verdicts`` and ``cycles``
are the claims, ``proofs`` reads both from JSON. ``python -m linsep.check`` checks the same proofs
without any of these files.
"""
