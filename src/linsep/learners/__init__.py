"""Online classifiers: one file for each, and what they share.

A learner's file has its parameters, its estimator and its theorems; its rule is in
``compiled/rules/``. They share ``classifier`` (fit and partial_fit), ``passes`` (the run of a
fit, and why it stops), ``state`` (weights and counters; the classes that scores mean),
``keeping`` and ``voting`` (which weights predict), ``cycle_detection``, ``predicting``,
``from_source``, ``mixing`` (of shards), ``proofs`` (of a fit) and ``stored`` (a fit as arrays and
JSON, checkpoints).

In the space of a kernel, the dual weights ``a_j`` are ordinary weights, with one feature per
example: state, schemes, rules, ``keep``, votes and the pass loop are the same. Rows of that space
come as a ``Block`` (``compiled/rows.py``): their scores, and their Gram matrix, with which each
update corrects the scores of later rows. ``learners/kernel_rows.py`` prepares the scores: it tracks
which updates each row lacks, and adds those of a whole block with one Gram matrix (cached if all
values fit). A budget projects all arrays of weights onto fewer support vectors. The kernel values
of new rows are scored as dense rows.
"""
