"""Soft margins (support vector machines), with proofs of the distance of their objective from the
optimum.

::

  classes - binary problems - solving - certificate - weights (linear) or dual weights (kernel)
            (classifier)                  (problem)
                                |
                                +- decomposition: few rows, or rows known by kernel values, by
                                |  descent on pairs in sets with their Gram matrix
                                +- coordinate_descent: any size, a large C slows it down
                                +- interior_point: few rows or few features, any C

``path`` increases C, from one fit to the next, until nothing changes; ``total_distance`` is the
least distance that rows must move for a margin.

Every method returns dual variables of any quality. ``problem`` makes them feasible without rounding
error, and rounds their objective down and the objective of the weights up: the gap between the two
is valid, converged or not.
"""
