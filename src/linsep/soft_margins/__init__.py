"""Soft margins (support vector machines), with proofs of the distance of their objective from the
optimum.

``classifier`` divides classes into binary problems. ``solving`` chooses among descent on pairs of
rows (``decomposition``, also for kernels), ``coordinate_descent`` for any size, which a large C
slows down, and ``interior_point`` for few rows or few features and any C. ``path`` increases C
until nothing changes; ``total_distance`` is the least distance that rows must move for a margin.

Every method returns dual variables of any quality. ``problem`` makes them feasible without rounding
error, and rounds their objective down and the objective of the weights up: the gap between the two
is valid, converged or not.
"""
