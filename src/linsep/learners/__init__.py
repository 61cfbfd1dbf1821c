"""Online classifiers: one file for each, and the shared code.

A learner's file has its parameters and its estimator; its rule is in
``compiled/rules/``. The steps of a fit::

  fit (classifier; from_source, of a source; mixing, of shards; kernel)
    - start_run    a Run: the state (weights and counters), the learner, the weights to keep
    - passes       until a Course, which tracks the run, has a reason to stop
        - one_pass        batches of rows, in slices, through the compiled loop
        - after_pass      scores on held-out rows, weights that recur (cycle_detection)
        - saving          the Course as arrays and JSON, to resume later (stored)

``state`` holds the weights and the classes that scores mean, ``keeping`` the choice of weights for
prediction, ``predicting`` the methods that use them, ``proofs`` the proofs about a fit, and
``stored`` a fit in files.

In the space of a kernel, the dual weights ``a_j`` are ordinary weights, with one feature per
example: state, schemes, rules, ``keep``, votes and the pass loop are the same. Rows of that space
come as a ``Block`` (``compiled/rows.py``): their scores, and their Gram matrix, with which each
update corrects the scores of later rows. ``learners/kernel_rows.py`` prepares the scores. If a Gram
matrix of all rows fits in the cache, they are one block, and the loop stops where it needs a row of
the matrix that is not yet computed; otherwise it tracks which updates each row lacks, and adds all
updates of a block with one Gram matrix. A budget projects all arrays of weights onto fewer support
vectors. The kernel values of new rows are scored as dense rows (``support_vectors``, also for soft
margins).
"""
