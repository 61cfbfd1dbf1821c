"""Logistic regression by maximum likelihood, with a proof of whether a maximum exists.

A Newton step that moves no two scores of a row apart by 1 proves that a maximum exists
(``existence``). If none does, the weights at hand are checked exactly, or ``separability/``
decides, and ``limits`` finds the limit; without a proof there is no inference. ``firth`` has
Firth's penalized likelihood, and profiles, which fix a linear function of the weights.

``objective`` has the terms of a fixed-size block of rows, a "lane", and ``task`` the sums over
lanes, which a cluster may compute instead, in an order that does not depend on threads.
"""
