"""Logistic regression by maximum likelihood, with a proof of whether a maximum exists.

::

  rows (task) - scaling (objective) - weights from a sample - Newton over all rows (newton)
                                              | maximum proved (existence): inference
                                              + not proved (limits): weights at hand, checked,
                                                or separation(X, y); the limit

Firth's penalized likelihood (``firth``) takes the same steps, with rank-one updates for the
curvature of its penalty. For both likelihoods, profiles fix one linear function of the weights and
maximize over the others, the ends of all coefficients side by side.

A Newton step that moves no two scores of a row apart by 1 proves that a maximum exists. Without a
maximum, every step moves some scores apart by 1 and no row back. This is only an indication;
``separability/`` decides. First the weights at hand are checked exactly, in one pass, unless a
search is quick. Without a proof there is no inference. Blocks of rows that fit the processor's
cache are centered, scaled and multiplied by the square roots of their curvature, and their Gram
matrices are summed (``objective``: the terms of one fixed-size block, a "lane"; ``task``: the sums
over lanes, which a cluster may compute instead). The order of summation does not depend on the
number of threads.
"""
