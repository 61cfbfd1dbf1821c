"""Online classifiers: one file for each, and the shared code.

A learner's file has its parameters and its estimator; its rule is in
``compiled/rules/``. The steps of a fit::

  fit (online, of rows; from_source, of a source; mixing, of shards)
    - start_run    a Run: the state (weights, counters and votes), the learner, the weights to keep
    - passes       a report after each, until a Course, the fit in progress, has a reason to stop
        - one_pass      batches of rows, in slices, through the compiled loop
        - reason        scores on held-out rows, weights that recur (cycle_detection)
        - saving        the Course as arrays and JSON, to resume later (stored)

``state`` holds the weights, those to predict with and the classes that scores mean, ``online`` the
methods that use them, ``proofs`` the proofs about a fit, and ``stored`` a fit in files.

In the space of a kernel, the dual weights ``a_j`` are ordinary weights, with one feature per
example: state, schemes, rules, ``keep``, votes and the pass loop are the same. ``kernel_rows``
describes its rows; the kernel values of new rows are scored as dense rows (``support_vectors``).
"""
