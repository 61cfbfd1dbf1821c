"""Logistic regression by maximum likelihood, with proofs of whether there is a maximum.

::

  rows - scaling (preparing) - weights from a sample - Newton over all rows (ascent, likelihood)
                                                        | maximum proved (existence): inference
                                                        + not proved: weights at hand, checked,
                                                          or separation(X, y); limit

Firth's penalized likelihood has its own ascent, which uses the information matrix with rank-one
updates for the penalty's curvature. For both likelihoods, profiles fix one linear function of the
weights and maximize over the others (``profiles`` has both).

A Newton step that moves no two scores of a row apart by 1 proves that there is a maximum. Without
a maximum, every step moves some scores apart by 1 and no row back. That is only an indication;
``separability/`` decides. First the weights at hand are checked exactly, in one pass, unless a
search is quick. If a maximum exists that no step proved, ``Sharpness`` (in ``fitting``) estimates
how many digits floats determine. Without a proof nothing is inferred. Blocks of rows that fit the
processor's cache are centered, scaled and multiplied by the square roots of their curvature, and
their Gram matrices are summed (``likelihood``: what one lane adds; ``rows``: the sums over lanes,
which a cluster may compute instead). The order of summation does not depend on the number of
threads.
"""
