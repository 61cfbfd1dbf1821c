"""Fits in shards in this process, bit-identical to fits on a cluster."""

from itertools import pairwise

import numpy as np

from linsep.batches import Batch
from linsep.estimators import labels
from linsep.lanes import Tree
from linsep.learners.mixing import added_sums, fit_mixed, refuse_unmixable, setting_of
from linsep.validation.checks import as_csr


def learn_here(setting, shards):
    """Return a function that trains all shards."""

    def learn(start, number):
        tree = Tree(lambda a, b: added_sums([a, b]))
        for k, rows in enumerate(shards):
            tree.push(setting.learn(k, rows, start, number))
        return tree.total()

    return learn


def fit_in_shards(estimator, X, y, rows, mixing="uniform"):
    """Fit to arrays cut into shards of so many rows, in order."""
    refuse_unmixable(estimator, mixing)
    X, y = estimator.checked_rows(X, y, estimator.learner(), reset=True, checked=True)
    classes, codes = labels.encode(y)
    totals = np.bincount(codes, minlength=classes.size).astype(np.float64)
    setting = setting_of(estimator, classes, totals, X.shape[1], mixing)
    edges = np.cumsum([0, *rows])
    shards = [setting.coded(Batch(as_csr(X[a:b]), y[a:b])) for a, b in pairwise(edges)]
    fit_mixed(estimator, setting, learn_here(setting, shards), len(rows), False)
    return estimator
