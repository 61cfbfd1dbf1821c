"""Soft margins (support vector machines), with proofs of the distance of their objective from the
optimum.

::

  classes - binary problems - solving - certificate - weights (linear) or dual weights
            (machines)                     |         (problem)
                                           +- coordinate_descent: any size, a large C slows it down
                                           +- interior_point: few rows or few features, any C

With a kernel (``kernel``), rows are known only by their kernel values (``in_kernel_space``, with
the proof there), and dual variables are found in working sets with their Gram matrix
(``decomposition``); if descent is slow, the interior point method finishes.

``path`` increases C, from one fit to the next, until nothing changes.

Every method returns dual variables of any quality. ``problem`` makes them feasible without rounding
error, and rounds their objective down and the objective of the weights up: the gap between the two
is valid, converged or not.
"""
