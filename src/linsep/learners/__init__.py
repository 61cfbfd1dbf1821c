"""Online classifiers: one file for each, and what they share.

A learner's file has its parameters, its estimator and its theorems; its rule is in
``compiled/rules/``. How a fit goes::

  fit (classifier; from_source, of a source; mixing, of shards; kernel)
    - start_run    a Run: the state (weights and counters), the learner, what to keep
    - passes       until a Course, which knows where the run stands, has a reason to stop
        - one_pass        batches of rows, in slices, through the compiled loop
        - after_pass      scores on held-out rows, weights that recur (cycle_detection): why to stop
        - saving          the Course as arrays and JSON, to go on later (stored)

``state`` has the weights and the classes that scores mean, ``keeping`` which weights predict,
``predicting`` the methods that use them, ``proofs`` what is proved of a fit, and ``stored`` a fit
in files.

In the space of a kernel, the dual weights ``a_j`` are ordinary weights, with one feature per
example: state, schemes, rules, ``keep``, votes and the pass loop are the same. Rows of that space
come as a ``Block`` (``compiled/rows.py``): their scores, and their Gram matrix, with which each
update corrects the scores of later rows. ``learners/kernel_rows.py`` prepares the scores. If a Gram
matrix of all rows fits in the cache, they are one block, and the loop stops where it needs a row of
the matrix that is not yet computed; else it tracks which updates each row lacks, and adds those of
a whole block with one Gram matrix. A budget projects all arrays of weights onto fewer support
vectors. The kernel values of new rows are scored as dense rows (``support_vectors``, also for soft
margins).
"""
