"""Logistic regression by maximum likelihood, with a proof of whether a maximum exists.

::

  rows - scaling (preparing) - weights from a sample - Newton over all rows (ascent, likelihood)
                                                        | maximum proved (existence): inference
                                                        + not proved: weights at hand, checked,
                                                          or separation(X, y); limit

Firth's penalized likelihood has its own ascent, which uses the information matrix with rank-one
updates for the penalty's curvature. For both likelihoods, profiles fix one linear function of the
weights and maximize over the others (``profiles`` has both).

A Newton step that moves no two scores of a row apart by 1 proves that a maximum exists. Without a
maximum, every step moves some scores apart by 1 and no row back. This is only an indication;
``separability/`` decides. First the weights at hand are checked exactly, in one pass, unless a
search is quick. If a maximum exists that no step proved, ``Sharpness`` (in ``fitting``) estimates
how many digits floats determine. Without a proof there is no inference. Blocks of rows that fit the
processor's cache are centered, scaled and multiplied by the square roots of their curvature, and
their Gram matrices are summed (``likelihood``: the terms of one fixed-size block, a "lane";
``rows``: the sums over lanes, which a cluster may compute instead). The order of summation does not
depend on the number of threads.
"""
