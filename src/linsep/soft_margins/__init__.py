"""Soft margins, which are support vector machines, with proofs of how near the best they are.

::

  classes - machines of two classes each - solving - certificate - weights (linear) or dual weights
            (machines)                     |         (problem)
                                           +- coordinate_descent: any size, a large C slows it down
                                           +- interior_point: few rows or few features, any C

With a kernel (``kernel``), rows are known by their kernel values alone (``in_kernel_space``, with
the proof there), and dual variables are found in working sets with their Gram matrix
(``decomposition``; ``refining`` finishes where descent crawls). ``mehrotra`` has the steps of both
interior point methods.

``path`` follows C, from one fit to the next, until nothing changes any more.

Every method ends with dual variables, of whatever quality. ``problem`` makes them feasible without
rounding error, and rounds their objective downwards and that of the weights upwards: the gap
between the two holds, converged or not.
"""
