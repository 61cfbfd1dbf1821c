"""Deciding linear separability: the search for a verdict, and its proof.

::

  data - question - working set - guess (working_set, programs) - proof (search, integers, exact)
                         ^                                      |
                         +------- rows that it gets wrong ------+ none: verdict - check

The ``Subject`` of a verdict turns rows into constraints ``<w, a> > 0``: one per row for two sides,
one per rival class for several classes. Guesses are made in floats; ``search`` turns them into
integers and proves them: first one row more than weights whose combination vanishes, else the split
of Goldman and Tucker. If the guess was wrong, the shortest combination of rows decides (``exact``),
in whole numbers. If floats miss the widest margin, ``margin`` finds it in integers. ``recession``
finds the coefficients that have one sign under all weights with no row on the wrong side.
``fewest`` finds the fewest errors of any weights. ``deciding`` builds the verdict. All steps share
``time_limit``. ``certificate/`` checks the evidence in one reading, and imports none of them.
"""
