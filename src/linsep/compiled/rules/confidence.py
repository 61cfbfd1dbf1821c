"""Learners with a variance for each weight: the smaller the variance, the shorter the steps."""

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from linsep.compiled.jit import inlined
from linsep.compiled.loop import NO_STEP, step
from linsep.compiled.rules.covariance import observe, spread


class AROWRule(NamedTuple):
    """Adaptive regularization of weights; ``r`` is the variance of the noise of a row.

    K. Crammer, A. Kulesza and M. Dredze, Adaptive regularization of weight vectors, NIPS (2009).
    """

    r: float
    covariance: Any


class SecondOrderRule(NamedTuple):
    """The second-order perceptron: ridge regression with penalty ``a`` on the rows with mistakes.

    N. Cesa-Bianchi, A. Conconi and C. Gentile, A second-order perceptron algorithm, SIAM Journal on
    Computing 34 (2005).
    """

    a: float
    covariance: Any


class SCWRule(NamedTuple):
    """Soft confidence-weighted learning, with the loss or its square (``squared``).

    A row is right with the required probability if its margin is ``phi`` standard deviations. J.
    Wang, P. Zhao and S. Hoi, Exact soft confidence-weighted learning, ICML (2012).
    """

    phi: float
    C: float
    squared: bool
    covariance: Any


@inlined
def _regress(covariance, weights, rows, i, y, score, wrong, r):
    """Move the score of a row toward y, as after an observation with noise of variance r."""
    own = spread(covariance, weights, rows, i)
    v = own[0] + own[1]
    if not v < np.inf:
        return NO_STEP
    if v == 0.0:
        return int(wrong), 0
    observe(covariance, weights, rows, i, y * (1.0 - y * score) / (v + r), r, own)
    return int(wrong), 1


@step.when(AROWRule)
def _arow(rule, weights, rows, i, y, score, wrong, importance):
    if y * score >= 1.0:
        return 0, 0
    return _regress(rule.covariance, weights, rows, i, y, score, wrong, rule.r / importance)


@step.when(SecondOrderRule)
def _second_order(rule, weights, rows, i, y, score, wrong, importance):
    if not wrong:
        return 0, 0
    return _regress(rule.covariance, weights, rows, i, y, score, wrong, rule.a / importance)


@step.when(SCWRule)
def _scw(rule, weights, rows, i, y, score, wrong, importance):
    own = spread(rule.covariance, weights, rows, i)
    if not own[0] < np.inf:
        return NO_STEP
    deviation, phi, C = sqrt(own[0]), rule.phi, rule.C * importance
    if deviation == 0.0 or phi * deviation <= y * score:
        return int(wrong), 0
    # The margin in standard deviations, and how hard the divergence holds back: propositions 1 and
    # 2, divided by powers of the deviation, are one formula.
    t, soft = y * score / deviation, 1.0
    if rule.squared:
        soft = 1.0 / (1.0 + 0.5 / (C * own[0]))
    root = phi * sqrt(soft * soft * phi * phi * t * t + 4.0 * (1.0 + soft * phi * phi))
    slope = (2.0 + soft * phi * phi) * t
    if t > 0.0:  # the same without a difference of almost equal numbers
        alpha = 2.0 * soft * (phi - t) * (phi + t) / (deviation * (root + slope))
    else:
        alpha = soft * (root - slope) / (2.0 * deviation * (1.0 + soft * phi * phi))
    if not rule.squared:
        alpha = min(C, alpha)
    if alpha == 0.0:
        return int(wrong), 0
    # What a row teaches of the variances, alpha phi / sqrt(u), is one over the noise of AROW's.
    part = alpha * deviation * phi
    after = 2.0 * deviation / (sqrt(part * part + 4.0) + part)  # sqrt(u)
    observe(rule.covariance, weights, rows, i, y * alpha, after / (alpha * phi), own)
    return int(wrong), 1
