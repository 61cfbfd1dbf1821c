"""Logistic regression by maximum likelihood, with a proof of whether a maximum exists.

A Newton step that moves no two scores of a row apart by 1 proves that a maximum exists
(``existence``). Without a maximum, every step moves some scores apart by 1 and no row back. This is
only an indication: the weights at hand are checked exactly, or ``separability/`` decides, and
``limits`` finds the limit. Without a proof there is no inference. For Firth's penalized likelihood
and the plain one, profiles fix a linear function of the weights and maximize over the others.

Blocks of rows that fit the processor's cache are standardized and multiplied by the roots of their
curvature, and their Gram matrices are summed (``objective``: the terms of a fixed-size block, a
"lane"; ``task``: the sums over lanes, which a cluster may compute instead), in an order that does
not depend on the number of threads.
"""
